"""Rubrics of points, shares of yes and their sums, and juries."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench_tasks.notes import rubric_score
from pmbench_tasks.notes.aggregates import (
    Sums,
    by_category,
    normalised_rate,
    pass_rate,
    sums,
    weighted_rate,
    yes_share,
)
from pmbench_tasks.notes.rubric import mean_rubric_score, rubric_bounds

_SHARED = Path(os.environ.get("PMBENCH_SHARED", Path(__file__).parents[3] / "shared"))
_CASES = _SHARED / "conformance/checklist.json"

MET = st.lists(st.sampled_from([True, False, None]), max_size=12)
POINTS = st.lists(st.tuples(st.integers(-10, 10), st.sampled_from([True, False, None])), max_size=8)


def test_every_conformance_case_of_rubrics() -> None:
    if not _CASES.is_file():
        pytest.skip(f"no conformance data: {_CASES} is absent (PMBENCH_SHARED says where the folder is)")
    cases = json.loads(_CASES.read_text(encoding="utf-8"))["rubric"]
    assert cases
    for case in cases:
        score = rubric_score(case["points"], case["met"])
        assert score == (None if case["score"] is None else pytest.approx(case["score"], abs=1e-12))


def test_the_unit_case_of_healthbench() -> None:
    assert rubric_score([7, 5, 10, -6], [True, False, True, True]) == 0.5


def test_a_score_can_be_below_zero_and_none_exists_without_positive_points() -> None:
    assert rubric_score([5, -10], [False, True]) == -2
    assert rubric_score([-5, -1], [True, False]) is None
    assert rubric_score([0, -1], [True, True]) is None
    assert rubric_score([], []) is None


def test_the_mean_is_clipped_and_not_what_it_is_made_of() -> None:
    scores = [1.0, 0.5, -2.0, None]
    assert mean_rubric_score(scores) == 0
    assert mean_rubric_score([0.9, -0.5]) == pytest.approx(0.2)  # 0.45 if the scores were clipped
    assert mean_rubric_score([None, None]) is None
    assert mean_rubric_score([]) is None


@settings(deadline=None)
@given(st.lists(st.floats(-3, 1), min_size=1, max_size=9))
def test_the_mean_is_numpys(scores: list[float]) -> None:
    assert mean_rubric_score(scores) == pytest.approx(np.clip(np.mean(scores), 0, 1))


@settings(deadline=None)
@given(POINTS)
def test_bounds_hold_whatever_the_missing_answers_were(criteria: list[tuple[int, bool | None]]) -> None:
    points, met = [worth for worth, _ in criteria], [is_met for _, is_met in criteria]
    bounds = rubric_bounds(points, met)
    if sum(worth for worth in points if worth > 0) == 0:
        assert bounds is None
        return
    assert bounds is not None
    missing = [place for place, is_met in enumerate(met) if is_met is None]
    every = []
    for bits in range(2 ** len(missing)):
        filled = list(met)
        for number, place in enumerate(missing):
            filled[place] = bool(bits >> number & 1)
        every.append(rubric_score(points, filled))
    assert bounds == (
        min(one for one in every if one is not None),
        max(one for one in every if one is not None),
    )


def test_a_missing_answer_is_left_out_above_and_below_the_line() -> None:
    assert rubric_score([4, 6, -5], [True, None, False]) == 1
    assert rubric_bounds([4, 6, -5], [True, None, False]) == (0.4, 1)
    assert rubric_bounds([4, 6, -5], [True, True, None]) == (0.5, 1)
    assert rubric_score([4], [None]) is None


@pytest.mark.parametrize(("points", "met"), [([1], []), ([float("nan")], [True]), ([float("inf")], [True])])
def test_rubrics_that_cannot_be_are_refused(points: list[float], met: list[bool]) -> None:
    with pytest.raises(ValueError, match=r"criteria|finite"):
        rubric_score(points, met)


def test_shares_of_yes() -> None:
    met = [True, False, None, True]
    assert pass_rate(met) == 2 / 3
    assert (pass_rate(met, missing="no"), pass_rate(met, missing="yes")) == (2 / 4, 3 / 4)
    assert weighted_rate(met, [3, 1, 5, 1]) == 4 / 5
    assert weighted_rate(met, [3, 1, 5, 1], missing="no") == 4 / 10
    assert pass_rate([]) is None
    assert pass_rate([None, None]) is None
    assert weighted_rate([True, False], [0, 0]) is None


@settings(deadline=None)
@given(MET)
def test_the_share_lies_between_its_ends(met: list[bool | None]) -> None:
    share, low, high = pass_rate(met), pass_rate(met, missing="no"), pass_rate(met, missing="yes")
    if share is not None:
        assert low is not None and high is not None
        assert low <= share <= high


@settings(deadline=None)
@given(MET, MET)
def test_sums_of_two_notes_add_up(first: list[bool | None], second: list[bool | None]) -> None:
    assert sums(first) + sums(second) == sums([*first, *second])


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(0.1, 100)), min_size=1, max_size=12))
def test_the_weighted_share_is_numpys_average(answers: list[tuple[bool, float]]) -> None:
    met, weights = [answer for answer, _ in answers], [weight for _, weight in answers]
    assert weighted_rate(met, weights) == pytest.approx(np.average(met, weights=weights))


def test_categories_have_a_macro_and_a_micro_average() -> None:
    found = by_category([True, True, False, None, None], ["a", "a", "b", "a", "c"])
    assert found.sums == {"a": Sums(2, 2), "b": Sums(0, 1), "c": Sums(0, 0)}
    assert (found.macro, found.micro, found.without) == (0.5, 2 / 3, ("c",))
    assert by_category([], []) == ({}, None, None, ())


def test_probabilities_are_taken_against_each_other() -> None:
    assert yes_share(0.3, 0.1) == pytest.approx(0.75)
    assert normalised_rate([0.75, None, 0.25]) == 0.5
    assert normalised_rate([]) is None


def test_answers_that_cannot_be_are_refused() -> None:
    for call in (
        lambda: sums([True], [1, 2]),
        lambda: sums([True], [-1]),
        lambda: sums([True], [float("nan")]),
        lambda: by_category([True], []),
        lambda: yes_share(1.5, 0),
        lambda: normalised_rate([2.0]),
    ):
        with pytest.raises(ValueError, match=r"answers|weights|probabilities|shares"):
            call()
