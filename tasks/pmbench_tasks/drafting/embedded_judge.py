"""The embedded content judge: the nearest passage of the draft by sentence embeddings, if near enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmbench import SPLITTER, Embedder, Unscored
from pmbench_tasks.drafting.answer import Answer
from pmbench_tasks.drafting.candidates import MAX_PARTS, MIN_CLAUSE_WORDS, Candidate, asks, candidates

# Chosen by judge_data/choose_threshold.py on the fold "tune" of judge_data/content_pairs.jsonl for the
# embedded all-MiniLM-L6-v2, int8. Dose, date, laterality and negation pairs took no part: one changed word is
# not something that a cosine can see. Nothing that is reported was used.
THRESHOLD = 0.52
"""Least similarity, after the handicaps, of a match."""
CLAUSE_HANDICAP = 0.06
"""What a clause must be better than its whole sentence by."""
MARGIN = 0.02
"""Among candidates this close to the best, the shortest is the answer. Not tuned: no figure depends on it."""
_NEVER = 2.0
"""Taken off where one asks and the other tells: more than any cosine."""

MOST_TEXTS, MOST_PAIRS = 50_000, 10_000_000
"""Different texts to embed and pairs to compare for one draft; minutes of work. A draft beyond is not scored."""


class EmbeddedContentJudge:
    """Answers with the passage of the draft whose embedding is nearest, if it is near enough.

    Passages are the draft's sentences, clauses of them and pairs of adjacent sentences. A question is matched
    by a question and a statement by a statement.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def describe(self) -> Mapping[str, Any]:
        """Method, numbers and splitter; the embedder has its own place in a score's digest."""
        return {
            "method": "nearest passage by cosine",
            "version": 1,
            "threshold": THRESHOLD,
            "clause_handicap": CLAUSE_HANDICAP,
            "margin": MARGIN,
            "min_clause_words": MIN_CLAUSE_WORDS,
            "max_parts": MAX_PARTS,
            "splitter": SPLITTER,
        }

    async def match(self, sentences: Sequence[str], draft: str) -> list[Answer]:
        """One answer per sentence. Every text of the reply and the draft goes to the embedder in one call.

        Raises:
            Unscored: `too-long`, a reply or a draft of very many different sentences.
        """
        passages = _distinct(candidates(draft))
        if not sentences or not passages:
            return [Answer("") for _ in sentences]
        asked = list(dict.fromkeys(sentences))
        texts = list(dict.fromkeys([*asked, *(passage.text for passage in passages)]))
        if len(texts) > MOST_TEXTS or len(asked) * len(passages) > MOST_PAIRS:
            raise Unscored(
                "too-long",
                f"{len(asked)} different sentences and {len(passages)} passages are too many to compare",
            )
        vectors = await self.embedder.embed(texts)
        row = {text: number for number, text in enumerate(texts)}
        drafted = vectors[[row[passage.text] for passage in passages]]
        found = {
            sentence: _answer(sentence, draft, passages, (drafted @ vectors[row[sentence]]).tolist())
            for sentence in asked
        }
        return [found[sentence] for sentence in sentences]


def _distinct(passages: Sequence[Candidate]) -> list[Candidate]:
    """The first of the passages that cannot be told apart: a draft may repeat itself without end."""
    first: dict[tuple[object, ...], Candidate] = {}
    for passage in passages:
        first.setdefault((passage.text, passage.kind, passage.asks, passage.end - passage.start), passage)
    return list(first.values())


def nearest(
    sentence: str,
    passages: Sequence[Candidate],
    similarities: Sequence[float],
    *,
    threshold: float = THRESHOLD,
    clause: float = CLAUSE_HANDICAP,
) -> tuple[int, bool]:
    """Index of the passage to answer with, and whether it is near enough to be a match.

    Args:
        sentence: a sentence of the reply.
        passages: candidates of the draft, at least one.
        similarities: their cosines with the sentence.
        threshold, clause: in place of the chosen numbers.
    """
    asked = asks(sentence)
    scores = [
        similarity
        - (clause if passage.kind == "clause" else 0.0)
        - (_NEVER if {asked, passage.asks} == {True, False} else 0.0)
        for passage, similarity in zip(passages, similarities, strict=True)
    ]
    best = max(scores)
    close = [index for index, score in enumerate(scores) if score >= best - MARGIN]
    if best >= threshold:
        close = [index for index in close if scores[index] >= threshold]
    chosen = min(close, key=lambda index: (passages[index].end - passages[index].start, index))
    return chosen, best >= threshold


def _answer(sentence: str, draft: str, passages: Sequence[Candidate], similarities: list[float]) -> Answer:
    index, near = nearest(sentence, passages, similarities)
    passage = passages[index]
    return Answer(draft[passage.start : passage.end] if near else "", round(similarities[index], 4))
