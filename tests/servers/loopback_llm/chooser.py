"""Which fault meets which request.

Chance is drawn from the hash of the request (and the number of the attempt at it), never from the order of
arrival: the same requests meet the same faults however many are in flight.
"""

from __future__ import annotations

import math
from hashlib import blake2b

from .plan import Fault, Latency, Plan


def draw(seed: int, purpose: str, digest: bytes, number: int = 0) -> float:
    """A number from 0 up to 1: the same for the same arguments."""
    h = blake2b(f"{seed}|{purpose}|{number}|".encode() + digest, digest_size=8)
    return int.from_bytes(h.digest(), "big") / 2**64


def seconds_of(latency: Latency | float, seed: int, digest: bytes) -> float:
    """How long this request takes, in seconds."""
    if not isinstance(latency, Latency):
        return latency / 1000
    if latency.kind == "fixed":
        return latency.ms / 1000
    u = draw(seed, "latency", digest)
    if latency.kind == "uniform":
        return (latency.low_ms + u * (latency.high_ms - latency.low_ms)) / 1000
    if latency.kind == "exponential":
        return -latency.ms * math.log(1 - u) / 1000
    v = draw(seed, "latency, second", digest)
    normal = math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)
    return latency.ms * math.exp(latency.sigma * normal) / 1000


class Chooser:
    """Counts the requests that came under one plan, and says which fault meets each.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.requests = 0
        self._attempts: dict[bytes, int] = {}

    def choose(self, path: str, digest: bytes, last_user: str) -> Fault | None:
        """The fault of a request to a model or to another part of the interface; counts it.

        Args:
            path: the request's path.
            digest: names the request.
            last_user: the text of its last user message.
        """
        self.requests += 1
        if not self.plan.faults:
            return None
        attempt = self._attempts[digest] = self._attempts.get(digest, 0) + 1
        return self._first(path, digest, last_user, self.requests, attempt, batch=False)

    def choose_in_batch(self, path: str, digest: bytes, last_user: str) -> Fault | None:
        """The fault of one item of a batch job."""
        return self._first(path, digest, last_user, 0, 1, batch=True)

    def _first(
        self, path: str, digest: bytes, last_user: str, ordinal: int, attempt: int, *, batch: bool
    ) -> Fault | None:
        # One draw for all probabilities and one for all shares: 10% of this and 10% of that are 20% together.
        each, always = draw(self.plan.seed, "each", digest, attempt), draw(self.plan.seed, "always", digest)
        for fault in self.plan.faults:
            if fault.batch != batch or not _fits(fault, path, last_user, ordinal, attempt):
                continue
            if fault.share is not None and always >= fault.share:
                always -= fault.share
                continue
            if fault.probability is not None and each >= fault.probability:
                each -= fault.probability
                continue
            return fault
        return None


def _fits(fault: Fault, path: str, last_user: str, ordinal: int, attempt: int) -> bool:
    return (
        (fault.path is None or path.startswith(fault.path))
        and (fault.contains is None or fault.contains in last_user)
        and (fault.ordinals is None or ordinal in fault.ordinals)
        and (fault.after is None or ordinal > fault.after)
        and (fault.attempts is None or attempt in fault.attempts)
    )
