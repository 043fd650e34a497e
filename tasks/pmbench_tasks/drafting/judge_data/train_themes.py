"""Trains the embedded theme judge on the fold `tune` of the labelled sentences and writes its weights.

Run: `python -m pmbench_tasks.drafting.judge_data.train_themes [FILE]` (needs the embedded embedder, and scipy).

The numbers below were chosen by `choose_themes.py`, by cross-validation on the fold `tune` alone.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmbench import Embedder, digest, open_embedder
from pmbench_tasks.drafting.judging.embedded_theme_judge import DECIDES_VECTORS, WEIGHTS, softmax
from pmbench_tasks.drafting.judging.theme_features import CUES, LENGTH, plain, surface, words
from pmbench_tasks.drafting.themes import THEMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Labels = NDArray[np.intp]

SENTENCES = "judge_data/theme_sentences.jsonl"

EMBEDDING_PENALTY, SURFACE_PENALTY = 0.1, 0.5
"""Half of each, times the squared weights, is added to the loss; of sentences that weigh 1 on average."""
COMMON = 20
"""In how many different sentences a word must be to get weights."""
BARE_SHARE = 0.2
"""Of a sentence's weight, what goes to a copy of it without the marks at its end: lists and hurried writers leave
them out, and without such copies a statement that lacks its full stop is taken for a heading."""
SECOND_THEME = 0.3
"""Least probability of a further theme, where several are asked for: of the thresholds that give a further theme to
at most a tenth of the sentences of one theme, the best (`choose_themes.py`)."""

_END = re.compile(r"[.!?]+$")


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence and what it is for."""

    id: str
    sentence: str
    theme: str


@dataclass(frozen=True)
class Numbers:
    """What can be chosen; the defaults were.

    Attributes:
        embedding, surface: the penalties; None leaves that part out.
        common: least number of sentences of a common word.
        bare_share: weight of the copies without end marks.
    """

    embedding: float | None = EMBEDDING_PENALTY
    surface: float | None = SURFACE_PENALTY
    common: int = COMMON
    bare_share: float = BARE_SHARE


def read_sentences(fold: str, name: str = SENTENCES) -> list[LabelledSentence]:
    """The labelled sentences of one fold, in the file's order."""
    text = files("pmbench_tasks.drafting").joinpath(name).read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return [LabelledSentence(row["id"], row["sentence"], row["theme"]) for row in rows if row["fold"] == fold]


def theme_numbers(rows: Sequence[LabelledSentence]) -> Labels:
    """Places of their themes in `THEMES`, shape (rows,)."""
    import numpy as np

    places = {name: place for place, name in enumerate(THEMES)}
    return np.asarray([places[row.theme] for row in rows], dtype=np.intp)


def common_words(sentences: Sequence[str], least: int) -> list[str]:
    """Words that stand in at least so many of the sentences, in alphabetical order."""
    counted = Counter(word for sentence in sentences for word in words(sentence))
    return sorted(word for word, count in counted.items() if count >= least)


def without_end(sentence: str) -> str:
    """The sentence without the marks at its end."""
    return _END.sub("", sentence)


def fit(columns: Array, labels: Labels, penalty: Array, weight: Array) -> Array:
    """Multinomial logistic regression with a ridge penalty, by L-BFGS; the loss is convex.

    Minimises `-sum_i weight_i log p_i + sum_j penalty_j/2 * |W_j|^2`, with the intercepts unpenalised
    (Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, section 4.4).

    Args:
        columns: shape (n, d).
        labels: places of the themes, shape (n,).
        penalty: shape (d,).
        weight: shape (n,).

    Returns:
        Shape (d + 1, themes); the last row holds the intercepts.
    """
    import numpy as np
    from scipy.optimize import minimize

    themes = len(THEMES)
    wide = np.hstack([columns, np.ones((len(columns), 1))])
    ridge = np.append(penalty, 0.0)[:, None]
    truth = np.eye(themes)[labels]

    def loss(flat: Array) -> tuple[float, Array]:
        given = flat.reshape(-1, themes)
        shares = softmax(wide @ given)
        missed = float(-(weight * np.log(np.maximum((shares * truth).sum(axis=1), 1e-300))).sum())
        slope = wide.T @ ((shares - truth) * weight[:, None]) + ridge * given
        return missed + float((ridge * given**2).sum()) / 2, slope.ravel()

    start = np.zeros(wide.shape[1] * themes)
    options = {"maxiter": 2_000, "maxfun": 4_000, "ftol": 1e-9, "gtol": 1e-4}
    found: Array = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    return found.reshape(-1, themes)


