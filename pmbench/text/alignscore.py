"""AlignScore: how far each sentence of a claim follows from a text, by the published checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pmbench.core.errors import ConfigError, ModelUnavailable
from pmbench.text.encoders import (
    EncoderFolder,
    batch_for,
    device_for,
    digest_files,
    encodable,
    loading,
    need,
    versions,
)
from pmbench.text.gathering import Gathering
from pmbench.text.punkt import english_punkt

BACKBONE = "roberta-base"
"""Of the checkpoint AlignScore-base.ckpt; AlignScore-large.ckpt has roberta-large."""

_CHUNK_WORDS = 350
_CLASSES = 3
"""Outputs of the head `tri_layer`: aligned, contradicting, neutral. The other heads of a checkpoint are not read."""
_IGNORED = "embeddings.position_ids"
"""A buffer that transformers before 4.31 stored; it holds 0, 1, 2…"""
_GATHERED = 16
"""Pairs that are gathered from coroutines at once."""


class SentenceScores(NamedTuple):
    """One claim's sentences, how far each follows from the context, and how many inputs were cut."""

    sentences: list[str]
    scores: list[float]
    cut: int

    @property
    def mean(self) -> float:
        """AlignScore of the claim; 0 for a claim without a sentence."""
        return sum(self.scores) / len(self.scores) if self.scores else 0.0


