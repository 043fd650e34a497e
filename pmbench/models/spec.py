"""Specifications of models: `backend:name?option=value&option=value`, or a preset's name with options."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, quote

import msgspec

from pmbench.core.errors import ConfigError
from pmbench.models.paths import why_no_file

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
        """The specification in its normal form: options sorted, bytes that are not UTF-8 written out."""
        base = f"{self.backend}:{self.target}" if self.backend else self.target
        base = base.encode("utf-8", "backslashreplace").decode()
        asked = "&".join(f"{_quoted(k)}={_quoted(v)}" for k, v in sorted(self.options.items()))
        return f"{base}?{asked}" if asked else base


def parse_spec(text: str) -> ModelSpec:
    """Parse a specification. `C:\\x` and the like have no backend of one letter, so they are not split.

    Options begin at the first question mark, unless the text up to a later one, or to the end, names a file
    that is there (`replay:what?.jsonl`).

    Raises:
        ConfigError: it is empty, or an option has no `=`.
    """
    whole = text.strip()
    head, colon, rest = whole.partition(":")
    named = bool(colon) and len(head) > 1 and _BACKEND.fullmatch(head) is not None
    backend, rest = (head, rest) if named else ("", whole)
    target, question, query = _partition(rest) if named else rest.partition("?")
    if not target:
        raise ConfigError("an empty model name", where=f"model {text!r}", remedy="See: pmbench models")
    pairs = parse_qsl(query, keep_blank_values=True)
    if question and len(pairs) != len([part for part in query.split("&") if "=" in part]):
        raise ConfigError(
            "an option without a value", where=f"model {text!r}", remedy="Write backend:name?option=value"
        )
    return ModelSpec(text, backend, target, dict(pairs))


def _quoted(text: str) -> str:
    return quote(text, safe="/:@,.", errors="surrogateescape")


def _partition(text: str) -> tuple[str, str, str]:
    """Target, question mark and options; of several ways the one with the longest file that is there."""
    end = len(text)
    while end > text.find("?") >= 0:
        if _names_file(text[:end]):
            return text[:end], text[end : end + 1], text[end + 1 :]
        end = text.rfind("?", 0, end)
    return text.partition("?")


def _names_file(target: str) -> bool:
    file, _, column = target.rpartition("#")
    return not why_no_file(Path(target)) or ("?" not in column and not why_no_file(Path(file)))
