"""BERTScore through the package bert-score, from a local model, in batches."""

from __future__ import annotations

import csv
import importlib.util
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pmbench.core.errors import ConfigError
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

OFFICIAL_MODEL = "distilbert-base-uncased"
OFFICIAL_LAYER = 4
"""Of the official scorer of ArchEHR-QA; the package's own choice for that model is 5."""

_OFFICIAL_NAMES = (OFFICIAL_MODEL, f"distilbert/{OFFICIAL_MODEL}")
_OFFICIAL_SHAPE = {"model_type": "distilbert", "dim": 768, "n_layers": 6, "vocab_size": 30522}
_TOGETHER = 64
"""Pairs handed to the package at once: it sorts their texts into batches, and holds the vectors of all of them."""
_GATHERED = 128
"""Pairs that are gathered from coroutines at most, so that texts of like length meet in a batch."""


class Scored(NamedTuple):
    """F1 of one pair, and whether a text of it was longer than the model reads and was cut."""

    f1: float
    cut: bool


class BertScorer:
    """F1 of BERTScore for pairs of a prediction and a reference.

    Every token is matched with the most similar token of the other text; F1 of the mean similarities, no weights by
    rarity. With a baseline 0 is what unrelated texts have, and a value below 0 is possible. A text without a token
    scores 0 (the package: 0 before rescaling, −1.51 after it for the official model). Values change in their last
    digits with the texts that share a batch.

    Args:
        model: a folder with an encoder in transformers' format, or the name of one in this machine's Hugging Face
            cache. Nothing is downloaded.
        layer: the layer whose vectors are compared, from 1.
        baseline: `None`: the one that the package ships for a model of that name, if it does; `False`: none;
            `True`: the package's, or an error; a path: a file in the package's format (comma-separated, a row per
            layer: LAYER, P, R, F).
        device: `cpu`, `cuda`…; `auto`: CUDA where there is one.
        batch: texts in one batch; 0: 8 on a processor, 64 elsewhere.

    Raises:
        MissingExtra: bert-score or torch is not installed.
        ModelUnavailable: no such model here, or it cannot be loaded.
        ConfigError: no such layer, or no baseline for it.

    Source: Zhang et al. 2020. The official scorer of ArchEHR-QA: distilbert-base-uncased, layer 4, with baseline.
    """

    def __init__(
        self,
        model: str | Path = OFFICIAL_MODEL,
        *,
        layer: int = OFFICIAL_LAYER,
        baseline: bool | str | Path | None = None,
        device: str = "auto",
        batch: int = 0,
    ) -> None:
        need(("torch", "transformers", "bert_score"), "BERTScore", "bertscore")
        self._folder = EncoderFolder(model)
        self._layer = layer
        layers = _layers(self._folder)
        if layers < 1:
            raise ConfigError(
                "its config.json does not say how many layers it has",
                where=str(model),
                remedy="Give the folder of an encoder in transformers' format",
            )
        if not 1 <= layer <= layers:
            raise ConfigError(f"no layer {layer}", where=str(model), remedy=f"It has layers 1 to {layers}")
        self._baseline_file = _baseline_file(self._folder.name, baseline)
        self._baseline = _baseline(self._baseline_file, layer) if self._baseline_file else 0.0
        self._device = device_for(device)
        self._batch = batch or batch_for(self._device)
        self._tokeniser, self._encoder, self._match = self._load()
        self._at_work = threading.Lock()
        self._gathering = Gathering(self.scored, most=_GATHERED)

    @property
    def official(self) -> bool:
        """Whether this is the official scorer's BERTScore, as far as a model's name and shape can tell."""
        return (
            is_official_model(self._folder.name, self._folder.config)
            and self._layer == OFFICIAL_LAYER
            and self._baseline_file == shipped_baseline(OFFICIAL_MODEL)
        )

    @cached_property
    def _files(self) -> str:
        return digest_files([*self._folder.weights(), *self._folder.tokeniser_files()])

    def identity(self) -> dict[str, str]:
        """What decides the numbers: SHA-256 of the model's files, layer, baseline, versions; not where they lie."""
        return {
            "model": OFFICIAL_MODEL if self.official else str(self._folder.config.get("model_type", "")),
            "files": self._files,
            "layer": str(self._layer),
            "baseline": digest_files([self._baseline_file]) if self._baseline_file else "none",
            "most tokens": str(self._tokeniser.model_max_length),
            **versions("bert-score", "transformers", "torch"),
        }

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """F1 of each pair (prediction, reference), in their order."""
        return [found.f1 for found in self.scored(pairs)]

    def scored(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """F1 of each pair (prediction, reference) and whether a text was cut, in the pairs' order.

        Pairs of like length share a batch, longest first. Safe to call from several threads, one at a time works.
        """
        with self._at_work:  # a tokeniser serves one thread
            return self._scored(
                [(encodable(prediction), encodable(reference)) for prediction, reference in pairs]
            )

    def _scored(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        tokens = self._count({text for pair in pairs for text in pair})
        most = self._tokeniser.model_max_length
        cut = [any(tokens[text] > most for text in pair) for pair in pairs]
        least = self._tokeniser.num_special_tokens_to_add()
        found = [0.0] * len(pairs)
        filled = [at for at, pair in enumerate(pairs) if all(tokens[text] > least for text in pair)]
        filled.sort(key=lambda at: sorted((tokens[text] for text in pairs[at]), reverse=True), reverse=True)
        together = max(self._batch, _TOGETHER)
        for start in range(0, len(filled), together):
            places = filled[start : start + together]
            for at, value in zip(places, self._f1([pairs[at] for at in places]), strict=True):
                found[at] = value
        return [Scored(value, was_cut) for value, was_cut in zip(found, cut, strict=True)]

    async def one(self, prediction: str, reference: str) -> float:
        """F1 of one pair; pairs of coroutines in flight are scored together."""
        return (await self.one_scored(prediction, reference)).f1

    async def one_scored(self, prediction: str, reference: str) -> Scored:
        """F1 of one pair and whether a text was cut; pairs of coroutines in flight are scored together."""
        return await self._gathering((prediction, reference))

    def _load(self) -> tuple[Any, Any, Callable[..., Any]]:
        """The tokeniser, the encoder, and the package's function for pairs of texts."""
        from bert_score.utils import bert_cos_score_idf
        from transformers import AutoModel

        self._folder.weights()
        tokeniser = self._folder.tokeniser()
        # The layers above the one that is asked for are not even read. The package's own loading drops them later;
        # it also takes any folder with "t5" in its path for that family.
        with loading(self._folder.path):
            encoder = AutoModel.from_pretrained(
                str(self._folder.path), num_hidden_layers=self._layer, local_files_only=True
            )
            encoder = encoder.float().eval().requires_grad_(False).to(self._device)
        return tokeniser, encoder, bert_cos_score_idf

    def _count(self, texts: set[str]) -> dict[str, int]:
        """Tokens of each text before it is cut, the special ones included."""
        if not texts:
            return {}
        ordered = list(texts)
        encoded = self._tokeniser([text.strip() for text in ordered], truncation=False, verbose=False)[
            "input_ids"
        ]
        return {text: len(ids) for text, ids in zip(ordered, encoded, strict=True)}

    def _f1(self, pairs: list[tuple[str, str]]) -> list[float]:
        weights: dict[int, float] = defaultdict(lambda: 1.0)
        weights[self._tokeniser.sep_token_id] = weights[self._tokeniser.cls_token_id] = 0
        raw = self._match(
            self._encoder,
            [reference for _, reference in pairs],
            [prediction for prediction, _ in pairs],
            self._tokeniser,
            weights,
            batch_size=self._batch,
            device=self._device,
        )
        return [(float(f1) - self._baseline) / (1 - self._baseline) for f1 in raw[:, 2]]


def _layers(folder: EncoderFolder) -> int:
    """How many layers the configuration states; 0 where it states no such number."""
    found = folder.config.get("num_hidden_layers", folder.config.get("n_layers"))
    return found if isinstance(found, int) else 0


def is_official_model(name: str, config: Mapping[str, Any]) -> bool:
    """Whether a name and a `config.json` are those of the official scorer's model."""
    return name in _OFFICIAL_NAMES and all(config.get(key) == value for key, value in _OFFICIAL_SHAPE.items())


def shipped_baseline(name: str) -> Path | None:
    """The file of baselines that bert-score ships for a model's name; None where it ships none."""
    spec = importlib.util.find_spec("bert_score")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "rescale_baseline" / "en"
    name = OFFICIAL_MODEL if name in _OFFICIAL_NAMES else name
    file = folder / f"{name}.tsv"
    return file if file.is_file() else None


def _baseline_file(name: str, asked: bool | str | Path | None) -> Path | None:
    if asked is False:
        return None
    if isinstance(asked, str | Path):
        return Path(asked).expanduser()
    found = shipped_baseline(name)
    if found is None and asked:
        raise ConfigError(
            "bert-score ships no baseline for this model",
            where=name,
            remedy="Give a file with a baseline, or leave values as they are",
        )
    return found


def _baseline(file: Path, layer: int) -> float:
    """F of a layer in a file of baselines.

    Raises:
        ConfigError: the file cannot be read, or has no such layer.
    """
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            found = {int(row["LAYER"]): float(row["F"]) for row in csv.DictReader(lines)}
        return found[layer]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"no baseline of layer {layer} can be read ({type(error).__name__})",
            where=str(file),
            remedy="Give a comma-separated file with columns LAYER, P, R, F and a row per layer",
        ) from None
