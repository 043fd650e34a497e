"""The backend `hf`: models in transformers' format in this process, on a processor or a graphics processor.

Requests in flight share batches. What a row of a batch gives depends on the others in its last digits, for
matrices of another shape are summed in another order; `?batch=1` computes each request alone, and then, unless
`?prefix=on`, an answer depends on its own request only.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.metadata
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from pmbench.core.errors import ConfigError, MissingExtra, ModelUnavailable, RequestFailed, UserError
from pmbench.core.model import Choice, Completion
from pmbench.models.backend import Backend, BackendOptions, Request
from pmbench.models.backends.hf import folder as hf_folder
from pmbench.models.backends.hf.folder import Kind, ModelFolder
from pmbench.models.paths import expanded, shortened, why_no_file
from pmbench.models.spec import ModelSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pmbench.models.backends.hf.worker import Worker

_FORM = "1"
"""Raised when the same request would be put to the model in another way."""

_IN_FLIGHT = 256
"""Requests worth having in flight: enough to find those that go well together."""

_MOST_BATCH = 1024
_OFFERS: Mapping[Kind, frozenset[str]] = {
    "chat": frozenset({"chat", "choose"}),
    "reward": frozenset({"reward"}),
    "embed": frozenset({"embed"}),
}
_ADAPTER = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
_SWITCH = "enable_thinking"
_UNBOUNDED = 2**24
_POOLINGS = ("mean", "cls_token", "lasttoken")


class HfOptions(BackendOptions, frozen=True):
    """Options of `hf:`.

    Attributes:
        kind: what the model is for; `auto`: by the architecture that its config names.
        adapter: folder of a LoRA adapter.
        dtype: of the numbers; `auto`: float32 on a processor, the weights' own on a graphics processor.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; `auto`: the best there is.
        thinking: whether the chat template is told to let the model think; `auto`: as the template says.
        revision: branch, tag or commit of the hub.
        batch: most sequences at once; 1: each request alone; 0: as many as are worth it and fit into memory.
        context: most tokens of prompt and answer together; 0: what the model was made for. A prompt that is
            longer is refused (`too-long`).
        prefix: whether beginnings that prompts have in common are read once; `auto`: unless `batch` is 1.
        template: file of a chat template in place of the model's own.
    """

    kind: Literal["auto", "chat", "reward", "embed"] = "auto"
    adapter: str = ""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: str = "auto"
    thinking: Literal["auto", "on", "off"] = "auto"
    revision: str = ""
    batch: int = 0
    context: int = 0
    prefix: Literal["auto", "on", "off"] = "auto"
    template: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.batch <= _MOST_BATCH:
            raise ValueError(f"`batch` must be from 1 to {_MOST_BATCH}, or 0 for as many as fit")
        if not 0 <= self.context <= 2**24:
            raise ValueError("`context` must be from 1 to 16777216 tokens, or 0 for the model's own")
        kind, colon, number = self.device.partition(":")
        if kind not in ("auto", "cpu", "cuda", "mps") or (
            colon and not (kind == "cuda" and number.isdigit())
        ):
            raise ValueError("`device` must be auto, cpu, cuda, cuda:NUMBER or mps")


class Hf(Backend):
    """One model. The target is a folder, or `ORG/NAME` of the hub, in the cache that the hub's own tools fill."""

    name: ClassVar[str] = "hf"
    options: ClassVar[type[BackendOptions]] = HfOptions
    requires: ClassVar[Mapping[str, str]] = {"torch": "hf", "transformers": "hf"}
    local = True

    def __init__(self, spec: ModelSpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        if not isinstance(options, HfOptions):
            raise TypeError("options of hf are HfOptions")
        self._options = options
        self.parallel = 1 if options.batch == 1 else max(_IN_FLIGHT, 4 * options.batch)
        self._where = f"model {shortened(spec.given)!r}"
        self._worker: Worker | None = None
        self._folder: ModelFolder | None = None
        self._why = ""
        kind: Kind = "chat" if options.kind == "auto" else options.kind
        self.features = frozenset[str]()
        if self.missing_extra() is None:
            try:
                self._folder = self._found()
                kind, self.features = self._kind(self._folder), self._features(self._folder)
            except ConfigError:
                raise
            except UserError as error:
                self._why = str(error)
        self.offers = _OFFERS[kind]

    @property
    def reuse(self) -> bool:
        """Whether beginnings that prompts have in common are read once."""
        return self._options.prefix == "on" or (self._options.prefix == "auto" and self._options.batch != 1)

    def missing_extra(self) -> MissingExtra | None:
        """As for every backend; an adapter needs one module more."""
        missing = super().missing_extra()
        if missing is None and self._options.adapter and importlib.util.find_spec("peft") is None:
            return MissingExtra(f"an adapter of the backend {self.name!r}", "hf", "peft")
        return missing

    def unavailable(self) -> str:
        """Missing module, model, file or chat template, with the remedy."""
        missing = self.missing_extra()
        if missing is not None:
            return str(missing)
        if self._folder is None:
            return self._why
        try:
            return str(self._unfit(self._folder) or "")
        except UserError as error:
            return str(error)

    def identity(self) -> Mapping[str, str]:
        """Engines and versions, SHA-256 or revision of the files, and the options that can change an answer.

        Raises:
            ModelUnavailable: a file is not there or cannot be read.
        """
        from pmbench.models.backends.hf.loading import device_for, dtype_for

        option, folder = self._options, self._there()
        device = device_for(option.device)
        said = {
            "engine": "transformers",
            "version": importlib.metadata.version("transformers"),
            "torch": importlib.metadata.version("torch"),
            **folder.digests(),
            "kind": self._kind(folder),
            "dtype": dtype_for(option.dtype, folder, device),
            "device": device,
            "thinking": option.thinking,
            "context": str(self._context(folder)),
            "batch": str(option.batch),
            "prefix": "on" if self.reuse else "off",
            "form": _FORM,
        }
        if option.adapter:
            adapter = self._adapter()
            said["adapter"] = hf_folder.folder_digest(adapter, _ADAPTER)
        if option.template:
            said["template"] = hf_folder.folder_digest(
                Path(option.template).parent, (Path(option.template).name,)
            )
        return said

    async def open(self) -> None:
        """Load the model.

        Raises:
            ConfigError: there is no such device.
            ModelUnavailable: its files cannot be loaded, or memory is not enough.
        """
        if self._worker is None:
            folder = self._there()
            unfit = self._unfit(folder)
            if unfit is not None:
                raise unfit
            worker = await asyncio.to_thread(self._new_worker, folder)
            try:
                await worker.open()
            except BaseException:
                await worker.close()
                raise
            self._worker = worker

    async def close(self) -> None:
        """Stop what is running, at the next token, and free the memory."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()
            del worker
            from pmbench.models.backends.hf.engine import empty_memory

            await asyncio.to_thread(empty_memory)

    async def chat(self, request: Request) -> Completion:
        """Answer one request with the model's own chat template; the latency begins with its place in a batch."""
        if request.max_tokens < 1:
            raise RequestFailed("invalid", "an answer of less than one token")
        if request.schema is not None:
            raise RequestFailed("unsupported", "hf keeps no answer to a schema")
        completion: Completion = await self._ask("chat", request)
        named = {"model": shortened(Path(self.spec.target).name)} | completion.raw
        return msgspec.structs.replace(completion, raw=named)

    async def choose(self, request: Request) -> Choice:
        """Probabilities of the options as the answer's first token, the template's thinking switched off."""
        choice: Choice = await self._ask("choose", request)
        return choice

    async def reward(self, request: Request) -> float:
        """The logit of a conversation, without a further turn."""
        return float(await self._ask("reward", request))

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors, shape (n, d). A text beyond the context is refused (`too-long`), not shortened."""
        import numpy as np

        if not texts:
            return np.zeros((0, self._there().width), np.float32)
        vectors = await asyncio.gather(*[self._ask("embed", None, text) for text in texts])
        return np.stack(vectors)

    async def _ask(self, kind: str, request: Request | None, text: str = "") -> Any:
        if kind not in self.offers:
            raise RequestFailed("unsupported", f"this model offers {', '.join(sorted(self.offers))}")
        if self._worker is None:
            raise RequestFailed("closed", "the model is not open")
        from pmbench.models.backends.hf.worker import Job

        return await self._worker(Job(kind, request, text))

    def _new_worker(self, folder: ModelFolder) -> Worker:
        from pmbench.models.backends.hf import loading as hf_loading

        torch = hf_loading.import_torch()
        from pmbench.models.backends.hf.starting import build
        from pmbench.models.backends.hf.worker import Worker

        option, kind = self._options, self._kind(folder)
        adapter = str(self._adapter()) if option.adapter else ""
        return Worker(
            functools.partial(
                build,
                hf_loading.Wanted(folder, kind, option.device, option.dtype, adapter),
                template=self._template(folder) if kind != "embed" else "",
                rows=option.batch,
                context=self._context(folder),
                thinking=None if option.thinking == "auto" else option.thinking == "on",
                reuse=self.reuse,
            ),
            torch.inference_mode,
        )

    def _found(self) -> ModelFolder:
        given = self.spec.given.partition("?")[0].strip()
        preset = "" if given.startswith(f"{self.name}:") else given
        return hf_folder.locate(self.spec.target, self._options.revision, preset=preset)

    def _there(self) -> ModelFolder:
        if self._folder is None:
            raise ModelUnavailable(self._why)
        return self._folder

    def _kind(self, folder: ModelFolder) -> Kind:
        return folder.kind if self._options.kind == "auto" else self._options.kind

    def _features(self, folder: ModelFolder) -> frozenset[str]:
        kind = self._kind(folder)
        if kind != "chat":
            return frozenset({"adapter"})
        features = {"temperature", "seed", "stop", "logprobs", "adapter", "prefix"}
        if not self.reuse:
            features.remove("prefix")
        return frozenset(features | ({"thinking"} if _SWITCH in self._template(folder) else set()))

    def _template(self, folder: ModelFolder) -> str:
        if not self._options.template:
            return folder.template
        path = expanded(self._options.template, f"option template={shortened(self._options.template)}")
        reason = why_no_file(path)
        if reason:
            raise ModelUnavailable(reason, where=f"chat template {shortened(str(path))}")
        return path.read_text(encoding="utf-8")

    def _context(self, folder: ModelFolder) -> int:
        made_for = folder.context or _UNBOUNDED
        return min(self._options.context or made_for, made_for)

    def _adapter(self) -> Path:
        return expanded(
            self._options.adapter, f"option adapter={shortened(self._options.adapter)}"
        ).absolute()

    def _unfit(self, folder: ModelFolder) -> ModelUnavailable | None:
        """Why this model cannot do what it is asked for; None if it can."""
        kind, reason, remedy = self._kind(folder), folder.unfit(), "Get its files anew"
        if not reason and kind == "reward" and folder.kind != "reward":
            reason, remedy = "is no sequence classifier, so it has no reward", "Leave out ?kind=reward"
        elif not reason and kind == "reward" and folder.labels != 1:
            reason, remedy = f"is a classifier of {folder.labels} classes, no reward model of one logit", ""
        elif not reason and kind == "chat" and folder.kind == "reward":
            reason, remedy = "is a classifier and cannot chat", "Leave out ?kind=chat"
        elif not reason and kind == "embed" and folder.pooling not in _POOLINGS:
            reason, remedy = f"is made for another pooling than is known here ({folder.pooling})", ""
        elif not reason and kind != "embed" and not self._template(folder):
            reason, remedy = "has no chat template", "Give one: ?template=FILE"
        elif not reason and self._options.thinking != "auto" and _SWITCH not in self._template(folder):
            reason, remedy = "has a chat template that knows no thinking switch", "Leave out ?thinking="
        if not reason and self._options.adapter and not (self._adapter() / _ADAPTER[0]).is_file():
            reason, remedy = (
                f"is given an adapter without {_ADAPTER[0]}",
                "Give the folder of a LoRA adapter: ?adapter=",
            )
        return ModelUnavailable(reason, where=self._where, remedy=remedy) if reason else None
