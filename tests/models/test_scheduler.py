"""The gatherer: order, batches, and whose error is whose."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench.models.traffic.gatherer import Gatherer


class Doubling:
    """Doubles numbers, remembers its batches, and fails for a batch that holds a bad one."""

    def __init__(self, bad: int | None = None) -> None:
        self.batches: list[list[int]] = []
        self.bad = bad
        self.at_once = self.most_at_once = 0

    async def __call__(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.001)
        self.at_once -= 1
        if self.bad in items:
            raise ValueError("bad")
        return [2 * item for item in items]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 99), max_size=7), max_size=12), st.integers(1, 9), st.integers(1, 3))
def test_everybody_gets_the_results_of_his_own_items(
    asked: list[list[int]], most: int, parallel: int
) -> None:
    doubling = Doubling()

    async def scene() -> list[list[int]]:
        gather: Gatherer[int, int] = Gatherer(doubling, most=most, parallel=parallel)
        return await asyncio.gather(*[gather(items) for items in asked])

    assert asyncio.run(scene()) == [[2 * item for item in items] for items in asked]
    assert sum(map(len, doubling.batches)) == sum(map(len, asked))
    assert all(1 <= len(batch) <= most for batch in doubling.batches)
    assert doubling.most_at_once <= parallel


def test_what_is_asked_at_the_same_time_goes_out_together_and_full_batches_first() -> None:
    doubling = Doubling()

    async def late(gather: Gatherer[int, int], n: int) -> list[int]:
        await asyncio.sleep(0)  # one turn of the loop later than the others
        return await gather([n])

    async def scene() -> None:
        gather: Gatherer[int, int] = Gatherer(doubling, most=4)
        await asyncio.gather(*[gather([n]) for n in range(6)], late(gather, 6))

    asyncio.run(scene())
    assert doubling.batches == [[0, 1, 2, 3], [4, 5, 6]]


def test_a_failed_batch_fails_its_callers_only() -> None:
    async def scene() -> list[Any]:
        gather: Gatherer[int, int] = Gatherer(Doubling(bad=2), most=2)
        asked = [gather([0, 1]), gather([2, 3, 4]), gather([5, 6])]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, second, third = asyncio.run(scene())
    assert first == [0, 2]
    assert isinstance(second, ValueError)
    # The fourth item shares a batch with nobody who failed: 4 was dropped with its caller.
    assert third == [10, 12]


def test_items_of_a_cancelled_caller_do_not_go_out() -> None:
    doubling = Doubling()

    async def scene() -> None:
        gather: Gatherer[int, int] = Gatherer(doubling, most=9)
        gone = asyncio.create_task(gather([1, 2]))
        stays = asyncio.create_task(gather([3]))
        await asyncio.sleep(0)
        gone.cancel()
        assert await stays == [6]

    asyncio.run(scene())
    assert doubling.batches == [[3]]


def test_a_batch_with_too_few_results_is_an_error() -> None:
    async def forgetful(items: list[int]) -> list[int]:
        return items[1:]

    async def scene() -> None:
        await Gatherer(forgetful, most=3)([1, 2])

    with pytest.raises(RuntimeError, match="2 items got 1 results"):
        asyncio.run(scene())


def test_a_gatherer_serves_one_event_loop_after_another() -> None:
    gather: Gatherer[int, int] = Gatherer(Doubling(), most=3)

    async def ends_early() -> None:
        asyncio.create_task(gather([1, 2, 3, 4]))  # noqa: RUF006 - it is left behind on purpose
        await asyncio.sleep(0)

    async def later() -> list[int]:
        return await gather([5])

    asyncio.run(ends_early())
    assert asyncio.run(later()) == [10]


def test_senseless_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Gatherer(Doubling(), most=0)
