"""The embedded theme judge: a linear classifier over a sentence's embedding, its cues and its common words."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pmbench import SPLITTER, ConfigError, Embedder, Unscored
from pmbench_tasks.drafting.judging.answer import valid
from pmbench_tasks.drafting.judging.theme_features import plain, surface
from pmbench_tasks.drafting.themes import OTHER, THEMES, in_order

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = "judge_data/theme_weights.json"
"""Made by judge_data/train_themes.py; read as bytes, so that its digest is the file's."""

MOST_TEXTS = 50_000
"""Different sentences of one call; minutes of embedding. More are not scored."""

DECIDES_VECTORS = ("model.onnx", "tokenizer.json", "pooling", "normalised", "max_tokens")
"""What must be equal of the embedder's `identity()` and that of the embedder that the judge was trained with.
Versions of the engine are left out: they move a vector in its last digits."""


class EmbeddedThemeJudge:
    """Answers with the most probable theme of each sentence.

    Args:
        embedder: the one that the judge was trained with. If it has a method `identity()`, as the run's has, its
            files are compared; one without is taken at its word, and only its vectors' width is checked.
        multi: every theme of at least the probability `second_theme` of the weights file, and the most
            probable one whatever its probability. **No sentence was ever labelled with a set**: the threshold
            was chosen on sentences of one theme and on pairs of them joined to one.

    Raises:
        ConfigError: the embedder is another one.
    """

    def __init__(self, embedder: Embedder, *, multi: bool = False) -> None:
        self.embedder, self.multi = embedder, multi
        self._read, self._digest = read_weights()
        check_embedder(embedder, self._read["embedder"])

    def describe(self) -> Mapping[str, Any]:
        """Method, digest of the weights, and splitter; the embedder has its own place in a score's digest."""
        return {
            "method": "linear classifier over embedding, cues and common words",
            "version": 1,
            "weights": self._digest,
            "multi": self.multi,
            "splitter": SPLITTER,
        }

    async def label(self, sentences: Sequence[str]) -> list[tuple[str, ...]]:
        """The themes of each sentence, in the order of `THEMES`: one, or with `multi` at least one.

        Different sentences go to the embedder in one call. A sentence without a letter is `other`.

        Raises:
            Unscored: `too-long`, very many different sentences.
            ConfigError: the embedder's vectors do not fit.
        """
        asked = list(dict.fromkeys(sentences))
        if not asked:
            return []
        if len(asked) > MOST_TEXTS:
            raise Unscored("too-long", f"{len(asked)} different sentences are too many to label")
        threshold = self._read["second_theme"] if self.multi else 2.0
        found = {}
        for sentence, row in zip(asked, (await self.probabilities(asked)).tolist(), strict=True):
            best = row.index(max(row))
            chosen = {name for at, name in enumerate(THEMES) if at == best or row[at] >= threshold}
            worded = any(letter.isalpha() for letter in sentence)
            found[sentence] = in_order(chosen) if worded else (OTHER,)
        return [found[sentence] for sentence in sentences]

    async def probabilities(self, sentences: Sequence[str]) -> NDArray[np.float64]:
        """Probability of each theme, shape (sentences, themes); rows sum to 1.

        Raises:
            ConfigError: the embedder's vectors do not fit.
        """
        import numpy as np

        texts = [valid(sentence) for sentence in sentences]
        bare = [plain(text) for text in texts]
        different = list(dict.fromkeys(bare))
        vectors = np.asarray(await self.embedder.embed(different), dtype=np.float64)
        embedding = np.asarray(self._read["embedding"])
        check_vectors(vectors, (len(different), embedding.shape[1]))
        place = {text: row for row, text in enumerate(different)}
        shown = surface(texts, list(self._read["words"]))
        weights = np.asarray([*self._read["cues"].values(), *self._read["words"].values()])
        scores = vectors[[place[text] for text in bare]] @ embedding.T + shown @ weights
        return softmax(scores + np.asarray(self._read["bias"]))


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities from scores, by rows: shape (n, themes) in and out."""
    import numpy as np

    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


@functools.cache
def read_weights() -> tuple[dict[str, Any], str]:
    """The weights file and its SHA-256."""
    data = files("pmbench_tasks.drafting").joinpath(WEIGHTS).read_bytes()
    return json.loads(data), hashlib.sha256(data).hexdigest()


def check_embedder(embedder: Embedder, trained_with: Mapping[str, str]) -> None:
    """Refuse an embedder whose `identity()` is another one's.

    `identity` is no part of the protocol `Embedder`: it is looked for, and nothing is wrong where it is absent.

    Raises:
        ConfigError: with the name of what differs.
    """
    identity = getattr(embedder, "identity", None)
    if not callable(identity):
        return
    given = identity()
    differ = [key for key in DECIDES_VECTORS if given.get(key) != trained_with[key]]
    if differ:
        raise ConfigError(
            f"the embedded theme judge was trained with {trained_with['name']}, and this embedder differs in "
            + ", ".join(differ),
            where=f"embedder {given.get('name') or getattr(embedder, 'name', '?')!r}",
            remedy=f"Use --embedder {trained_with['name']}, or a chat model as the judge: --judge theme=MODEL",
        )


def check_vectors(vectors: NDArray[np.float64], shape: tuple[int, int]) -> None:
    """Refuse vectors that the weights do not fit.

    Raises:
        ConfigError: another number of rows or columns, or values that are no numbers.
    """
    import numpy as np

    if vectors.shape == shape and bool(np.isfinite(vectors).all()):
        return
    what = "values that are no numbers" if vectors.shape == shape else f"the shape {vectors.shape}"
    raise ConfigError(
        f"the embedded theme judge asked for vectors of the shape {shape} and was given {what}",
        where="embedder",
        remedy="Use the embedder that it was trained with: --embedder embedded",
    )
