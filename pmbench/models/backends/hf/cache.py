"""Keys and values of the tokens that a model has read: of the rows of a batch, and of kept beginnings."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

from pmbench.models.backends.hf.groups import LEAST_SHARED, common

if TYPE_CHECKING:
    from pmbench.models.backends.hf.groups import Tokens

Pairs = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values by layer, each of shape (rows, heads, tokens, width)."""

_ROOM = 128
"""Columns that a buffer grows by: a step then writes one column instead of copying all of them."""


class RowLayer(DynamicLayer):  # type: ignore[no-untyped-call,unused-ignore]
    """One layer's keys and values of rows that end in the same column.

    They lie in buffers with room for more rows and more columns. A row that has ended gives its place to the
    last row, and rows that begin are written where there is room, so that neither moves what stays. Left of a
    short row's first token stand zeros or what an earlier row left there: the mask keeps them out.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call,unused-ignore]
        self.rows = self.start = self.end = 0
        self._buffers: list[torch.Tensor] = []

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the columns of one step to all rows."""
        new = key_states.shape[-2]
        self._reserve(key_states, value_states, self.rows, self.end - self.start, new)
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[: self.rows, :, self.end : self.end + new] = states
        self.end += new
        return self._show()

    def admit(self, keys: torch.Tensor, values: torch.Tensor, lengths: list[int]) -> None:
        """Add rows whose tokens stand in the first `lengths` columns of `keys` and `values`."""
        old, width = self.rows, max(self.end - self.start, *lengths)
        self._reserve(keys, values, old + len(lengths), width, 0)
        self.rows, self.start = old + len(lengths), self.end - width
        for buffer, states in zip(self._buffers, (keys, values), strict=True):
            for place, length in enumerate(lengths):
                buffer[old + place, :, self.end - length : self.end] = states[place, :, :length]
        self._show()

    def leave(self, row: int) -> None:
        """Give the place of a row to the last one."""
        self.rows -= 1
        if row != self.rows:
            for buffer in self._buffers:
                buffer[row, :, self.start : self.end] = buffer[self.rows, :, self.start : self.end]
        self._show()

    def narrow(self, width: int) -> None:
        """Forget the columns before the last `width` ones."""
        self.start = self.end - width
        self._show()

    def _show(self) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = (buffer[: self.rows, :, self.start : self.end] for buffer in self._buffers)
        self.keys, self.values = keys, values
        return keys, values

    def _reserve(self, keys: torch.Tensor, values: torch.Tensor, rows: int, width: int, new: int) -> None:
        """Make room for so many rows, `width` columns up to the end, and `new` columns after it."""
        self.is_initialized = True
        held = self._buffers[0].shape if self._buffers else (0, 0, 0)
        if rows <= held[0] and width <= self.end and self.end + new <= held[2]:
            return
        end, live = width, slice(self.start, self.end)
        old, self._buffers = self._buffers, []
        for states, buffer in zip((keys, values), old or (None, None), strict=True):
            shape = (max(rows, held[0]), states.shape[1], width + max(new, _ROOM), states.shape[3])
            # Zeros, for a mask does not keep out what is not a number.
            grown = states.new_zeros(shape)
            if buffer is not None:
                grown[: self.rows, :, end - (self.end - self.start) : end] = buffer[: self.rows, :, live]
            self._buffers.append(grown)
        self.start, self.end = end - (self.end - self.start), end


