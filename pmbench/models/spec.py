"""Specifications of models: `backend:name?option=value&option=value`, or a preset's name with options."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote

import msgspec

from pmbench.core.errors import ConfigError

_BACKEND = re.compile(r"[a-z][a-z0-9-]*")


class ModelSpec(msgspec.Struct, frozen=True):
    """A parsed specification.

    Attributes:
        given: as the user typed it.
        backend: name of the backend; empty for a preset not yet looked up.
        target: what follows the colon (a file, a hub id, a name); the preset's name if `backend` is empty.
        options: what follows the question mark.
    """

    given: str
    backend: str
    target: str
    options: dict[str, str] = {}

    def __str__(self) -> str:
        """The specification in its normal form, options sorted."""
        base = f"{self.backend}:{self.target}" if self.backend else self.target
        asked = "&".join(f"{quote(k)}={quote(v, safe='/:@,.')}" for k, v in sorted(self.options.items()))
        return f"{base}?{asked}" if asked else base


def parse_spec(text: str) -> ModelSpec:
    """Parse a specification. `C:\\x` and the like have no backend of one letter, so they are not split.

    Raises:
        ConfigError: it is empty, or an option has no `=`.
    """
    base, question, query = text.strip().partition("?")
    head, colon, rest = base.partition(":")
    named = bool(colon) and len(head) > 1 and _BACKEND.fullmatch(head) is not None
    backend, target = (head, rest) if named else ("", base)
    if not target:
        raise ConfigError("an empty model name", where=f"model {text!r}", remedy="See: pmbench models")
    pairs = parse_qsl(query, keep_blank_values=True)
    if question and len(pairs) != len([part for part in query.split("&") if "=" in part]):
        raise ConfigError(
            "an option without a value", where=f"model {text!r}", remedy="Write backend:name?option=value"
        )
    return ModelSpec(text, backend, target, dict(pairs))
