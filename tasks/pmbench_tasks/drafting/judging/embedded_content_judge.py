"""The embedded content judge: the most alike passage of the draft that does not contradict the sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pmbench import SPLITTER, Embedder, Unscored, sentence_spans
from pmbench_tasks.drafting.judging.answer import Answer
from pmbench_tasks.drafting.judging.candidates import (
    MANY_PARTS,
    MAX_PARTS,
    MIN_CLAUSE_WORDS,
    Candidate,
    asks,
    candidates,
    is_heading,
    without_opening,
)
from pmbench_tasks.drafting.judging.guards import OPPOSED_SHARE, RULES, contradiction
from pmbench_tasks.drafting.judging.lexicon import generic, lexicon, written_out
from pmbench_tasks.drafting.judging.likeness import (
    FEATURES,
    Reading,
    features,
    field_of,
    read_passage,
    read_sentence,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Cosines = NDArray[np.float32]

NEAREST = 8
"""Passages that are weighed: those with the greatest cosines that no rule refuses."""
LEAST_COSINE = 0.35
"""Of a passage that is answered with. Cross-validation finds no difference from 0 to 0.35."""
LOOKED_AT = 400
"""Passages that the rules are asked about at most: a draft may have thousands as near as each other."""

MOST_TEXTS, MOST_PAIRS = 50_000, 10_000_000
"""Different texts to embed and pairs to compare for one draft; minutes of work. A draft beyond is not scored."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature counts for; `judge_data/choose_content.py` wrote them down.

    Attributes:
        features: weight of each of FEATURES.
        constant: added to every passage; "no match" has 0.
        threshold: log odds from which on there is a match.
        embedder: identity of the embedder that the numbers were chosen with.
    """

    features: tuple[float, ...]
    constant: float
    threshold: float
    embedder: Mapping[str, str]


@cache
def weights() -> Weights:
    """The weights that the project ships."""
    text = (
        files("pmbench_tasks.drafting.judging").joinpath("content_weights.json").read_text(encoding="utf-8")
    )
    given = json.loads(text)
    return Weights(
        tuple(given["features"][name] for name in FEATURES),
        given["constant"],
        given["threshold"],
        given["embedder"],
    )


@dataclass(frozen=True, slots=True)
class Weighed:
    """A passage, its cosine with the sentence and its features."""

    index: int
    cosine: float
    features: tuple[float, ...]


class EmbeddedContentJudge:
    """Answers with the passage of the draft that is most alike, if it is alike enough.

    Passages are the draft's sentences, clauses of them and pairs of adjacent sentences. Those that contradict
    the sentence (`guards`) are refused. The others are weighed by cosine, length, amounts and conditions, in a
    logistic model whose alternatives are the passages and "no match".
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def describe(self) -> Mapping[str, Any]:
        """Method, numbers, rules and splitter; the embedder has its own place in a score's digest."""
        chosen = weights()
        return {
            "method": "guarded nearest passage",
            "version": 3,
            "weights": dict(zip(FEATURES, chosen.features, strict=True)),
            "constant": chosen.constant,
            "threshold": chosen.threshold,
            "rules": RULES,
            "words": lexicon().digest,
            "opposed_share": OPPOSED_SHARE,
            "nearest": NEAREST,
            "least_cosine": LEAST_COSINE,
            "looked_at": LOOKED_AT,
            "min_clause_words": MIN_CLAUSE_WORDS,
            "max_parts": MAX_PARTS,
            "many_parts": MANY_PARTS,
            "splitter": SPLITTER,
            "chosen_for_this_embedder": same_embedder(self.embedder, chosen.embedder),
        }

    async def match(self, sentences: Sequence[str], draft: str) -> list[Answer]:
        """One answer per sentence. Every text of the reply and the draft goes to the embedder in one call.

        Raises:
            Unscored: `too-long`, a reply or a draft of very many different sentences.
        """
        comparing = Comparison(draft)
        if not sentences or not comparing.passages:
            return [Answer("") for _ in sentences]
        asked = list(dict.fromkeys(sentences))
        texts = list(dict.fromkeys([*map(as_embedded, asked), *comparing.texts]))
        if len(texts) > MOST_TEXTS or len(asked) * len(comparing.passages) > MOST_PAIRS:
            raise Unscored(
                "too-long",
                f"{len(asked)} different sentences and {len(comparing.passages)} passages are too many to compare",
            )
        vectors = await self.embedder.embed(texts)
        row = {text: number for number, text in enumerate(texts)}
        drafted = vectors[[row[text] for text in comparing.texts]]
        found = {
            sentence: comparing.answer(sentence, drafted @ vectors[row[as_embedded(sentence)]])
            for sentence in asked
        }
        return [found[sentence] for sentence in sentences]