class Rows:
    """The rows of a running batch: their keys and values, and how many tokens each has."""

    def __init__(self) -> None:
        self._layers: list[Any] = []
        self.cache = Cache(layers=self._layers)
        self.lengths: list[int] = []

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def width(self) -> int:
        """Columns: tokens of the longest row."""
        return max(self.lengths, default=0)

    def admit(self, pairs: Pairs, places: list[int], lengths: list[int]) -> None:
        """Add those rows of `pairs`; see `RowLayer.admit`."""
        while len(self._layers) < len(pairs):
            self._layers.append(RowLayer())
        chosen = slice(None) if places == list(range(len(pairs[0][0]))) else places
        for layer, (keys, values) in zip(self._layers, pairs, strict=True):
            layer.admit(keys[chosen], values[chosen], lengths)
        self.lengths += lengths

    def leave(self, gone: list[int]) -> None:
        """Remove rows; each one's place is taken by the last, from the highest removed row downwards."""
        for row in sorted(gone, reverse=True):
            self.lengths[row] = self.lengths[-1]
            self.lengths.pop()
            for layer in self._layers:
                layer.leave(row)
        if not self.lengths:
            self._layers.clear()
        elif gone:
            for layer in self._layers:
                layer.narrow(self.width)

    def grow(self) -> None:
        """Count the token that a step has appended to each row."""
        self.lengths = [length + 1 for length in self.lengths]

    def mask(self, device: torch.device) -> torch.Tensor | None:
        """Which columns each row has tokens in, the coming column included; None: all in all."""
        width = self.width + 1
        if min(self.lengths) + 1 == width:
            return None
        first = width - 1 - torch.tensor(self.lengths, device=device)
        return torch.arange(width, device=device)[None, :] >= first[:, None]


class WholeRows(Rows):
    """The rows of a batch of a model whose memory can be chosen from by rows, and else is a whole."""

    def __init__(self) -> None:
        super().__init__()
        self._columns = 0

    @property
    def width(self) -> int:
        """Columns of what is remembered: those of rows that have left stay."""
        return self._columns

    def admit(self, held: Any, places: list[int], lengths: list[int]) -> None:
        """Take a cache with so many columns, of its rows these; there were none before."""
        self.cache, self._columns = held
        self.lengths = list(lengths)
        self._choose(places)

    def grow(self) -> None:
        """Count the token that a step has appended to each row."""
        super().grow()
        self._columns += 1

    def leave(self, gone: list[int]) -> None:
        """Remove rows, in the order of `Rows.leave`."""
        order = list(range(len(self.lengths)))
        for row in sorted(gone, reverse=True):
            order[row] = order[-1]
            order.pop()
        self.lengths = [self.lengths[row] for row in order]
        if order and gone:
            self._choose(order)

    def _choose(self, order: list[int]) -> None:
        places: Any = torch.tensor(order)
        self.cache.reorder_cache(places)


class Beginnings:
    """Keys and values of beginnings that several prompts had, the latest used ones, up to a number of tokens.

    Attributes:
        most: tokens that are kept, over all beginnings; 0: nothing is kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[bytes, tuple[Tokens, Pairs]] = OrderedDict()

    def find(self, prompt: Tokens, most: int) -> tuple[int, Pairs]:
        """The longest kept beginning of a prompt, of `most` tokens at most: its length and its pairs."""
        best, where = 0, b""
        for key, (tokens, _) in self._kept.items():
            shared = min(common(tokens, prompt), most)
            if shared > best:
                best, where = shared, key
        if best < LEAST_SHARED:
            return 0, []
        self._kept.move_to_end(where)
        return best, [(keys[:, :, :best], values[:, :, :best]) for keys, values in self._kept[where][1]]

    def keep(self, tokens: Tokens, pairs: Pairs) -> None:
        """Keep a beginning; those that were not used for the longest time make room."""
        if len(tokens) > self.most:
            return
        self._kept[tokens.tobytes()] = (tokens, pairs)
        while sum(len(kept) for kept, _ in self._kept.values()) > self.most:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()


def expanded(pairs: Pairs, rows: int) -> Cache:
    """A cache for so many rows that all begin with the same tokens; nothing is copied yet."""
    layers: list[Any] = []
    for keys, values in pairs:
        layer: Any = DynamicLayer()  # type: ignore[no-untyped-call,unused-ignore]
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1)
        layers.append(layer)
    return Cache(layers=layers) if layers else Cache(layer_class_to_replicate=DynamicLayer)


def pairs_of(cache: Any) -> Pairs:
    """The keys and values of a cache."""
    return [(layer.keys, layer.values) for layer in cache.layers]
