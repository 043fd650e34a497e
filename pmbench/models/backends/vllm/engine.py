"""The process that holds vLLM's engine: `python -m pmbench.models.backends.vllm.engine`, started by `vllm:`.

It reads requests from its standard input and writes answers to what was its standard output; what libraries
print goes to the standard error output, which pmbench reads and throws away. When its input ends, because
pmbench closed the model, ended or was killed, it ends the engine and every process of its own group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.models import first_token
from pmbench.models.backends.vllm import wire

if TYPE_CHECKING:
    from pmbench.models.backends.hf.prompts import Speech

_SECONDS_TO_END = 20.0
"""How long the engine may take to end by itself: then it leaves no shared memory behind."""

_ROUNDS = 20
_TRACKER = "multiprocessing.resource_tracker"

_GIBIBYTE = 2**30
_CPU_CACHE = 4 * _GIBIBYTE
"""Most bytes for keys and values on a processor, unless asked otherwise."""

_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks of adapters that the engine has room for."""

_BLOCK = 32
"""Tokens of a block of keys and values on a processor; what prompts share is reused in whole blocks.

The engine's own choice there is 128. Of 56 comparisons of messages of 40 words (prompts of 151 tokens) nothing was
reused then, at 2.2 a second on two cores; with 32 it was 39% of the tokens, at 3.5.
"""


