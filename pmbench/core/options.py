"""Typed options, as `-o name=value` of a task and `--judge role=NAME?name=value` of a judge give them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec

from pmbench.core.errors import ConfigError, UnknownName

_PLACE = msgspec.Meta(extra={"place": True})
_SCORING = msgspec.Meta(extra={"scoring": True})

T = TypeVar("T")

PathOption = Annotated[str, _PLACE]
"""An option that says where something lies. Not part of a digest: what lies there has to be described instead."""

ScoringOption = Annotated[T, _SCORING]
"""An option of a task that no response depends on, as in `ask: ScoringOption[str] = "item"`.

It is part of the score's digest and not of the run's: the same responses are scored again by another value, beside
the scores by the first, and no model is asked for a response again. What a strategy reads is no such option, unless
the strategy's `describe` tells what it read. Of a `ScoringOption[PathOption]` a judge has to describe what lies
there.
"""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Typed options of a task or of a judge's role, part of a digest.

    Subclass it and add fields with defaults.
    """


Kind = TypeVar("Kind", bound=Options)


def option_names(kind: type[Options]) -> list[str]:
    """The names of a kind of options."""
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def is_place(of_type: Any) -> bool:
    """Whether an option of this type only says where something lies."""
    return _PLACE in getattr(of_type, "__metadata__", ())


def decisive(options: Options) -> dict[str, Any]:
    """The options that go into a digest: all but those that only say where something lies."""
    places = {field.encode_name for field in msgspec.structs.fields(options) if is_place(field.type)}
    return {name: value for name, value in plain(options).items() if name not in places}


def plain(options: Options) -> dict[str, Any]:
    """All options by name, as JSON holds them."""
    found: dict[str, Any] = msgspec.to_builtins(options)
    return found


def of_responses(options: Options) -> dict[str, Any]:
    """The options of a task that its responses may depend on: all but those that only scoring reads."""
    scoring = _scoring_names(options)
    return {name: value for name, value in plain(options).items() if name not in scoring}


def of_scores(options: Options) -> dict[str, Any]:
    """The options of a task that only scoring reads and that go into the digest of a score."""
    scoring = _scoring_names(options)
    return {name: value for name, value in decisive(options).items() if name in scoring}


def named(kind: type[Options], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as others may read them: where something lies is nobody's business, so its folders are left out.

    Args:
        kind: the kind of options.
        given: values by name; names that the kind does not have are passed over as they are.
    """
    places = {field.encode_name for field in msgspec.structs.fields(kind) if is_place(field.type)}
    return {
        name: re.split(r"[/\\]", value)[-1] if name in places and isinstance(value, str) else value
        for name, value in given.items()
    }


def _scoring_names(options: Options) -> set[str]:
    return {
        field.encode_name
        for field in msgspec.structs.fields(options)
        if _SCORING in getattr(field.type, "__metadata__", ())
    }


def needed(of_type: Any) -> str:
    """What a value of a type has to be, where there is a choice or a bound; else empty."""
    if get_origin(bare := without_marks(of_type)) is Literal:
        return f"it must be {' or '.join(map(str, get_args(bare)))}"
    bounds = [one for one in getattr(of_type, "__metadata__", ()) if isinstance(one, msgspec.Meta)]
    least = next((one.ge for one in bounds if one.ge is not None), None)
    most = next((one.le for one in bounds if one.le is not None), None)
    if least is not None and most is not None:
        return f"it must be from {least:g} to {most:g}"
    return "" if least is None else f"it must be {least:g} or more"


def without_marks(of_type: Any) -> Any:
    """The type of an option's values, without what is marked on it."""
    return get_args(of_type)[0] if get_origin(of_type) is Annotated else of_type


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
        options = msgspec.convert(dict(pairs), kind, strict=False)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        name = place.strip("`$.")
        of_type = next((f.type for f in msgspec.structs.fields(kind) if f.encode_name == name), None)
        raise ConfigError(needed(of_type) or what, where=f"option {name} of {of}", remedy=remedy) from None
    for name in pairs:
        value = getattr(options, name, None)
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError("it must be a finite number", where=f"option {name} of {of}", remedy=remedy)
    return options
