"""Grades of several judges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench_tasks.notes.jury import graded_total, jury_score

GRADE = st.none() | st.integers(1, 5)


def test_the_mean_is_over_every_judge_and_criterion() -> None:
    found = jury_score([[5, 4, 3], [4, 4, 1], [2, 5, 5]])
    assert found.mean == pytest.approx(33 / 9)
    assert (found.given, found.missing) == (9, 0)
    assert (found.low, found.high) == (found.mean, found.mean)
    assert found.by_criterion == pytest.approx((11 / 3, 13 / 3, 3))
    assert found.by_judge == pytest.approx((4, 3, 4))


def test_a_judge_that_cannot_be_read_is_left_out_and_counted() -> None:
    """MedHELM leaves it out too; its number is the mean of the other judges' grades."""
    found = jury_score([[5, 4], [None, None], [2, 3]])
    assert (found.mean, found.given, found.missing) == (14 / 4, 4, 2)
    assert (found.low, found.high) == ((14 + 2) / 6, (14 + 10) / 6)
    assert found.by_judge == (4.5, None, 2.5)


def test_without_any_grade_there_is_no_score_where_medhelm_has_a_zero() -> None:
    found = jury_score([[None, None], [None, None]])
    assert found.mean is None
    assert (found.low, found.high, found.missing) == (1, 5, 4)
    assert jury_score([[None]], (0, 5)).low == 0


@settings(deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(GRADE, min_size=width, max_size=width), min_size=1)
    )
)
def test_the_mean_is_numpys_without_what_is_missing(grades: list[list[int | None]]) -> None:
    table = np.array(grades, dtype=float)
    found = jury_score(grades)
    if np.isnan(table).all():
        assert found.mean is None
        return
    assert found.mean == pytest.approx(np.nanmean(table))
    assert found.low == pytest.approx(np.where(np.isnan(table), 1, table).mean())
    assert found.high == pytest.approx(np.where(np.isnan(table), 5, table).mean())


def test_the_total_of_a_pdqi_9_is_9_to_45_and_needs_every_grade() -> None:
    assert graded_total([1] * 9) == 9
    assert graded_total([5] * 9) == 45
    assert graded_total([5] * 8 + [None]) is None
    assert graded_total([]) is None


@pytest.mark.parametrize("grades", [[], [[]], [[1, 2], [3]], [[0]], [[6]], [[float("nan")]]])
def test_grades_that_cannot_be_are_refused(grades: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"jury|judge|grades"):
        jury_score(grades)
