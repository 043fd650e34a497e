"""Typed options, as `-o name=value` of a task and `--judge role=NAME?name=value` of a judge give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, get_args

import msgspec

from pmbench.core.errors import ConfigError, UnknownName

_PLACE = msgspec.Meta(extra={"place": True})

PathOption = Annotated[str, _PLACE]
"""An option that says where something lies. Not part of a digest: what lies there has to be described instead."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Typed options of a task or of a judge's role, part of a digest.

    Subclass it and add fields with defaults.
    """


Kind = TypeVar("Kind", bound=Options)


def option_names(kind: type[Options]) -> list[str]:
    """The names of a kind of options."""
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def decisive(options: Options) -> dict[str, Any]:
    """The options that go into a digest: all but those that only say where something lies."""
    plain: dict[str, Any] = msgspec.to_builtins(options)
    for field in msgspec.structs.fields(options):
        if _PLACE in getattr(field.type, "__metadata__", ()):
            del plain[field.encode_name]
    return plain


def typed_options(kind: type[Kind], pairs: Mapping[str, str], *, of: str, remedy: str = "") -> Kind:
    """Turn `name=value` pairs into options.

    Args:
        kind: the kind of options.
        pairs: names and values as the user typed them.
        of: whose options they are, for errors.
        remedy: what to do about an error.

    Raises:
        UnknownName: a name that is not among them.
        ConfigError: a value of the wrong type.
    """
    known = option_names(kind)
    for name in pairs:
        if name not in known:
            raise UnknownName(f"option of {of}", name, known)
    try:
        return msgspec.convert(dict(pairs), kind, strict=False)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        name = place.strip("`$.")
        choices = next((get_args(f.type) for f in msgspec.structs.fields(kind) if f.name == name), ())
        needed = f"it must be {' or '.join(map(str, choices))}" if choices else what
        raise ConfigError(needed, where=f"option {name} of {of}", remedy=remedy) from None
