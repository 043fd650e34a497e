"""Which prompts share a batch: those with a long common beginning together, and else those of like length.

The cost of a batch is counted in tokens that go through the model: the common beginning once, each remainder
padded to the longest one, and a fixed cost of starting it at all. Prompts with a beginning of their own become a
group of their own where that saves more than it costs to start one more batch.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tokens = NDArray[np.int32]

LEAST_SHARED = 32
"""Tokens: a shorter common beginning is not worth keeping."""


class Batch(msgspec.Struct, frozen=True):
    """Prompts that go through the model together.

    Attributes:
        members: their places in what was planned, the longest first.
        shared: tokens at the beginning that all have in common; 0: nothing is shared.
    """

    members: tuple[int, ...]
    shared: int


def common(one: Tokens, other: Tokens) -> int:
    """How many tokens two prompts have in common at the beginning."""
    size = min(len(one), len(other))
    different = np.flatnonzero(one[:size] != other[:size])
    return int(different[0]) if len(different) else size


def plan(prompts: Sequence[Tokens], *, rows: int, tokens: int, start: int, share: bool = True) -> list[Batch]:
    """Divide prompts into batches.

    Args:
        prompts: token ids, one or more each.
        rows: most prompts in a batch.
        tokens: most tokens in a batch, padding included and a shared beginning left out; one prompt alone may
            have more.
        start: what starting a batch costs, in tokens.
        share: False: common beginnings are of no use.

    Returns:
        Batches that hold every prompt once.
    """
    groups = _groups(prompts, start) if share else [(list(range(len(prompts))), 0)]
    return [batch for members, shared in groups for batch in _divided(prompts, members, shared, rows, tokens)]


def _groups(prompts: Sequence[Tokens], start: int) -> list[tuple[list[int], int]]:
    """Groups of prompts with the length of their common beginning, found from the sorted prompts downwards."""
    order = sorted(range(len(prompts)), key=lambda place: prompts[place].astype(">u4").tobytes())
    # Of the last token of each prompt something has to be computed: it is never part of what is shared.
    near = [0] + [
        min(common(prompts[a], prompts[b]), len(prompts[a]) - 1, len(prompts[b]) - 1)
        for a, b in itertools.pairwise(order)
    ]
    found: list[tuple[list[int], int]] = []
    open_spans = [(0, len(order))] if order else []
    while open_spans:
        low, high = open_spans.pop()
        shared = min(near[low + 1 : high], default=0)
        rest: list[int] = []
        for first, end in _children(near, low, high, shared):
            own = min(near[first + 1 : end], default=0)
            apart = (own - shared) * (end - first - 1) >= start and (first, end) != (low, high)
            if apart:
                open_spans.append((first, end))
            else:
                rest.extend(order[first:end])
        if rest:
            found.append((rest, shared if len(rest) > 1 and shared >= LEAST_SHARED else 0))
    return found


def _children(near: Sequence[int], low: int, high: int, shared: int) -> list[tuple[int, int]]:
    """Spans of a group whose members have more in common than the whole group has."""
    cuts = [low, *(place for place in range(low + 1, high) if near[place] <= shared), high]
    return list(itertools.pairwise(cuts))


def _divided(
    prompts: Sequence[Tokens], members: list[int], shared: int, rows: int, tokens: int
) -> list[Batch]:
    """Batches of a group, each of like lengths, as many prompts in each as fit."""
    ordered = sorted(members, key=lambda place: (-len(prompts[place]), place))
    batches, begin = [], 0
    while begin < len(ordered):
        longest = max(len(prompts[ordered[begin]]) - shared, 1)
        most = max(1, min(rows, tokens // longest))
        left = len(ordered) - begin
        size = -(-left // -(-left // most))  # of equal size, rather than one small batch at the end
        batches.append(Batch(tuple(ordered[begin : begin + size]), shared))
        begin += size
    return batches