class Comparison:
    """A draft made ready for the sentences of a reply.

    Attributes:
        passages: that may be answered with; of those that cannot be told apart, the first.
        texts: of the passages as they are embedded.
    """

    def __init__(self, draft: str) -> None:
        self._draft = draft
        self.passages = _distinct(candidates(draft))
        self.texts = [as_embedded(passage.text) for passage in self.passages]
        self._texts = {passage.text: index for index, passage in reversed(list(enumerate(self.passages)))}
        self._sentences = [i for i, passage in enumerate(self.passages) if passage.kind == "sentence"]
        # With greetings and all: nothing of a sentence that stands there word for word is to be deleted.
        self._whole = {_bare(draft[start:end]): (start, end) for start, end in sentence_spans(draft)[::-1]}
        self._readings: dict[int, Reading] = {}

    def weighed(self, sentence: str, cosines: Cosines) -> list[Weighed]:
        """The nearest passages that may stand for a sentence, the nearest first.

        Args:
            sentence: of the reply.
            cosines: with the passages, shape (n,).
        """
        reading = read_sentence(without_opening(sentence))
        field = field_of(cosines[self._sentences].tolist())
        refused = -1.0
        found = []
        for index in self._allowed(sentence, cosines):
            drafted, cosine = self._reading(index), float(cosines[index])
            if contradiction(reading.claims, drafted.claims):
                refused = max(refused, cosine)
            else:
                numbers = features(reading, drafted, cosine, field, refused)
                found.append(Weighed(index, cosine, numbers))
                if len(found) == NEAREST:
                    break
        return found

    def answer(self, sentence: str, cosines: Cosines) -> Answer:
        """The best passage, if there is a match. The sentence itself, word for word, always is."""
        whole = self._whole.get(_bare(sentence))
        if whole is not None:
            return Answer(self._draft[whole[0] : whole[1]], 1.0)
        index = self._texts.get(without_opening(sentence))
        if index is None:
            found = self.weighed(sentence, cosines)
            best, odds = decide([passage.features for passage in found])
            if best is None or odds < weights().threshold or found[best].cosine < LEAST_COSINE:
                return Answer("", round(float(cosines.max()), 4))
            index = found[best].index
        passage = self.passages[index]
        return Answer(self._draft[passage.start : passage.end], round(float(cosines[index]), 4))

    def _allowed(self, sentence: str, cosines: Cosines) -> Iterator[int]:
        """Passages by falling cosine; asked if the sentence asks, told if it tells, headings for headings."""
        asked, heads = asks(sentence), is_heading(sentence)
        looked_at = 0
        for index in (-cosines).argsort(kind="stable").tolist():
            passage = self.passages[index]
            if {asked, passage.asks} != {True, False} and passage.heading <= heads:
                yield index
                looked_at += 1
                if looked_at == LOOKED_AT:
                    return

    def _reading(self, index: int) -> Reading:
        if index not in self._readings:
            self._readings[index] = read_passage(self.passages[index])
        return self._readings[index]


def as_embedded(text: str) -> str:
    """A sentence or passage as it goes to the embedder: no greeting, what is short written out, generic names."""
    return generic(written_out(without_opening(text))).strip("*")


def decide(alternatives: Sequence[Sequence[float]], given: Weights | None = None) -> tuple[int | None, float]:
    """The best of some passages by their features, and the log odds that one of them is a match at all.

    A conditional logit (McFadden 1974) whose alternatives are the passages and "no match" at 0.
    """
    if not alternatives:
        return None, -math.inf
    chosen = given or weights()
    scores = [
        chosen.constant + sum(w * f for w, f in zip(chosen.features, numbers, strict=True))
        for numbers in alternatives
    ]
    best = max(scores)
    return scores.index(best), best + math.log(sum(math.exp(score - best) for score in scores))


def same_embedder(embedder: Embedder, chosen: Mapping[str, str]) -> bool | None:
    """Whether an embedder is the one that the weights were chosen with; None if it does not say what it is."""
    identity = getattr(embedder, "identity", None)
    if identity is None:
        return None
    given = identity()
    return all(given.get(name) == value for name, value in chosen.items())


def _distinct(passages: Sequence[Candidate]) -> list[Candidate]:
    """The first of the passages that cannot be told apart: a draft may repeat itself without end."""
    first: dict[tuple[object, ...], Candidate] = {}
    for passage in passages:
        key = (passage.text, passage.kind, passage.asks, passage.sentences, passage.end - passage.start)
        first.setdefault(key, passage)
    return list(first.values())


def _bare(sentence: str) -> str:
    """A sentence without regard to case and white space."""
    return " ".join(sentence.split()).casefold()
