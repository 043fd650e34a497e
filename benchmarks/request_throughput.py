"""Requests per second and processor time of pmbench's facade beside the vendors' own clients, side by side.

Run: python benchmarks/request_throughput.py [--requests N] [--rounds N] [--latency MS] [--vendors NAME...]
     [--in-flight N...] [--folder DIR]

One server on loopback, in a process of its own, answers after a fixed time. Against it, in every round one after the
other: each vendor's library over its default transport, over its fastest public one, and pmbench's facade over the
backend of the same vendor, with a completion store on disk: looking up, asking, storing, committing. All put the same
question through the same number of places in flight and begin without connections; the facade also begins with fewer
in flight and finds out what the server bears. Processor time is that of the client's process alone. Ratios are taken
within a round; printed are medians (lowest to highest).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from served import LoopbackLLM, load, middle, processor_seconds

from pmbench.models.catalogue import backend_for, open_backend
from pmbench.models.facade import Traffic
from pmbench.models.store import CompletionStore
from pmbench.running.workers import width_for

TOKENS = 64
SYSTEM = "You answer messages of patients in a clinic. Be brief and kind. " * 4

Ask = Callable[[str], Awaitable[object]]
Client = Callable[[LoopbackLLM, int, Path], AbstractAsyncContextManager[Ask]]

DEFAULT, FASTEST, OURS = "its default transport", "its fastest transport", "pmbench"


@contextlib.asynccontextmanager
async def openai_default(server: LoopbackLLM, _width: int, _folder: Path) -> AsyncIterator[Ask]:
    """OpenAI's library as it comes."""
    import openai

    async with openai.AsyncOpenAI(api_key="key", base_url=server.v1, max_retries=0) as client:
        yield _openai(client)


@contextlib.asynccontextmanager
async def openai_fastest(server: LoopbackLLM, width: int, _folder: Path) -> AsyncIterator[Ask]:
    """OpenAI's library over aiohttp, as its documentation has it, with a pool of the right size."""
    import httpx2
    import openai

    http = openai.DefaultAioHttpClient(limits=httpx2.Limits(max_connections=width))
    async with openai.AsyncOpenAI(
        api_key="key", base_url=server.v1, max_retries=0, http_client=http
    ) as client:
        yield _openai(client)


def _openai(client: Any) -> Ask:
    async def ask(text: str) -> object:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        return await client.chat.completions.create(
            model="m", messages=messages, max_tokens=TOKENS, temperature=0.0, seed=0
        )

    return ask


@contextlib.asynccontextmanager
async def anthropic_default(server: LoopbackLLM, _width: int, _folder: Path) -> AsyncIterator[Ask]:
    """Anthropic's library as it comes."""
    import anthropic

    async with anthropic.AsyncAnthropic(api_key="key", base_url=server.url, max_retries=0) as client:
        yield _anthropic(client)


@contextlib.asynccontextmanager
async def anthropic_fastest(server: LoopbackLLM, width: int, _folder: Path) -> AsyncIterator[Ask]:
    """Anthropic's library over aiohttp, with a pool of the right size."""
    import anthropic
    import httpx2

    http = anthropic.DefaultAioHttpClient(limits=httpx2.Limits(max_connections=width))
    async with anthropic.AsyncAnthropic(
        api_key="key", base_url=server.url, max_retries=0, http_client=http
    ) as client:
        yield _anthropic(client)


def _anthropic(client: Any) -> Ask:
    async def ask(text: str) -> object:
        return await client.messages.create(
            model="m",
            max_tokens=TOKENS,
            system=SYSTEM,
            messages=[{"role": "user", "content": text}],
        )

    return ask


@contextlib.asynccontextmanager
async def google_default(server: LoopbackLLM, _width: int, _folder: Path) -> AsyncIterator[Ask]:
    """Google's library over httpx2, which it comes with."""
    import httpx2
    from google.genai import types

    async with httpx2.AsyncClient() as http:
        options = types.HttpOptions(base_url=server.url, timeout=60_000, httpx_async_client=http)
        async with _google(options) as ask:
            yield ask


@contextlib.asynccontextmanager
async def google_fastest(server: LoopbackLLM, width: int, _folder: Path) -> AsyncIterator[Ask]:
    """Google's library over a session of aiohttp, with a pool of the right size."""
    import aiohttp
    from google.genai import types

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=width)) as session:
        options = types.HttpOptions(base_url=server.url, timeout=60_000, aiohttp_client=session)
        async with _google(options) as ask:
            yield ask


@contextlib.asynccontextmanager
async def _google(options: Any) -> AsyncIterator[Ask]:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="key", http_options=options)
    config = types.GenerateContentConfig(
        system_instruction=SYSTEM, max_output_tokens=TOKENS, temperature=0.0, seed=0
    )

    async def ask(text: str) -> object:
        return await client.aio.models.generate_content(model="m", contents=text, config=config)

    yield ask
    await client.aio.aclose()


