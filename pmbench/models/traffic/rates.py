"""Limits of requests and of tokens per minute that the user or the organisation sets."""

from __future__ import annotations

BURST_SECONDS = 1.0
"""How much may pass at once: what the rate allows in this time, so that no second has more than twice its share."""


class Bucket:
    """Lets an amount per minute through, evenly: a token bucket that holds one second's worth.

    Time is given by the caller, in seconds of any clock that does not go back.

    Args:
        per_minute: how much may pass in a minute, above 0.
    """

    def __init__(self, per_minute: float) -> None:
        self.per_second = per_minute / 60.0
        # At least one whole request fits, however slow the rate is.
        self.size = max(1.0, self.per_second * BURST_SECONDS)
        self._level, self._then = self.size, 0.0

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may pass; 0.0 if it may now. More than the bucket holds waits until it is full."""
        self._fill(now)
        return max(0.0, min(amount, self.size) - self._level) / self.per_second

    def take(self, amount: float, now: float) -> None:
        """Let an amount pass. What is more than there is makes those who come later wait the longer."""
        self._fill(now)
        self._level -= amount

    def _fill(self, now: float) -> None:
        if self._then:
            self._level = min(self.size, self._level + (now - self._then) * self.per_second)
        self._then = now
