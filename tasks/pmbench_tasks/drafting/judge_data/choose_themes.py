"""Chooses the numbers of the embedded theme judge by cross-validation on the fold `tune`; nothing held back is read.

Run: `python -m pmbench_tasks.drafting.judge_data.choose_themes` (needs the embedded embedder, and scipy; minutes).

Sentences that are much alike (cosine of 0.8, or half of their different words shared) stay in one fold, so that
none is judged by its own twin. Two shares are printed: of the sentences as written, and of their copies without
marks at the end.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pmbench import Embedder, open_embedder
from pmbench_tasks.drafting.judge_data.train_themes import (
    Material,
    Numbers,
    common_words,
    fit_material,
    prepare,
    read_sentences,
    table,
)
from pmbench_tasks.drafting.judging.embedded_theme_judge import softmax
from pmbench_tasks.drafting.judging.theme_features import plain
from pmbench_tasks.drafting.themes import THEMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Labels = NDArray[np.intp]

FOLDS, SEEDS = 5, (0, 1)
ALIKE, SHARED_WORDS = 0.8, 0.5
JOINED = 1_000
"""Pairs of sentences of two themes that are joined to one sentence of both."""

VARIANTS: dict[str, Numbers] = {
    "embedding only, penalty 0.1": Numbers(surface=None),
    "embedding only, penalty 0.3": Numbers(surface=None, embedding=0.3),
    "cues and words only": Numbers(embedding=None),
    "embedding and cues, no words": Numbers(common=10**6),
    "all, no copies without end marks": Numbers(bare_share=0.0),
    "all, copies weigh 0.1": Numbers(bare_share=0.1),
    "all, copies weigh 0.4": Numbers(bare_share=0.4),
    "all, embedding penalty 0.03": Numbers(embedding=0.03),
    "all, embedding penalty 0.3": Numbers(embedding=0.3),
    "all, surface penalty 0.25": Numbers(surface=0.25),
    "all, surface penalty 1": Numbers(surface=1.0),
    "all, words of 10 sentences": Numbers(common=10),
    "**chosen**": Numbers(),
}
"""What was tried: one number at a time is another than the chosen one."""


def alike(sentences: Sequence[str], vectors: Array) -> Labels:
    """Number of the group of each sentence; those that are much alike share one (single linkage)."""
    import numpy as np
    from scipy.sparse.csgraph import connected_components

    held = [frozenset(re.findall(r"\w+", sentence.lower())) for sentence in sentences]
    place = {word: at for at, word in enumerate(sorted(set().union(*held)))}
    counts = np.zeros((len(held), len(place)))
    for row, found in enumerate(held):
        counts[row, [place[word] for word in found]] = 1
    both = counts @ counts.T
    sizes = counts.sum(axis=1)
    near = both >= SHARED_WORDS * np.maximum(sizes[:, None] + sizes - both, 1)
    groups: Labels = connected_components(near | (vectors @ vectors.T >= ALIKE), directed=False)[1]
    return groups


def fold_numbers(labels: Labels, groups: Labels, seed: int) -> Labels:
    """The fold of each sentence: groups at random, largest first, each where its theme is scarcest."""
    import numpy as np

    generator = np.random.default_rng(seed)
    counts = np.zeros((FOLDS, len(THEMES)))
    fold = np.zeros(len(labels), dtype=np.intp)
    sizes = np.bincount(groups)
    for group in sorted(generator.permutation(len(sizes)).tolist(), key=lambda one: -sizes[one]):
        own = np.bincount(labels[groups == group], minlength=len(THEMES))
        least = int((counts[:, own.argmax()] + counts.sum(axis=1) / 1_000).argmin())
        fold[groups == group] = least
        counts[least] += own
    return fold


def left_out(material: Material, numbers: Numbers, fold: Labels) -> Iterator[tuple[Labels, Array, list[str]]]:
    """For each fold: the rows in it, and weights and vocabulary that were made without them."""
    import numpy as np

    for number in range(FOLDS):
        kept = np.flatnonzero(fold != number)
        vocabulary = common_words([material.sentences[at] for at in kept.tolist()], numbers.common)
        yield np.flatnonzero(fold == number), fit_material(material, kept, vocabulary, numbers), vocabulary


def cross_validated(material: Material, numbers: Numbers, folds: Sequence[Labels]) -> list[Array]:
    """Probabilities of sentences and of copies without end marks, each (seeds, n, themes), by judges without them."""
    import numpy as np

    size = (len(folds), len(material.labels), len(THEMES))
    written, bare = np.zeros(size), np.zeros(size)
    for seed, fold in enumerate(folds):
        for rows, weights, vocabulary in left_out(material, numbers, fold):
            for shares, vectors, texts in (
                (written, material.vectors, material.sentences),
                (bare, material.bare_vectors, material.bare),
            ):
                seen = table(vectors[rows], [texts[at] for at in rows.tolist()], vocabulary, numbers)
                shares[seed, rows] = softmax(seen @ weights[:-1] + weights[-1])
    return [written, bare]


def row(name: str, shares: Sequence[Array], labels: Labels, first: Array) -> str:
    """One line of the table: accuracy on the first 489, on all, log loss, accuracy without end marks."""
    import numpy as np

    right = [(one.argmax(axis=2) == labels) for one in shares]
    loss = -np.log(np.maximum(shares[0][:, np.arange(len(labels)), labels], 1e-12)).mean()
    cells = (right[0][:, first].mean(), right[0].mean(), loss, right[1].mean())
    return f"| {name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |"


async def joined_shares(embedder: Embedder, material: Material, fold: Labels) -> tuple[Array, Labels]:
    """Probabilities of sentences joined from two themes, (pairs, themes), and the two themes of each, (pairs, 2)."""
    import numpy as np

    generator = np.random.default_rng(0)
    shares, pairs = [], []
    for rows, weights, vocabulary in left_out(material, Numbers(), fold):
        first, second = generator.choice(rows, JOINED // FOLDS), generator.choice(rows, JOINED // FOLDS)
        differ = material.labels[first] != material.labels[second]
        first, second = first[differ], second[differ]
        texts = [
            f"{material.bare[a]}, and {material.sentences[b][:1].lower()}{material.sentences[b][1:]}"
            for a, b in zip(first.tolist(), second.tolist(), strict=True)
        ]
        vectors = np.asarray(await embedder.embed([plain(text) for text in texts]), dtype=np.float64)
        seen = table(vectors, texts, vocabulary, Numbers())
        shares.append(softmax(seen @ weights[:-1] + weights[-1]))
        pairs.append(np.stack([material.labels[first], material.labels[second]], axis=1))
    return np.vstack(shares), np.vstack(pairs)


def set_f1(shares: Array, truth: NDArray[np.bool_], threshold: float) -> float:
    """Micro F1 of the sets of themes: the most probable one and those of at least the threshold."""
    import numpy as np

    chosen = shares >= threshold
    chosen[np.arange(len(shares)), shares.argmax(axis=1)] = True
    return float(2 * (chosen & truth).sum() / (chosen.sum() + truth.sum()))


def second_theme_table(single: Array, labels: Labels, joined: Array, pairs: Labels) -> list[str]:
    """How sets fare by threshold, on sentences of one theme and on joined ones."""
    import numpy as np

    truth_single = np.eye(len(THEMES), dtype=bool)[labels]
    truth_joined = np.zeros(joined.shape, dtype=bool)
    truth_joined[np.arange(len(pairs))[:, None], pairs] = True
    lines = [
        "| least probability of a further theme | F1, one theme | F1, joined | mean | one theme given two |",
        "|---|---|---|---|---|",
    ]
    for threshold in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4):
        one, two = set_f1(single, truth_single, threshold), set_f1(joined, truth_joined, threshold)
        more = float(((single >= threshold).sum(axis=1) > 1).mean())
        lines.append(f"| {threshold:.2f} | {one:.3f} | {two:.3f} | {(one + two) / 2:.3f} | {more:.3f} |")
    return lines


async def report(embedder: Embedder) -> str:
    """Both tables, as Markdown."""
    rows = read_sentences("tune")
    material = await prepare(embedder, rows)
    groups = alike(material.sentences, material.vectors)
    folds = [fold_numbers(material.labels, groups, seed) for seed in SEEDS]
    import numpy as np

    first = np.asarray([int(one.id.removeprefix("ts-")) <= 615 for one in rows])
    lines = [
        f"{len(rows)} sentences in {len(set(groups.tolist()))} groups, {FOLDS} folds, {len(SEEDS)} times",
        "",
        f"| numbers | accuracy, first {int(first.sum())} | accuracy, all | log loss | accuracy, no end marks |",
        "|---|---|---|---|---|",
    ]
    shares = []
    for name, numbers in VARIANTS.items():
        shares = cross_validated(material, numbers, folds)
        lines.append(row(name, shares, material.labels, first))
    joined, pairs = await joined_shares(embedder, material, folds[0])
    lines += ["", *second_theme_table(shares[0][0], material.labels, joined, pairs)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the report."""
    sys.stdout.write(asyncio.run(report(open_embedder())))


if __name__ == "__main__":
    main()