def engine_arguments(load: wire.Load, *, cpu: bool, free: int) -> dict[str, Any]:
    """What vLLM is told.

    Args:
        load: what was asked for.
        cpu: whether it computes on the processor.
        free: bytes of memory that are free there.
    """
    given: dict[str, Any] = {
        "model": load.model,
        "tokenizer": load.model,
        "runner": "pooling" if load.reward else "generate",
        "convert": "classify" if load.reward else "none",
        "dtype": load.dtype,
        "seed": 0,
        "max_model_len": load.context,
        "tensor_parallel_size": load.tensor_parallel,
        "enable_prefix_caching": load.prefix,
        "enforce_eager": load.eager,
        # Of what a model's file suggests for sampling nothing is applied: a run says what it samples with.
        "generation_config": "vllm",
        "max_logprobs": first_token.TOP,
        "trust_remote_code": False,
        "enable_log_requests": False,
        "disable_log_stats": True,
    }
    if load.adapter:
        rank = next((rank for rank in _RANKS if rank >= load.rank), _RANKS[-1])
        given |= {"enable_lora": True, "max_loras": 1, "max_lora_rank": rank}
    if load.memory:
        given["gpu_memory_utilization"] = load.memory
    elif cpu and "VLLM_CPU_KVCACHE_SPACE" not in os.environ:
        given["kv_cache_memory_bytes"] = min(_CPU_CACHE, free // 4)
    if cpu and load.prefix:
        given["block_size"] = _BLOCK
    return given


class Host:
    """The engine and the requests under way.

    Args:
        load: what to load.
        pipe: where answers are written.
    """

    def __init__(self, load: wire.Load, pipe: int) -> None:
        self._load, self._pipe = load, pipe
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._tokenizing = ThreadPoolExecutor(1)
        self._ended = asyncio.Event()

    async def serve(self, listener: Listener) -> None:
        """Load the engine and answer until the input ends."""
        self._speech = self._open_speech()
        self._engine = self._open_engine()
        try:
            await self._warm_up()
            listener.hand_to(asyncio.get_running_loop(), self._take)
            self._tell(wire.Ready())
            await self._ended.wait()
        finally:
            for task in self._tasks.values():
                task.cancel()
            self._engine.shutdown(timeout=_SECONDS_TO_END - 2.0)

    def _open_speech(self) -> Speech:
        from pmbench.models.backends.hf.folder import ModelFolder
        from pmbench.models.backends.hf.prompts import open_speech

        return open_speech(ModelFolder(Path(self._load.model), self._load.commit), self._load.template)

    def _open_engine(self) -> Any:
        import psutil
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.lora.request import LoRARequest
        from vllm.platforms import current_platform
        from vllm.v1.engine.async_llm import AsyncLLM

        cpu, free = current_platform.is_cpu(), psutil.virtual_memory().available
        self._adapter = LoRARequest("adapter", 1, self._load.adapter) if self._load.adapter else None
        return AsyncLLM.from_engine_args(AsyncEngineArgs(**engine_arguments(self._load, cpu=cpu, free=free)))

    async def _warm_up(self) -> None:
        """Ask something once: what this machine cannot compute is found out, and what comes late is compiled."""
        kind: Literal["choose", "reward"] = "reward" if self._load.reward else "choose"
        with contextlib.suppress(RequestFailed):  # a template that wants other messages
            await self._asked(wire.Ask(kind, ({"role": "user", "content": "Hello."},)))

    def _tell(self, message: wire.FromEngine) -> None:
        with contextlib.suppress(OSError):  # nobody reads: the input has ended, or will now
            wire.write(self._pipe, wire.frame(message))

    def _take(self, message: wire.Ask | wire.Leave | None) -> None:
        """Take what the listener read; None: the input has ended."""
        if message is None:
            self._ended.set()
        elif isinstance(message, wire.Leave):
            if message.number in self._tasks:
                self._tasks[message.number].cancel()
        else:
            task = asyncio.get_running_loop().create_task(self._answer(message))
            self._tasks[message.number] = task
            task.add_done_callback(lambda _task: self._tasks.pop(message.number, None))

    async def _answer(self, ask: wire.Ask) -> None:
        try:
            self._tell(await self._asked(ask))
        except RequestFailed as error:
            self._tell(wire.Refusal(ask.number, error.kind, error.detail, error.retryable))
        except Exception as error:  # noqa: BLE001 - one request must not end the others
            self._tell(_refusal(ask, error))

    async def _asked(self, ask: wire.Ask) -> wire.Answer:
        from vllm.inputs import TokensPrompt

        began = time.monotonic()
        reward = ask.kind == "reward"
        ids = await self._tokens(ask)
        room = self._load.context - len(ids) + (1 if reward else 0)
        if room < 1:
            raise RequestFailed(
                "too-long", f"a prompt of {len(ids)} tokens, a context of {self._load.context}"
            )
        given: dict[str, Any] = {
            "prompt": TokensPrompt(prompt_token_ids=ids),
            "request_id": str(ask.number),
            "lora_request": self._adapter,
        }
        if reward:
            from vllm.pooling_params import PoolingParams

            raw = PoolingParams(task="classify", use_activation=False)
            pooled = await _last(self._engine.encode(pooling_params=raw, **given))
            (logit,) = pooled.outputs.data.float().flatten().tolist()
            return wire.Answer(ask.number, reward=logit, prompt=len(ids), seconds=time.monotonic() - began)
        output = await _last(self._engine.generate(sampling_params=self._sampling(ask, room), **given))
        return _answer(ask, output, time.monotonic() - began)

    async def _tokens(self, ask: wire.Ask) -> list[int]:
        """The prompt, made in the one thread that a tokenizer may be used in: a long one keeps nobody waiting."""
        make = partial(self._speech.prompt, ask.messages, thinking=ask.thinking, answer=ask.kind != "reward")
        tokens = await asyncio.get_running_loop().run_in_executor(self._tokenizing, make)
        ids: list[int] = tokens.tolist()
        if not ids:
            raise RequestFailed("invalid", "a prompt without a token")
        return ids

    def _sampling(self, ask: wire.Ask, room: int) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        return SamplingParams(
            max_tokens=min(ask.max_tokens, room),
            temperature=ask.temperature,
            seed=ask.seed if ask.temperature > 0 else None,
            stop=list(ask.stop),
            stop_token_ids=sorted(self._speech.ends),
            logprobs=first_token.TOP if ask.kind == "choose" else None,
            structured_outputs=StructuredOutputsParams(json=ask.schema) if ask.schema else None,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )


class Listener:
    """Reads the input in a thread of its own, so that its end is seen whatever else goes on.

    Args:
        pipe: the input.
        scratch: folder that is removed if the input ends before the engine is loaded.
    """

    def __init__(self, pipe: int, scratch: str) -> None:
        self._pipe, self._scratch = pipe, scratch
        self._loop: asyncio.AbstractEventLoop | None = None
        self._take: Any = None
        self._ready = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def hand_to(self, loop: asyncio.AbstractEventLoop, take: Any) -> None:
        """From now on hand everything over in this loop."""
        with self._ready:
            self._take, self._loop = take, loop

    def _listen(self) -> None:
        message: wire.Ask | wire.Leave | None
        while (message := self._read()) is not None:
            self._hand(message)
        with self._ready:
            loop = self._loop
        if loop is not None:
            self._hand(None)
            time.sleep(_SECONDS_TO_END)
        end(self._scratch)

    def _read(self) -> wire.Ask | wire.Leave | None:
        try:
            return wire.read(self._pipe, wire.Ask | wire.Leave)  # type: ignore[arg-type]
        except (OSError, msgspec.MsgspecError):
            return None

    def _hand(self, message: wire.Ask | wire.Leave | None) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._take, message)


