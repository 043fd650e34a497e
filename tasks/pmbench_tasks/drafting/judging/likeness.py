"""How alike a sentence and a passage are: the numbers that the embedded content judge weighs.

Words that both have are not among them. In the pairs that the weights come from, near misses share more words
with the draft than paraphrases do, so that they would count against a match; in real replies they do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pmbench_tasks.drafting.judging.candidates import Candidate, Kind
from pmbench_tasks.drafting.judging.guards import Claims, claims
from pmbench_tasks.drafting.judging.lexicon import lexicon
from pmbench_tasks.drafting.judging.quantities import DELAY, NUMBER, SPAN, Quantity

FEATURES = (
    "above draft",
    "runner-up",
    "longer",
    "shorter",
    "amounts missing",
    "amounts shared",
    "condition added",
    "condition cut off",
    "condition missing",
    "clause",
    "pair",
    "thanks added",
    "titled",
    "refused nearer",
)
"""What `features` gives, in order; its docstring says what each is."""

_TIMES = frozenset((SPAN, DELAY))
_OPENING = 6
"""Words at the beginning of a text in which thanks make it a text of thanks."""
_MOST_AMOUNTS = 2
_OTHERS, _UNRELATED = 4, 0.15
"""Sentences added to a draft, and their cosine: about what unrelated sentences of a draft have."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it is compared.

    Attributes:
        claims: what it says.
        thanks: whether it begins with thanks.
        kind: of a passage.
        titled: whether it looks like a title or a signature.
    """

    claims: Claims
    thanks: bool
    kind: Kind = "sentence"
    titled: bool = False


def read_sentence(text: str) -> Reading:
    """A sentence of the reply."""
    said = claims(text)
    return Reading(said, _thanks(said))


def read_passage(passage: Candidate) -> Reading:
    """A passage of the draft."""
    said = claims(passage.text, passage.sentences, passage.at)
    return Reading(said, _thanks(said), kind=passage.kind, titled=_titled(passage.text))


@dataclass(frozen=True, slots=True)
class Field:
    """What a cosine of one sentence with one draft has to be seen against.

    Attributes:
        usual: mean of its cosines with the draft's sentences, as if a few sentences of no kinship stood beside
            them, since a draft may have but one.
        second: the second greatest of them.
    """

    usual: float
    second: float


def field_of(cosines: Sequence[float]) -> Field:
    """The field of a sentence, from its cosines with the sentences of a draft."""
    with_others = [*cosines, *[_UNRELATED] * _OTHERS]
    return Field(sum(with_others) / len(with_others), sorted(with_others)[-2])


def features(
    sentence: Reading, passage: Reading, cosine: float, field: Field, refused: float
) -> tuple[float, ...]:
    """The numbers of FEATURES.

    `above draft`: how far the cosine is above what is usual in this draft; `runner-up`: how far the second
    nearest sentence of the draft is above it; `longer`, `shorter`: log of the passage's words over the
    sentence's, and the other way round; `amounts missing`, `amounts shared`: how many of the sentence's amounts,
    times and dates the passage lacks and has (2 at most); `condition …`: whether only the passage names a
    condition (`added`), it was cut off a condition that the sentence lacks (`cut off`), only the sentence has
    one (`missing`); `clause`, `pair`: of these kinds; `thanks added`: whether only the passage begins with
    thanks; `titled`: whether it looks like a title or a signature; `refused nearer`: how much nearer a passage
    was that contradicts the sentence: what the draft has to say about it may be just that.

    Args:
        sentence, passage: what is compared.
        cosine: of their embeddings.
        field: of the sentence in the draft.
        refused: the greatest cosine of a passage that contradicts the sentence; -1 if none does.
    """
    said, drafted = sentence.claims, passage.claims
    length = math.log((len(drafted.tokens) + 1) / (len(said.tokens) + 1))
    has = [_has(quantity, drafted.quantities) for quantity in said.quantities]
    around = drafted.conditional_around or drafted.conditional
    return (
        cosine - field.usual,
        field.second - cosine,
        max(0.0, length),
        max(0.0, -length),
        float(min(has.count(False), _MOST_AMOUNTS)),
        float(min(has.count(True), _MOST_AMOUNTS)),
        float(drafted.conditional and not said.conditional),
        float(around and not drafted.conditional and not said.conditional),
        float(said.conditional and not around),
        float(passage.kind == "clause"),
        float(passage.kind == "pair"),
        float(passage.thanks and not sentence.thanks),
        float(passage.titled),
        max(0.0, refused - cosine),
    )


def _thanks(said: Claims) -> bool:
    return not lexicon().sets["thanks"].isdisjoint(said.tokens[:_OPENING])


def _has(quantity: Quantity, others: Iterable[Quantity]) -> bool:
    kinds = _TIMES if quantity.kind in _TIMES else {quantity.kind}
    return any(quantity.agrees(other) for other in others if other.kind in kinds or quantity.kind == NUMBER)


def _titled(text: str) -> bool:
    split = text.split()
    return not text.rstrip().endswith((".", "!", "?")) and 2 * sum(w[0].isupper() for w in split) >= len(
        split
    )
