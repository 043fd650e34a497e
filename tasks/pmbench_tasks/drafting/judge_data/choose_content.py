"""Chooses the numbers of the embedded content judge on the fold `tune`, by cross-validation by draft.

Run: `python -m pmbench_tasks.drafting.judge_data.choose_content [--write]` (needs the embedded embedder).

The weights are those of a conditional logit (McFadden 1974): each pair's alternatives are the passages that
no rule refuses, and "no match". Passages count as right by how much of the labelled one they are. The penalty on
the weights and then the threshold are chosen by cross-validation, both by the mean of non-match agreement and
overlap. Nothing that was held back is read.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pmbench import Embedder, open_embedder
from pmbench_tasks.drafting.judge_data.pairs import (
    Agreement,
    Pair,
    Span,
    agreement,
    bare,
    read_pairs,
    verdict,
)
from pmbench_tasks.drafting.judging.embedded_content_judge import (
    LEAST_COSINE,
    NEAREST,
    Comparison,
    Weighed,
    Weights,
    as_embedded,
    decide,
)
from pmbench_tasks.drafting.judging.likeness import FEATURES

PENALTIES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
THRESHOLDS = tuple(round(0.1 * step, 1) for step in range(-15, 16))
FOLDS, REPEATS = 10, 3
_ITERATIONS, _CLOSE_ENOUGH = 100, 1e-9
_DIGITS = 4
_SMALLEST = 1e-300

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Alternatives:
    """A pair with the passages that are weighed for it, and how right each would be (0 to 1)."""

    pair: Pair
    passages: Sequence[Weighed]
    spans: Sequence[Span]
    right: Sequence[float]


async def alternatives(pairs: Sequence[Pair], embedder: Embedder) -> list[Alternatives]:
    """What the judge would weigh for each pair."""
    comparisons = {pair.draft_id: Comparison(pair.draft) for pair in pairs}
    found = []
    for pair in pairs:
        comparing = comparisons[pair.draft_id]
        vectors = await embedder.embed([as_embedded(pair.sentence), *comparing.texts])
        weighed = comparing.weighed(pair.sentence, vectors[1:] @ vectors[0])
        spans = [(comparing.passages[w.index].start, comparing.passages[w.index].end) for w in weighed]
        found.append(Alternatives(pair, weighed, spans, [_right(pair, span) for span in spans]))
    return found


def fit(given: Sequence[Alternatives], penalty: float) -> Weights:
    """Weights of the greatest penalised likelihood (`penalty` × sum of squares of the standardised weights).

    Pairs whose labelled passage is not among the alternatives take no part.
    """
    numbers, there, right = _padded(
        [a for a in given if a.passages and (a.pair.span is None or max(a.right) > 0)]
    )
    middle, spread = numbers[there].mean(0), numbers[there].std(0) + 1e-6
    columns = (
        np.concatenate([(numbers - middle) / spread, np.ones((*there.shape, 1))], axis=2) * there[:, :, None]
    )
    ridge = 2 * penalty * np.append(np.ones(len(FEATURES)), 0.0)
    chosen = np.zeros(len(FEATURES) + 1)
    loss, slope, curve = _likelihood(chosen, columns, there, right)
    for _ in range(_ITERATIONS):
        step = np.linalg.solve(curve + np.diag(ridge + 1e-6), slope + ridge * chosen)
        size, before = 1.0, loss + ridge @ chosen**2 / 2
        while True:  # halved until it goes down
            trial = chosen - size * step
            loss, slope, curve = _likelihood(trial, columns, there, right)
            after = loss + ridge @ trial**2 / 2
            if after <= before or size < 1e-6:
                break
            size /= 2
        chosen = trial
        if before - after < _CLOSE_ENOUGH * before:
            break
    plain = chosen[:-1] / spread
    return Weights(tuple(plain.tolist()), float(chosen[-1] - plain @ middle), 0.0, {})


def cross_validated(
    given: Sequence[Alternatives], penalty: float, *, repeats: int = REPEATS
) -> list[tuple[Alternatives, int | None, float]]:
    """Each pair, `repeats` times, with the passage and the log odds by weights of other drafts' pairs."""
    drafts = sorted({a.pair.draft_id for a in given})
    found = []
    for repeat in range(repeats):
        order = np.random.default_rng(repeat).permutation(len(drafts))
        fold = {drafts[draft]: place % FOLDS for place, draft in enumerate(order.tolist())}
        for number in range(FOLDS):
            learnt = fit([a for a in given if fold[a.pair.draft_id] != number], penalty)
            found += [
                (a, *decide([w.features for w in a.passages], learnt))
                for a in given
                if fold[a.pair.draft_id] == number
            ]
    return found


