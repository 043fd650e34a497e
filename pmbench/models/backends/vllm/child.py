"""The engine's process as pmbench sees it: started, asked, left, ended; and never outliving pmbench.

vLLM starts processes of its own that go on after whoever started them was killed, and everything that it says goes to
the terminal. So the engine lives in a process that leads a session: it ends itself and all the others when
its input ends, which happens however pmbench ends, and what they print is read here and thrown away.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import IO, Any

import msgspec

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.models.backends.vllm import wire

_SECONDS_TO_END = 25.0
"""How long the process may take to end by itself. It waits for its own processes a little less."""

_SECONDS_TO_CLEAR = 5.0

_MOST_LETTERS = 45
"""Of the folder in which the sockets' folder is made: the name of a socket has a hundred at most, 56 of them ours."""

_LINES = 400
"""Of what is printed while the engine loads, which is before it has read any prompt, the last lines are kept."""

_ERROR = re.compile(r"(?:\([^)]*\) [A-Z]+ [\d-]+ [\d:]+ \[[^\]]*\] )?([\w.]*(?:Error|Exception)): (\S.*)")
_NO_REASON = re.compile(r"initialization failed|see (?:root cause|stack trace)", re.IGNORECASE)
_MOST_WORDS = 300

_TAKEN_AWAY = re.compile(r"OTEL_|VLLM_LOGGING_CONFIG_PATH|VLLM_(TRACE|DEBUG)_|VLLM_CONFIGURE_LOGGING")
"""Settings that would have prompts or traces of them written or sent somewhere."""


def environment(scratch: str) -> dict[str, str]:
    """The environment of the engine's process: no telemetry, no download, sockets where only the user gets."""
    kept = {name: value for name, value in os.environ.items() if not _TAKEN_AWAY.match(name)}
    return kept | {
        "DO_NOT_TRACK": "1",
        "VLLM_DO_NOT_TRACK": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_RPC_BASE_PATH": scratch,
        # What its processes tell one another stays on this machine.
        "VLLM_HOST_IP": "127.0.0.1",
        "VLLM_LOOPBACK_IP": "127.0.0.1",
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "PYTHONSAFEPATH": "1",
    }


def reason(lines: list[str]) -> str:
    """The last error of a log that says something of the cause, in one line; empty if there is none."""
    for line in reversed(lines):
        found = _ERROR.match(line.strip())
        if found and not _NO_REASON.search(found[2]):
            said = re.sub(r",? please (check|see) .*", "", found[2])
            return f"{found[1].rpartition('.')[2]}: {said}"[:_MOST_WORDS]
    return ""


