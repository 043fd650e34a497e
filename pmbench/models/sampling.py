"""How a whole run samples."""

from __future__ import annotations

import math

import msgspec

from pmbench.core.errors import ConfigError

MOST_TOKENS = 2**31 - 1
"""Largest limit of an answer that may be asked for. What is beyond wraps around in some engines."""


class Sampling(msgspec.Struct, frozen=True):
    """Sampling of a whole run: what is given here takes the place of what a strategy or judge asks for."""

    max_tokens: int | None = None
    temperature: float | None = None
    seed: int = 0

    def check(self) -> None:
        """Raise a ConfigError where a number is none that every engine and server takes."""
        if self.max_tokens is not None and not 1 <= self.max_tokens <= MOST_TOKENS:
            raise ConfigError(f"must be from 1 to {MOST_TOKENS}", where="--max-tokens")
        if self.temperature is not None and not 0.0 <= self.temperature < math.inf:
            raise ConfigError("must be 0 or a larger number", where="--temperature")
        if not -(2**63) <= self.seed < 2**63:
            raise ConfigError("must be a whole number of 64 bits", where="--seed")