@dataclass(frozen=True)
class Material:
    """Sentences ready for training, and their copies without end marks in the same order.

    Attributes:
        labels: places of the themes.
        sentences, bare: as written, and without the end marks.
        vectors, bare_vectors: their embeddings, shape (n, width).
    """

    labels: Labels
    sentences: Sequence[str]
    bare: Sequence[str]
    vectors: Array
    bare_vectors: Array


async def prepare(embedder: Embedder, rows: Sequence[LabelledSentence]) -> Material:
    """Embed sentences and their copies."""
    import numpy as np

    sentences = [row.sentence for row in rows]
    bare = [without_end(sentence) for sentence in sentences]
    vectors = await embedder.embed([plain(text) for text in [*sentences, *bare]])
    both = np.asarray(vectors, dtype=np.float64)
    return Material(theme_numbers(rows), sentences, bare, both[: len(rows)], both[len(rows) :])


def table(vectors: Array, sentences: Sequence[str], vocabulary: Sequence[str], numbers: Numbers) -> Array:
    """The columns that a classifier with these numbers sees."""
    import numpy as np

    parts = [] if numbers.embedding is None else [vectors]
    if numbers.surface is not None:
        parts.append(surface(sentences, vocabulary))
    return np.hstack(parts)


def fit_material(material: Material, chosen: Labels, vocabulary: Sequence[str], numbers: Numbers) -> Array:
    """Weights from the chosen rows, every theme counting alike; shape (columns + 1, themes)."""
    import numpy as np

    labels = material.labels[chosen]
    counts = np.bincount(labels, minlength=len(THEMES))
    weight = (len(labels) / len(THEMES) / np.maximum(counts, 1))[labels]
    sentences, bare = ([texts[at] for at in chosen.tolist()] for texts in (material.sentences, material.bare))
    copied = np.asarray([a != b for a, b in zip(sentences, bare, strict=True)]) & (numbers.bare_share > 0)
    both = np.vstack(
        [
            table(material.vectors[chosen], sentences, vocabulary, numbers),
            table(material.bare_vectors[chosen], bare, vocabulary, numbers)[copied],
        ]
    )
    width = 0 if numbers.embedding is None else material.vectors.shape[1]
    penalty = np.full(both.shape[1], numbers.surface or 0.0)
    penalty[:width] = numbers.embedding or 0.0
    shared = np.append(weight * (1 - numbers.bare_share * copied), weight[copied] * numbers.bare_share)
    return fit(both, np.append(labels, labels[copied]), penalty, shared)


async def train(embedder: Embedder, identity: Mapping[str, str]) -> dict[str, Any]:
    """What the weights file holds; weights rounded to three decimals.

    Args:
        embedder: the embedder that the judge shall use.
        identity: its `identity()`.
    """
    import numpy as np

    rows = read_sentences("tune")
    material = await prepare(embedder, rows)
    vocabulary = common_words(material.sentences, COMMON)
    weights = fit_material(material, np.arange(len(rows)), vocabulary, Numbers()).round(3) + 0.0
    width = material.vectors.shape[1]
    cues = [*CUES, LENGTH]
    return {
        "about": "Weights of the embedded theme judge, written by judge_data/train_themes.py",
        "embedder": {key: identity[key] for key in ("name", *DECIDES_VECTORS)},
        "trained_on": {"sentences": len(rows), "digest": digest([[row.sentence, row.theme] for row in rows])},
        "patterns": digest({name: pattern.pattern for name, pattern in CUES.items()}),
        "second_theme": SECOND_THEME,
        "themes": list(THEMES),
        "bias": weights[-1].tolist(),
        "cues": dict(zip(cues, weights[width : width + len(cues)].tolist(), strict=True)),
        "words": dict(zip(vocabulary, weights[width + len(cues) : -1].tolist(), strict=True)),
        "embedding": weights[:width].T.tolist(),
    }


def written(weights: Mapping[str, Any]) -> str:
    """The weights as JSON, one line for each cue, word and theme."""
    lines = []
    for key, value in weights.items():
        if key in ("cues", "words"):
            inner = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in value.items())
            lines.append(f"{json.dumps(key)}: {{\n{inner}\n}}")
        elif key == "embedding":
            inner = ",\n".join(f"  {json.dumps(row, separators=(',', ':'))}" for row in value)
            lines.append(f"{json.dumps(key)}: [\n{inner}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    """Train, and write the weights file (another one where its path is given)."""
    embedder = open_embedder()
    text = written(asyncio.run(train(embedder, embedder.identity())))
    target = Path(sys.argv[1] if len(sys.argv) > 1 else str(files("pmbench_tasks.drafting") / WEIGHTS))
    target.write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(f"written: {target} ({len(text.encode())} bytes)\n")


if __name__ == "__main__":
    main()
