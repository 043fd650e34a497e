"""The backend `vllm`: models in transformers' format through vLLM's engine, many requests at once.

The engine runs in a process of its own on this machine (`child.py`, `engine.py`). It puts all requests
that are in flight into common batches and reuses the keys and values of what prompts have in common, so the
last digits of a log-probability depend on what else was in the batch, and now and then a whole answer does.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import msgspec

from pmbench.core.errors import ConfigError, ModelUnavailable, RequestFailed, UserError
from pmbench.core.model import Choice, Completion, FinishReason, Usage
from pmbench.models import first_token
from pmbench.models.backend import Backend, BackendOptions, Request
from pmbench.models.backends.hf import folder as hf_folder
from pmbench.models.backends.hf.folder import ModelFolder
from pmbench.models.backends.vllm import build as vllm_build
from pmbench.models.backends.vllm import wire
from pmbench.models.backends.vllm.child import EngineProcess
from pmbench.models.paths import expanded, shortened, why_no_file
from pmbench.models.spec import ModelSpec

_FORM = "1"
"""Raised when the same request would be put to the engine in another way."""

_MOST_TOKENS = 2**31 - 1
_SWITCH = "enable_thinking"
_ADAPTER = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
_CHATS = frozenset({"temperature", "seed", "stop", "schema", "logprobs", "adapter"})


class VllmOptions(BackendOptions, frozen=True):
    """Options of `vllm:`.

    Attributes:
        adapter: folder of a LoRA adapter.
        dtype: type of the weights and of what is computed; `auto`: the engine's choice, by the model's own.
        tensor_parallel: over how many graphics processors each layer is spread.
        gpu_memory: share of each one's memory that the engine may take, above 0 up to 1; 0: the engine's own
            choice. Where the engine computes on the processor: of the machine's memory; 0: 4 GiB for the keys
            and values of prompts, or a quarter of what is free.
        context: tokens of a prompt and its answer together; never more than the model was made for. A prompt
            that is longer is refused (`too-long`).
        thinking: whether the chat template is told to let the model think; `auto`: as the template says.
        revision: branch, tag or commit of the hub.
        prefix: whether beginnings that prompts have in common are read once.
        eager: whether the model runs as it is, not compiled first: it is loaded sooner and is slower.
        template: file of a chat template in place of the model's own.
    """

    adapter: str = ""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    tensor_parallel: int = 1
    gpu_memory: float = 0.0
    context: int = 8192
    thinking: Literal["auto", "on", "off"] = "auto"
    revision: str = ""
    prefix: Literal["on", "off"] = "on"
    eager: bool = False
    template: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.tensor_parallel <= 64:
            raise ValueError("`tensor_parallel` must be from 1 to 64")
        if not (math.isfinite(self.gpu_memory) and 0.0 <= self.gpu_memory <= 1.0):
            raise ValueError(
                "`gpu_memory` must be a share, above 0 up to 1, or 0 for the engine's own choice"
            )
        if not 16 <= self.context <= 2**24:
            raise ValueError("`context` must be from 16 to 16777216 tokens")


class Vllm(Backend):
    """One model. The target is a folder, or `ORG/NAME` of the hub, in the cache that the hub's own tools fill."""

    name: ClassVar[str] = "vllm"
    options: ClassVar[type[BackendOptions]] = VllmOptions
    requires: ClassVar[Mapping[str, str]] = {"vllm": "vllm"}
    local = True
    parallel = 256

    def __init__(self, spec: ModelSpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        if not isinstance(options, VllmOptions):
            raise TypeError("options of vllm are VllmOptions")
        self._options = options
        self._where = f"model {shortened(spec.given)!r}"
        self._engine: EngineProcess | None = None
        self._folder: ModelFolder | None = None
        self._why = ""
        self.offers, self.features = frozenset({"chat", "choose"}), frozenset[str]()
        if self.missing_extra() is None:
            try:
                self._look(self._found())
            except ConfigError:
                raise
            except UserError as error:
                self._why = str(error)

    def unavailable(self) -> str:
        """Missing module, model, chat template or adapter; a build for a graphics processor where there is none."""
        missing = self.missing_extra()
        if missing is not None:
            return str(missing)
        if self._folder is None:
            return self._why
        try:
            reason, remedy = self._unfit(self._folder)
        except UserError as error:
            return str(error)
        return str(ModelUnavailable(reason, where=self._where, remedy=remedy)) if reason else ""

    def identity(self) -> Mapping[str, str]:
        """Engine, versions, digests of weights and adapter, and the options that can change an answer.

        Raises:
            ModelUnavailable: a file is not there or cannot be read.
        """
        option, folder = self._options, self._there()
        said = {
            "engine": "vllm",
            "version": vllm_build.engine_version(),
            "torch": vllm_build.version_of("torch"),
            **folder.digests(),
            "dtype": option.dtype,
            "context": str(self._context(folder)),
            "thinking": option.thinking,
            "tensor_parallel": str(option.tensor_parallel),
            "prefix": option.prefix,
            "eager": "on" if option.eager else "off",
            "form": _FORM,
        }
        if option.adapter:
            said["adapter"] = hf_folder.folder_digest(self._adapter(), _ADAPTER)
        if option.template:
            file = self._template_file()
            said["template"] = hf_folder.folder_digest(file.parent, (file.name,))
        return said

    async def open(self) -> None:
        """Load the model; a minute or more.

        Raises:
            ModelUnavailable: the engine cannot load it; the message has its own reason.
        """
        if self._engine is not None:
            return
        option, folder = self._options, self._there()
        load = wire.Load(
            str(folder.path),
            self._template(folder),
            commit=folder.commit,
            adapter=str(self._adapter()) if option.adapter else "",
            rank=self._rank(),
            reward="reward" in self.offers,
            context=self._context(folder),
            dtype=option.dtype,
            tensor_parallel=option.tensor_parallel,
            memory=option.gpu_memory,
            eager=option.eager,
            prefix=option.prefix == "on",
        )
        engine = EngineProcess(self._where)
        try:
            await asyncio.to_thread(engine.start, load)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(engine.stop))
            raise
        self._engine = engine

    async def close(self) -> None:
        """End the engine and all its processes; its memory is free when this returns."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(engine.stop)

    async def chat(self, request: Request) -> Completion:
        """Answer one request with the model's own chat template."""
        if request.max_tokens < 1:
            raise RequestFailed("invalid", "an answer of less than one token")
        thinking = {"on": True, "off": False}.get(self._options.thinking)
        schema = ""
        if request.schema is not None:
            if thinking:
                raise RequestFailed("unsupported", "a JSON schema leaves no room for thinking: ?thinking=off")
            # The schema holds from the first token on, so the template must not promise a thought.
            thinking, schema = False, _json(request.schema)
        ask = wire.Ask(
            "chat",
            request.messages,
            max_tokens=min(request.max_tokens, _MOST_TOKENS),
            temperature=request.temperature,
            seed=request.engine_seed,
            stop=request.stop,
            thinking=thinking,
            schema=schema,
        )
        answer, folder = await self._ask(ask), self._there()
        raw = {"model": self.spec.target if folder.commit else folder.path.name}
        if answer.finish == "length" and answer.prompt + answer.written >= self._context(folder):
            raw["cut"] = "context"
        return Completion(
            text=answer.text,
            finish=_FINISH.get(answer.finish, "error"),
            usage=_usage(answer),
            latency=answer.seconds,
            raw=raw,
        )

    async def choose(self, request: Request) -> Choice:
        """Probabilities of the options as the answer's first token, the template's thinking switched off."""
        answer = await self._ask(wire.Ask("choose", request.messages, thinking=False))
        probabilities, mass = first_token.option_probabilities(answer.first, request.options)
        return Choice(probabilities, mass=mass, usage=_usage(answer), latency=answer.seconds)

    async def reward(self, request: Request) -> float:
        """The logit of a conversation, without a further turn."""
        return (await self._ask(wire.Ask("reward", request.messages))).reward

    async def _ask(self, ask: wire.Ask) -> wire.Answer:
        if ask.kind not in self.offers:
            raise RequestFailed("unsupported", f"this model offers {', '.join(sorted(self.offers))}")
        if self._engine is None:
            raise RequestFailed("closed", "the model is not open")
        return await self._engine.ask(ask)

    def _found(self) -> ModelFolder:
        given = self.spec.given.partition("?")[0].strip()
        preset = "" if given.startswith(f"{self.name}:") else given
        try:
            return hf_folder.locate(self.spec.target, self._options.revision, preset=preset)
        except UserError as error:
            remedy = error.remedy.replace("hf:", "vllm:")
            raise type(error)(error.what, where=self._where, remedy=remedy) from None

    def _look(self, folder: ModelFolder) -> None:
        """See what the model is for."""
        if folder.kind == "reward":
            self.offers = frozenset({"reward"})
        else:
            self.features = _CHATS
            if _SWITCH in self._template(folder):
                self.features |= {"thinking"}
            if self._options.prefix == "on":
                self.features |= {"prefix"}
        self._folder = folder

    def _there(self) -> ModelFolder:
        if self._folder is None:
            raise ModelUnavailable(self._why)
        return self._folder

    def _unfit(self, folder: ModelFolder) -> tuple[str, str]:
        """Why the model cannot run here, and what to do about it; empty texts if it can."""
        option, template = self._options, self._template(folder)
        rank, (reason, remedy) = self._rank(), vllm_build.lacks()
        if not reason:
            reason, remedy = folder.unfit(), "Get its files anew"
        if not reason and folder.kind == "embed":
            reason, remedy = "neither chats nor classifies", "As an embedder it runs with hf:"
        elif not reason and folder.kind == "reward" and folder.labels != 1:
            reason, remedy = f"is a classifier of {folder.labels} classes, no reward model of one logit", ""
        elif not reason and folder.kind == "reward" and rank:
            reason, remedy = "is a reward model, which vllm takes without an adapter only", "Use hf:"
        elif not reason and option.revision and not folder.commit:
            reason, remedy = "is a folder, which has no revisions", "Leave out ?revision="
        elif not reason and not template:
            reason, remedy = "has no chat template", "Give one: ?template=FILE"
        elif not reason and option.thinking != "auto" and _SWITCH not in template:
            reason, remedy = "has a chat template that knows no thinking switch", "Leave out ?thinking="
        return reason, remedy

    def _context(self, folder: ModelFolder) -> int:
        return min(self._options.context, folder.context or self._options.context)

    def _template(self, folder: ModelFolder) -> str:
        if not self._options.template:
            return folder.template
        return self._template_file().read_text(encoding="utf-8")

    def _template_file(self) -> Path:
        path = expanded(self._options.template, f"option template={shortened(self._options.template)}")
        if reason := why_no_file(path):
            raise ModelUnavailable(reason, where=f"chat template {shortened(str(path))}")
        return path.absolute()

    def _adapter(self) -> Path:
        return expanded(
            self._options.adapter, f"option adapter={shortened(self._options.adapter)}"
        ).absolute()

    def _rank(self) -> int:
        """Rank of the adapter, 0 if there is none.

        Raises:
            ModelUnavailable: the folder holds no LoRA adapter.
        """
        if not self._options.adapter:
            return 0
        folder = self._adapter()
        try:
            return int(msgspec.json.decode((folder / _ADAPTER[0]).read_bytes())["r"])
        except (OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError):
            raise ModelUnavailable(
                f"there is no {_ADAPTER[0]} that names a rank",
                where=f"adapter {shortened(str(folder))}",
                remedy="Give the folder of a LoRA adapter: ?adapter=",
            ) from None


_FINISH: Mapping[str, FinishReason] = {"stop": "stop", "length": "length", "repetition": "length"}


def _json(schema: Mapping[str, object]) -> str:
    try:
        return json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise RequestFailed("schema", "it is no JSON") from None


def _usage(answer: wire.Answer) -> Usage:
    return Usage(answer.prompt, answer.written, answer.cached)
