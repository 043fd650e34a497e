"""Sorting an inbox with fewer comparisons than all pairs (Zhuang et al., SIGIR 2024, compare sorts for rankers).

`compare(i, j)` gives the probability that message j is more urgent than message i, both orders of asking averaged by
the caller. Each sort is a generator of *rounds*: it yields the pairs that it wants to know now, all of which are
awaited together, and is handed their answers. A pair is asked at most once; so every sort ends, however much a
comparator contradicts itself, and what is asked does not depend on which answer arrives first.

An answer of exactly ½ is a tie, as is NaN, a comparison that failed, which is counted. A sort begins with a seeded
random order, so that the order of the inbox tells nothing. Where a budget ends it, the messages are ordered by all
that was asked until then (`bradley_terry.py`).
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pmbench_tasks.urgency.asking import ask_each
from pmbench_tasks.urgency.bradley_terry import strengths
from pmbench_tasks.urgency.ranking import DECIMALS

Pair = tuple[int, int]
Compare = Callable[[int, int], Awaitable[float]]
Rounds = Generator[list[Pair], list[float], list[int]]
"""Yields pairs, is sent their probabilities, and returns an order, the most urgent first."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """An inbox that was sorted.

    Attributes:
        scores: of each message, higher is more urgent; equal where neighbours were held equal.
        comparisons: how many pairs were asked.
        missing: how many of them have no answer.
        complete: whether the sort came to its end within the budget.
        known: the answers, (i, j) to the probability that j is more urgent.
    """

    scores: list[float]
    comparisons: int
    missing: int
    complete: bool
    known: dict[Pair, float]


async def merge_sort(n: int, compare: Compare, *, budget: int | None = None, seed: int = 0) -> Sorted:
    """Merge sort from the bottom up; all merges of one width go on side by side.

    At most n⌈log2 n⌉ − 2^⌈log2 n⌉ + 1 comparisons (Knuth, The Art of Computer Programming 3, 5.2.4).

    Args:
        n: messages.
        compare: see the module's text.
        budget: most comparisons; None: as many as it takes.
        seed: of the order to begin with.

    Raises:
        ValueError: a negative n or budget.
    """
    asked = _Asked(n, compare, budget)
    order = await asked.follow(_merge_rounds(_shuffled(n, seed)))
    return asked.result(order, n)


async def tournament_top_k(
    n: int, compare: Compare, *, k: int | None = None, budget: int | None = None, seed: int = 0
) -> Sorted:
    """Tournament selection: a knock-out tree, whose rounds are played side by side, replayed for each next place.

    At most n − 1 + (k − 1)(⌈log2 n⌉ − 1) comparisons. Messages after the k-th place are ordered by what was asked.

    Args:
        n, compare, budget, seed: as of `merge_sort`.
        k: places to fill, at most n; None: all.

    Raises:
        ValueError: a negative n or budget, or k below 1.
    """
    places = _places(n, k)
    asked = _Asked(n, compare, budget)
    order = await asked.follow(_tournament_rounds(_shuffled(n, seed), places))
    return asked.result(order, places)


async def heap_top_k(
    n: int, compare: Compare, *, k: int | None = None, budget: int | None = None, seed: int = 0
) -> Sorted:
    """Heap selection, as of Zhuang et al.: a heap, whose subtrees are built side by side, and k of its tops.

    At most 2n + 2k⌊log2 n⌋ comparisons. Arguments, the rest and errors as of `tournament_top_k`.
    """
    places = _places(n, k)
    asked = _Asked(n, compare, budget)
    order = await asked.follow(_heap_rounds(_shuffled(n, seed), places))
    return asked.result(order, places)


async def active_ranking(
    n: int, compare: Compare, *, budget: int | None = None, batch: int | None = None, seed: int = 0
) -> Sorted:
    """Ask the pairs that would tell most, in rounds, and order by the strengths of `bradley_terry.py`.

    The first round is a random ring, two pairs for each message. In each later one pairs are taken, each message
    once, by how much their answer is expected to narrow the strengths: ½ ln(1 + p(1 − p)·s²), where p is
    the expected answer and s² the variance of the difference of strengths. That is the information gained of MacKay
    (Neural Computation 4(4), 1992) in a normal approximation; Chen et al. (WSDM 2013) choose by information too.

    Args:
        n, compare, seed: as of `merge_sort`.
        budget: how many comparisons, at most all pairs; None: n⌈log2 n⌉.
        batch: pairs of a round, at most n // 2, which it is by default.

    Returns:
        `complete` if the budget was used, or all pairs were asked.

    Raises:
        ValueError: a negative n or budget, or a batch below 1.
    """
    if batch is not None and batch < 1:
        raise ValueError(f"rounds of {batch} pairs")
    wanted = n * _halvings(n) if budget is None else budget
    asked = _Asked(n, compare, wanted)
    total = min(wanted, n * (n - 1) // 2)
    ring = _shuffled(n, seed)
    pairs = [(ring[i], ring[(i + 1) % n]) for i in range(n if n > 2 else n - 1)]
    while pairs and await asked.ask(pairs) is not None and len(asked.known) < total:
        pairs = _most_telling(asked, min(batch or n // 2, total - len(asked.known)))
    return Sorted(
        np.round(strengths(n, asked.known)[0], DECIMALS).tolist(),
        len(asked.known),
        asked.missing,
        len(asked.known) >= total,
        asked.known,
    )


@dataclass(slots=True)
class _Asked:
    """What was asked so far, within a budget."""

    n: int
    compare: Compare
    budget: int | None
    known: dict[Pair, float] = field(default_factory=dict)
    missing: int = 0

    def __post_init__(self) -> None:
        if self.n < 0 or (self.budget is not None and self.budget < 0):
            raise ValueError(f"{self.n} messages, a budget of {self.budget}: neither can be negative")

    async def ask(self, pairs: Sequence[Pair]) -> list[float] | None:
        """The probabilities that the second of each pair is more urgent; None where the budget is used up."""
        new = list(dict.fromkeys(pair for pair in pairs if self._found(pair) is None))
        within = new if self.budget is None else new[: self.budget - len(self.known)]
        answers = await ask_each([partial(self.compare, i, j) for i, j in within])
        for pair, answer in zip(within, answers, strict=True):
            self.missing += answer != answer
            self.known[pair] = 0.5 if answer != answer else float(answer)
        found = [self._found(pair) for pair in pairs]
        return None if None in found else [p for p in found if p is not None]

    async def follow(self, rounds: Rounds) -> list[int] | None:
        """Carry a sort out; its order, or None where the budget was used up."""
        try:
            pairs = next(rounds)
            while (answers := await self.ask(pairs)) is not None:
                pairs = rounds.send(answers)
        except StopIteration as ended:
            order: list[int] = ended.value
            return order
        rounds.close()
        return None

    def result(self, order: Sequence[int] | None, places: int) -> Sorted:
        """Scores: n for the first place of an order, n − 1 for the next…; below the places filled by strength."""
        theta = strengths(self.n, self.known)[0]
        scores = np.round(theta, DECIMALS)
        if order is not None:
            # Below the places that were filled strengths decide, squeezed into the interval from 0 to 1.
            scores = np.round(1.0 / (1.0 + np.exp(-theta)), DECIMALS)
            place = float(self.n)
            for at, i in enumerate(order[:places]):
                if at and self._found((order[at - 1], i)) != 0.5:
                    place = float(self.n - at)
                scores[i] = place
        return Sorted(scores.tolist(), len(self.known), self.missing, order is not None, self.known)

    def _found(self, pair: Pair) -> float | None:
        i, j = pair
        if (i, j) in self.known:
            return self.known[i, j]
        return 1.0 - self.known[j, i] if (j, i) in self.known else None


def _merge_rounds(order: list[int]) -> Rounds:
    n, depth = len(order), _halvings(len(order))
    # Cut as halving would: with runs of 1, 2, 4… from one end the odd rest costs more than the bound.
    runs = [order[at * n >> depth : (at + 1) * n >> depth] for at in range(1 << depth)]
    while len(runs) > 1:
        halves = [(runs[at], runs[at + 1]) for at in range(0, len(runs), 2)]
        merged: list[list[int]] = [[] for _ in halves]
        while going := [at for at, (left, right) in enumerate(halves) if left and right]:
            answers = yield [(halves[at][0][0], halves[at][1][0]) for at in going]
            for at, second in zip(going, answers, strict=True):
                left, right = halves[at]
                merged[at].append((right if second > 0.5 else left).pop(0))
        for at, (left, right) in enumerate(halves):
            merged[at] += left + right
        runs = merged
    return runs[0]


def _tournament_rounds(order: list[int], k: int) -> Rounds:
    """A tree in a list: node i has the children 2i and 2i + 1, the leaves are the last ones; None has dropped out."""
    size = 1 << _halvings(len(order))
    tree: list[int | None] = [None] * (2 * size)
    tree[size : size + len(order)] = order
    yield from _play(
        tree, [range(size >> depth, 2 * (size >> depth)) for depth in range(1, size.bit_length())]
    )
    leaf = {i: size + at for at, i in enumerate(order)}
    ranked: list[int] = []
    for place in range(k):
        best = tree[1]
        if best is None:
            break
        ranked.append(best)
        node = leaf[best]
        tree[node] = None
        if place + 1 < k:
            yield from _play(
                tree, [range(node >> up, (node >> up) + 1) for up in range(1, size.bit_length())]
            )
    return ranked


def _play(tree: list[int | None], rounds: Sequence[range]) -> Generator[list[Pair], list[float], None]:
    """Decide nodes, those of one round side by side."""
    for nodes in rounds:
        open_ = []
        for node in nodes:
            left, right = tree[2 * node], tree[2 * node + 1]
            if left is None or right is None:
                tree[node] = right if left is None else left
            else:
                open_.append((node, left, right))
        if open_:
            answers = yield [(left, right) for _, left, right in open_]
            for (node, left, right), second in zip(open_, answers, strict=True):
                tree[node] = right if second > 0.5 else left


def _heap_rounds(order: list[int], k: int) -> Rounds:
    heap = list(order)
    depths = range(len(heap).bit_length() - 2, -1, -1)
    for depth in depths:
        nodes = range((1 << depth) - 1, min((2 << depth) - 1, len(heap) // 2))
        yield from _sift(heap, list(nodes))
    ranked: list[int] = []
    while heap and len(ranked) < k:
        ranked.append(heap[0])
        last = heap.pop()
        if heap and len(ranked) < k:
            heap[0] = last
            yield from _sift(heap, [0])
    return ranked


def _sift(heap: list[int], nodes: list[int]) -> Generator[list[Pair], list[float], None]:
    """Let what stands at nodes of separate subtrees sink to where it belongs."""
    while nodes := [node for node in nodes if 2 * node + 1 < len(heap)]:
        children = {node: 2 * node + 1 for node in nodes}
        two = [node for node in nodes if 2 * node + 2 < len(heap)]
        if two:
            answers = yield [(heap[2 * node + 1], heap[2 * node + 2]) for node in two]
            children |= {node: 2 * node + 1 + (p > 0.5) for node, p in zip(two, answers, strict=True)}
        answers = yield [(heap[node], heap[children[node]]) for node in nodes]
        sinking = [node for node, second in zip(nodes, answers, strict=True) if second > 0.5]
        for node in sinking:
            child = children[node]
            heap[node], heap[child] = heap[child], heap[node]
        nodes = [children[node] for node in sinking]


def _most_telling(asked: _Asked, count: int) -> list[Pair]:
    """The pairs not asked yet that would tell most, each message in one of them at most."""
    theta, covariance = strengths(asked.n, asked.known)
    first, second = np.triu_indices(asked.n, 1)
    expected = 1.0 / (1.0 + np.exp(theta[first] - theta[second]))
    spread = np.diag(covariance)
    variance = spread[first] + spread[second] - 2 * covariance[first, second]
    gain = np.round(np.log1p(expected * (1 - expected) * variance) / 2, DECIMALS)
    taken: set[int] = set()
    pairs: list[Pair] = []
    for at in np.argsort(-gain, kind="stable").tolist():
        pair = (int(first[at]), int(second[at]))
        if taken.isdisjoint(pair) and pair not in asked.known and pair[::-1] not in asked.known:
            pairs.append(pair)
            taken.update(pair)
            if len(pairs) == count:
                break
    return pairs


def _shuffled(n: int, seed: int) -> list[int]:
    order: list[int] = np.random.default_rng(seed).permutation(max(n, 0)).tolist()
    return order


def _places(n: int, k: int | None) -> int:
    if k is not None and k < 1:
        raise ValueError(f"k = {k}: at least one place has to be filled")
    return n if k is None else min(k, n)


def _halvings(n: int) -> int:
    """⌈log2 n⌉, 0 for fewer than two."""
    return math.ceil(math.log2(n)) if n > 1 else 0
