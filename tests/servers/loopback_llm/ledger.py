"""What reached the server: counts, and one line per request."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256

from .wire import Json

NO_ANSWER = 0  # status of a request that was left without any answer
CLIENT_LEFT = 499  # status of a request whose client went away first


@dataclass(slots=True)
class Entry:
    """One request.

    Args:
        at: seconds since the ledger began.
        path: its path.
        digest: names the request: equal for equal paths and bodies.
        status: of the answer; `NO_ANSWER`, `CLIENT_LEFT`.
        fault: what went wrong on command, or an empty text.
        taken: seconds until it was done with.
        received: bytes of its head and body.
        key: names the key that came with it (a hash, never the key itself), or an empty text.
    """

    at: float
    path: str
    digest: str = ""
    status: int = NO_ANSWER
    fault: str = ""
    taken: float = 0.0
    received: int = 0
    key: str = ""


def key_name(key: str) -> str:
    """What the statistics call a key, so that a test can tell which one came without the server keeping it."""
    return sha256(key.encode(errors="replace")).hexdigest()[:8] if key else ""


class Ledger:
    """Everything that was counted since the last reset. Requests to the control paths are not in it."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.entries: list[Entry] = []
        self.items: list[Entry] = []
        self.received = 0
        self.connections = 0
        self.through_proxy = 0
        self.in_flight = 0
        self.most_in_flight = 0

    def now(self) -> float:
        """Seconds since the ledger began."""
        return time.monotonic() - self._began

    def arrive(self, path: str) -> Entry:
        """A request has come in."""
        entry = Entry(self.now(), path)
        self.entries.append(entry)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return entry

    def leave(self, entry: Entry) -> None:
        """A request is done with."""
        self.in_flight -= 1
        entry.taken = self.now() - entry.at

    def item(self, path: str, digest: str, status: int, fault: str) -> None:
        """An item of a batch job was answered."""
        self.items.append(Entry(self.now(), path, digest, status, fault))

    def told(self, *, log: bool) -> Json:
        """The statistics as JSON.

        Args:
            log: whether every request is listed: [seconds, status, digest, path, fault, seconds taken].
        """
        entries = self.entries
        bytes_by_path: Counter[str] = Counter()
        for entry in entries:
            bytes_by_path[entry.path] += entry.received
        answered = Counter(e.digest for e in [*entries, *self.items] if e.status == 200 and not e.fault)
        told: Json = {
            "requests": len(entries),
            "bytes": self.received,
            "connections": self.connections,
            "through_proxy": self.through_proxy,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "by_path": Counter(e.path for e in entries),
            "bytes_by_path": bytes_by_path,
            "by_second": {str(second): n for second, n in Counter(int(e.at) for e in entries).items()},
            "by_status": {str(status): n for status, n in Counter(e.status for e in entries).items()},
            "by_fault": Counter(e.fault for e in entries if e.fault),
            "by_key": Counter(e.key for e in entries),
            "distinct": len({e.digest for e in entries}),
            "answered_again": sum(n - 1 for n in answered.values()),
            "batch_items": len(self.items),
        }
        if log:
            told["log"] = [_line(e) for e in entries]
            told["batch_log"] = [_line(e) for e in self.items]
        return told


def _line(entry: Entry) -> list[float | int | str]:
    return [round(entry.at, 6), entry.status, entry.digest, entry.path, entry.fault, round(entry.taken, 6)]
