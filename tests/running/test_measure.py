"""From scores to metrics: samples, what is missing, and what the worst and best case of it would be."""

import pytest

from pmbench.core.metric import F1, Macro, Mean, Metric, Ratio
from pmbench.running.aggregating import measure
from pmbench.running.records import ScoreRecord
from pmbench.running.results import MetricResult

SHARE = Mean("y", "share", limits=(0.0, 1.0))
WORDS = Mean("w", "words", limits=(0.0, 10.0), higher_is_better=False)


def record(name: str, sample: int = 0, **stats: float) -> ScoreRecord:
    return ScoreRecord(id=name, sample=sample, cluster=name, stats=stats)


def only(metric: Metric, records: list[ScoreRecord], done: dict[str, int] | None = None) -> MetricResult:
    return measure([metric], records, done)[0][metric.name]


def test_samples_of_an_instance_are_averaged_so_that_each_instance_counts_once() -> None:
    # a: (1 + 0) / 2 = .5, b: 1, so the mean over instances is .75 and not 2/3.
    found = only(SHARE, [record("a", 0, y=1), record("a", 1, y=0), record("b", y=1)])
    assert found.value == pytest.approx(0.75)


def test_an_instance_whose_statistic_is_absent_in_one_sample_still_counts_once() -> None:
    # b has y in one of its two samples: its value is that one, 0, and it weighs as much as a.
    found = only(
        SHARE, [record("a", 0, y=1), record("a", 1, y=1), record("b", 0, y=0), record("b", 1, other=1)]
    )
    assert found.value == pytest.approx(0.5)


def test_worst_and_best_case_of_lost_samples_by_hand() -> None:
    # Two samples each. a: .8 and one lost; b: .4 and .4.
    # Worst: a = (.8 + 0)/2 = .4, b = .4, mean .4. Best: a = (.8 + 1)/2 = .9, b = .4, mean .65.
    records = [record("a", 0, y=0.8), record("b", 0, y=0.4), record("b", 1, y=0.4)]
    found = only(SHARE, records, {"a": 2, "b": 2})
    assert (found.worst, found.best) == pytest.approx((0.4, 0.65))


def test_worst_and_best_case_of_a_lost_instance_by_hand() -> None:
    # Two of three instances have a score: (.6 + .2 + 0)/3 and (.6 + .2 + 1)/3.
    found = only(SHARE, [record("a", y=0.6), record("b", y=0.2)], {"a": 1, "b": 1, "c": 1})
    assert (found.worst, found.best) == pytest.approx((0.8 / 3, 1.8 / 3))


def test_where_less_is_better_the_worst_is_the_greatest() -> None:
    found = only(WORDS, [record("a", w=2)], {"a": 1, "b": 1})
    assert (found.worst, found.best) == (6.0, 1.0)


def test_nothing_lost_or_no_limits_have_no_worst_case() -> None:
    records = [record("a", y=0.6, tp=1, fp=1, fn=1), record("b", y=0.2, tp=1, fp=0, fn=3)]
    assert only(SHARE, records, {"a": 1, "b": 1}).worst is None
    assert only(F1("tp", "fp", "fn"), records, {"a": 1, "b": 1, "c": 1}).worst is None
    assert only(Ratio("tp", "tp+fp"), records, {"a": 1, "b": 1, "c": 1}).worst is None
    assert (
        only(Macro(F1("tp", "fp", "fn"), limits=(0, 1)), records, {"a": 1, "b": 1, "c": 1}).worst is not None
    )


def test_a_share_of_nothing_has_the_interval_of_clopper_and_pearson() -> None:
    # 0 of 30: the upper end is 1 - .025^(1/30) = .1157 (exact binomial tables), not 0.
    none = only(SHARE, [record(str(i), y=0) for i in range(30)])
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(0.1157, abs=5e-5)
    every = only(SHARE, [record(str(i), y=1) for i in range(30)])
    assert (every.value, every.high) == (1.0, 1.0)
    assert every.low == pytest.approx(1 - 0.1157, abs=5e-5)


def test_no_scores_are_no_numbers() -> None:
    assert measure([SHARE], [], {"a": 1}) == ({"share": MetricResult(None)}, 0)


def test_a_metric_that_is_not_resampled_by_cluster_has_its_value_only() -> None:
    class Pairs(Mean):
        scheme = "dyadic"

    found = only(Pairs("y", "pairs"), [record("a", y=1), record("b", y=0)])
    assert (found.value, found.low) == (0.5, None) and found.note.startswith("no interval, for the metric")
