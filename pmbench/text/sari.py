"""SARI: what a rewritten text kept, deleted and added, against references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pmbench.text.bleu import words_13a

Grams = Counter[tuple[str, ...]]

LONGEST = 4
"""Words in a row that are compared at most."""


def sari(source: str, prediction: str, references: Sequence[str]) -> float:
    """How well a text was rewritten, as a share in [0, 1].

    The mean over runs of one to four words of three numbers: F1 of what was kept of the source, precision of what
    was deleted from it, F1 of what was added to it; right is what the references did. Case is folded. Nothing
    divided by nothing is 1, so that a text too short to have four words in a row can gain by it, and an empty
    prediction has a score above 0.

    Args:
        source: the text that was rewritten.
        prediction: what became of it.
        references: what should have become of it, at least one.

    Raises:
        ValueError: no reference.

    Source: Xu et al. 2016, in the form of the metric `sari` of the library `evaluate` (which the official scorer of
    ArchEHR-QA calls): tokeniser 13a of sacrebleu, 0/0 = 1, recall of what was kept over counts.
    """
    if not references:
        raise ValueError("SARI needs at least one reference")
    # An empty text is one empty word, as it is there.
    before, after = (words_13a(text.lower()).split(" ") for text in (source, prediction))
    wanted = [words_13a(text.lower()).split(" ") for text in references]
    total = 0.0
    for n in range(1, LONGEST + 1):
        right: Grams = Counter()
        for words in wanted:
            right.update(_grams(words, n))
        total += sum(_operations(_grams(before, n), _grams(after, n), right, len(references)))
    return total / (3 * LONGEST)


def _grams(words: Sequence[str], n: int) -> Grams:
    return Counter(zip(*(words[start:] for start in range(n)), strict=False))


def _operations(before: Grams, after: Grams, right: Grams, references: int) -> tuple[float, float, float]:
    """F1 of keeping, precision of deleting and F1 of adding, for runs of one length.

    `right` sums the counts of all references, so that those of the other two count once for each reference.
    """
    before, after = _times(before, references), _times(after, references)
    kept, keepable = before & after, before & right
    rightly_kept = kept & right
    keep = _f1(
        _share(sum(count / kept[gram] for gram, count in rightly_kept.items()), len(kept)),
        _share(rightly_kept.total(), keepable.total()),
    )
    deleted = before - after
    rightly_deleted = deleted - right
    delete = _share(sum(count / deleted[gram] for gram, count in rightly_deleted.items()), len(deleted))
    added, addable = after.keys() - before.keys(), right.keys() - before.keys()
    rightly_added = len(added & addable)
    add = _f1(_share(rightly_added, len(added)), _share(rightly_added, len(addable)))
    return keep, delete, add


def _times(counts: Grams, factor: int) -> Grams:
    return Counter({gram: count * factor for gram, count in counts.items()})


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def _f1(precision: float, recall: float) -> float:
    both = precision + recall
    return 2 * precision * recall / both if both else 0.0
