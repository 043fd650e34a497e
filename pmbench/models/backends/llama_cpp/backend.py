"""The backend `llama-cpp`: GGUF models in this process, through xllamacpp (llama.cpp's server as a library).

With one slot and no reuse of earlier prompts (the default) an answer depends on its own request alone: the
same text and the same log-probabilities, to the last bit, whatever was asked before, in whatever order, with
however many threads. llama.cpp computes a prompt that is partly cached, or that shares its batch with another
one, in matrices of another shape, which moves the last digits of a log-probability and now and then a whole
answer; so reuse is off with one slot and on with several, where the order of arrival decides anyway.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import re
import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, Literal

from pmbench.core.digest import digest_bytes
from pmbench.core.errors import ConfigError, ModelUnavailable, RequestFailed
from pmbench.core.model import Choice, Completion, FinishReason
from pmbench.models import first_token, presets
from pmbench.models.backend import Backend, BackendOptions, Request
from pmbench.models.backends.llama_cpp.beginnings import Beginning
from pmbench.models.backends.llama_cpp.stream import Answer, Stopped, ask, read
from pmbench.models.backends.llama_cpp.text import Speaker
from pmbench.models.files import cache
from pmbench.models.paths import ABSENT, expanded, shortened, why_no_file
from pmbench.models.processor import usable_cores
from pmbench.models.spec import ModelSpec

_BATCH = 512
"""Tokens of a prompt worked off between two looks at whether the request is still wanted."""

_PAGE = 256
"""Tokens: llama.cpp rounds a context up to a multiple of this, so another one would not be the one in force."""

_MOST_CONTEXT = 2**24
_MOST_THREADS = 512
"""As many as llama.cpp has room for."""

_FORM = "2"
"""Raised when the same request would be put to the engine in another way."""

_OF_THE_HUB = re.compile(r"\w[\w.-]*/\w[\w.-]*/\w[\w.-]*\.gguf")
_SHARD = re.compile(r"(.+)-00001-of-(\d{5})\.gguf")


class LlamaCppOptions(BackendOptions, frozen=True):
    """Options of `llama-cpp:`.

    Attributes:
        slots: requests worked on at once; 1 is the deterministic mode.
        context: tokens per slot, prompt and answer together, a multiple of 256; never more than the model was
            made for. A prompt that is longer is refused (`too-long`); a larger limit of an answer's tokens
            means: until the context is full.
        threads: of the processor, up to 512; 0: as many as this process may use.
        cache: reuse of the beginning of earlier prompts. `auto`: with one slot only of what a strategy marks as
            the beginning of many prompts, which changes no digit; with several, `on`: whatever they have in common.
        thinking: whether the chat template is told to let the model think; `auto`: as the template says.
        gpu_layers: layers given to a graphics processor, where the engine was built for one; -1: all.
    """

    slots: int = 1
    context: int = 8192
    threads: int = 0
    cache: Literal["auto", "on", "off"] = "auto"
    thinking: Literal["auto", "on", "off"] = "auto"
    gpu_layers: int = -1

    def __post_init__(self) -> None:
        if not 1 <= self.slots <= 64:
            raise ValueError("`slots` must be from 1 to 64")
        if not _PAGE <= self.context <= _MOST_CONTEXT or self.context % _PAGE:
            raise ValueError(
                f"`context` must be a multiple of {_PAGE} tokens, from {_PAGE} to {_MOST_CONTEXT}"
            )
        if not 0 <= self.threads <= _MOST_THREADS:
            raise ValueError(f"`threads` must be from 1 to {_MOST_THREADS}, or 0 for all that may be used")
        if not -1 <= self.gpu_layers <= 10_000:
            raise ValueError("`gpu_layers` must be from 0 to 10000, or -1 for all")


class LlamaCpp(Backend):
    """One GGUF model. The target is a file, or `FOLDER/FILE` in the model cache."""

    name: ClassVar[str] = "llama-cpp"
    options: ClassVar[type[BackendOptions]] = LlamaCppOptions
    requires: ClassVar[Mapping[str, str]] = {"xllamacpp": "embedded"}
    offers = frozenset({"chat", "choose"})
    features = frozenset({"temperature", "seed", "stop", "schema", "logprobs", "thinking", "prefix"})
    local = True

    def __init__(self, spec: ModelSpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        if not isinstance(options, LlamaCppOptions):
            raise TypeError("options of llama-cpp are LlamaCppOptions")
        self._options = options
        self.parallel = options.slots
        self.path = model_file(spec.target)
        self._server: Any = None
        self._key = secrets.token_urlsafe(32)
        self._pool: ThreadPoolExecutor | None = None
        self._closing = threading.Event()
        self._beginning = Beginning() if options.slots == 1 and options.cache == "auto" else None

    @property
    def reuse(self) -> bool:
        """Whether the beginning of earlier prompts is reused."""
        return self._options.cache == "on" or (self._options.cache == "auto" and self._options.slots > 1)

    def unavailable(self) -> str:
        """Missing module or missing file, with the remedy."""
        missing = self.missing_extra()
        if missing is not None:
            return str(missing)
        for file in shards(self.path):
            reason = why_no_file(file)
            if reason:
                return str(self._absent(file, reason))
        return ""

    def identity(self) -> Mapping[str, str]:
        """Engine and version, SHA-256 of the weights, and the options that can change an answer.

        Raises:
            ModelUnavailable: the file is not there or cannot be read.
        """
        option = self._options
        return {
            "engine": "xllamacpp",
            "version": _engine_version(),
            "weights": self._weights(),
            "context": str(option.context),
            "slots": str(option.slots),
            "cache": "on" if self.reuse else "off",
            "thinking": option.thinking,
            "gpu_layers": str(option.gpu_layers),
            "form": _FORM,
        }

    async def open(self) -> None:
        """Load the model.

        Raises:
            ModelUnavailable: the file is damaged, is no GGUF model, or does not fit into memory.
        """
        if self._server is not None:
            return
        self._closing.clear()
        self._pool = ThreadPoolExecutor(self._options.slots, thread_name_prefix="pmbench-llama")
        try:
            self._server = await asyncio.get_running_loop().run_in_executor(self._pool, self._load)
        except BaseException:
            self._pool.shutdown(wait=False)
            self._pool = None
            raise

    async def close(self) -> None:
        """Stop what is running, at the next token, and free the memory."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        self._closing.set()
        await asyncio.to_thread(self._release, pool)

    async def chat(self, request: Request) -> Completion:
        """Answer one request with the model's own chat template."""
        if request.max_tokens < 1:
            raise RequestFailed("invalid", "an answer of less than one token")
        # The engine counts in 32 bits; no answer is longer than the context.
        most = min(request.max_tokens, self._options.context)
        body = self._body(request) | {"max_tokens": most, "stop": list(request.stop)}
        if request.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": request.schema, "strict": True},
            }
        answer = await self._ask(body, request.shared)
        raw = {"model": self.path.name}
        if answer.usage.prompt_tokens + answer.usage.completion_tokens >= self._options.context:
            raw["cut"] = "context"
        return Completion(
            text=answer.text,
            finish=_FINISH.get(answer.finish, "error"),
            reasoning=answer.reasoning,
            usage=answer.usage,
            latency=answer.seconds,
            raw=raw,
        )

    async def choose(self, request: Request) -> Choice:
        """Probabilities of the options as the answer's first token, the template's thinking switched off."""
        body = self._body(request) | {"max_tokens": 1, "logprobs": True, "top_logprobs": first_token.TOP}
        body["temperature"] = 0.0
        body["chat_template_kwargs"] = {"enable_thinking": False}
        answer = await self._ask(body, request.shared)
        probabilities, mass = first_token.option_probabilities(answer.first, request.options)
        return Choice(probabilities, mass=mass, usage=answer.usage, latency=answer.seconds)

    def _body(self, request: Request) -> dict[str, Any]:
        """What every request says. No sampler but temperature, whatever engine or file suggest."""
        body: dict[str, Any] = {
            "messages": [dict(message) for message in request.messages],
            "temperature": request.temperature,
            "samplers": ["temperature"],
            "seed": request.engine_seed,
            "cache_prompt": self.reuse,
        }
        if self._options.thinking != "auto":
            body["chat_template_kwargs"] = {"enable_thinking": self._options.thinking == "on"}
        return body

    async def _ask(self, body: dict[str, Any], shared: int) -> Answer:
        if self._server is None or self._pool is None:
            raise RequestFailed("closed", "the model is not open", retryable=False)
        unwanted = threading.Event()

        def stop() -> bool:
            return unwanted.is_set() or self._closing.is_set()

        speaker, room = Speaker(self._server.listening_address, self._key), self._options.context
        loop = asyncio.get_running_loop()
        given = (self._server, speaker, body, room, stop, shared, self._beginning)
        work = loop.run_in_executor(self._pool, ask, *given)
        try:
            return await work
        except Stopped:
            raise RequestFailed("closed", "the model was closed during the request") from None
        finally:
            unwanted.set()

    def _load(self) -> Any:
        xllamacpp = _engine()
        if any(cache.damaged(file) for file in shards(self.path)):
            raise ModelUnavailable(
                "is not what was fetched: its SHA-256 differs", where=str(self.path), remedy=self._fetch()
            )
        option, given = self._options, xllamacpp.CommonParams()
        threads = option.threads or min(usable_cores(), _MOST_THREADS)
        given.model.path = str(self.path)
        given.n_ctx, given.n_parallel = option.context * option.slots, option.slots
        given.cpuparams.n_threads = given.cpuparams_batch.n_threads = threads
        given.n_gpu_layers = option.gpu_layers
        given.n_batch = given.n_ubatch = _BATCH
        given.use_jinja, given.verbosity = True, -1
        # A prompt is never shifted or shortened to fit, and memory is what was asked for.
        given.ctx_shift, given.fit_params = False, False
        given.cache_prompt = given.cache_idle_slots = self.reuse
        given.cache_ram_mib = given.n_ctx_checkpoints = 0
        if not self.reuse:
            given.slot_prompt_similarity = 0.0
        # The engine listens on loopback too, where other users of a shared machine could ask it what it is
        # reading: nobody knows the key, and what shows prompts is off.
        given.api_keys = [self._key]
        given.endpoint_slots = given.endpoint_props = given.endpoint_metrics = given.ui = False
        try:
            server = xllamacpp.Server(given)
            # An engine that is let go of before it has begun to listen for requests waits for itself for ever.
            read(server, [0], kept=False, stop=self._closing.is_set)
            return server
        except (RuntimeError, ValueError):
            raise ModelUnavailable(
                f"llama.cpp cannot load {self.path.name}: not a whole GGUF model, or not enough memory for "
                f"{option.slots} x {option.context} tokens",
                where=str(self.path.parent),
                remedy=f"{self._fetch()}, or give it less: ?context=2048",
            ) from None

    def _release(self, pool: ThreadPoolExecutor) -> None:
        pool.shutdown(wait=True, cancel_futures=True)
        self._server = None

    def _weights(self) -> str:
        try:
            digests = [cache.file_sha256(file) for file in shards(self.path)]
        except FileNotFoundError:
            raise self._absent(self.path, ABSENT) from None
        except OSError as error:
            raise ModelUnavailable(
                f"cannot be read: {(error.strerror or 'error').lower()}", where=shortened(str(self.path))
            ) from None
        return digests[0] if len(digests) == 1 else digest_bytes("\n".join(digests).encode())

    def _absent(self, file: Path, reason: str) -> ModelUnavailable:
        asked = shortened(self.spec.given.partition("?")[0])
        if reason != ABSENT:
            return ModelUnavailable(reason, where=f"model {asked!r}", remedy="Give the path of a .gguf file")
        if file.is_relative_to(cache.cache_folder()):
            here = "neither a file here nor" if asked.endswith(".gguf") else "not"
            return ModelUnavailable(f"{asked} is {here} in the model cache ({file})", remedy=self._fetch())
        return ModelUnavailable(
            reason,
            where=f"model {asked!r}",
            remedy="Give the path of a .gguf file, or a preset of: pmbench models",
        )

    def _fetch(self) -> str:
        if self.path.is_relative_to(cache.cache_folder()):
            return f"Run: pmbench fetch {self.spec.given.partition('?')[0]}"
        return "Replace the file"


