"""What is known of the judge and of single questions: agreement with people and with itself, item statistics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pmbench_tasks.notes
from pmbench import DataError
from pmbench_tasks.notes.evaluation.answers import Answers
from pmbench_tasks.notes.evaluation.human import (
    agreement,
    annotator_agreement,
    judge_agreement,
    kappa,
    read_labels,
)
from pmbench_tasks.notes.evaluation.intervals import Floats
from pmbench_tasks.notes.evaluation.items import discrimination, item_statistics
from pmbench_tasks.notes.evaluation.retest import retest

NAN = float("nan")
DEMO = Path(pmbench_tasks.notes.__file__).parent / "demo"
TABLES = hnp.arrays(np.float64, (12, 4), elements=st.sampled_from([0.0, 1.0, NAN]))


def table(met: Floats) -> Answers:
    notes, questions = met.shape
    return Answers(tuple(f"n{i}" for i in range(notes)), tuple(f"q{i}" for i in range(questions)), met)


def test_agreement_by_hand() -> None:
    # Judge 1 1 0 0 -, people 1 0 0 1 1: two of four equal, .5; chance: ½·½ + ½·½ = .5, κ = 0; PABAK = 0.
    # The missing answer read as wrong: 2 of 5; as right: 3 of 5.
    found = agreement(np.array([[1], [1], [0], [0], [NAN]]), np.array([[1.0], [0], [0], [1], [1]]), ["q"])
    one = found.by_question[0]
    assert (one.accuracy.value, one.kappa.value, one.pabak.value) == (0.5, 0.0, 0.0)
    assert (one.accuracy.missing, one.accuracy.least, one.accuracy.most) == (1, 0.4, 0.6)
    assert (one.pabak.least, one.pabak.most) == pytest.approx((-0.2, 0.2))
    assert (one.both, one.prevalence) == (4, 0.5)


def test_where_nearly_all_is_yes_kappa_falls_and_pabak_does_not() -> None:
    # 18 yes-yes, 1 yes-no, 1 no-yes: accuracy .9; chance .95² + .05² = .905: κ = -.0526; PABAK = .8.
    judge, people = np.ones((20, 1)), np.ones((20, 1))
    people[0], judge[1] = 0, 0
    one = agreement(judge, people, ["q"]).pooled
    assert (one.accuracy.value, one.pabak.value) == pytest.approx((0.9, 0.8))
    assert one.kappa.value == pytest.approx((0.9 - 0.905) / (1 - 0.905))


@settings(deadline=None)
@given(TABLES, TABLES)
def test_kappa_is_scikit_learns(judge: Floats, people: Floats) -> None:
    from sklearn.metrics import accuracy_score, cohen_kappa_score

    both = ~np.isnan(judge) & ~np.isnan(people)
    assume(both.sum() > 1 and len(set(judge[both]) | set(people[both])) > 1)
    pooled = agreement(judge, people, list("abcd"), resamples=10).pooled
    assert pooled.accuracy.value == pytest.approx(accuracy_score(people[both], judge[both]))
    assert pooled.kappa.value == pytest.approx(cohen_kappa_score(people[both], judge[both]), abs=1e-12)


def test_kappa_of_one_answer_throughout_is_undefined_and_says_so() -> None:
    found = agreement(np.ones((5, 1)), np.ones((5, 1)), ["q"]).pooled
    assert np.isnan(found.kappa.value)
    assert found.kappa.note == "one answer throughout"
    assert kappa(np.array([3.0, 0, 2, 0])) == 0.0  # only the people's are all yes: no better than chance
    nothing = agreement(np.full((2, 1), NAN), np.ones((2, 1)), ["q"]).pooled
    assert (nothing.both, nothing.accuracy.missing, nothing.accuracy.least, nothing.accuracy.most) == (
        0,
        2,
        0,
        1,
    )


def test_the_demo_labels_are_read_and_the_annotators_compared() -> None:
    labels = read_labels(DEMO / "labels.csv")
    assert labels.values.shape == (12, 20, 2)
    assert len(set(labels.visits)) == 4
    people = annotator_agreement(labels)
    assert people is not None
    equal = (labels.values[:, :, 0] == labels.values[:, :, 1]).mean()
    assert people.pooled.accuracy.value == pytest.approx(equal)
    assert (people.pooled.accuracy.unit, people.pooled.accuracy.units) == ("visit", 4)
    constant = {
        q for q, one in zip(people.questions, people.by_question, strict=True) if np.isnan(one.kappa.value)
    }
    assert constant == {"ap06", "ap08", "ap09", "ap11", "ap16", "ap17", "ap18", "ap19"}


def test_a_judge_that_says_what_people_say_agrees_wholly_and_splits_are_left_out() -> None:
    labels = read_labels(DEMO / "labels.csv")
    consensus = labels.consensus()
    judge = Answers(labels.notes, labels.questions, np.nan_to_num(consensus, nan=1.0))
    found = judge_agreement(judge, labels, resamples=50)
    assert (found.pooled.accuracy.value, found.pooled.kappa.value) == (1.0, 1.0)
    # Both annotators answered everything: where there is no consensus, they disagree.
    assert (found.unlabelled, found.divided) == (0, int(np.isnan(consensus).sum())) == (0, 21)
    some = Answers(labels.notes[:3], ("ap05", "other"), np.ones((3, 2)))
    part = judge_agreement(some, labels, resamples=50)
    assert (part.questions, part.pooled.accuracy.units) == (("ap05",), 1)
    with pytest.raises(ValueError, match="in common"):
        judge_agreement(Answers(("x",), ("ap05",), np.ones((1, 1))), labels)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("visit,question\nv,q\n", "no column 'annotator1'"),
        ("visit,annotator1\nv,yes\n", "no column 'question'"),
        ("visit,question,annotator1\nv,q,perhaps\n", "row 1, column 'annotator1'"),
        ("visit,question,annotator1\nv,q,yes\nv,q,no\n", "row 2"),
        ("visit,question,annotator1\n,q,yes\n", "row 1, column 'visit'"),
        (
            "visit,version,question,annotator1\nv,draft,q,no\n",
            "no column 'draft', and 'version' is taken for nothing",
        ),
        ("visit,Draft,question,annotator1,x\nv,a,q,no,\n", "and 'Draft', 'x' are taken for nothing"),
    ],
)
def test_broken_labels_say_where(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=complaint):
        read_labels(tmp_path / "l.csv")


def test_answers_without_a_label_are_not_answers_on_which_people_disagree(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(
        "visit,question,annotator1,annotator2\nv,q,yes,no\nv,r,,\nw,q,yes,\n", encoding="utf-8"
    )
    labels = read_labels(tmp_path / "l.csv")
    found = judge_agreement(Answers(("v", "w"), ("q", "r"), np.ones((2, 2))), labels, resamples=50)
    # v/q: one yes, one no. v/r: nobody. w/q: yes. w/r is not in the file.
    assert (found.divided, found.unlabelled, found.pooled.both) == (1, 2, 1)


def test_labels_without_drafts_or_with_gaps(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("visit,question,annotator1\nv,q,yes\nw,r,\n", encoding="utf-8")
    labels = read_labels(tmp_path / "l.csv")
    assert labels.notes == ("v", "w")
    assert np.array_equal(labels.consensus(), [[1, NAN], [NAN, NAN]], equal_nan=True)
    assert annotator_agreement(labels) is None


def test_retest_by_hand() -> None:
    # Of four pairs of answers one is only half there; of three, two are equal.
    # Scores of what both have: note 0: 100, 50 (variance 1250); note 1, of q0 only: 0, 0. Spread √(1250 / 2) = 25.
    first, second = table(np.array([[1, 1.0], [0, 1]])), table(np.array([[1, 0.0], [0, NAN]]))
    found = retest([first, second])
    assert (found.same.value, found.missing, found.runs) == (pytest.approx(2 / 3), 1, 2)
    assert (found.same.least, found.same.most) == (0.5, 0.75)
    assert [one.value for one in found.by_question] == [1.0, 0.0]
    assert found.spread.value == pytest.approx(25.0)


def test_kappa_of_a_retest_does_not_depend_on_which_run_is_first() -> None:
    generator = np.random.default_rng(0)
    runs = [table((generator.random((30, 4)) < 0.7).astype(float)) for _ in range(3)]
    found = [retest(list(order), resamples=10).kappa.value for order in (runs, runs[::-1])]
    assert found[0] == pytest.approx(found[1])
    assert abs(found[0]) < 0.3
    same = retest([runs[0], runs[0]])
    assert (same.same.value, same.kappa.value, same.spread.value) == (1.0, 1.0, 0.0)


def test_runs_that_do_not_go_together_are_refused() -> None:
    one = table(np.ones((2, 2)))
    with pytest.raises(ValueError, match="two runs"):
        retest([one])
    with pytest.raises(ValueError, match="same notes"):
        retest([one, table(np.ones((3, 2)))])
    with pytest.raises(ValueError, match="yes or no"):
        retest([one, table(np.full((2, 2), 0.5))])


def test_discrimination_is_scipys_correlation_with_the_rest() -> None:
    from scipy import stats

    generator = np.random.default_rng(3)
    quality = generator.random((40, 1))
    met = (generator.random((40, 6)) < quality).astype(float)
    met[generator.random(met.shape) < 0.1] = NAN
    found = discrimination(table(met))
    for column in range(6):
        rest = np.nanmean(np.delete(met, column, axis=1), axis=1)
        there = ~np.isnan(met[:, column])
        theirs = stats.pearsonr(met[there, column], rest[there]).statistic
        assert found[column].value == pytest.approx(theirs)
        assert found[column].low <= theirs <= found[column].high


@settings(deadline=None)
@given(TABLES)
def test_discrimination_is_a_correlation(met: Floats) -> None:
    for one in discrimination(table(met), resamples=20):
        assert np.isnan(one.value) or -1 <= one.low <= one.high <= 1


def test_questions_that_always_agree_are_named_and_constant_ones_are_not_called_redundant() -> None:
    generator = np.random.default_rng(1)
    base = (generator.random(20) < 0.5).astype(float)
    met = np.column_stack([base, base, 1 - base, np.ones(20), np.ones(20)])
    met[0, 1] = NAN
    found = item_statistics(table(met))
    assert [(one.first, one.second, one.notes) for one in found.twins] == [("q0", "q1", 19)]
    assert [one.constant for one in found.questions] == [False, False, False, True, True]
    assert found.questions[3].discrimination.note == "no spread"
    assert found.closest[0] == (1.0, "q1")
    assert found.questions[2].discrimination.high < 0  # the reverse of the others
    few = item_statistics(table(met[:5]))
    assert (few.twins, few.closest[0][1]) == ((), "")
    with pytest.raises(ValueError, match="yes or no"):
        item_statistics(table(np.full((2, 2), 0.5)))
