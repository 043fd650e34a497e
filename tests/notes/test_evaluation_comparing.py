"""Which of two checklists is better: the sentences that begin the table, and the tests behind them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from pmbench_tasks.notes.evaluation.answers import Answers
from pmbench_tasks.notes.evaluation.comparing import (
    Draws,
    coverage_between,
    enforceability_between,
    preference_between,
    stars_between,
    worse_notes_between,
)
from pmbench_tasks.notes.evaluation.deltas import lost_points
from pmbench_tasks.notes.evaluation.enforceability import UnitTest
from pmbench_tasks.notes.evaluation.evaluate import Material, compare
from pmbench_tasks.notes.evaluation.predictive import predict_stars
from pmbench_tasks.notes.evaluation.preferences import Pair
from pmbench_tasks.notes.evaluation.sentences import sentences
from pmbench_tasks.notes.evaluation.table import markdown

NAN = float("nan")
DRAWS: Draws = {"resamples": 200, "seed": 0}


def covering(*shares: float, items: int = 40) -> np.ndarray:
    """One question for each share, which covers the first items."""
    return np.array([[1.0 if at < share * items else 0.0 for at in range(items)] for share in shares])


def test_the_table_begins_with_which_is_better_and_how_sure_one_is() -> None:
    first = Material(name="grown", questions=("q",), coverage=covering(0.8))
    second = Material(name="baseline", questions=("q",), coverage=covering(0.5))
    text = markdown(compare([first, second], resamples=500))
    assert text.startswith(
        "## Which is better\n\n- **Coverage**: grown covers more of the feedback than baseline "
    )
    assert "(0.80 against 0.50; difference 0.30 [0." in text and "p < 0.001)." in text
    (swapped,) = sentences(compare([second, first], resamples=500))
    assert swapped.startswith(
        "**Coverage**: grown covers more of the feedback than baseline (0.80 against 0.50"
    )


def test_what_cannot_be_told_apart_is_said_so_and_why_where_there_is_too_little() -> None:
    few = [
        Material(name=name, questions=("q",), coverage=covering(share, items=10))
        for name, share in (("a", 0.7), ("b", 0.4))
    ]
    (line,) = sentences(compare(few, resamples=200))
    assert line.startswith("**Coverage**: a and b cannot be told apart (0.70 against 0.40; difference 0.30 [")
    assert line.endswith("p = 0.25; so few differ that before adjustment no p can be below 0.25).")
    (line,) = sentences(compare([few[0], Material(name="c", questions=("q",), coverage=few[0].coverage)]))
    assert "difference 0.00, p = 1.00; there is no feedback item by which they differ)." in line
    unknown = Material(name="d", questions=("q",), coverage=[[NAN] * 10])
    (line,) = sentences(compare([few[0], unknown]))
    assert line.startswith("**Coverage**: a and d were not compared (")
    assert list(sentences(compare(few[:1]))) == []


def test_p_in_the_sentences_is_adjusted_over_all_comparisons_of_the_table() -> None:
    given = [
        Material(name=name, questions=("q",), coverage=covering(share))
        for name, share in (("a", 0.8), ("b", 0.6), ("c", 0.45))
    ]
    found = [gap for one in compare(given, resamples=100).contrasts for gap in one.main]
    expected = multipletests([gap.p for gap in found], method="holm")[1]
    assert len(found) == 3 and [gap.p_holm for gap in found] == pytest.approx(expected.tolist())
    assert [gap.p for gap in found] != pytest.approx(expected.tolist())


def test_coverage_is_compared_by_mcnemars_test_of_statsmodels() -> None:
    generator = np.random.default_rng(3)
    one, two = ((generator.random((3, 60)) < share).astype(float) for share in (0.35, 0.2))
    one[0, :5] = NAN
    found = coverage_between(one, two, DRAWS)
    a, b = one[:, 5:].any(axis=0), two[:, 5:].any(axis=0)
    table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
    assert found.p == pytest.approx(mcnemar(table, exact=True).pvalue)
    assert (found.first, found.second) == pytest.approx((a.mean(), b.mean()))
    assert found.difference.value == pytest.approx(found.first - found.second)


def flips(values: np.ndarray) -> float:
    """Every pattern of signs, one after the other."""
    seen = abs(values.sum()) - 1e-9
    signs = itertools.product((1, -1), repeat=len(values))
    return float(np.mean([abs(np.dot(one, values)) >= seen for one in signs]))


def test_enforceability_is_compared_by_note() -> None:
    # One question each, tested on the same five notes: the rates are means, and so is their difference.
    seen = {"a": [1, 1, 1, 1, 0], "b": [0, 0, 1, 0, 0]}
    one, two = (
        [UnitTest("q", f"n{at}", not met) for at, met in enumerate(seen[name])] for name in ("a", "b")
    )
    found = enforceability_between(one, two)
    gaps = np.subtract(seen["a"], seen["b"]).astype(float)
    assert (found.first, found.second, found.difference.value) == pytest.approx((0.8, 0.2, 0.6))
    interval = stats.ttest_1samp(gaps, 0).confidence_interval()
    assert (found.difference.low, found.difference.high) == pytest.approx(
        (interval.low, min(1, interval.high))
    )
    assert found.p == pytest.approx(flips(gaps)) == 0.25 and found.least_p == 0.25
    assert (found.difference.unit, found.difference.units) == ("note", 5)
    # Rates of questions are averaged however many tests each has: (1 + 1/2) / 2 against 1.
    three = [UnitTest("q", "n0", False), UnitTest("r", "n0", False), UnitTest("r", "n1", True)]
    three += [UnitTest("q", "n1", None)]
    four = [UnitTest("s", "n0", False), UnitTest("s", "n1", False)]
    assert enforceability_between(three, four).first == pytest.approx(0.75)
    assert enforceability_between(three, []).p != enforceability_between(three, []).p


def test_prediction_of_stars_is_compared_on_the_same_splits() -> None:
    generator = np.random.default_rng(5)
    stars = generator.choice([1.0, 5.0], size=80)
    good = np.stack([(stars == 5) ^ (generator.random(80) < 0.15), generator.random(80) < 0.5]).astype(float)
    noise = (generator.random((2, 80)) < 0.5).astype(float)
    one, two = (predict_stars(matrix, stars.tolist(), splits=6) for matrix in (good, noise))
    found = stars_between((good, one), (noise, two), stars.tolist(), splits=6, seed=0)
    gaps = np.subtract(one.by_split, two.by_split)
    error = gaps.std(ddof=1) * np.sqrt(1 / 6 + 16 / 64)
    assert found.difference.value == pytest.approx(one.accuracy.value - two.accuracy.value)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(gaps.mean()) / error, 5))
    assert found.difference.low == pytest.approx(gaps.mean() - stats.t.ppf(0.975, 5) * error)
    # Where one lacks an answer both are learnt and tested without that item.
    noise[0, 0] = NAN
    two = predict_stars(noise, stars.tolist(), splits=6)
    part = stars_between((good, one), (noise, two), stars.tolist(), splits=6, seed=0)
    alone = predict_stars(good[:, 1:], stars[1:].tolist(), splits=6)
    assert part.first == pytest.approx(alone.accuracy.value) and part.second == two.accuracy.value


def test_preferences_are_compared_by_visit_and_not_by_pair() -> None:
    # Four visits of three pairs each: the first checklist is right about all, the second about those of one visit.
    pairs = [
        Pair(f"p{visit}{at}", f"v{visit}", f"v{visit}/a{at}", f"v{visit}/b{at}", ("a", "a"))
        for visit in range(4)
        for at in range(3)
    ]
    notes = [note for pair in pairs for note in (pair.a, pair.b)]
    right = Answers(tuple(notes), ("q",), np.array([[float("/a" in note)] for note in notes]))
    wrong = Answers(
        tuple(notes), ("q",), np.array([[float(("/a" in note) == ("v0" in note))] for note in notes])
    )
    found = preference_between(pairs, right, wrong, DRAWS)
    assert (found.first, found.second) == pytest.approx((1.0, 0.25))
    assert found.p == pytest.approx(flips(np.array([0.0, 3, 3, 3]))) == 0.25 and found.least_p == 0.25
    assert (found.difference.unit, found.difference.units) == ("visit", 4)
    names = [
        Material(name=name, questions=("q",), pairs=pairs, compared=side)
        for name, side in (("a", right), ("b", wrong))
    ]
    text = markdown(compare(names, resamples=100))
    assert "**Preferences**: a and b cannot be told apart (1.00 against 0.25" in text
    assert "Believe p (flips), by visit." in text and "not independent" in text


def test_points_lost_by_notes_made_worse_are_paired_by_note_and_leave_the_control_out() -> None:
    notes = tuple(f"n{at}" for at in range(6))
    whole = Answers(notes, ("q", "r"), np.ones((6, 2)))
    generator = np.random.default_rng(2)
    worse = [
        Answers(notes, ("q", "r"), (generator.random((6, 2)) < share).astype(float)) for share in (0.1, 0.8)
    ]
    one, two = (
        {"delete_section": lost_points(whole, each), "paraphrase": lost_points(whole, whole)}
        for each in worse
    )
    found = worse_notes_between(one, two, DRAWS)
    assert found is not None
    gaps = 100 * (worse[1].met.mean(axis=1) - worse[0].met.mean(axis=1))
    assert found.difference.value == pytest.approx(gaps.mean()) and found.p == pytest.approx(flips(gaps))
    assert worse_notes_between({"paraphrase": one["paraphrase"]}, two, DRAWS) is None
