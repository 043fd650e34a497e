"""The record of the calls of models made for one instance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import msgspec

from pmbench.core.model import Choice, Completion, Usage


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call of a model, for the record of the instance it was made for.

    Attributes:
        kind: `chat`, `choose`, `reward`, `embed`.
        finish: finish reason of a completion; empty otherwise.
        usage, latency, cost: as in `Completion`; of a failed call, what its answers that did not count cost.
        stored: not paid for by this call: it came from the store, or shared the answer to an equal request.
        retries: further requests after the first.
        reasoning: the model's thinking.
        failure: kind of the `RequestFailed`; empty if there was an answer.
        one_hot: whether it is a choice without log-probabilities: all probability on the option named.
        served: the model as the server named it.
    """

    kind: str
    finish: str = ""
    usage: Usage = Usage()
    latency: float = 0.0
    cost: float | None = None
    stored: bool = False
    retries: int = 0
    reasoning: str = ""
    failure: str = ""
    one_hot: bool = False
    served: str = ""


@dataclass(frozen=True, slots=True)
class Tracked:
    """What models are called for: the instance, the number of its sample, and the calls made so far."""

    instance: str = ""
    sample: int = 0
    calls: list[Call] = field(default_factory=list)


_TRACKED: ContextVar[Tracked | None] = ContextVar("pmbench_tracked", default=None)


@contextmanager
def tracking(instance: str, sample: int = 0) -> Iterator[list[Call]]:
    """Say for which instance and sample models are called inside, also in tasks started inside.

    Yields:
        The calls made so far, in the order in which they ended.
    """
    tracked = Tracked(instance, sample)
    token = _TRACKED.set(tracked)
    try:
        yield tracked.calls
    finally:
        _TRACKED.reset(token)


def tracked() -> Tracked:
    """What a call made now is for; outside of `tracking`, nothing in particular and its record is lost."""
    return _TRACKED.get() or Tracked()


def answered(
    kind: str, answer: Completion | Choice | float, *, stored: bool = False, retries: int = 0
) -> Call:
    """The record of a call that was answered."""
    if isinstance(answer, float):
        return Call(kind, stored=stored, retries=retries)
    call = Call(
        kind, usage=answer.usage, latency=answer.latency, cost=answer.cost, stored=stored, retries=retries
    )
    if isinstance(answer, Choice):
        return msgspec.structs.replace(call, one_hot=not answer.exact)
    return msgspec.structs.replace(
        call, finish=answer.finish, reasoning=answer.reasoning, served=answer.raw.get("model", "")
    )
