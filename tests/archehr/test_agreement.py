"""Agreement of two people on the relevance of sentences, against statsmodels and the paper's numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from pmbench import DataError
from pmbench_tasks.archehr.agreement import ORDER, agreement, kappa, quadratic

NOT, SOME, MUST = ORDER


def labelled(pairs: list[tuple[str, str]], cases: int = 10) -> tuple[dict, dict]:
    items = [(str(number % cases), str(number)) for number in range(len(pairs))]
    return (
        {item: pair[0] for item, pair in zip(items, pairs, strict=True)},
        {item: pair[1] for item, pair in zip(items, pairs, strict=True)},
    )


@pytest.mark.parametrize(
    ("equal", "changes", "share", "first_change"),
    [
        (2653, [(MUST, SOME, 318), (MUST, NOT, 212), (SOME, NOT, 180), (NOT, SOME, 87)], 76.9, 39.9),
        (2874, [(MUST, SOME, 323), (SOME, NOT, 153), (NOT, MUST, 100)], 83.3, 56.1),
    ],
)
def test_the_counts_of_the_papers_two_rounds(
    equal: int, changes: list[tuple[str, str, int]], share: float, first_change: float
) -> None:
    """Its counts are 2653 and 2874 of 3450 labels, and of the 797 and 576 changes 318 and 323 of one kind.

    It prints 77.1% and 84.7% beside them, which no rounding of these counts gives; the shares of changes are right.
    """
    different = [(before, after) for before, after, count in changes for _ in range(count)]
    found = agreement(*labelled([*different, *[(NOT, NOT)] * equal]))
    assert (found.labels, found.equal, len(different)) == (3450, equal, 3450 - equal)
    assert round(100 * found.share.value, 1) == share
    assert (found.changes[0].before, found.changes[0].after) == (MUST, SOME)
    assert round(100 * found.changes[0].share, 1) == first_change


@given(st.lists(st.lists(st.integers(0, 12), min_size=3, max_size=3), min_size=3, max_size=3))
def test_kappa_is_that_of_statsmodels(table: list[list[int]]) -> None:
    counts = np.array(table, dtype=float)
    assume(counts.sum() > 0)
    plain, weighted = kappa(counts, 1 - np.eye(3)), kappa(counts, quadratic(3))
    used = {int(place) for axis in (0, 1) for place in np.flatnonzero(counts.sum(axis=axis))}
    if len(used) < 2:
        assert np.isnan(plain)
        assert np.isnan(weighted)
        return
    assert plain == pytest.approx(cohens_kappa(counts, return_results=False))
    assert weighted == pytest.approx(cohens_kappa(counts, wt="quadratic", return_results=False))


def test_table_changes_and_what_is_in_one_file_alone() -> None:
    first, second = labelled([(NOT, NOT)] * 5 + [(MUST, SOME)] * 2 + [(MUST, MUST)] * 3 + [(SOME, MUST)], 3)
    first["9", "x"] = MUST
    second["9", "y"] = second["9", "z"] = NOT
    found = agreement(first, second)
    assert found.table == ((5, 0, 0), (0, 0, 1), (0, 2, 3))
    assert [(one.before, one.after, one.count) for one in found.changes] == [(MUST, SOME, 2), (SOME, MUST, 1)]
    assert (found.labels, found.cases, found.equal) == (11, 3, 8)
    assert (found.only_first, found.only_second) == (1, 2)
    assert found.share.low is not None
    assert found.share.low <= found.share.value <= found.share.high


def test_the_mean_over_cases_does_not_weigh_them_by_their_sentences() -> None:
    first = {("1", str(n)): MUST for n in range(9)} | {("2", "0"): MUST}
    second = {item: NOT if item[0] == "2" else MUST for item in first}
    found = agreement(first, second)
    assert (found.share.value, found.mean.value) == (0.9, 0.5)


def test_intervals_draw_cases() -> None:
    # In nine cases of ten all labels agree, in one none: which share a resample has is how often that one is drawn.
    first = {(str(case), str(n)): MUST for case in range(10) for n in range(5)}
    second = {item: NOT if item[0] == "0" else MUST for item in first}
    found = agreement(first, second, resamples=4000)
    assert found.share.value == 0.9
    assert (found.share.low, found.share.high) == (
        0.7,
        1.0,
    )  # Binomial(10, 1/10): 0 and 3 are its 2.5% and 97.5%


def test_one_case_has_no_interval_and_one_label_no_kappa() -> None:
    found = agreement({("1", "1"): MUST}, {("1", "1"): MUST})
    assert found.share == (1.0, None, None)
    assert found.kappa.value is None


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(DataError, match="no sentence is in both"):
        agreement({("1", "1"): MUST}, {("2", "1"): MUST})
