"""For tests of the backend `vllm`: looks at processes, and as a program opens a model and waits to be killed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

from pmbench.core.model import Message
from pmbench.models.backend import Backend, Request
from pmbench.models.catalogue import backend_for


def request(text: str, **given: object) -> Request:
    message: Message = {"role": "user", "content": text}
    return Request((message,), **{"max_tokens": 24, **given})  # type: ignore[arg-type]


def processes(word: str) -> list[int]:
    """Sessions of the living processes of this machine in whose command the word stands."""
    listed = subprocess.run(
        ["ps", "-eo", "sid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [int(sid) for sid, state, args in rows if word in args and not state.startswith("Z")]


def members(session: int) -> list[tuple[int, float]]:
    """The living processes of a session, each with the seconds of a processor that it has used."""
    listed = subprocess.run(
        ["ps", "-eo", "sid=,pid=,stat=,times="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [
        (int(pid), float(used)) for sid, pid, state, used in rows if int(sid) == session and state[0] != "Z"
    ]


def gone(session: int, seconds: float = 10.0) -> bool:
    """Whether no process of a session is left; one that was killed may take a moment to be."""
    end = time.monotonic() + seconds
    while members(session) and time.monotonic() < end:
        time.sleep(0.1)
    return members(session) == []


async def endless(backend: Backend) -> None:
    say("opening")
    await backend.open()
    say("open")
    await backend.chat(request("Tell a very long story about a hospital.", max_tokens=7000, temperature=1.0))
    await asyncio.sleep(600)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(endless(backend_for(sys.argv[1])))