_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "stop",
    "content_filter": "refused",
}


def model_file(target: str) -> Path:
    """The file a target names.

    A file of a preset lies in the model cache, whatever lies in the current folder; `ORG/REPO/FILE.gguf` is a
    file of the hub in the cache unless there is such a file here; anything else is a path.

    Raises:
        ConfigError: it does not end with `.gguf`, or begins with a home folder that there is not.
    """
    where = f"model 'llama-cpp:{shortened(target)}'"
    if not target.endswith(".gguf"):
        raise ConfigError("llama-cpp reads .gguf files", where=where, remedy="See: pmbench models")
    path = expanded(target, where)
    folder, _, name = target.rpartition("/")
    of_the_hub = _OF_THE_HUB.fullmatch(target) is not None and why_no_file(path) == ABSENT
    if presets.known_file(target) is not None or of_the_hub:
        return cache.cached_path(folder, name)
    return path.absolute()


def shards(path: Path) -> list[Path]:
    """All files of a model that is split as llama.cpp splits one, the first file given; else that file."""
    match = _SHARD.fullmatch(path.name)
    if match is None:
        return [path]
    stem, count = match[1], match[2]
    return [path.with_name(f"{stem}-{n:05d}-of-{count}.gguf") for n in range(1, int(count) + 1)]


def _engine() -> Any:
    """The module xllamacpp, its threads told not to wait long for one another in a busy loop.

    The engine's OpenMP library has its threads spin at every step of a token. Where another program wants the
    same processor the one waited for cannot run meanwhile, and two threads become ten times slower than one.
    A short spin costs nothing measurable on an idle machine. The library reads its setting while it is
    loaded, so it is set for that moment only, and what the user set is left as it is.
    """
    given = os.environ.keys() & {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}
    if not given:
        os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        import xllamacpp
    finally:
        if not given:
            os.environ.pop("GOMP_SPINCOUNT", None)
    return xllamacpp


def _engine_version() -> str:
    try:
        return importlib.metadata.version("xllamacpp")
    except importlib.metadata.PackageNotFoundError:
        return ""