class EngineProcess:
    """The process with the engine.

    Args:
        where: the model, for errors.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._waiting: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[wire.Answer]]] = {}
        self._lock = threading.Lock()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._printed: deque[str] = deque(maxlen=_LINES)
        self._threads: list[threading.Thread] = []
        self._ended, self._silent = threading.Event(), threading.Event()
        self._stopping = threading.Lock()
        self._last = 0
        self._over: Exception | None = None

    def start(self, load: wire.Load) -> None:
        """Start it and wait until the engine is loaded; takes a minute or more, to be called in a thread.

        Args:
            load: what to load; its `scratch` is filled in here.

        Raises:
            ModelUnavailable: the engine cannot be loaded.
        """
        self._scratch = tempfile.TemporaryDirectory(
            prefix="pmbench-vllm-", dir=_place_for_sockets(), ignore_cleanup_errors=True
        )
        command = [sys.executable, "-m", "pmbench.models.backends.vllm.engine"]
        with self._lock:
            if self._over is not None:
                self._scratch.cleanup()
                raise ModelUnavailable("was closed while it was loaded", where=self._where)
            self._process = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(self._scratch.name),
                start_new_session=True,
            )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._start_thread(self._write, self._process.stdin.fileno())
        self._start_thread(self._drain, self._process.stderr)
        self._outbox.put(wire.frame(msgspec.structs.replace(load, scratch=self._scratch.name)))
        answers = self._process.stdout.fileno()
        said = _heard(answers)
        if not isinstance(said, wire.Ready):
            self._ended.set()
            raise self._not_loaded(said.why if isinstance(said, wire.Unfit) else "")
        self._printed = deque(maxlen=0)
        self._start_thread(self._read, answers)

    async def ask(self, ask: wire.Ask) -> wire.Answer:
        """The answer to a request; its number is given here. A request that is cancelled is left by the engine.

        Raises:
            RequestFailed: it has none.
            ModelUnavailable: the engine has broken down.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[wire.Answer] = loop.create_future()
        with self._lock:
            self._last += 1
            number = self._last
        try:
            framed = wire.frame(msgspec.structs.replace(ask, number=number))
        except UnicodeEncodeError:
            raise RequestFailed("invalid", "a text that is not whole (half a surrogate pair)") from None
        with self._lock:
            if self._over is not None:
                raise self._over
            self._waiting[number] = loop, future
        self._outbox.put(framed)
        try:
            return await future
        finally:
            with self._lock:
                unanswered = self._waiting.pop(number, None)
            if unanswered is not None:
                self._outbox.put(wire.frame(wire.Leave(number)))

    def stop(self) -> None:
        """End it, and wait until it is gone; may be called more than once, and while it is being started."""
        self._end(RequestFailed("closed", "the model was closed during the request"))
        with self._stopping:
            if self._process is not None:
                self._ended.wait(_SECONDS_TO_END)
                self._sweep(self._process)
            if self._scratch is not None:
                self._scratch.cleanup()

    def _sweep(self, process: subprocess.Popen[bytes]) -> None:
        """Kill whatever is left of its session, and let go of the pipes."""
        # What it printed ends when the last of its processes has ended: the one that removes their shared memory.
        self._silent.wait(_SECONDS_TO_CLEAR)
        # Not yet waited for, the process still has its number, and the group, which it leads, has the same.
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_SECONDS_TO_END)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _start_thread(self, work: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True, name="pmbench-vllm")
        self._threads.append(thread)
        thread.start()

    def _write(self, pipe: int) -> None:
        try:
            while (framed := self._outbox.get()) is not None:
                wire.write(pipe, framed)
        except OSError:
            pass  # the reader finds out
        finally:
            if self._process is not None and self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()

    def _drain(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self._printed.append(line.decode(errors="replace"))
        self._silent.set()

    def _read(self, pipe: int) -> None:
        while isinstance(said := _heard(pipe), wire.Answer | wire.Refusal):
            self._deliver(said)
        self._end(
            ModelUnavailable(
                "vLLM's engine has ended by itself",
                where=self._where,
                remedy="What is answered is stored, and the same command goes on. If it happens again, give it "
                "less memory: ?gpu_memory=, ?context=",
            )
        )
        while said is not None:  # it has said that it breaks down: to the end, then
            said = _heard(pipe)
        self._ended.set()

    def _deliver(self, said: wire.Answer | wire.Refusal) -> None:
        with self._lock:
            waiting = self._waiting.pop(said.number, None)
        if waiting is not None:
            loop, future = waiting
            with contextlib.suppress(RuntimeError):  # that event loop has ended
                loop.call_soon_threadsafe(_settle, future, said)

    def _end(self, error: Exception) -> None:
        """Let nobody wait any more, and have the process end."""
        with self._lock:
            if self._over is None:
                self._over = error
            waiting, self._waiting = list(self._waiting.values()), {}
        self._outbox.put(None)
        for loop, future in waiting:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, future, self._over)

    def _not_loaded(self, why: str) -> ModelUnavailable:
        """The error for an engine that could not be loaded, with the cause that its log names."""
        self.stop()
        said = "" if _NO_REASON.search(why) else why.partition("\n")[0]
        cause = said or reason(list(self._printed))
        memory = re.search(r"memory|KV cache", cause, re.IGNORECASE)
        return ModelUnavailable(
            f"vLLM cannot load it ({cause or 'it does not say why'})",
            where=self._where,
            remedy="Give it less or more: ?context=, ?gpu_memory=, ?tensor_parallel=, ?dtype="
            if memory
            else "",
        )


def _place_for_sockets() -> str:
    """The folder of temporary files, or another one where its name is too long for that of a socket."""
    last = "/tmp"  # noqa: S108 - the folder that is made in it is the user's alone
    places = (tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""))
    fit = (place for place in places if 0 < len(place) <= _MOST_LETTERS and Path(place).is_dir())
    return next(fit, last)


def _heard(pipe: int) -> wire.FromEngine | None:
    try:
        return wire.read(pipe, wire.FromEngine)  # type: ignore[arg-type]
    except (OSError, msgspec.MsgspecError):
        return None


def _settle(future: asyncio.Future[wire.Answer], said: wire.Answer | wire.Refusal | Exception | None) -> None:
    if future.done():
        return
    if isinstance(said, wire.Answer):
        future.set_result(said)
    elif isinstance(said, wire.Refusal):
        future.set_exception(RequestFailed(said.kind, said.detail, retryable=said.retryable))
    elif said is not None:
        future.set_exception(said)
