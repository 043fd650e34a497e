"""Where a model in transformers' format lies, and what its small files say of it. Loads and downloads nothing."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from pmbench.core.digest import digest_bytes
from pmbench.core.errors import ConfigError, ModelUnavailable
from pmbench.models.files import cache
from pmbench.models.paths import expanded, shortened

Kind = Literal["chat", "reward", "embed"]

_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_WHOLE = ("model.safetensors", "pytorch_model.bin")
_SMALL = (".json", ".jinja", ".model", ".txt", ".tiktoken")
"""Endings of the files beside the weights that decide an answer: config, tokenizer, chat template."""

_CHATS = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")
_CLASSIFIES = "ForSequenceClassification"


class ModelFolder(msgspec.Struct, frozen=True, dict=True):
    """A folder with a model: `config.json`, weights, tokenizer.

    Attributes:
        path: the folder.
        commit: of the hub's repository that it is a copy of; empty for a folder of the user's own.
    """

    path: Path
    commit: str = ""

    @functools.cached_property
    def config(self) -> Mapping[str, Any]:
        """`config.json`.

        Raises:
            ModelUnavailable: it cannot be read.
        """
        return self._json("config.json")

    @property
    def kind(self) -> Kind:
        """What the model is for, by the name of its architecture; without one it embeds."""
        names = self.config.get("architectures") or [""]
        if any(str(name).endswith(_CLASSIFIES) for name in names):
            return "reward"
        return "chat" if any(str(name).endswith(_CHATS) for name in names) else "embed"

    @property
    def labels(self) -> int:
        """How many logits a classifier has."""
        named = self.config.get("id2label")
        return int(self.config.get("num_labels") or (len(named) if named else 2))

    @property
    def context(self) -> int:
        """Most tokens that the model was made for; 0 if its config does not say."""
        return self._number("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx")

    @property
    def width(self) -> int:
        """Numbers in a state, and so in an embedder's vector; 0 if its config does not say."""
        return self._number("hidden_size", "n_embd", "d_model", "dim")

    def _number(self, *names: str) -> int:
        """The first of these that the config has, that of its text part before its own."""
        for place in (self.config.get("text_config") or {}, self.config):
            for name in names:
                if isinstance(place.get(name), int):
                    return int(place[name])
        return 0

    @property
    def dtype(self) -> str:
        """Type of the weights as the config has it, `float32` where it is silent."""
        text = self.config.get("text_config") or {}
        said = [place.get(name) for place in (self.config, text) for name in ("dtype", "torch_dtype")]
        return str(next((name for name in said if name), "float32")).removeprefix("torch.")

    @functools.cached_property
    def template(self) -> str:
        """The chat template; empty if there is none."""
        file = self.path / "chat_template.jinja"
        if file.is_file():
            return file.read_text(encoding="utf-8")
        for name in ("chat_template.json", "tokenizer_config.json"):
            if (self.path / name).is_file():
                found = self._json(name).get("chat_template") or ""
                if isinstance(found, list):  # several by name
                    found = {entry.get("name"): entry.get("template") for entry in found}.get("default") or ""
                if found:
                    return str(found)
        return ""

    @functools.cached_property
    def pooling(self) -> str:
        """How an embedder makes one vector of many: `mean`, or what its own file of sentence-transformers says."""
        if not (self.path / "1_Pooling" / "config.json").is_file():
            return "mean"
        said = self._json("1_Pooling/config.json")
        modes = [name.removeprefix("pooling_mode_") for name, on in said.items() if on is True]
        found = [mode for mode in modes if mode in ("mean_tokens", "cls_token", "lasttoken", "max_tokens")]
        return ",".join(found).replace("mean_tokens", "mean") or "mean"

    def weights(self) -> list[Path]:
        """The files of the weights, whether they are there or not; none if there is neither file nor index."""
        for index in _INDEXES:
            if (self.path / index).is_file():
                names = sorted(set(self._json(index).get("weight_map", {}).values()))
                return [self.path / str(name) for name in names]
        return [self.path / name for name in _WHOLE if (self.path / name).is_file()][:1]

    def unfit(self) -> str:
        """Why the folder's files are not enough; empty if they are."""
        weights = self.weights()
        if not weights:
            return "holds no weights (model.safetensors)"
        missing = [file.name for file in weights if not file.is_file()]
        if missing:
            return f"is not complete: {len(missing)} of {len(weights)} files of the weights are missing"
        if self.config.get("is_encoder_decoder"):
            return "has an encoder and a decoder, which this backend does not run"
        return ""

    def digests(self) -> dict[str, str]:
        """`weights` (SHA-256 over the files, or the commit of the hub) and `files` (those beside them).

        Raises:
            ModelUnavailable: a file cannot be read.
        """
        if self.commit:
            return {"revision": self.commit}
        small = sorted(
            file for file in self.path.iterdir() if file.suffix in _SMALL and file.name not in _INDEXES
        )
        return {"weights": _digest(self.weights(), self.path), "files": _digest(small, self.path)}

    def _json(self, name: str) -> Mapping[str, Any]:
        try:
            found = json.loads((self.path / name).read_bytes())
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise ModelUnavailable("cannot be read as JSON", where=shortened(str(self.path / name)))
        return found


def locate(target: str, revision: str, *, preset: str = "") -> ModelFolder:
    """The folder of a model: the user's own, or the copy in the cache of the Hugging Face hub.

    A folder that is there goes before the hub's repository of the same name, unless a preset means the latter.

    Args:
        target: a path or `ORG/NAME`.
        revision: branch, tag or commit of the hub; empty for `main`.
        preset: under which name the user asked for it, if that was a preset's.

    Raises:
        ConfigError: it can be neither.
        ModelUnavailable: there is no such folder, or the cache does not have it; the message says how to get it.
    """
    where = f"model 'hf:{shortened(target)}'"
    if not preset:
        path = expanded(target, where)
        if (path / "config.json").is_file():
            return ModelFolder(path.absolute())
        if path.is_dir():
            raise ModelUnavailable("is a folder without a config.json", where=where)
    if not _HUB_NAME.fullmatch(target):
        raise ModelUnavailable(
            "there is no such folder", where=where, remedy="Give a folder, or ORG/NAME of the hub"
        )
    return _cached(target, revision, preset, where)


def _cached(repo: str, revision: str, preset: str, where: str) -> ModelFolder:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(repo, "config.json", revision=revision or None)
    except HFValidationError:
        raise ConfigError("is no name of the hub", where=where, remedy="Write hf:ORG/NAME") from None
    if not isinstance(found, str):
        at, option = (f" at revision {revision}", f"?revision={revision}") if revision else ("", "")
        raise ModelUnavailable(
            f"is not in the Hugging Face cache{at}, and nothing is downloaded in the middle of a run",
            where=where,
            remedy=f"Run: pmbench fetch {preset or f'hf:{repo}'}{option}",
        )
    snapshot = Path(found).parent
    return ModelFolder(snapshot, snapshot.name)


def folder_digest(folder: Path, names: tuple[str, ...]) -> str:
    """SHA-256 over those files of a folder that are there.

    Raises:
        ModelUnavailable: one cannot be read.
    """
    return _digest([folder / name for name in names if (folder / name).is_file()], folder)


def _digest(files: list[Path], folder: Path) -> str:
    try:
        lines = [f"{file.name} {cache.file_sha256(file)}" for file in files]
    except OSError as error:
        reason = (error.strerror or "error").lower()
        raise ModelUnavailable(f"cannot be read: {reason}", where=shortened(str(folder))) from None
    return digest_bytes("\n".join(lines).encode())
