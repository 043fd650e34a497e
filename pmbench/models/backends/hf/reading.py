"""A causal language model reading prompts: what they begin with alike is read once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers.cache_utils import CacheLayerMixin, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from pmbench.models.backends.hf.cache import Beginnings, Pairs, Rows, WholeRows, expanded, pairs_of

if TYPE_CHECKING:
    from pmbench.models.backends.hf.groups import Tokens
    from pmbench.models.backends.hf.loading import Loaded


_CACHE_NAMES = ("cache", "past_key_values", "cache_params")
"""What versions and models of transformers call what they remember."""


class Reader:
    """Runs prompts and steps through a model.

    Rows of unlike length are padded on the right while they are read: a token looks at earlier ones only, so no
    padding is ever looked at and no mask is needed. While an answer is written they end in one column, padded
    on the left.

    Args:
        loaded: the model.
        kept: most tokens of kept beginnings.
        piece: a beginning longer than this is read in pieces of so many tokens.
    """

    joins = True
    """Whether new rows may join a running batch."""

    def __init__(self, loaded: Loaded, *, kept: int, piece: int) -> None:
        self._model, self._device, self._takes = loaded.module, loaded.device, loaded.takes
        self._cache_name = next(
            name for name in _CACHE_NAMES if name in self._takes or name == _CACHE_NAMES[-1]
        )
        self._last: torch.Tensor | None = None
        self.beginnings = Beginnings(kept)
        self.piece = piece
        head = self._model.get_output_embeddings()
        if head is not None:
            # Logits of the last token alone: those of a whole prompt would need more memory than the model.
            head.register_forward_pre_hook(self._only_last)

    def rows(self) -> Rows:
        """A running batch without rows."""
        return Rows()

    def read(self, prompts: Sequence[Tokens], shared: int) -> tuple[torch.Tensor, Any, list[int]]:
        """Read prompts that have their first `shared` tokens in common.

        Returns:
            Logits of the token after each prompt in float32, shape (rows, vocabulary); keys and values, each
            row's in its first columns; how many tokens of each prompt had been read before.
        """
        first, alone = prompts[0], len(prompts) == 1
        before, pairs = self.beginnings.find(first, len(first) - 1 if alone else shared)
        known = max(before, shared)
        if alone and len(first) - known > self.piece:
            known = len(first) - 1
        if known > before:
            pairs = self._begin(first[:known], before, pairs)
        rests = [prompt[known:] for prompt in prompts]
        lengths = [len(rest) for rest in rests]
        ids = np.zeros((len(rests), max(lengths)), np.int64)
        for row, rest in enumerate(rests):
            ids[row, : len(rest)] = rest
        cache = expanded(pairs, len(prompts))
        self._last = torch.tensor(lengths, device=self._device) - 1
        logits = self._forward(torch.from_numpy(ids).to(self._device), cache)
        pairs = pairs_of(cache)
        if alone:  # the next one may begin like it
            self.beginnings.keep(first, pairs)
        return logits, pairs, [before] + [known] * (len(prompts) - 1)

    def step(self, tokens: Sequence[int], rows: Rows) -> torch.Tensor:
        """Append one token to each row; logits of the one after it, in float32, shape (rows, vocabulary)."""
        places = torch.tensor(rows.lengths, device=self._device)[:, None]
        ids = torch.tensor(tokens, device=self._device)[:, None]
        mask = rows.mask(self._device)
        self._last = None
        logits = self._forward(ids, rows.cache, attention_mask=mask, position_ids=places)
        rows.grow()
        return logits

    def _begin(self, tokens: Tokens, known: int, pairs: Pairs) -> Pairs:
        """Read on in a beginning, piece by piece, and keep it."""
        cache = expanded(pairs, 1)
        for start in range(known, len(tokens), self.piece):
            piece = torch.from_numpy(tokens[None, start : start + self.piece].astype(np.int64)).to(
                self._device
            )
            self._last = torch.tensor([piece.shape[1] - 1], device=self._device)
            self._forward(piece, cache)
        read = pairs_of(cache)
        self.beginnings.keep(tokens, read)
        return read

    def _forward(self, ids: torch.Tensor, cache: Any, **given: Any) -> torch.Tensor:
        out = self._model(input_ids=ids, use_cache=True, **{self._cache_name: cache}, **given)
        logits = out.logits
        if logits.shape[1] > 1:  # a model that does not call its head as a module
            rows = torch.arange(len(logits), device=logits.device)
            logits = logits[rows, -1 if self._last is None else self._last.to(logits.device)][:, None]
        found: torch.Tensor = logits[:, 0].float()
        return found

    def _only_last(self, _module: Any, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        states = given[0]
        if states.shape[1] == 1:
            return given
        rows = torch.arange(len(states), device=states.device)
        last = self._last if self._last is not None else states.new_full((len(states),), -1, dtype=torch.long)
        return (states[rows, last.to(states.device)][:, None], *given[1:])


class WholeReader(Reader):
    """Reads for models that remember more of a text than keys and values (state-space, linear attention).

    What such a layer remembers of a text cannot be cut at a token nor shifted, so nothing is kept, and a batch
    runs until its last answer has ended, without those that ended before.
    """

    joins = False

    def rows(self) -> Rows:
        """A running batch without rows."""
        return WholeRows()

    def read(self, prompts: Sequence[Tokens], shared: int) -> tuple[torch.Tensor, Any, list[int]]:
        """Read prompts, padded on the left; see `Reader.read`. In place of pairs the whole cache and its columns."""
        lengths = [len(prompt) for prompt in prompts]
        ids = np.zeros((len(prompts), max(lengths)), np.int64)
        for row, prompt in enumerate(prompts):
            ids[row, -len(prompt) :] = prompt
        mask = np.arange(ids.shape[1])[None, :] >= ids.shape[1] - np.asarray(lengths)[:, None]
        given = {"attention_mask": torch.from_numpy(mask.astype(np.int64)).to(self._device)}
        if "position_ids" in self._takes:
            places = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
            given["position_ids"] = torch.from_numpy(places).to(self._device)
        cache = DynamicCache(config=self._model.config)
        self._last = None
        logits = self._forward(torch.from_numpy(ids).to(self._device), cache, **given)
        return logits, (cache, max(lengths)), [0] * len(prompts)

    def step(self, tokens: Sequence[int], rows: Rows) -> torch.Tensor:
        """Append one token to each row; see `Reader.step`."""
        given = {}
        # Without a layer that attends there is nothing to mask: padding has left no trace in what is remembered.
        if any(isinstance(layer, CacheLayerMixin) for layer in rows.cache.layers):
            given["attention_mask"] = rows.mask(self._device)
        if "position_ids" in self._takes:
            given["position_ids"] = torch.tensor(rows.lengths, device=self._device)[:, None]
        self._last = None
        ids = torch.tensor(tokens, device=self._device)[:, None]
        logits = self._forward(ids, rows.cache, **given)
        rows.grow()
        return logits


def reader_for(loaded: Loaded, *, kept: int, piece: int) -> Reader:
    """The reader that fits what the model remembers of a text."""
    layers = DynamicCache(config=loaded.module.config).layers
    plain = all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in layers)
    if plain and "position_ids" in loaded.takes:
        return Reader(loaded, kept=kept, piece=piece)
    return WholeReader(loaded, kept=0, piece=piece)
