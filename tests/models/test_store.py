"""The completion store in one process: what stays, what is refused, what each trouble says."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pmbench.core.errors import ConfigError, StorageError
from pmbench.models.journal import file_system, is_network, journal_mode
from pmbench.models.store import FILE_NAME, CompletionStore

ABOUT = {"model": "m", "kind": "chat"}


def key(n: object) -> str:
    return hashlib.sha256(str(n).encode()).hexdigest()


@pytest.fixture(params=["wal", "truncate"])
def path(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PMBENCH_STORE_JOURNAL", request.param)
    yield tmp_path / "runs" / FILE_NAME


def put(store: CompletionStore, n: object, value: bytes = b"{}") -> None:
    asyncio.run(store.put(key(n), value, about=ABOUT))


def test_what_was_put_is_there_for_another_connection_at_once(path: Path) -> None:
    store = CompletionStore(path)
    put(store, 1, b'{"text":"\xc3\xa9"}')
    other = CompletionStore(path)
    assert other.get(key(1)) == b'{"text":"\xc3\xa9"}'
    assert other.get(key(2)) is None
    store.close()
    other.close()


def test_a_stored_completion_is_never_changed(path: Path) -> None:
    store = CompletionStore(path)
    put(store, 1, b"first")
    put(store, 1, b"second")
    assert store.get(key(1)) == b"first"
    store.close()
    again = CompletionStore(path)
    assert again.get(key(1)) == b"first"
    again.close()


def test_the_file_and_what_lies_beside_it_are_for_the_owner_only(path: Path) -> None:
    store = CompletionStore(path)
    put(store, 1)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    store.close()
    path.chmod(0o644)
    CompletionStore(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_journal_asked_for_is_used_and_writes_are_synchronous(path: Path) -> None:
    store = CompletionStore(path)
    assert store.journal == os.environ["PMBENCH_STORE_JOURNAL"]
    assert store._writer.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


def test_many_puts_share_commits(path: Path) -> None:
    store = CompletionStore(path, commit_every=0.05)
    commits = 0

    def count(statement: str) -> None:
        nonlocal commits
        commits += statement == "COMMIT"

    store._writer.set_trace_callback(count)

    async def many() -> None:
        await asyncio.gather(*[store.put(key(n), b"{}", about=ABOUT) for n in range(500)])

    asyncio.run(many())
    store._writer.set_trace_callback(None)
    assert commits <= 3
    assert all(store.get(key(n)) for n in range(500))
    store.close()


def test_cancelling_who_waits_does_not_lose_the_write(path: Path) -> None:
    store = CompletionStore(path)

    async def scene() -> None:
        waiting = asyncio.create_task(store.put(key(1), b"paid", about=ABOUT))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(scene())
    store.close()
    again = CompletionStore(path)
    assert again.get(key(1)) == b"paid"
    again.close()


def test_closing_writes_what_waits_and_may_be_done_twice(path: Path) -> None:
    store = CompletionStore(path, commit_every=0.05)

    async def scene() -> None:
        waiting = [asyncio.create_task(store.put(key(n), b"{}", about=ABOUT)) for n in range(50)]
        await asyncio.sleep(0)
        await asyncio.to_thread(store.close)
        await asyncio.gather(*waiting)
        with pytest.raises(RuntimeError, match="closed"):
            await store.put(key(99), b"{}", about=ABOUT)

    asyncio.run(scene())
    store.close()
    again = CompletionStore(path)
    assert all(again.get(key(n)) for n in range(50))
    again.close()


def test_a_program_that_forgets_to_close_loses_nothing(path: Path) -> None:
    program = """
import asyncio, sys
from pathlib import Path
from pmbench.models.store import CompletionStore
async def main():
    asyncio.create_task(store.put("a" * 64, b"paid", about={}))
    await asyncio.sleep(0)
store = CompletionStore(Path(sys.argv[1]), commit_every=0.05)
asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    store = CompletionStore(path)
    assert store.get("a" * 64) == b"paid"
    store.close()


def test_a_key_that_is_no_digest_is_refused(path: Path) -> None:
    store = CompletionStore(path)
    with pytest.raises(ValueError, match="64"):
        asyncio.run(store.put("short", b"", about=ABOUT))
    store.close()


