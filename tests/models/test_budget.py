"""What a run may cost: never more, by what is known before an answer is there."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench.core.errors import Halted
from pmbench.models.traffic.budget import Budget


def test_requests_are_counted_with_those_of_earlier_commands() -> None:
    budget = Budget(max_requests=5)
    budget.spent(3, 0.0)
    budget.take_now(None)
    budget.take_now(None)
    with pytest.raises(Halted, match="the 5 requests that --max-requests allows") as stopped:
        budget.take_now(None)
    assert stopped.value.to_go_on.endswith("with a higher --max-requests")


def test_what_is_under_way_is_set_aside() -> None:
    budget = Budget(max_cost=1.0)
    budget.take_now(0.4)
    budget.take_now(0.4)
    with pytest.raises(Halted, match=r"the next request could cost up to \$0.4000"):
        budget.take_now(0.4)
    budget.settle(0.4, 0.1)
    budget.take_now(0.4)
    budget.settle(0.4, 0.4)
    budget.settle(0.4, None)  # it failed, and cost nothing
    assert budget.cost == pytest.approx(0.5)


@given(st.lists(st.tuples(st.floats(0.001, 1.0), st.floats(0.0, 1.0)), max_size=40), st.floats(0.01, 5.0))
def test_it_is_never_exceeded_where_estimates_hold(answers: list[tuple[float, float]], most: float) -> None:
    budget, under_way = Budget(max_cost=most), []
    for estimate, share in answers:
        try:
            budget.take_now(estimate)
        except Halted:
            break
        under_way.append((estimate, estimate * share))
        if len(under_way) > 3:
            budget.settle(*under_way.pop(0))
    for estimate, cost in under_way:
        budget.settle(estimate, cost)
    assert budget.cost <= most + 1e-9


def test_what_does_not_fit_waits_for_what_is_under_way_and_stops_only_when_nothing_is() -> None:
    async def scene() -> list[str]:
        budget, ended = Budget(max_cost=1.0), []

        async def one(number: int) -> None:
            try:
                await budget.take(0.6)
            except Halted:
                ended.append("halted")
                return
            await asyncio.sleep(0)
            budget.settle(0.6, 0.15)
            ended.append("answered")

        await asyncio.gather(*[one(number) for number in range(6)])
        return ended

    # One after the other: 0.6 fits beside 0, 0.15 and 0.3, and not beside 0.45.
    assert asyncio.run(scene()) == ["answered"] * 3 + ["halted"] * 3


def test_without_bounds_nothing_is_refused() -> None:
    budget = Budget()
    for _ in range(1000):
        budget.take_now(5.0)
        budget.settle(5.0, 5.0)
    assert budget.requests == 1000 and budget.cost == 5000.0


def test_thinking_is_part_of_the_most_that_an_answer_can_have(plain_environment: None) -> None:
    from pmbench.models.backend import Request
    from pmbench.models.catalogue import backend_for

    request = Request(({"role": "user", "content": "a"},), max_tokens=100)
    assert backend_for("openai:gpt-4o").answer_tokens(request) == 100
    for name in ("openai:o3-mini", "anthropic:claude-sonnet-4-5?thinking=2048", "google:gemini-2.5-pro"):
        assert backend_for(name).answer_tokens(request) >= 100 + 1024
