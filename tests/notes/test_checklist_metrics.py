"""The numbers of a run by a checklist: means over texts, clipped where HealthBench clips, and each question's own."""

from __future__ import annotations

import numpy as np
import pytest
from given_checklists_asked import given as answered
from given_checklists_asked import graded, numbered

from pmbench.leaderboard.comparing import intervals
from pmbench.leaderboard.tested import Resampling
from pmbench.running.aggregating import measure
from pmbench.running.columns import ScoreColumns
from pmbench.running.records import ScoreRecord
from pmbench_tasks.notes.answers import Answered
from pmbench_tasks.notes.checklist import OWN, Checklist, own_checklist
from pmbench_tasks.notes.checklist_metrics import METRICS, limits_of, metrics_for
from pmbench_tasks.notes.scoring import score_of


def records(checklist: Checklist, *texts: list[Answered]) -> list[ScoreRecord]:
    """A score for each text, as a run keeps it."""
    scores = [score_of(checklist, answers, source="", text="Rest.") for answers in texts]
    return [
        ScoreRecord(
            id=str(n), sample=0, round=0, cluster=str(n), slices={}, response="", stats=dict(one.stats)
        )
        for n, one in enumerate(scores)
    ]


def values(checklist: Checklist, *texts: list[Answered]) -> dict[str, float | None]:
    found, _ = measure(metrics_for(checklist), records(checklist, *texts))
    return {name: one.value for name, one in found.items()}


def test_the_score_is_the_mean_over_texts_of_the_share_of_yes() -> None:
    one = numbered(weight=[1.0] * 4)
    found = values(one, answered(True, True, True, None), answered(False, True, None, None))
    assert found["checklist_score"] == pytest.approx((3 / 3 + 1 / 2) / 2)
    assert found["score_low"] == pytest.approx((3 / 4 + 1 / 4) / 2)
    assert found["score_high"] == pytest.approx((4 / 4 + 3 / 4) / 2)
    assert found["missing_share"] == pytest.approx(3 / 8)


def test_the_mean_is_clipped_and_not_what_it_is_of() -> None:
    """HealthBench clips the mean to [0, 1], not each example: -6/22 and 0.5 are 0.114, not 0.25."""
    one = numbered(scale="points", points=[7.0, 5.0, 10.0, -6.0])
    bad, good = answered(False, False, False, True), answered(True, False, True, True)
    found = values(one, bad, good)
    assert found["checklist_score"] == found["score_unclipped"] == pytest.approx((-6 / 22 + 0.5) / 2)
    alone = values(one, bad)
    assert alone["checklist_score"] == 0 and alone["score_unclipped"] == pytest.approx(-6 / 22)
    assert limits_of(one) == (-6 / 22, 1.0)


def test_grades_have_their_mean_and_their_sum() -> None:
    """PDQI-9: nine attributes from 1 to 5, a sum from 9 to 45."""
    one = numbered(scale="1-5", weight=[1.0] * 9)
    found = values(one, graded(*[5] * 9), graded(*[3] * 8, None))
    assert found["mean_grade"] == 4 and found["grade_total"] == 45
    assert found["checklist_score"] == pytest.approx((1 + 0.5) / 2)
    assert found["question_9"] == 5


def test_each_question_has_an_interval_and_what_missing_answers_could_make_of_it() -> None:
    one = numbered(weight=[1.0] * 2)
    texts = [answered(True, n % 2 == 0) if n < 15 else answered(None, True) for n in range(20)]
    done = {str(n): 1 for n in range(20)}
    found, clusters = measure(metrics_for(one), records(one, *texts), done)
    assert clusters == 20
    first, second = found["question_1"], found["question_2"]
    assert (first.value, first.worst, first.best) == (1.0, 15 / 20, 1.0)
    assert second.value == 13 / 20 and second.worst is None
    # The percentile bootstrap of a share is near the binomial one: 0.65 ± 1.96·sqrt(0.65·0.35/20).
    assert second.low is not None and second.high is not None
    assert (second.low, second.high) == pytest.approx((0.65 - 0.209, 0.65 + 0.209), abs=0.06)


def test_categories_stand_in_a_group_of_their_own() -> None:
    one = numbered(weight=[1.0] * 3, category=["a b", "a b", ""])
    metrics = {metric.name: metric for metric in metrics_for(one)}
    assert metrics["category_a_b"].title == "a b" and metrics["category__"].title == "no category"
    found = values(one, answered(True, False, True), answered(None, None, True))
    assert found["category_a_b"] == 0.5 and found["category__"] == 1 and found["mean_of_categories"] == 0.875


@pytest.mark.parametrize("name", [*OWN, "points", "grades"])
def test_metrics_fit_every_checklist(name: str) -> None:
    made = {"points": numbered(scale="points", points=[1.0, -1.0]), "grades": numbered("0-5", weight=[1.0])}
    one = made.get(name) or own_checklist(name)
    metrics = metrics_for(one)
    assert len({metric.name for metric in metrics}) == len(metrics)
    assert [metric.name for metric in metrics[: len(METRICS)]] == [metric.name for metric in METRICS]
    for metric in metrics:
        stats = {name: np.array([np.nan, 1.0]) for name in metric.expressions}
        assert metric.present(stats).tolist() == [False, True] and metric(stats) == 1.0
    negative = [metric for metric in metrics if metric.name == "question_2" and name == "points"]
    assert all(metric.higher_is_better is False for metric in negative)


def test_what_a_leaderboard_computes_is_what_the_run_said() -> None:
    """A leaderboard knows the task, not the run's checklist: the general metrics give the same values."""
    for one, texts in (
        (numbered(weight=[2.0, 1.0]), [answered(True, None), answered(False, False)]),
        (numbered("points", points=[2.0, -4.0]), [answered(False, True), answered(True, True)]),
        (numbered("1-5", weight=[1.0] * 2), [graded(1, 2), graded(None, 5)]),
    ):
        of_run, _ = measure(metrics_for(one), records(one, *texts))
        of_task, _ = measure(METRICS, records(one, *texts))
        assert {name: of_run[name].value for name in of_task} == {
            name: one.value for name, one in of_task.items()
        }


def test_an_interval_of_the_clipped_mean_lies_where_that_can_be() -> None:
    """Two texts at 100%: the exact interval of a mean from -2 to 1 begins at -152.6%, which no clipped mean has."""
    one = numbered(scale="points", points=[5.0, -10.0])
    best = answered(True, False)
    done = {"0": 1, "1": 1, "2": 1, "3": 1}
    found, _ = measure(metrics_for(one), records(one, best, best), done)
    score = found["checklist_score"]
    assert (score.value, score.low, score.high) == (1.0, 0.0, 1.0)
    # Two more texts have no score: at their worst they have -2, and the four a mean of -0.5.
    assert (score.worst, score.best) == (0.0, 1.0)
    bad, _ = measure(metrics_for(one), records(one, answered(False, True)), {"0": 1, "1": 1})
    assert (bad["checklist_score"].worst, bad["checklist_score"].best) == (0.0, 0.0)  # means of -2 and -0.5
    plain = {metric.name: metric for metric in metrics_for(one)}["score_unclipped"]
    assert plain.within(-2.0) == -2.0 and plain.bounds is None


def test_a_leaderboard_puts_it_there_too() -> None:
    one = numbered(scale="points", points=[5.0, -10.0])
    columns = ScoreColumns(records(one, answered(True, False), answered(True, False)))
    metric = metrics_for(one)[0]
    (found,) = intervals([metric], [columns], Resampling())
    assert (found[metric.name].low, found[metric.name].high) == (0.0, 1.0)
