"""A rate limiter that is enforced, and a watch that tells how long a client was above it.

Both take the time as an argument, so that they can be tested without waiting.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .plan import RateLimit
from .wire import Json

WINDOW = 1.0  # seconds


class Bucket:
    """Lets so much per second through in the long run, and a burst above it.

    Args:
        per_second: how much fills the bucket in a second.
        burst: how much it holds. Whatever it holds can pass at once, and `per_second` follows within the second.
    """

    def __init__(self, per_second: float, burst: float) -> None:
        self.per_second, self.size = per_second, max(burst, 1.0)
        self.level, self._then = self.size, 0.0

    def fill(self, now: float) -> None:
        """Brings the level up to date."""
        if self._then:
            self.level = min(self.size, self.level + (now - self._then) * self.per_second)
        self._then = now

    def seconds_until(self, amount: float) -> float:
        """How long until so much is there; 0 when it is."""
        return max(0.0, min(amount, self.size) - self.level) / self.per_second


class Watch:
    """Tells for how long there was more within a second than allowed.

    Args:
        most: what is allowed within any one second.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.longest = 0.0
        self.peak = 0.0
        self._within: deque[tuple[float, float]] = deque()
        self._sum = 0.0
        self._above_since: float | None = None

    def see(self, now: float, amount: float) -> None:
        """Something of this amount came."""
        self._forget(now)
        self._within.append((now, amount))
        self._sum += amount
        self.peak = max(self.peak, self._sum)
        if self._sum > self.most and self._above_since is None:
            self._above_since = now
        self._note(now)

    def _forget(self, now: float) -> None:
        # One by one, so that the moment is known at which the sum came back under what is allowed.
        while self._within and self._within[0][0] + WINDOW <= now:
            then, amount = self._within.popleft()
            self._sum -= amount
            if self._sum <= self.most:
                self._note(then + WINDOW)
                self._above_since = None

    def _note(self, now: float) -> None:
        if self._above_since is not None:
            self.longest = max(self.longest, now - self._above_since)

    def told(self, now: float) -> Json:
        """The peak within a second, and the longest time in seconds that there was more than allowed."""
        self._forget(now)
        self._note(now)
        return {
            "allowed_in_a_second": self.most,
            "most_in_a_second": self.peak,
            "longest_above": round(self.longest, 4),
            "above_for_over_a_second": self.longest > WINDOW,
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """What the headers of an answer say about the limits.

    Args:
        limit: requests in the window.
        remaining: requests that are left.
        reset: seconds until the limit is full again.
        token_limit: the same for tokens.
        token_remaining: the same for tokens.
        token_reset: the same for tokens.
        wait: seconds until another request is let through; 0 when it is let through now.
    """

    limit: int
    remaining: int
    reset: float
    token_limit: int
    token_remaining: int
    token_reset: float
    wait: float


class Limiter:
    """Lets requests through as a `RateLimit` says, and watches what comes.

    Args:
        limit: what is allowed.
    """

    def __init__(self, limit: RateLimit) -> None:
        self.limit = limit
        self._requests = Bucket(limit.per_second, limit.burst)
        self._watch = Watch(limit.per_second + self._requests.size)
        self._tokens = self._token_watch = None
        if limit.tokens_per_second is not None:
            self._tokens = Bucket(limit.tokens_per_second, limit.tokens_burst)
            self._token_watch = Watch(limit.tokens_per_second + self._tokens.size)
        self.refused = 0

    def admit(self, now: float, tokens: int) -> Standing:
        """Counts a request with so many tokens in its prompt; `wait` of what comes back says whether it may pass."""
        self._watch.see(now, 1)
        self._requests.fill(now)
        wait = self._requests.seconds_until(1)
        if self._tokens is not None and self._token_watch is not None:
            self._token_watch.see(now, tokens)
            self._tokens.fill(now)
            wait = max(wait, self._tokens.seconds_until(tokens))
        if not self.limit.enforced:
            wait = 0.0
        if wait:
            self.refused += 1
        else:
            self._requests.level = max(0.0, self._requests.level - 1)
            if self._tokens is not None:
                self._tokens.level = max(0.0, self._tokens.level - tokens)
        return self._standing(wait)

    def _standing(self, wait: float) -> Standing:
        requests, tokens = self._requests, self._tokens
        return Standing(
            limit=int(requests.per_second),
            remaining=int(requests.level),
            reset=(requests.size - requests.level) / requests.per_second,
            token_limit=int(tokens.per_second) if tokens else 1_000_000,
            token_remaining=int(tokens.level) if tokens else 1_000_000,
            token_reset=(tokens.size - tokens.level) / tokens.per_second if tokens else 0.0,
            wait=wait,
        )

    def told(self, now: float) -> Json:
        """What was seen, for the statistics."""
        told: Json = {"refused": self.refused, "requests": self._watch.told(now)}
        if self._token_watch is not None:
            told["tokens"] = self._token_watch.told(now)
        return told
