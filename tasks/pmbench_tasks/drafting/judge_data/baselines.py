"""What the embedded content judge has to be better than: a threshold on one likeness to a whole sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pmbench import split_sentences
from pmbench_tasks.drafting.judge_data.pairs import Decide, Pair, Span, agreement, verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Likeness = Callable[[str, str], float]
STEPS = tuple(round(0.02 * step, 2) for step in range(1, 50))
"""Thresholds that are tried."""


def never(_pair: Pair) -> Span | None:
    """Always "no match"."""
    return None


def nearest_sentence(likeness: Likeness, threshold: float) -> Decide:
    """The sentence of the draft that is most alike, if it is so by a threshold; the first of equals."""

    def decide(pair: Pair) -> Span | None:
        span, alike = _nearest(pair, likeness)
        return span if alike >= threshold else None

    return decide


def best_threshold(likeness: Likeness, pairs: Sequence[Pair]) -> float:
    """The threshold with the greatest mean of non-match agreement and overlap; the greater of equals."""
    nearest = [(pair, *_nearest(pair, likeness)) for pair in pairs]

    def mean(step: float) -> float:
        return agreement(
            [verdict(pair, span if alike >= step else None) for pair, span, alike in nearest]
        ).mean

    return max(STEPS, key=lambda step: (mean(step), step))


def _nearest(pair: Pair, likeness: Likeness) -> tuple[Span | None, float]:
    best, chosen, at = -1.0, None, 0
    for sentence in split_sentences(pair.draft):
        start = pair.draft.index(sentence, at)
        at = start + len(sentence)
        alike = likeness(pair.sentence, sentence)
        if alike > best:
            best, chosen = alike, (start, at)
    return chosen, best


def cosine_of(vectors: dict[str, NDArray[np.float32]]) -> Likeness:
    """Cosine of the embeddings of two texts, which are L2-normalised."""
    return lambda one, other: float(vectors[one] @ vectors[other])


def texts_of(pairs: Iterable[Pair]) -> list[str]:
    """What has to be embedded for `cosine_of`."""
    return list(dict.fromkeys(text for p in pairs for text in (p.sentence, *split_sentences(p.draft))))


def rouge_l(one: str, other: str) -> float:
    """ROUGE-L F1 of two texts (Lin 2004), words in lower case, without stemming.

    Words are runs of a-z and 0-9, as in the `rouge_score` package, with which it agrees.
    """
    a, b = _words(one), _words(other)
    row = [0] * (len(b) + 1)
    for word in a:
        above = 0
        for place, compared in enumerate(b, 1):
            above, row[place] = (
                row[place],
                above + 1 if word == compared else max(row[place], row[place - 1]),
            )
    return 2 * row[-1] / (len(a) + len(b)) if a and b else 0.0


def _words(text: str) -> list[str]:
    kept = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in text.lower())
    return kept.split()
