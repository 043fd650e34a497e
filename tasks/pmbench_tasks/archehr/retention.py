"""How much of an answer its editor kept: the share of word lemmas that are still there.

The paper reports that a reviewer retained 81.3% of the clinicians' answers, as the proportion of word lemmas, leaving
out punctuation and stop words; it names neither lemmatiser nor list. Here lemmas are those of simplemma, which looks
words up in a dictionary of its own without a model or a network and pays no heed to context, and stop words are the
closed classes below. Numbers count as words: a dose that was changed is a change. So do `not` and `no`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pmbench import ConfigError, DataError
from pmbench_tasks.archehr.resampling import RESAMPLES, Estimate, drawn_counts, estimate

_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_CITATION = re.compile(r"\|[0-9,;\s–-]*\||\[[0-9][0-9,;\s–-]*\]")

_CLOSED = """
a an the this that these those some any each every either neither both all such
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves who whom whose which what
am is are was were be been being do does did doing done have has had having
can could may might must shall should will would
about above across after against along among around as at before behind below beneath beside between beyond by
despite down during except for from in inside into of off on onto out outside over per since through throughout
to toward towards under until up upon via with within without
and but or so if because although though while whereas unless than then when where why how whether
there here also too very just only again once
"""
STOP_WORDS = frozenset(_CLOSED.split())
"""Articles, pronouns, auxiliaries, prepositions, conjunctions and adverbs that carry no matter of their own."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of several answers was kept.

    Attributes:
        answers: compared.
        lemmas: of the originals, each as often as it stands there; kept: that stand in the edited ones too.
        share: kept over lemmas, of all answers together, with an interval by drawing answers.
        mean: of the answers' own shares, with an interval.
        by_answer: the share of each; None where the original has no word that counts.
        only_original, only_edited: answers that one side alone has; not counted above.
    """

    answers: int
    lemmas: int
    kept: int
    share: Estimate
    mean: Estimate
    by_answer: Mapping[str, float | None]
    only_original: int
    only_edited: int


def lemmas(text: str) -> Counter[str]:
    """The lemmas of a text with how often each stands there, without stop words, punctuation and citations.

    Raises:
        ConfigError: simplemma is not installed.
    """
    try:
        from simplemma import lemmatize
    except ImportError:
        raise ConfigError(
            "lemmas need the module 'simplemma', which is not installed",
            remedy='Run: pip install "pmbench[annotation]"',
        ) from None
    words = [word.lower().replace("’", "'") for word in _WORD.findall(_CITATION.sub(" ", text))]
    found = (str(lemmatize(word, lang="en")).lower() for word in words if word not in STOP_WORDS)
    return Counter(lemma for lemma in found if lemma not in STOP_WORDS)


def retention(
    original: Mapping[str, str], edited: Mapping[str, str], *, resamples: int = RESAMPLES, seed: int = 0
) -> Retention:
    """Compare answers before and after editing. A lemma is kept as often as both texts have it.

    Args:
        original, edited: texts by id.
        resamples, seed: of the intervals.

    Raises:
        ConfigError: simplemma is not installed.
        DataError: no answer is in both.
    """
    import numpy as np

    both = [name for name in original if name in edited]
    if not both:
        raise DataError(
            "no answer is in both", remedy="Give two files of the same answers, with the same ids"
        )
    counts = np.zeros((len(both), 2))
    for place, name in enumerate(both):
        before = lemmas(original[name])
        counts[place] = (before & lemmas(edited[name])).total(), before.total()
    kept, there = counts.sum(axis=0)
    drawn = drawn_counts(len(both), resamples, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = counts[:, 0] / counts[:, 1]
        pooled = (drawn @ counts)[:, 0] / (drawn @ counts)[:, 1]
        counted = ~np.isnan(shares)
        means = drawn @ np.where(counted, shares, 0.0) / (drawn @ counted)
    return Retention(
        answers=len(both),
        lemmas=int(there),
        kept=int(kept),
        share=estimate(kept / there if there else float("nan"), pooled, len(both)),
        mean=estimate(float(shares[counted].mean()) if counted.any() else float("nan"), means, len(both)),
        by_answer={
            name: None if share != share else float(share) for name, share in zip(both, shares, strict=True)
        },
        only_original=len(original) - len(both),
        only_edited=len(edited) - len(both),
    )