def end(scratch: str) -> None:
    """End this process and all that it has started, at once, nothing left behind."""
    shutil.rmtree(scratch, ignore_errors=True)
    # The group is this process's own: pmbench started it as the leader of a session.
    if os.getpgrp() == os.getpid():
        for _ in range(_ROUNDS):  # one that was just being started is found in the next round
            others = _others()
            for pid in others:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if not others:
                break
            time.sleep(0.05)
    os._exit(1)


def _others() -> list[int]:
    """The other processes of this group, without the one that removes shared memory when all others have ended."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            mine = process.pid != os.getpid() and os.getpgid(process.pid) == os.getpid()
            if mine and not (
                process.status() == psutil.STATUS_ZOMBIE or _TRACKER in " ".join(process.cmdline())
            ):
                found.append(process.pid)
    return found


async def _last(outputs: AsyncIterator[Any]) -> Any:
    """The last of what a request yields: with `FINAL_ONLY` and for rewards there is one."""
    given = [output async for output in outputs]
    if not given:
        raise RequestFailed("server", "the engine gave no answer", retryable=True)
    return given[-1]


def _refusal(ask: wire.Ask, error: Exception) -> wire.Refusal | wire.Unfit:
    """What an exception of the engine means. Its message may quote the request and is left out."""
    from vllm.exceptions import VLLMClientError
    from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

    if isinstance(error, EngineDeadError):
        return wire.Unfit()
    cause = error.__cause__ if isinstance(error, EngineGenerateError) else error
    if isinstance(cause, ValueError | VLLMClientError):  # raised before the engine is asked
        if ask.schema:
            return wire.Refusal(ask.number, "schema", "the engine cannot enforce this JSON schema")
        return wire.Refusal(ask.number, "invalid", f"the engine refuses the request ({type(cause).__name__})")
    return wire.Refusal(ask.number, "server", f"the engine failed ({type(cause).__name__})", True)


def _answer(ask: wire.Ask, output: Any, seconds: float) -> wire.Answer:
    said = output.outputs[0]
    if said.finish_reason in ("abort", "error", None):
        failed = ("schema", "the engine cannot enforce this JSON schema") if ask.schema else None
        kind, detail = failed or ("server", f"the engine ended the request ({said.finish_reason})")
        raise RequestFailed(kind, detail, retryable=not ask.schema)
    first = said.logprobs[0].values() if ask.kind == "choose" and said.logprobs else ()
    return wire.Answer(
        ask.number,
        text=said.text,
        finish=said.finish_reason,
        first=tuple((entry.decoded_token or "", float(entry.logprob)) for entry in first),
        prompt=len(output.prompt_token_ids),
        written=len(said.token_ids),
        cached=output.num_cached_tokens or 0,
        seconds=seconds,
    )


def main() -> None:
    """Serve until the input ends."""
    answers = os.dup(1)
    os.dup2(2, 1)
    os.umask(0o077)
    load = wire.read(0, wire.Load)
    if load is None:
        return
    listener = Listener(0, load.scratch)

    async def serve() -> None:
        await Host(load, answers).serve(listener)

    try:
        asyncio.run(serve())
    except ModelUnavailable as error:
        wire.write(answers, wire.frame(wire.Unfit(error.what)))
    except Exception as error:  # noqa: BLE001 - whatever a library raises, pmbench says it in one line
        wire.write(answers, wire.frame(wire.Unfit(f"{type(error).__name__}: {error}")))
    finally:
        end(load.scratch)


if __name__ == "__main__":
    main()
