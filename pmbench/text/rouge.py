"""ROUGE of one text against one reference."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
"""Words, pairs of words, the longest common subsequence of the texts, and that of their lines."""


def rouge(prediction: str, reference: str) -> dict[str, float]:
    """F1 of each of `KINDS`, as shares in [0, 1]; all 0 where either text has no word.

    Words are runs of a-z and 0-9 in lower case, not stemmed. `rougeLsum` takes each line for a sentence: a text of
    one line against a reference of several is compared with each of them.

    Source: Lin 2004, through rouge_score; the same numbers as the metric `rouge` of the library `evaluate` with its
    defaults, which the official scorer of ArchEHR-QA calls. Time and memory grow with the product of both lengths.
    """
    found = _scorer().score(reference, prediction)
    return {kind: float(found[kind].fmeasure) for kind in KINDS}


@lru_cache(maxsize=1)
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(list(KINDS), use_stemmer=False)
