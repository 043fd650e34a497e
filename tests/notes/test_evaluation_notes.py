"""What a checklist says of notes: scores, perturbations, preferences, unit tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pmbench_tasks.notes
from pmbench import DataError
from pmbench_tasks.notes.evaluation.answers import Answers, answers_of, mean_score, pass_rates
from pmbench_tasks.notes.evaluation.deltas import between, lost_points, robustness
from pmbench_tasks.notes.evaluation.enforceability import UnitTest, enforceability
from pmbench_tasks.notes.evaluation.intervals import Floats, drawn_counts, estimates, means, ratio
from pmbench_tasks.notes.evaluation.paired import holm, one_sample, sign_flip, two_sample
from pmbench_tasks.notes.evaluation.preferences import Pair, preference, read_preferences

NAN = float("nan")
DEMO = Path(pmbench_tasks.notes.__file__).parent / "demo"
MET = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 8), st.integers(1, 6)), elements=st.sampled_from([0.0, 1.0, NAN])
)


def table(rows: list[list[float]], prefix: str = "n") -> Answers:
    return Answers(
        tuple(f"{prefix}{row}" for row in range(len(rows))),
        tuple(f"q{column}" for column in range(len(rows[0]))),
        np.array(rows, dtype=np.float64),
    )


def test_a_missing_answer_is_not_a_no() -> None:
    # Scores: 1 of 2 → 50; 2 of 2 → 100; the third note has no answer and is no note of score 0. Mean 75.
    # All five missing ones read as no: 3 of 9; as yes: 8 of 9.
    found = mean_score(table([[1, 0, NAN], [1, 1, NAN], [NAN, NAN, NAN]]))
    assert (found.value, found.units, found.missing) == (75.0, 2, 5)
    assert (found.least, found.most) == pytest.approx((100 * 3 / 9, 100 * 8 / 9))


@settings(deadline=None)
@given(MET)
def test_the_ends_hold_every_way_of_filling_in(met: Floats) -> None:
    answers = table(met.tolist())
    found = mean_score(answers, resamples=10)
    if not answers.missing:
        assert np.isnan(found.least)
        return
    filled = np.where(np.isnan(met), np.random.default_rng(0).integers(0, 2, met.shape), met)
    assert found.least - 1e-9 <= 100 * filled.mean(axis=1).mean() <= found.most + 1e-9


def test_answers_from_a_judge_become_a_table() -> None:
    found = answers_of({"a": {"q1": True, "q2": None}, "b": {"q2": False}}, ["q1", "q2"])
    assert np.array_equal(found.met, [[1, NAN], [NAN, 0]], equal_nan=True)
    assert found.missing == 2
    with pytest.raises(ValueError, match="does not have: 'q3'"):
        answers_of({"a": {"q3": True}}, ["q1"])
    with pytest.raises(ValueError, match="stands twice"):
        Answers(("a", "a"), ("q",), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="from 0 to 1"):
        Answers(("a",), ("q",), np.full((1, 1), 2.0))


def test_pass_rates_are_means_of_what_was_answered() -> None:
    one, two = pass_rates(table([[1, NAN], [0, NAN], [1, 1]]))
    assert (one.value, one.missing) == (pytest.approx(2 / 3), 0)
    assert (two.value, two.units, two.missing, two.least, two.most) == (1.0, 3, 2, pytest.approx(1 / 3), 1.0)


def test_clusters_are_drawn_whole() -> None:
    # Two visits whose notes are alike: a resample is 0, ½ or 1, with chances ¼, ½, ¼; by note it would be narrower.
    found = means(np.array([[0.0]] * 40 + [[1.0]] * 40), ["a"] * 40 + ["b"] * 40, unit="visit")[0]
    assert (found.value, found.low, found.high, found.units) == (0.5, 0.0, 1.0, 2)
    alone = means(np.array([[0.0]] * 40 + [[1.0]] * 40), unit="note")[0]
    assert 0.3 < alone.low < alone.high < 0.7


def test_where_a_block_ends_does_not_change_the_draws() -> None:
    whole = np.concatenate(list(drawn_counts(7, 300, 1)))
    parts = np.concatenate(list(drawn_counts(7, 300, 1, width=10_000)))
    assert np.array_equal(whole, parts)
    assert (whole.sum(axis=1) == 7).all()


def test_delta_by_hand() -> None:
    # Note 0: q0 yes → no, q1 yes → yes, q2 answered before only: (100 + 0) / 2 = 50. Note 1: 0, 0, 0 → 0.
    # Ends of note 0: q2 lost 0 (yes → yes) or 100: (100 + 0 + 0) / 3 to (100 + 0 + 100) / 3. Note 1: 0 always.
    reference = table([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    worse = table([[0, 1, NAN], [1, 0, 1]])
    lost = lost_points(reference, worse)
    assert lost.points.tolist() == [50.0, 0.0]
    assert lost.least == pytest.approx([100 / 3, 0])
    assert lost.most == pytest.approx([200 / 3, 0])
    found = robustness({"delete_sentence": lost})
    delta = found.deltas[0]
    # mean 25, sd 50/√2 = 35.36, t = 25 / (35.36/√2) = 1, d = 25/35.36 = .7071; t(1): p = .5.
    assert (delta.test.mean.value, delta.test.t, delta.test.p) == pytest.approx((25.0, 1.0, 0.5))
    assert delta.test.d == pytest.approx(0.5**0.5)
    assert (delta.test.mean.missing, delta.unscored, delta.control) == (1, 0, False)
    assert [one.value for one in delta.by_question] == [50.0, 0.0, 0.0]


def test_without_missing_answers_it_is_the_papers_mean_over_questions() -> None:
    generator = np.random.default_rng(0)
    before, after = ((generator.random((9, 5)) < chance).astype(float) for chance in (0.9, 0.6))
    lost = lost_points(table(before.tolist()), table(after.tolist()))
    by_question = 100 * (before.mean(axis=0) - after.mean(axis=0))
    found = robustness({"delete_section": lost}).deltas[0]
    assert [one.value for one in found.by_question] == pytest.approx(by_question)
    assert found.test.mean.value == pytest.approx(by_question.mean())


def test_overall_each_perturbation_counts_once_and_paraphrase_is_the_control() -> None:
    reference = table([[1.0, 1.0]] * 4)
    lost = {
        "delete_section": lost_points(reference, table([[0, 0]] * 4)),  # 100 points, four notes
        "inaccuracy": lost_points(reference, table([[1, 0]])),  # 50 points, one note
        "paraphrase": lost_points(reference, table([[1, 1]] * 4)),  # 0 points
    }
    found = robustness(lost)
    assert found.overall.value == pytest.approx(50.0)
    assert found.harms.value == pytest.approx(75.0)
    assert [delta.control for delta in found.deltas] == [False, False, True]


def test_notes_that_cannot_be_compared_are_counted() -> None:
    reference = table([[1.0], [NAN]])
    lost = lost_points(reference, Answers(("n0", "n1", "x"), ("q0",), np.array([[0.0], [1.0], [0.0]])))
    found = robustness({"repeat_sentence": lost}).deltas[0]
    assert (found.test.n, found.unscored, found.strangers) == (1, 1, 1)
    with pytest.raises(ValueError, match="not asked the same"):
        lost_points(reference, Answers(("n0",), ("other",), np.zeros((1, 1))))


def test_two_checklists_are_compared_as_scipy_does() -> None:
    from scipy import stats

    generator = np.random.default_rng(1)
    reference = table([[1.0] * 10] * 30)
    first, second = (
        lost_points(reference, table((generator.random((30, 10)) < chance).astype(float).tolist()))
        for chance in (0.6, 0.8)
    )
    found = between({"delete_section": first}, {"delete_section": second, "paraphrase": second})
    assert list(found.by_perturbation) == ["delete_section"]
    mine, theirs = (
        found.by_perturbation["delete_section"],
        stats.ttest_ind(first.points, second.points, equal_var=False),
    )
    assert (mine.t, mine.p, mine.df) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df))
    pooled = np.sqrt((first.points.var(ddof=1) + second.points.var(ddof=1)) / 2)
    assert mine.d == pytest.approx((first.points.mean() - second.points.mean()) / pooled)
    paired = stats.ttest_rel(first.points, second.points)
    assert (found.paired["delete_section"].t, found.paired["delete_section"].p) == pytest.approx(
        (paired.statistic, paired.pvalue)
    )


def test_one_sample_is_scipys_and_equal_differences_have_no_t() -> None:
    from scipy import stats

    values = np.random.default_rng(0).normal(1, 2, size=25)
    found, theirs = one_sample(values, unit="note"), stats.ttest_1samp(values, 0)
    assert (found.t, found.p, found.df) == pytest.approx((theirs.statistic, theirs.pvalue, 24))
    assert found.d == pytest.approx(values.mean() / values.std(ddof=1))
    flat = one_sample(np.full(6, 0.1), unit="note")
    assert np.isnan([flat.t, flat.p, flat.d]).all()
    assert (flat.flip_p, flat.exact) == (2 / 64, True)
    none = one_sample(np.array([NAN]), unit="note")
    assert (none.n, none.mean.note) == (0, "no differences")


def test_sign_flips_by_hand_and_by_scipy() -> None:
    from scipy import stats

    # 3 + 1 - 1 = 3. The sums of the 8 patterns are ±5, ±3, ±3, ±1: 6 of them are at least 3 from 0.
    assert sign_flip(np.array([3.0, 1.0, -1.0])) == (0.75, True)
    values = np.random.default_rng(4).normal(0.5, 1, size=12)
    theirs = stats.permutation_test(
        (values, np.zeros(12)), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip(values) == (pytest.approx(theirs.pvalue), True)
    many = np.random.default_rng(5).normal(0.25, 1, size=60)
    p, exact = sign_flip(many)
    assert not exact
    assert p == pytest.approx(stats.ttest_1samp(many, 0).pvalue, abs=0.02)


def test_holm_is_that_of_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p = {"a": 0.04, "b": 0.001, "c": NAN, "d": 0.03, "e": 0.5}
    found = holm(p)
    assert np.isnan(found["c"])
    there = [name for name in p if name != "c"]
    theirs = multipletests([p[name] for name in there], method="holm")[1]
    assert [found[name] for name in there] == pytest.approx(theirs)


def test_two_samples_without_spread_or_numbers_have_no_test() -> None:
    flat = two_sample(np.ones(3), np.ones(4), unit="note")
    assert flat.difference == 0
    assert np.isnan([flat.t, flat.p, flat.d, flat.low]).all()
    assert np.isnan(two_sample(np.array([NAN]), np.ones(2), unit="note").difference)


def test_a_pair_needs_two_raters_who_agree() -> None:
    def votes(*given: str) -> str:
        return Pair("p", "v", "x", "y", given).preferred

    assert [
        votes("a", "a", "b"),
        votes("b", "b"),
        votes("a", "b"),
        votes("a", ""),
        votes("a", "a", "b", "b"),
    ] == [
        "a",
        "b",
        "",
        "",
        "",
    ]


def test_preference_by_hand() -> None:
    # p4 has no majority, p5 a note without answers. p1: x 100 over y 50: +50. p2: y preferred, 50 - 100 = -50. p3:
    # only q0 has answers for both: 0 - 0 = 0 (by all its answers z would have 50). Mean 0; 1/1/1; agreement ½.
    answers = answers_of(
        {
            "x": {"q0": 1, "q1": 1},
            "y": {"q0": 0, "q1": 1},
            "z": {"q0": 0, "q1": 1},
            "w": {"q0": 0, "q1": None},
        }
    )
    pairs = [
        Pair("p1", "v1", "x", "y", ("a", "a", "b")),
        Pair("p2", "v2", "x", "y", ("b", "b", "b")),
        Pair("p3", "v3", "z", "w", ("a", "a", "")),
        Pair("p4", "v4", "x", "y", ("a", "b")),
        Pair("p5", "v5", "x", "nowhere", ("a", "a")),
    ]
    found = preference(pairs, answers)
    assert found.difference.mean.value == pytest.approx(0.0)
    assert (found.pairs, found.undecided, found.unscored) == (3, 1, 1)
    assert (found.higher, found.equal, found.lower, found.agreement.value) == (1, 1, 1, 0.5)
    # p1 ⅓ of votes equal, p2 all, p3 one of one, p4 none, p5 all.
    assert found.raters.value == pytest.approx((1 / 3 + 1 + 1 + 0 + 1) / 5)
    # Ends of p3: w's q1 read as yes: 0; as no: +50. p5: 1 - 1 to 1 - 0 for both questions: 0 to 100.
    assert found.difference.mean.least == pytest.approx((50 - 50 + 0 + 0) / 4)
    assert found.difference.mean.most == pytest.approx((50 - 50 + 50 + 100) / 4)
    assert found.difference.mean.missing == 3


def test_preference_is_scipys_paired_t() -> None:
    from scipy import stats

    generator = np.random.default_rng(2)
    answers = table((generator.random((40, 8)) < 0.7).astype(float).tolist())
    pairs = [Pair(f"p{i}", f"v{i}", f"n{2 * i}", f"n{2 * i + 1}", ("b", "b")) for i in range(20)]
    found = preference(pairs, answers)
    scores = answers.scores()
    theirs = stats.ttest_rel(scores[1::2], scores[::2])
    assert (found.difference.t, found.difference.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert (found.preferred.value, found.other.value) == pytest.approx(
        (100 * scores[1::2].mean(), 100 * scores[::2].mean())
    )


def test_the_demo_preferences_are_read() -> None:
    pairs = read_preferences(DEMO / "preferences.csv")
    assert (len(pairs), len({pair.visit for pair in pairs})) == (24, 8)
    assert pairs[3] == Pair("p04", "visit-02", "visit-02/draft_gaps", "visit-02/draft_good", ("b", "b", "a"))
    assert all(pair.preferred for pair in pairs)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("id,a,b\n1,x,y\n", "no column 'rater1'"),
        ("id,a,rater1\n1,x,a\n", "no column 'b'"),
        ("id,a,b,rater1\n1,x,y,c\n", "row 1, column 'rater1'"),
        ("id,a,b,rater1\n1,x,x,a\n", "the two notes are the same"),
        ("id,a,b,rater1\n1,x,,a\n", "no note is named"),
        ("id,a,b,rater1\n1,x,y,a\n1,x,z,a\n", "row 2, column 'id'"),
    ],
)
def test_broken_preferences_say_where(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=complaint):
        read_preferences(tmp_path / "p.csv")


def test_enforceability_by_hand() -> None:
    # q0: no, no, yes, missing: 2 of 3. q1: no: 1 of 1. q2: no test. Mean (2/3 + 1) / 2 = 5/6.
    # Ends: (2/4 + 1) / 2 and (3/4 + 1) / 2.
    tests = [
        UnitTest("q0", "a", False),
        UnitTest("q0", "b", False),
        UnitTest("q0", "c", True),
        UnitTest("q0", "d", None),
        UnitTest("q1", "a", False),
    ]
    found = enforceability(tests, ["q0", "q1", "q2"])
    assert found.mean.value == pytest.approx(5 / 6)
    assert (found.mean.least, found.mean.most, found.mean.missing) == (
        pytest.approx(0.75),
        pytest.approx(0.875),
        1,
    )
    assert [(one.passed, one.answered, one.missing) for one in found.questions] == [
        (2, 3, 1),
        (1, 1, 0),
        (0, 0, 0),
    ]
    assert (found.enforceable, found.untested) == (1, 1)
    assert found.questions[2].rate.note == "no reference note passes it"
    with pytest.raises(ValueError, match="two unit tests"):
        enforceability([*tests, tests[0]], ["q0", "q1"])
    with pytest.raises(ValueError, match="does not have: 'q1'"):
        enforceability(tests, ["q0"])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10))
def test_a_questions_interval_is_clopper_and_pearsons(hits: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    tests = [UnitTest("q", f"n{i}", i >= hits) for i in range(10)]
    rate = enforceability(tests, ["q"], resamples=10).questions[0].rate
    assert (rate.low, rate.high) == pytest.approx(proportion_confint(hits, 10, method="beta"))


@pytest.mark.parametrize("shape", [(0,), (0, 1), (0, 3)])
def test_without_any_unit_a_mean_is_undefined_and_says_why(shape: tuple[int, ...]) -> None:
    for found in (means(np.zeros(shape), unit="note"), means(np.zeros(shape), [], unit="note")):
        assert len(found) == (shape[1] if len(shape) > 1 else 1)
        assert all(one.value != one.value and one.note == "there is no note" for one in found)
    assert estimates(ratio, np.zeros((0, 2, 2)), unit="visit")[1].note == "there is no visit"
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        means(np.zeros(2), unit="note")