def context_chunks(context: str, split: Callable[[str], list[str]]) -> list[str]:
    """A context in pieces of whole sentences, about 350 words each.

    With n sentences and w words each piece has max(n // (w // 350 + 1), 1) sentences, joined by one space; an empty
    context is one empty piece. Source: `inference_per_example` of the AlignScore repository.
    """
    sentences = split(context) or [""]
    size = max(len(sentences) // (len(context.split()) // _CHUNK_WORDS + 1), 1)
    return [" ".join(sentences[start : start + size]) for start in range(0, len(sentences), size)]


class AlignScorer:
    """AlignScore in its mode `nli_sp`, which the official scorer of ArchEHR-QA uses.

    The probability of "aligned" for each sentence of the claim with each piece of the context; the best piece
    counts, then the mean over the sentences. Values in [0, 1]. An input longer than 512 tokens loses the end of the
    piece, and is counted. (Where the claim's sentence alone fills the input, both are cut: the published code then
    does so with the other inputs of that batch too.)

    Args:
        checkpoint: the published file (`AlignScore-base.ckpt`), the same tensors as safetensors, or a folder with
            either. A checkpoint is read as tensors and plain values only: what else a pickle could hold is refused.
        backbone: folder of the model it was trained from, or its name in this machine's Hugging Face cache; its
            `config.json` and tokeniser are used. Empty: the checkpoint's folder if it has a `config.json`, else
            roberta-base.
        device: `cpu`, `cuda`…; `auto`: CUDA where there is one.
        batch: inputs in one batch; 0: 8 on a processor, 64 elsewhere.

    Raises:
        MissingExtra: torch, transformers, NLTK or its splitter's data are not installed.
        ModelUnavailable: the checkpoint or the backbone are not here, or cannot be read.
        ConfigError: the checkpoint does not fit the backbone.

    Source: Zha et al. 2023 and its repository (src/alignscore/model.py, inference.py).
    """

    def __init__(
        self, checkpoint: str | Path, backbone: str | Path = "", *, device: str = "auto", batch: int = 0
    ) -> None:
        need(("torch", "transformers", "safetensors", "nltk"), "AlignScore", "alignscore")
        self._punkt = english_punkt()
        self._file = _checkpoint_file(Path(checkpoint).expanduser())
        beside = self._file.parent if (self._file.parent / "config.json").is_file() else BACKBONE
        self._folder = EncoderFolder(backbone or beside)
        self._device = device_for(device)
        self._batch = batch or batch_for(self._device)
        self._tokeniser = self._folder.tokeniser()
        self._encoder, self._head = self._load()
        self._at_work = threading.Lock()
        self._gathering = Gathering(self._claims, most=_GATHERED)

    @cached_property
    def _checkpoint(self) -> str:
        return digest_files([self._file])

    def identity(self) -> dict[str, str]:
        """What decides the numbers: SHA-256 of the checkpoint and of the tokeniser, mode, splitter, versions."""
        return {
            "checkpoint": self._checkpoint,
            "tokeniser": digest_files([self._folder.path / "config.json", *self._folder.tokeniser_files()]),
            "mode": "nli_sp",
            **self._punkt.identity,
            **versions("transformers", "torch"),
        }

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """AlignScore of each pair (context, claim), in their order; 0 for a claim without a sentence."""
        return [found.mean for found in self._claims(pairs)]

    def sentences(self, context: str, claim: str) -> SentenceScores:
        """How far each sentence of a claim follows from a context."""
        return self._claims([(context, claim)])[0]

    async def one(self, context: str, claim: str) -> float:
        """AlignScore of one pair; pairs of coroutines in flight are scored together."""
        return (await self.one_by_sentences(context, claim)).mean

    async def one_by_sentences(self, context: str, claim: str) -> SentenceScores:
        """How far each sentence follows; pairs of coroutines in flight are scored together."""
        return await self._gathering((context, claim))

    def _claims(self, pairs: Sequence[tuple[str, str]]) -> list[SentenceScores]:
        claims = [self._punkt.split(encodable(claim)) for _, claim in pairs]
        pieces = [context_chunks(encodable(context), self._punkt.split) for context, _ in pairs]
        inputs = sorted(
            {
                (piece, sentence)
                for mine, sentences in zip(pieces, claims, strict=True)
                for sentence in sentences
                for piece in mine
            }
        )
        with self._at_work:
            aligned = dict(zip(inputs, self._aligned(inputs), strict=True))
        return [
            SentenceScores(
                sentences,
                [max(aligned[piece, sentence][0] for piece in mine) for sentence in sentences],
                sum(aligned[piece, sentence][1] for sentence in sentences for piece in mine),
            )
            for mine, sentences in zip(pieces, claims, strict=True)
        ]

    def _aligned(self, inputs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        """Probability of "aligned" of each input (piece, sentence), and whether it was cut; longest first."""
        import torch

        encoded = [self._encode(piece, sentence) for piece, sentence in inputs]
        found: list[tuple[float, bool]] = [(0.0, False)] * len(inputs)
        order = sorted(range(len(inputs)), key=lambda at: len(encoded[at][0]), reverse=True)
        for start in range(0, len(order), self._batch):
            places = order[start : start + self._batch]
            rows = [torch.tensor(encoded[at][0]) for at in places]
            ids = torch.nn.utils.rnn.pad_sequence(rows, True, self._tokeniser.pad_token_id).to(self._device)
            mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], True).to(
                self._device
            )
            with torch.inference_mode():
                state = self._encoder(input_ids=ids, attention_mask=mask).pooler_output
                shares = torch.softmax(self._head(state), dim=-1)[:, 0].tolist()
            for at, share in zip(places, shares, strict=True):
                found[at] = share, encoded[at][1]
        return found

    def _encode(self, piece: str, sentence: str) -> tuple[list[int], bool]:
        """Tokens of one input, cut to what the model reads, and whether they were cut."""
        most = self._tokeniser.model_max_length
        first, second = (
            self._tokeniser(text, add_special_tokens=False, verbose=False)["input_ids"]
            for text in (piece, sentence)
        )
        room = most - self._tokeniser.num_special_tokens_to_add(pair=True)
        cut = len(first) + len(second) > room
        how = "only_first" if len(second) < room else "longest_first"
        ids = self._tokeniser(piece, sentence, truncation=how, max_length=most, verbose=False)["input_ids"]
        return list(ids), cut

    def _load(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoConfig, RobertaModel

        state = _tensors(self._file)
        with loading(self._folder.path):
            config = AutoConfig.from_pretrained(str(self._folder.path), local_files_only=True)
        if config.model_type != "roberta":
            raise ConfigError(
                f"is a model of the family {config.model_type!r}",
                where=str(self._folder.path),
                remedy="Give the RoBERTa model that the checkpoint was trained from",
            )
        encoder = RobertaModel(config)
        head = torch.nn.Linear(config.hidden_size, _CLASSES)
        _fill(encoder, _under("base_model.", state), self._file)
        _fill(head, _under("tri_layer.", state), self._file)
        for module in (encoder, head):
            module.float().eval().requires_grad_(False).to(self._device)
        return encoder, head


def _checkpoint_file(given: Path) -> Path:
    if given.is_file():
        return given
    found = sorted(path for pattern in ("*.safetensors", "*.ckpt") for path in given.glob(pattern))
    if len(found) == 1:
        return found[0]
    raise ModelUnavailable(
        f"{len(found)} checkpoints in this folder" if given.is_dir() else "there is no such checkpoint",
        where=str(given),
        remedy="Give the file AlignScore-base.ckpt of the AlignScore repository, or its tensors as safetensors",
    )


def _tensors(file: Path) -> Mapping[str, Any]:
    """The tensors of a checkpoint by name. No object but tensors and plain values is ever built from a pickle."""
    import torch
    from safetensors.torch import load_file

    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        found = torch.load(file, map_location="cpu", weights_only=True)
        state = found.get("state_dict", found)
        return {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
    except Exception as error:  # noqa: BLE001 - pickle, zipfile, torch and safetensors have their own
        raise ModelUnavailable(
            f"cannot be read as tensors ({type(error).__name__})",
            where=str(file),
            remedy="Get it anew. If it holds more than tensors, save its state_dict as safetensors first",
        ) from None


def _under(prefix: str, state: Mapping[str, Any]) -> dict[str, Any]:
    found = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
    found.pop(_IGNORED, None)
    return found


def _fill(module: Any, state: Mapping[str, Any], file: Path) -> None:
    """Put tensors into a module: all of its own, of the same shapes, and no others.

    Raises:
        ConfigError: they do not fit, with the first name that does not.
    """
    own = {name: tuple(value.shape) for name, value in module.state_dict().items() if name != _IGNORED}
    given = {name: tuple(value.shape) for name, value in state.items()}
    wrong = _first(name for name in own.keys() | given.keys() if own.get(name) != given.get(name))
    if wrong:
        raise ConfigError(
            f"does not fit the backbone (first at {wrong!r})",
            where=str(file),
            remedy="Give the checkpoint of AlignScore and the model that it was trained from",
        )
    module.load_state_dict(state, strict=False)


def _first(names: Iterable[str]) -> str:
    return min(names, default="")
