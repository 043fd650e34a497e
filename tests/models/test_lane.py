"""How many requests a server is sent: found out by trying, and never more than was said."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pmbench.core.errors import Halted, RequestFailed
from pmbench.models.backend import Limits
from pmbench.models.settings import Rates
from pmbench.models.traffic.lane import GIVEN_UP, Lane, lane_for

REFUSED = RequestFailed("rate-limit", retryable=True)


async def through(lane: Lane, count: int, serve: Callable[[], Awaitable[None]]) -> None:
    async def one() -> None:
        async with lane.place():
            await serve()

    await asyncio.gather(*[one() for _ in range(count)], return_exceptions=True)


def test_the_number_in_flight_doubles_while_all_goes_well_up_to_the_most() -> None:
    seen: list[int] = []

    async def scene() -> None:
        lane = Lane(100)

        async def serve() -> None:
            seen.append(lane.in_flight)
            await asyncio.sleep(0)

        await through(lane, 1000, serve)
        assert lane.limit == 100

    asyncio.run(scene())
    assert max(seen) == 100


def test_it_grows_only_where_all_places_were_used() -> None:
    async def scene() -> None:
        lane = Lane(100)
        for _ in range(50):
            async with lane.place():
                await asyncio.sleep(0)
        assert lane.limit == 16

    asyncio.run(scene())


def test_refusals_of_one_round_halve_it_once_and_later_growth_is_by_one() -> None:
    async def scene() -> None:
        lane = Lane(64)
        busy = asyncio.Event()

        async def refused() -> None:
            await busy.wait()
            raise REFUSED

        round_ = asyncio.create_task(through(lane, 16, refused))
        while lane.in_flight < 16:
            await asyncio.sleep(0)
        busy.set()
        await round_
        assert lane.limit == 8 and lane.refused == 16

        async def fine() -> None:
            await asyncio.sleep(0)

        await through(lane, 8, fine)
        assert 8 < lane.limit <= 9
        await through(lane, 1, refused)
        assert lane.limit == pytest.approx(4.0, abs=0.51)

    asyncio.run(scene())


def test_never_fewer_than_one() -> None:
    async def scene() -> None:
        lane = Lane(8)

        async def refused() -> None:
            raise REFUSED

        for _ in range(20):
            await through(lane, 1, refused)
        assert lane.limit == 1
        await through(lane, 3, lambda: asyncio.sleep(0))

    asyncio.run(scene())


def test_nobody_sends_while_a_server_asked_to_wait() -> None:
    times: list[float] = []

    async def scene() -> None:
        lane = Lane(8)
        loop = asyncio.get_running_loop()

        async def first() -> None:
            raise RequestFailed("rate-limit", retryable=True, retry_after=0.2)

        await through(lane, 1, first)
        begun = loop.time()

        async def serve() -> None:
            times.append(loop.time() - begun)

        await through(lane, 4, serve)

    asyncio.run(scene())
    assert min(times) >= 0.15


def test_headers_that_say_nothing_is_left_hold_everybody() -> None:
    async def scene() -> float:
        lane = Lane(8)
        lane.hear(Limits(requests=5.0, requests_reset=9.0))
        lane.hear(Limits(tokens=0.0, tokens_reset=0.2))
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with lane.place():
            return loop.time() - begun

    assert asyncio.run(scene()) >= 0.15


@pytest.mark.parametrize(
    ("rates", "tokens"), [(Rates(requests_per_minute=600.0), 0.0), (Rates(tokens_per_minute=6000.0), 10.0)]
)
def test_a_rate_is_kept_to_in_every_second(rates: Rates, tokens: float) -> None:
    """Ten a second, one second's worth at once: 25 take 1.5 seconds."""
    now = 0.0
    sent: list[float] = []

    async def scene() -> None:
        nonlocal now
        lane = Lane(64, rates, clock=lambda: now)

        async def one() -> None:
            async with lane.place(tokens):
                sent.append(now)

        tasks = [asyncio.create_task(one()) for _ in range(25)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            now += 0.01
            lane._let_through()  # what its timer does

    asyncio.run(scene())
    assert len(sent) == 25
    for start in sent:
        assert sum(start <= other < start + 1.0 - 1e-9 for other in sent) <= 20
    assert sent[-1] == pytest.approx(1.5, abs=0.1)


def test_many_that_failed_for_good_in_a_row_stop_the_run() -> None:
    lane = Lane(8)
    for _ in range(GIVEN_UP - 1):
        lane.gave_up("mine", "server")
    lane.answered()
    for _ in range(GIVEN_UP - 1):
        lane.gave_up("mine", "server")
    with pytest.raises(Halted, match="20 requests in a row failed after all retries"):
        lane.gave_up("mine", "server")


def test_who_gives_up_waiting_leaves_no_place_behind() -> None:
    async def scene() -> None:
        lane = Lane(1)
        async with lane.place():
            waiting = asyncio.create_task(through(lane, 1, lambda: asyncio.sleep(0)))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        assert lane.in_flight == 0
        await asyncio.wait_for(through(lane, 2, lambda: asyncio.sleep(0)), 5)

    asyncio.run(scene())


def test_one_event_loop_after_another() -> None:
    lane = Lane(2)
    for _ in range(2):
        asyncio.run(through(lane, 9, lambda: asyncio.sleep(0)))
    assert lane.in_flight == 0


def test_models_of_one_account_share_a_lane_and_the_tighter_bounds_hold() -> None:
    one = lane_for("account", 64, Rates())
    other = lane_for("account", 8, Rates(requests_per_minute=60.0))
    assert one is other and one.most == 8
    assert lane_for("another", 64, Rates()) is not one
