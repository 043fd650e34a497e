"""Factuality: what an answer cites, or a system picks, against the note's labels, as sets of ids.

The rules of 2025 and those of 2026 differ in what lenient means and in what nothing against nothing is worth. Each
function here is that of an official scorer, named; ids are opaque strings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple


class Counts(NamedTuple):
    """True positives, false positives and false negatives of one case, or of several added up."""

    tp: int
    fp: int
    fn: int


class PRF(NamedTuple):
    """Precision, recall and F1, shares."""

    precision: float
    recall: float
    f1: float


def counts_2025(relevance: Mapping[str, str], cited: Collection[str]) -> dict[str, Counts]:
    """Citations of one answer against the labels, by the official scorer of 2025.

    Args:
        relevance: label of each sentence of the note.
        cited: ids as the answer's reader gives them; what is no id of the note is a false positive.

    Returns:
        `strict`: against the essential sentences. `lenient`: against essential and supplementary ones together, so
        that a supplementary sentence that is not cited is missed, and lenient recall can be lower than strict.
    """
    essential, supplementary = _labelled(relevance, "essential"), _labelled(relevance, "supplementary")
    return {"strict": counts(cited, essential), "lenient": counts(cited, essential | supplementary)}


def counts_2026(relevance: Mapping[str, str], picked: Collection[str]) -> dict[str, Counts]:
    """Picked evidence against the labels, by the official scorer of subtask 2 of 2026.

    Args:
        relevance: label of each sentence of the note.
        picked: ids of the note.

    Returns:
        `strict`: against the essential sentences, as in 2025. `lenient`: the same without the supplementary sentences
        among those picked: to pick one neither helps nor harms.
    """
    essential, supplementary = _labelled(relevance, "essential"), _labelled(relevance, "supplementary")
    return {
        "strict": counts(picked, essential),
        "lenient": counts(set(picked) - supplementary, essential),
    }


def counts_links(predicted: Mapping[str, Collection[str]], cited: Mapping[str, Collection[str]]) -> Counts:
    """Links of answer sentences to sentences of the note, by the official scorer of subtask 4 of 2026.

    Args:
        predicted: ids of the note for each id of an answer sentence.
        cited: the same of the clinician's answer, as collections of ids. The official scorer takes the characters of
            a key's `"1,12"` for ids; whoever wants that hands over the characters.
    """
    return counts(_links(predicted), _links(cited))


def counts(predicted: Collection[object], gold: Collection[object]) -> Counts:
    """Counts of one case: what both have, what only the prediction has, what only the key has; as sets."""
    guessed, there = set(predicted), set(gold)
    return Counts(len(guessed & there), len(guessed - there), len(there - guessed))


def prf(tp: float, fp: float, fn: float, empty: float = 0.0) -> PRF:
    """Precision, recall and F1 of counts.

    Args:
        tp, fp, fn: of one case, or added up over cases.
        empty: what each is worth where nothing was predicted and nothing was to be found: 0 by the rules of 2025 and
            of alignment, 1 by those of evidence (2026). Where only one of the two is empty, all are 0.
    """
    if tp + fp + fn == 0:
        return PRF(empty, empty, empty)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    return PRF(precision, recall, 2 * tp / (2 * tp + fp + fn))


def total(cases: Iterable[Counts]) -> Counts:
    """Counts of several cases added up, for micro averages."""
    rows = list(cases)
    return Counts(sum(one.tp for one in rows), sum(one.fp for one in rows), sum(one.fn for one in rows))


def _labelled(relevance: Mapping[str, str], *labels: str) -> set[str]:
    return {name for name, label in relevance.items() if label in labels}


def _links(by_sentence: Mapping[str, Collection[str]]) -> set[tuple[str, str]]:
    return {(answer, evidence) for answer, those in by_sentence.items() for evidence in those}
