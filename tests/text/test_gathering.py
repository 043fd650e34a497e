"""Items of coroutines in flight are answered together; each caller gets its own answer or the error of its batch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from pmbench.text.gathering import Gathering


class Doubler:
    """Doubles numbers, and notes the batches that it was given."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        if 13 in numbers:
            raise ValueError("thirteen")
        return [2 * number for number in numbers]


def test_what_is_in_flight_goes_out_together() -> None:
    doubler = Doubler()
    gathering = Gathering(doubler, most=4)

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(gathering(number) for number in range(10)))

    assert asyncio.run(all_of_them()) == [2 * number for number in range(10)]
    assert [len(batch) for batch in doubler.batches] == [4, 4, 2]


def test_one_after_another_works_too_and_in_another_loop() -> None:
    doubler = Doubler()
    gathering = Gathering(doubler, most=4)

    async def in_turn() -> list[int]:
        return [await gathering(number) for number in (1, 2)]

    assert asyncio.run(in_turn()) == asyncio.run(in_turn()) == [2, 4]
    assert doubler.batches == [[1], [2], [1], [2]]


def test_an_error_reaches_the_callers_of_its_batch_only() -> None:
    gathering = Gathering(Doubler(), most=2)

    async def all_of_them() -> list[int | BaseException]:
        return await asyncio.gather(*(gathering(number) for number in (1, 13, 3, 4)), return_exceptions=True)

    found = asyncio.run(all_of_them())
    assert [str(value) for value in found] == ["thirteen", "thirteen", "6", "8"]


def test_a_caller_who_left_is_not_answered() -> None:
    doubler = Doubler()
    gathering = Gathering(doubler, most=4)

    async def two_of_three() -> list[int]:
        tasks = [asyncio.create_task(gathering(number)) for number in (1, 2, 3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        return [await tasks[0], await tasks[2]]

    assert asyncio.run(two_of_three()) == [2, 6]
    assert doubler.batches == [[1, 3]]


def test_too_few_answers_are_an_error() -> None:
    gathering: Gathering[int, int] = Gathering(lambda _numbers: [], most=2)
    with pytest.raises(RuntimeError, match="1 items got 0 results"):
        asyncio.run(gathering(1))
