"""Questions put to a judge side by side: what is under way when one fails is paid for, and comes to its end."""

import asyncio

import pytest

from pmbench import RequestFailed
from pmbench_tasks.drafting.judging.asking import SIDE_BY_SIDE, side_by_side


def test_answers_come_in_the_order_of_the_questions() -> None:
    async def answer(n: int) -> int:
        await asyncio.sleep(0.001 * (10 - n))
        return n

    asked = [lambda n=n: answer(n) for n in range(10)]
    assert asyncio.run(side_by_side(asked)) == list(range(10))


def test_what_is_under_way_ends_and_nothing_more_is_begun() -> None:
    begun, ended = [], []

    async def answer(n: int) -> int:
        begun.append(n)
        await asyncio.sleep(0.01)
        if n == 0:
            raise RequestFailed("refused", "the first one fails")
        await asyncio.sleep(0.02)
        ended.append(n)
        return n

    asked = [lambda n=n: answer(n) for n in range(5 * SIDE_BY_SIDE)]
    with pytest.raises(RequestFailed, match="the first one fails"):
        asyncio.run(side_by_side(asked))
    assert begun == list(range(SIDE_BY_SIDE))
    assert ended == begun[1:]


def test_an_answer_that_is_an_error_is_an_answer() -> None:
    """A judge that counts what failed returns it instead of raising it."""
    failed = RequestFailed("server")

    async def answer(n: int) -> int | RequestFailed:
        return failed if n == 1 else n

    assert asyncio.run(side_by_side([lambda n=n: answer(n) for n in range(3)])) == [0, failed, 2]


def test_an_interruption_calls_everything_off() -> None:
    ended = []

    async def answer(n: int) -> int:
        await asyncio.sleep(10)
        ended.append(n)
        return n

    async def main() -> None:
        work = asyncio.ensure_future(side_by_side([lambda n=n: answer(n) for n in range(3)]))
        await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(main())
    assert ended == []