def measured(judged: Sequence[tuple[Alternatives, int | None, float]], threshold: float) -> Agreement:
    """Agreement with the labels at a threshold."""

    def answer(a: Alternatives, best: int | None, odds: float) -> Span | None:
        near = best is not None and odds >= threshold and a.passages[best].cosine >= LEAST_COSINE
        return a.spans[best] if best is not None and near else None

    return agreement([verdict(a.pair, answer(a, best, odds)) for a, best, odds in judged])


def choose(given: Sequence[Alternatives]) -> tuple[Weights, float, Agreement]:
    """Weights, the penalty that they were fitted with, and what cross-validation gave."""
    judged = {penalty: cross_validated(given, penalty) for penalty in PENALTIES}
    penalty = max(PENALTIES, key=lambda p: (measured(judged[p], 0.0).mean, p))
    threshold = max(THRESHOLDS, key=lambda t: (measured(judged[penalty], t).mean, -abs(t)))
    fitted = fit(given, penalty)
    return (
        Weights(fitted.features, fitted.constant, threshold, {}),
        penalty,
        measured(judged[penalty], threshold),
    )


def written(chosen: Weights, penalty: float, embedder: Mapping[str, str]) -> str:
    """The weights as the file that the judge reads; `penalty` is there for whoever fits them again."""
    table = {
        "features": {
            name: round(weight, _DIGITS) for name, weight in zip(FEATURES, chosen.features, strict=True)
        },
        "constant": round(chosen.constant, _DIGITS),
        "threshold": chosen.threshold,
        "penalty": penalty,
        "embedder": dict(embedder),
    }
    return json.dumps(table, indent=2) + "\n"


def main() -> None:
    """Choose, print, and with `--write` put the numbers where the judge reads them."""
    embedder = open_embedder()
    given = asyncio.run(alternatives(read_pairs(), embedder))
    chosen, penalty, found = choose(given)
    kept = {name: value for name, value in embedder.identity().items() if name == "name" or "." in name}
    text = written(chosen, penalty, kept)
    sys.stdout.write(
        f"{found.pairs // REPEATS} pairs, penalty {penalty:g}, cross-validated: agreement {found.agreement:.3f}, "
        f"non-match {found.non_match:.3f}, exact {found.exact:.3f}, overlap {found.overlap:.3f}\n{text}"
    )
    if "--write" in sys.argv[1:]:
        Path(str(files("pmbench_tasks.drafting.judging").joinpath("content_weights.json"))).write_text(
            text, encoding="utf-8"
        )


def _right(pair: Pair, span: Span) -> float:
    """How right a passage is: 1 if it is the labelled one, less the less of it they share, 0 under half."""
    if pair.span is None:
        return 0.0
    shared = min(span[1], pair.span[1]) - max(span[0], pair.span[0])
    share = shared / (max(span[1], pair.span[1]) - min(span[0], pair.span[0]))
    exact = bare(pair.draft, span) == bare(pair.draft, pair.span)
    return 1.0 if exact else share / 3 if share >= 0.5 else 0.0


def _padded(given: Sequence[Alternatives]) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Features (n, NEAREST, k), which alternatives there are, and how right each is (n, NEAREST)."""
    numbers = np.zeros((len(given), NEAREST, len(FEATURES)))
    there = np.zeros((len(given), NEAREST), bool)
    right = np.zeros((len(given), NEAREST))
    for row, a in enumerate(given):
        there[row, : len(a.passages)] = True
        numbers[row, : len(a.passages)] = [w.features for w in a.passages]
        best = max(a.right) or 1.0
        right[row, : len(a.passages)] = np.array(a.right) / best
    return numbers, there, right


def _likelihood(
    chosen: Floats, columns: Floats, there: NDArray[np.bool_], right: Floats
) -> tuple[float, Floats, Floats]:
    """Minus the log likelihood, its slope, and the curvature of its convex part."""
    scores = np.where(there, columns @ chosen, -np.inf)
    top = np.maximum(scores.max(1), 0.0)
    weight, none = np.exp(scores - top[:, None]), np.exp(-top)
    total = none + weight.sum(1)
    matched = right.max(axis=1) > 0
    wanted = np.maximum(np.where(matched, (weight * right).sum(1), none), _SMALLEST)
    share = weight / total[:, None]
    ideal = np.where(matched[:, None], weight * right / wanted[:, None], 0.0)
    slope = np.einsum("nt,ntk->k", share - ideal, columns)
    mean = np.einsum("nt,ntk->nk", share, columns)
    curve: Floats = np.einsum("nt,ntj,ntk->jk", share, columns, columns) - mean.T @ mean
    return float((np.log(total) - np.log(wanted)).sum()), slope, curve


if __name__ == "__main__":
    main()
