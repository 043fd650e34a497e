"""Forms of a model's structured answers: JSON schemas, and words that stand for a truth value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmbench_tasks.asking import Unreadable

_MOST_NAMED = 200
"""Numbers up to which a schema names each of them; servers take no more than a few hundred."""


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """JSON schema of an object with these properties, all required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def numbers_schema(most: int, *, least: int = 0) -> dict[str, Any]:
    """JSON schema of a list of numbers from 1, at least so many; without an end, a small model would never stop."""
    number: dict[str, Any] = {"type": "integer"}
    if most <= _MOST_NAMED:
        number["enum"] = list(range(1, most + 1))
    return {"type": "array", "items": number, "minItems": least, "maxItems": most}


def said_yes(value: Any) -> bool:
    """A JSON boolean, or its word.

    Raises:
        Unreadable: anything else.
    """
    if isinstance(value, bool):
        return value
    word = value.strip().casefold() if isinstance(value, str) else ""
    if word in ("yes", "true"):
        return True
    if word in ("no", "false"):
        return False
    raise Unreadable("Write true or false.")
