"""The least that satisfies a JSON schema, derived from a digest."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from .words import WORDS

Schema = Mapping[str, Any]


def instance_of(schema: Schema, digest: bytes) -> Any:
    """A value that follows the schema; equal digests give equal values.

    Enums, constants, objects (every property), arrays, references within the schema and the first of
    alternatives are followed; patterns and formats are not, for no test of ours needs them.
    """
    return _value(schema, digest, schema)


def _value(schema: Schema, digest: bytes, root: Schema) -> Any:
    if "$ref" in schema:
        return _value(_resolve(schema["$ref"], root), digest, root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][digest[0] % len(schema["enum"])]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _value(schema[key][0], digest, root)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()  # Google writes types in capitals
    if kind == "object":
        return {name: _value(part, _below(digest, name), root) for name, part in _properties(schema)}
    if kind == "array":
        count = max(int(schema.get("minItems", 1)), 1)
        return [_value(schema.get("items", {}), _below(digest, str(i)), root) for i in range(count)]
    return _scalar(kind, schema, digest)


def _scalar(kind: str, schema: Schema, digest: bytes) -> Any:
    if kind in ("integer", "number"):
        low = schema.get("minimum", 0)
        high = schema.get("maximum", low + 9)
        span = max(int(high) - int(low), 0)
        value = int(low) + digest[1] % (span + 1)
        return value if kind == "integer" else float(value)
    if kind == "boolean":
        return digest[2] % 2 == 0
    if kind == "null":
        return None
    return WORDS[digest[3] % len(WORDS)]


def _properties(schema: Schema) -> list[tuple[str, Schema]]:
    return list(schema.get("properties", {}).items())


def _below(digest: bytes, name: str) -> bytes:
    return blake2b(digest + name.encode(), digest_size=32).digest()


def _resolve(reference: str, root: Schema) -> Schema:
    node: Any = root
    for part in reference.lstrip("#/").split("/"):
        node = node[part]
    found: Schema = node
    return found
