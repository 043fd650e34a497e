"""Content digests: the same canonical JSON, the same SHA-256, on every machine."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(order="deterministic")

SHORT = 12
"""Hexadecimal digits of a digest shown in a folder's name."""


def canonical_json(value: Any) -> bytes:
    """Encode plain data, structs and dataclasses as JSON with sorted keys and no spaces."""
    return _ENCODER.encode(value)


def digest(value: Any) -> str:
    """SHA-256 (64 hexadecimal digits) of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def digest_bytes(value: bytes) -> str:
    """SHA-256 (64 hexadecimal digits) of bytes."""
    return hashlib.sha256(value).hexdigest()
