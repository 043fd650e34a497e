"""Reading what servers send: parts that are there and of the right type, whatever else came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LONGEST_NAME = 120


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list; none if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def joined(parts: Sequence[Mapping[str, Any]], field: str) -> str | None:
    """The texts of parts, joined; None if none of them has any."""
    texts = [part[field] for part in parts if isinstance(part.get(field), str)]
    return "".join(texts) if texts else None


def count(value: object) -> int:
    """A number of tokens; 0 for whatever is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def named(**identifiers: object) -> dict[str, str]:
    """Those of the identifiers that are texts."""
    shown = {name: _plain(value) for name, value in identifiers.items() if isinstance(value, str)}
    return {name: value for name, value in shown.items() if value}


def _plain(name: str) -> str:
    """A name as a line of a file or a terminal can hold it: a server may send anything."""
    return "".join(character for character in name if character.isprintable())[:LONGEST_NAME]