def test_a_file_that_is_no_database_is_named_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    for content in (b"not a database", b"x" * 5000):
        path.write_bytes(content)
        with pytest.raises(StorageError, match="not a database") as raised:
            CompletionStore(path)
        assert str(path) in str(raised.value)
        assert "--runs" in str(raised.value)
        assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE things (name)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="another program's database"):
        CompletionStore(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(path: Path) -> None:
    CompletionStore(path).close()
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 7")
    newer.close()
    with pytest.raises(StorageError, match=r"schema 7; this one knows 1.*Update pmbench"):
        CompletionStore(path)


def test_a_damaged_file_is_named_and_not_deleted(path: Path) -> None:
    store = CompletionStore(path)

    async def many() -> None:
        await asyncio.gather(*[store.put(key(n), b"x" * 900, about=ABOUT) for n in range(300)])

    asyncio.run(many())
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    damaged = CompletionStore(path)
    with pytest.raises(StorageError, match=r"damaged.*Nothing was deleted"):
        damaged.get(key(5))
    with pytest.raises(StorageError, match="damaged"):
        put(damaged, "new")
    damaged.close()
    assert path.stat().st_size == len(whole)


@pytest.mark.parametrize(
    "place", ["a file/runs/completions.sqlite", "/proc/runs/completions.sqlite", "folder"]
)
def test_a_place_that_cannot_be_written_is_named_with_a_remedy(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="--runs") as raised:
        CompletionStore(tmp_path / place)
    assert str(tmp_path / place) in str(raised.value)


def test_a_full_disk_is_told_to_everybody_and_hangs_nobody(path: Path) -> None:
    program = """
import asyncio, resource, sys
from pathlib import Path
from pmbench.core.errors import StorageError
from pmbench.models.store import CompletionStore
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
store = CompletionStore(Path(sys.argv[1]))
async def main():
    await store.put("0" * 64, b"early", about={})
    puts = [store.put(f"{n:064x}", b"x" * 50_000, about={}) for n in range(1, 21)]
    told = await asyncio.gather(*puts, return_exceptions=True)
    assert all(isinstance(one, StorageError) for one in told), told
    try:
        await store.put("f" * 64, b"late", about={})
    except StorageError as error:
        print(error)
asyncio.run(main())
assert store.get("0" * 64) == b"early"
store.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout
    assert "file-size limit" in done.stdout
    assert "give the same command again" in done.stdout
    store = CompletionStore(path)
    assert store.get("0" * 64) == b"early"
    put(store, "after there is space again")
    store.close()


def test_a_file_held_by_another_process_is_waited_for(path: Path) -> None:
    store = CompletionStore(path)
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, lambda: holder.execute("COMMIT"))
    timer.start()
    put(store, 1, b"waited")
    assert store.get(key(1)) == b"waited"
    timer.join()
    holder.close()
    store.close()


def test_a_file_held_too_long_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pmbench.models.store.BUSY_SECONDS", 0.0)
    store = CompletionStore(path)
    store._writer.execute("PRAGMA busy_timeout = 10")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="another process"):
        put(store, 1)
    holder.execute("ROLLBACK")
    holder.close()
    store.close()


def test_a_put_waits_for_its_commit_only(path: Path) -> None:
    """An idle store commits at once, however long its interval."""
    store = CompletionStore(path, commit_every=30.0)
    began = time.monotonic()
    put(store, 1)
    put(store, 2)
    assert time.monotonic() - began < 20.0  # the interval is limited; not a measurement
    store.close()


MOUNTS = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /home rw,relatime shared:7 master:2 - nfs4 server:/home rw,vers=4.2
31 30 254:1 / /home/me/local\040disk rw - xfs /dev/vdb rw
32 22 0:41 / /data rw - fuse.sshfs me@there:/ rw
33 22 0:42 / /data rw - tmpfs tmpfs rw
34 22 0:43 / /homes rw - lustre mds:/x rw
not a line of a mount table
"""


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/var/x", "ext4"),
        ("/home/me/runs/completions.sqlite", "nfs4"),
        ("/home/me/local disk/runs", "xfs"),
        ("/data/runs", "tmpfs"),
        ("/homes/me", "lustre"),
        ("/homeless", "ext4"),
    ],
)
def test_the_longest_and_last_mount_that_holds_a_path_counts(place: str, kind: str) -> None:
    assert file_system(Path(place), MOUNTS) == kind


def test_network_file_systems_are_known() -> None:
    assert all(
        map(is_network, ["nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "9p", "fuse.sshfs"])
    )
    assert not any(map(is_network, ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "fuseblk", ""]))


def test_the_journal_follows_the_mount_and_the_variable_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"22 1 0:1 / / rw - ext4 x rw\n23 22 0:2 / {tmp_path.resolve()} rw - nfs4 y rw\n")
    monkeypatch.setattr("pmbench.models.journal._MOUNTS", table)
    monkeypatch.delenv("PMBENCH_STORE_JOURNAL", raising=False)
    store = CompletionStore(tmp_path / FILE_NAME)
    assert store.journal == "truncate"
    store.close()
    assert journal_mode(Path("/elsewhere")) == "wal"
    monkeypatch.setenv("PMBENCH_STORE_JOURNAL", "WAL")
    again = CompletionStore(tmp_path / FILE_NAME)
    assert again.journal == "wal"
    again.close()
    monkeypatch.setenv("PMBENCH_STORE_JOURNAL", "off")
    with pytest.raises(ConfigError, match="wal or truncate"):
        CompletionStore(tmp_path / FILE_NAME)
