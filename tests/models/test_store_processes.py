"""The completion store between processes: killed writers, many writers."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from pmbench.models.store import CompletionStore

WRITER = """
import asyncio, os, sys, threading
from pathlib import Path
from pmbench.models.store import CompletionStore

path, first, threads, count = Path(sys.argv[1]), *map(int, sys.argv[2:])
store = CompletionStore(path)

def value(n):
    return f"value {n} ".encode() * 100

async def one(n):
    await store.put(f"{n:064x}", value(n), about={"model": "m", "kind": "chat"})
    os.write(1, f"{n}\\n".encode())  # only ever after the commit, and whole

async def main(start):
    for at in range(start, start + count, 10):
        await asyncio.gather(*[one(n) for n in range(at, min(at + 10, start + count))])

workers = [threading.Thread(target=asyncio.run, args=[main(first + t * count)]) for t in range(threads)]
for worker in workers: worker.start()
for worker in workers: worker.join()
store.close()
"""


@pytest.fixture(params=["wal", "truncate"])
def path(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PMBENCH_STORE_JOURNAL", request.param)
    return tmp_path / "completions.sqlite"


@contextmanager
def started(path: Path, first: int, threads: int, count: int) -> Iterator[subprocess.Popen[str]]:
    """A writer in its own process, which is gone with its pipe afterwards, also where a test fails."""
    arguments = [str(part) for part in (path, first, threads, count)]
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE, text=True
    ) as one:
        try:
            yield one
        finally:
            one.kill()


def value(n: int) -> bytes:
    return f"value {n} ".encode() * 100


def test_a_writer_killed_at_random_moments_loses_nothing_that_it_reported(path: Path) -> None:
    dice = random.Random(5)
    reported: set[int] = set()
    for attempt in range(4):
        with started(path, attempt * 100_000, 2, 50_000) as writer:
            assert writer.stdout is not None
            for _ in range(dice.randrange(1, 300)):
                reported.add(int(writer.stdout.readline()))
            writer.send_signal(signal.SIGKILL)
            # The last line may be torn; a whole one was committed.
            rest = writer.stdout.read().splitlines(keepends=True)
            reported.update(int(line) for line in rest if line.endswith("\n"))
            assert writer.wait() == -signal.SIGKILL
    store = CompletionStore(path)
    assert len(reported) > 4
    assert all(store.get(f"{n:064x}") == value(n) for n in reported)
    store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = connection.execute("SELECT key, value FROM completions").fetchall()
    connection.close()
    # What was written and not reported is whole, too: at most the two batches in flight of each writer.
    assert all(content == value(int(name, 16)) for name, content in found)
    assert len(reported) <= len(found) <= len(reported) + 4 * 2 * 10


def test_three_processes_of_eight_threads_write_at_once(path: Path) -> None:
    # They open a file that is not there yet, and every key is written by all of them.
    with ExitStack() as stack:
        writers = [stack.enter_context(started(path, 0, 8, 25)) for _ in range(3)]
        outputs = [writer.communicate(timeout=120)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert [len(output.split()) for output in outputs] == [200, 200, 200]
    store = CompletionStore(path)
    assert all(store.get(f"{n:064x}") == value(n) for n in range(200))
    store.close()


TWO_STORES = """
import asyncio, hashlib, os, pathlib, signal, subprocess, sys
from pmbench.models.store import CompletionStore

def key(n): return hashlib.sha256(str(n).encode()).hexdigest()
def put(store, n): asyncio.run(store.put(key(n), b"{}", about={"model": "m", "kind": "chat"}))

path = pathlib.Path(sys.argv[1])
first = CompletionStore(path)
put(first, "a")
second = CompletionStore(path)  # as the plan of a second strategy has one
put(first, "b")
come_and_gone = "import sys, pathlib; from pmbench.models.store import CompletionStore; "
come_and_gone += "CompletionStore(pathlib.Path(sys.argv[1])).close()"
subprocess.run([sys.executable, "-c", come_and_gone, str(path)], check=True)
put(first, "c")
put(second, "d")
print("reported", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_two_stores_in_one_process_lose_nothing_to_a_process_that_comes_and_goes(path: Path) -> None:
    """Closing any file drops all locks of a process on it: the other process then deleted the log of ours."""
    done = subprocess.run(
        [sys.executable, "-c", TWO_STORES, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "reported\n", done.stderr
    assert done.returncode == -signal.SIGKILL
    store = CompletionStore(path)
    try:
        lost = [name for name in "abcd" if store.get(sha256(name.encode()).hexdigest()) is None]
        assert lost == []
    finally:
        store.close()