def ours(vendor: str) -> Client:
    """The facade over the backend of a vendor, with a store in a folder of its own."""

    @contextlib.asynccontextmanager
    async def make(server: LoopbackLLM, width: int, folder: Path) -> AsyncIterator[Ask]:
        url = server.v1 if vendor == "openai" else server.url
        name = f"{vendor}:m?base_url={url}"
        with tempfile.TemporaryDirectory(dir=folder) as place:
            store = CompletionStore(Path(place) / "completions.sqlite")
            traffic = Traffic(concurrency=width)
            model = open_backend(name, backend_for(name), store=store, traffic=traffic)

            async def ask(text: str) -> object:
                messages: Any = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
                return await model.chat(messages, max_tokens=TOKENS)

            try:
                yield ask
            finally:
                await model.close()
                store.close()

    return make


CLIENTS: dict[str, dict[str, Client]] = {
    "openai": {DEFAULT: openai_default, FASTEST: openai_fastest, OURS: ours("openai")},
    "anthropic": {DEFAULT: anthropic_default, FASTEST: anthropic_fastest, OURS: ours("anthropic")},
    "google": {DEFAULT: google_default, FASTEST: google_fastest, OURS: ours("google")},
}

LEAST = {(32, FASTEST): 0.95, (256, FASTEST): 0.75, (256, DEFAULT): 2.0}
"""Least ratio of our rate to that of the vendor's library, by number in flight and transport. Google's library takes
the fastest transport by itself where aiohttp is installed, so that there is no bound to the other one."""

MOST_CPU = 1.5
"""Most processor time, of what the vendor's library takes over its fastest transport."""


@dataclass(slots=True)
class Measured:
    """What the rounds gave: requests per second; milliseconds of the client's and the server's processor each."""

    rates: list[float] = field(default_factory=list)
    client: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)


async def measure(
    server: LoopbackLLM, client: Client, width: int, requests: int, folder: Path
) -> list[float]:
    """Rate, and milliseconds for each request of the client and of the server."""
    async with client(server, width, folder) as ask:
        # Libraries are imported and the backend is opened before the clock starts.
        await ask("a first one")
        numbers: Iterator[int] = iter(range(requests))

        async def work() -> None:
            for number in numbers:
                await ask(f"Message {number} of a patient")

        places = width_for(width) if client.__qualname__.startswith("ours") else width
        gc.collect()
        served, used, began = processor_seconds(server.pid), time.process_time(), time.perf_counter()
        await asyncio.gather(*(work() for _ in range(places)))
        wall, cpu = time.perf_counter() - began, time.process_time() - used
        served = processor_seconds(server.pid) - served
    stats = server.stats(log=False)
    if stats["by_status"] != {"200": requests + 1} or stats["most_in_flight"] > width:
        raise SystemExit(f"the server saw something else: {stats}")
    return [requests / wall, 1000 * cpu / requests, 1000 * served / requests]


def main() -> None:
    """Print a table for each vendor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=float, default=50, help="of the server, in ms")
    parser.add_argument("--in-flight", type=int, nargs="+", default=[32, 256])
    parser.add_argument("--vendors", nargs="+", choices=list(CLIENTS), default=list(CLIENTS))
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the stores are")
    given = parser.parse_args()
    print(
        f"{given.requests} requests, {given.latency:g} ms, {given.rounds} rounds; median (lowest to highest)"
    )
    with LoopbackLLM() as server:
        for vendor in given.vendors:
            print(f"\n{vendor}, load {load()} at its beginning")
            for width in given.in_flight:
                found = {name: Measured() for name in CLIENTS[vendor]}
                for _ in range(given.rounds):
                    for name, client in CLIENTS[vendor].items():
                        server.reset()
                        server.control(latency=given.latency)
                        run = measure(server, client, width, given.requests, given.folder)
                        for kept, value in zip(
                            (found[name].rates, found[name].client, found[name].server),
                            asyncio.run(run),
                            strict=True,
                        ):
                            kept.append(value)
                show(vendor, width, given.latency, found)
    print(f"\nload {load()} at the end")


def show(vendor: str, width: int, latency: float, found: dict[str, Measured]) -> None:
    """The table of one number in flight, with ratios of pmbench to the others."""
    most = f", {1000 * width / latency:,.0f} requests/s at most" if latency else ""
    print(f"\n{width} in flight{most} | requests/s | CPU ms/request | server's CPU ms/request")
    for name, measured in found.items():
        served = statistics.median(measured.server)
        print(f"{name} | {middle(measured.rates)} | {middle(measured.client, 2)} | {served:.2f}")
    ours = found[OURS]
    for name in (DEFAULT, FASTEST):
        rates = [a / b for a, b in zip(ours.rates, found[name].rates, strict=True)]
        cpu = [a / b for a, b in zip(ours.client, found[name].client, strict=True)]
        least = None if (vendor, name) == ("google", DEFAULT) else LEAST.get((width, name))
        print(
            f"{OURS} to {name}: rate {middle(rates, 2)}{_verdict(statistics.median(rates), least, 1)},"
            f" CPU {middle(cpu, 2)}"
            f"{_verdict(statistics.median(cpu), MOST_CPU if name == FASTEST else None, -1)}",
            flush=True,
        )


def _verdict(value: float, bound: float | None, sign: int) -> str:
    if bound is None:
        return ""
    words = "at least" if sign > 0 else "at most"
    return f" [{words} {bound:g}: {'kept' if sign * (value - bound) >= 0 else 'MISSED'}]"


if __name__ == "__main__":
    main()
