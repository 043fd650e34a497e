"""Puts per second of the completion store: group commit beside one commit for each put, on the same disk.

Run: python benchmarks/store_throughput.py [--puts N] [--in-flight N...] [--rounds N] [--folder DIR]

All sides write the same rows with the same journal and `synchronous = FULL`. The baseline is plain sqlite3
without threads or event loop, so it is no slower than it must be. The store is measured with its own interval
between commits and with none: with few in flight the interval is what bounds it. Sides alternate within a
round and ratios are taken within it; the range is printed since the disk of a shared machine wanders.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pmbench.models.store import CompletionStore

VALUE = b'{"text":"' + b"x" * 1500 + b'"}'


def keys(count: int) -> list[str]:
    """Distinct keys of the store's shape."""
    return [hashlib.sha256(str(n).encode()).hexdigest() for n in range(count)]


INTERVALS = (0.02, 0.0)


def grouped(path: Path, count: int, in_flight: int, commit_every: float) -> None:
    """Put through the store, as many at once as a run would have in flight."""
    store = CompletionStore(path, commit_every=commit_every)

    async def worker(waiting: list[str]) -> None:
        while waiting:
            await store.put(waiting.pop(), VALUE, about={"model": "m", "kind": "chat"})

    async def work() -> None:
        waiting = keys(count)
        await asyncio.gather(*[worker(waiting) for _ in range(in_flight)])

    asyncio.run(work())
    store.close()


def one_by_one(path: Path, count: int) -> None:
    """One transaction for each row."""
    CompletionStore(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("PRAGMA synchronous = FULL")
    for key in keys(count):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT OR IGNORE INTO completions VALUES (?, ?, 'm', 'chat', '')", (key, VALUE))
        connection.execute("COMMIT")
    connection.close()


def rate(work: Callable[[Path], None], folder: Path, count: int) -> float:
    """Puts per second, opening and closing included; checks that every row is there."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "completions.sqlite"
        began = time.perf_counter()
        work(path)
        seconds = time.perf_counter() - began
        connection = sqlite3.connect(path)
        stored = connection.execute("SELECT count(*) FROM completions").fetchone()[0]
        connection.close()
    if stored != count:
        raise SystemExit(f"{stored} of {count} rows are stored")
    return count / seconds


def one_round(folder: Path, count: int, in_flight: int) -> list[float]:
    """Rates of the store with each interval, then of the baseline."""
    rates = [
        rate(lambda path, every=every: grouped(path, count, in_flight, every), folder, count)  # type: ignore[misc]
        for every in INTERVALS
    ]
    return [*rates, rate(lambda path: one_by_one(path, count), folder, count)]


def main() -> None:
    """Print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--puts", type=int, default=2000, help="most puts of a round; 100 for each in flight")
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 32, 256])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="a folder on the disk to measure")
    given = parser.parse_args()
    print(f"{len(VALUE)} bytes a put, {given.rounds} rounds, in {given.folder}; median (lowest to highest)")
    print("in flight | puts | side | puts/s | ratio to one commit per put")
    for in_flight in given.in_flight:
        count = min(given.puts, 100 * in_flight)
        rounds = [one_round(given.folder, count, in_flight) for _ in range(given.rounds)]
        for side, name in enumerate([*(f"interval {every} s" for every in INTERVALS), "one per put"]):
            rates = [one[side] for one in rounds]
            ratios = [one[side] / one[-1] for one in rounds]
            print(f"{in_flight} | {count} | {name} | {_range(rates, 0)} | {_range(ratios, 2)}", flush=True)


def _range(values: list[float], digits: int) -> str:
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


if __name__ == "__main__":
    main()
