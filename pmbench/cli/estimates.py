"""What a plan will take, as `--dry-run` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pmbench.running.estimating import Ends, Estimate, Part


def estimate_lines(estimate: Estimate) -> Iterator[str]:
    """Requests, tokens and money, each with what it is worth."""
    model = estimate.model
    yield f"requests  {_range(model.requests)} to the model, {_range(estimate.judge_requests)} to judges"
    yield from _part("the model", model)
    for role, part in estimate.judges.items():
        yield from _part(f"the judge of {role}", part)
    if any(part.cost for part in estimate.parts):
        yield from _money(estimate)
    elif not any(part.unpriced for part in estimate.parts):
        yield "money     none: nothing here has a price"


def _part(who: str, part: Part) -> Iterator[str]:
    if not part.requests[1]:
        return
    most = "" if part.answer_tokens is None else f", at most {part.answer_tokens:,} of answers"
    yield f"tokens    about {_range(part.prompt_tokens)} of prompts to {who}{most} ({part.counter})"
    if part.tried:
        yield f"          from the first request of {_instances(part.tried)}"
    yield from (f"          {note}" for note in part.notes)
    if part.cost:
        least, most_dollars = part.cost
        ends = _dollars(least) if least == most_dollars else f"{_dollars(least)} to {_dollars(most_dollars)}"
        unknown = ", answers not counted" if part.answer_tokens is None else ""
        yield f"money     about {ends} for {who}{unknown}"
    elif part.unpriced:
        yield f"money     unknown for {who}: {part.unpriced}"


def _money(estimate: Estimate) -> Iterator[str]:
    from pmbench.models.cost.prices import list_date

    priced = [part.cost for part in estimate.parts if part.cost]
    least, most = sum(cost[0] for cost in priced), sum(cost[1] for cost in priced)
    if len(priced) > 1:
        yield f"          about {_dollars(least)} to {_dollars(most)} in all"
    dated = list_date()
    listed = f"own prices, else {dated}" if dated else "own prices"
    yield f"          {listed}; answers that the store has, which cost nothing, are not taken off"


def _dollars(sum_: float) -> str:
    """Two decimals, four below a dollar: small runs cost cents."""
    return f"${sum_:,.2f}" if sum_ >= 1 or not sum_ else f"${sum_:.4f}"


def _instances(number: int) -> str:
    return f"each of {number} instances" if number > 1 else "one instance"


def _range(ends: Ends) -> str:
    return f"{ends[0]:,}" if ends[0] == ends[1] else f"{ends[0]:,} to {ends[1]:,}"
