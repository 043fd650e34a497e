"""In which order prompts reach an engine that reuses what they have in common."""

from __future__ import annotations

import asyncio
import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench.models.traffic.prefix_gate import PrefixGate


def served(prompts: list[str], parallel: int = 1) -> tuple[list[str], int]:
    """The prompts in the order in which they were served, and the most at once."""
    order: list[str] = []
    inside = most = 0

    async def one(gate: PrefixGate, prompt: str) -> None:
        nonlocal inside, most
        async with gate.turn(prompt):
            order.append(prompt)
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async def scene() -> None:
        gate = PrefixGate(parallel)
        await asyncio.gather(*[one(gate, prompt) for prompt in prompts])

    asyncio.run(scene())
    return order, most


def _common(one: str, other: str) -> str:
    return "".join(
        a for a, _ in itertools.takewhile(lambda ab: ab[0] == ab[1], zip(one, other, strict=False))
    )


def shared(order: list[str]) -> int:
    """Characters that prompts have in common with the one before."""
    return sum(len(_common(*pair)) for pair in itertools.pairwise(order))


def test_pairs_of_an_inbox_come_grouped_by_their_first_message() -> None:
    pairs = [f"message {a:02d} against {b:02d}" for a in range(30) for b in range(30) if a != b]
    random.Random(0).shuffle(pairs)
    order, _ = served(pairs)
    assert sorted(order) == sorted(pairs)
    changes = sum(one[:10] != other[:10] for one, other in itertools.pairwise(order))
    # 29 changes between 30 first messages; the group that was begun in its middle comes twice.
    assert changes <= 30
    assert shared(order) >= 0.99 * shared(sorted(pairs))


@settings(deadline=None)
@given(st.lists(st.text(max_size=5), max_size=30), st.integers(0, 5))
def test_everybody_is_served_once_and_never_too_many_at_once(prompts: list[str], parallel: int) -> None:
    order, most = served(prompts, parallel)
    assert sorted(order) == sorted(prompts)
    assert most <= max(1, parallel)


def test_equal_prompts_are_served_in_the_order_in_which_they_came() -> None:
    numbers: list[int] = []

    async def one(gate: PrefixGate, number: int) -> None:
        async with gate.turn(""):
            numbers.append(number)
            await asyncio.sleep(0)

    async def scene() -> None:
        gate = PrefixGate(4)
        await asyncio.gather(*[one(gate, number) for number in range(30)])

    asyncio.run(scene())
    assert numbers == list(range(30))


def test_nobody_waits_for_more_than_a_round() -> None:
    """Newcomers that would always be next do not keep an earlier prompt from its turn."""
    order: list[str] = []

    async def one(gate: PrefixGate, prompt: str) -> None:
        async with gate.turn(prompt):
            order.append(prompt)
            await asyncio.sleep(0)

    async def scene() -> None:
        gate = PrefixGate(1)
        tasks = [asyncio.create_task(one(gate, prompt)) for prompt in ("m", "a")]
        for number in range(20):
            await asyncio.sleep(0)
            tasks.append(asyncio.create_task(one(gate, f"n{number:02d}")))
        await asyncio.gather(*tasks)

    asyncio.run(scene())
    assert "a" in order


def test_who_is_given_up_leaves_no_place_behind() -> None:
    async def scene() -> None:
        gate = PrefixGate(1)
        async with gate.turn("a"):
            waiting = asyncio.create_task(gate.admit("b"))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with gate.turn("c"):
            pass
        async with gate.turn("d"):
            pass

    asyncio.run(asyncio.wait_for(scene(), 5))


def test_one_event_loop_after_another() -> None:
    gate = PrefixGate(1)

    async def three() -> None:
        await asyncio.gather(*[_pass(gate, prompt) for prompt in "abc"])

    asyncio.run(three())
    asyncio.run(three())


async def _pass(gate: PrefixGate, prompt: str) -> None:
    async with gate.turn(prompt):
        await asyncio.sleep(0)
