"""What several samples of an instance say of where variation comes from: numbers by hand, and every sentence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pmbench.core.metric import F1, Macro, Mean, Metric, Ratio
from pmbench.core.unit_metrics import PairMean
from pmbench.running.aggregating import measure
from pmbench.running.records import ScoreRecord
from pmbench.running.results import Variation
from pmbench.running.variation import variation
from pmbench.running.variation_told import share_text, variation_lines

GRADE = Mean("y", title="Grade")
HITS = F1("tp", "fp", "fn", title="Hits")


def record(name: str, sample: int = 0, cluster: str = "", **stats: float) -> ScoreRecord:
    return ScoreRecord(id=name, sample=sample, cluster=cluster or name, stats=stats)


def of(values: dict[str, list[float]]) -> list[ScoreRecord]:
    return [record(name, place, y=y) for name, row in values.items() for place, y in enumerate(row)]


def told(metric: Metric, found: Variation | None) -> str:
    return "\n".join(variation_lines(metric, found))


def drawn(n: int, samples: int, *, seed: int = 0, within: float = 0.15) -> list[ScoreRecord]:
    generator = np.random.default_rng(seed)
    records = []
    for number in range(n):
        level = generator.beta(4, 4)
        for sample in range(samples):
            rate = float(np.clip(level + generator.normal(0, within), 0, 1))
            hits = int(generator.binomial(8, rate))
            counts = {"tp": float(hits), "fp": float(8 - hits), "fn": float(generator.poisson(2))}
            records.append(record(f"m{number:03}", sample, y=rate, **counts))
    return records


def test_numbers_and_words_by_hand() -> None:
    """1, 3 and 7, 9: sample 2, instance 17 (see the tests of the statistics); √9 = 3, one sample √9.5, any √8.5."""
    found = variation(GRADE, of({"a": [1, 3], "b": [7, 9]}), 2, 2, fewest=2)
    assert found is not None
    assert (found.instance, found.sample, found.se, found.cluster) == (pytest.approx(17), 2, 3, None)
    first, second = told(GRADE, found).splitlines()
    assert first == (
        "Variation of one response's Grade: 89% between instances, 11% between samples of one instance"
        " (2 instances, 2 samples of each)."
    )
    assert second == (
        "The value's standard error, by how much it would typically be off with other instances and samples, is"
        " 3.0000; one sample of each instance would make it 3.0822, 4 would make it 2.9580, and no number of samples"
        " less than 2.9155: for a surer value take more instances, not more samples."
    )


def test_samples_that_make_the_most_of_it_are_worth_having_more_of() -> None:
    found = variation(GRADE, drawn(80, 2, within=0.25), 2, 80)
    assert found is not None and found.se_least is not None and found.se is not None
    assert found.se_least < 0.9 * found.se
    assert told(GRADE, found).endswith("more samples make the value surer, as more instances do.")


def test_the_error_is_that_of_the_tables_interval() -> None:
    """200 instances: the bootstrap's interval is nearly ±1.96 of it, for a mean, a mean per response and sums."""
    records = drawn(200, 3)
    for metric in (GRADE, HITS, Macro(HITS), Ratio("tp", "tp+fp", "precision")):
        found, table = variation(metric, records, 3, 200), measure([metric], records)[0][metric.name]
        assert found is not None and found.se is not None and table.high is not None and table.low is not None
        assert table.high - table.low == pytest.approx(2 * 1.96 * found.se, rel=0.08)
        assert found.linearised == (metric is HITS or metric.name == "precision")
    assert "Hits is a formula of sums" in told(HITS, variation(HITS, records, 3, 200))
    assert "formula" not in told(GRADE, variation(GRADE, records, 3, 200))


def test_answers_that_do_not_differ_say_that_one_would_have_done() -> None:
    records = of({f"m{place}": [place / 7] * 3 for place in range(20)})
    found = variation(GRADE, records, 3, 20)
    assert found is not None and (found.sample, found.sample_share) == (0, 0)
    assert "100% between instances, 0%" in told(GRADE, found)
    assert "one of each would have told as much" in told(GRADE, found)
    same = variation(HITS, [record(f"m{n}", k, tp=2, fp=1, fn=1) for n in range(20) for k in range(2)], 2, 20)
    assert same is not None and same.sample_share is None
    assert "All responses have the same Hits: there is no variation to split" in told(HITS, same)


def test_instances_that_lack_a_sample_are_left_out_and_counted() -> None:
    records = [one for one in drawn(30, 2) if (one.id, one.sample) not in {("m003", 1), ("m007", 0)}]
    found = variation(GRADE, records, 2, 33)
    assert found is not None and (found.instances, found.left_out) == (28, 5)
    assert "5 instances that lack the score of a sample are left out of this split." in told(GRADE, found)
    lacking = variation(GRADE, [*records[:-1], record(records[-1].id, 1, other=1.0)], 2, 33)
    assert lacking is not None and lacking.left_out == 6
    only = variation(GRADE, of({"a": [1, 2], "b": [3]}), 2, 2)
    assert only == Variation(
        note="that takes 10 instances with the scores of all of their samples, and there is 1"
    )


def test_where_there_is_nothing_to_split_it_says_why() -> None:
    assert variation(GRADE, of({"a": [1], "b": [2]}), 1, 2) is None
    assert variation(GRADE, [], 3, 2) is None and told(GRADE, None) == ""
    pairs = variation(PairMean("y", title="Accuracy"), of({"a": [1, 0], "b": [1, 1]}), 2, 2)
    assert pairs is not None
    assert told(GRADE, pairs) == (
        "The variation of Grade is not split into instances and samples: pairs share messages, so that they are no"
        " instances apart from each other."
    )
    other = variation(Mean("z"), of({"a": [1, 0], "b": [1, 1]}), 2, 2)
    assert other is not None and other.note == "no score has its statistics"
    nothing = Ratio("tp", "fp", "odds")
    empty = variation(nothing, [record(n, k, tp=0, fp=0) for n in "ab" for k in (0, 1)], 2, 2, fewest=2)
    assert empty is not None and empty.note == "its formula has no value or no slope on these scores"


def test_few_clusters_are_called_rough() -> None:
    generator = np.random.default_rng(3)
    records = [
        record(f"m{n:02}", k, f"c{n % 6}", y=float(n % 6 + generator.normal()))
        for n in range(48)
        for k in range(2)
    ]
    found = variation(GRADE, records, 2, 48)
    assert found is not None and found.clusters == 6 and found.cluster is not None
    assert "With 6 clusters the part between clusters is rough." in told(GRADE, found)
    alone = variation(
        GRADE, [record(f"m{n}", k, "one", y=float(n + k)) for n in range(20) for k in (0, 1)], 2, 20
    )
    assert alone is not None and alone.se is None
    assert "there is no standard error" in told(GRADE, alone)


def test_shares_and_errors_are_shown_in_their_units() -> None:
    share = Mean("y", title="Right", unit="%", digits=1)
    found = variation(share, drawn(40, 2), 2, 40)
    assert found is not None and found.se is not None
    assert f"is {100 * found.se:.2f} percentage points;" in told(share, found)
    assert [share_text(one) for one in (0.0, 1e-15, 0.004, 0.5)] == ["0%", "0%", "under 1%", "50%"]
    assert not math.isnan(found.se)


def test_the_error_of_complete_instances_is_not_called_that_of_the_value() -> None:
    """45 of 60 lost one of three samples: the split is of 15, the table's interval of all 60."""
    records = [one for one in drawn(60, 3) if one.sample or int(one.id[1:]) >= 45]
    found = variation(GRADE, records, 3, 60)
    assert found is not None and (found.instances, found.left_out) == (15, 45)
    text = told(GRADE, found)
    assert "The value's" not in text
    assert (
        "The standard error of the value of the 15 instances with all samples, by how much it would" in text
    )


def test_a_part_below_zero_is_no_proof_that_there_is_none() -> None:
    """Within an instance 0 and 1, so that all instances have the same mean: less than chance would make."""
    found = variation(GRADE, of({f"m{place}": [0.0, 1.0] for place in range(20)}), 2, 20)
    assert found is not None and found.below_zero == ["instance"]
    assert (found.sample_share_low, found.sample_share_high, found.se_least) == (None, None, None)
    text = told(GRADE, found)
    assert "The data do not show that instances differ" in text
    assert "95% interval" not in text and "no number of samples" not in text and "0.0000" not in text
    # As an earlier version stored it.
    found.sample_share_low = found.sample_share_high = 1.0
    found.se_least = 0.0
    assert told(GRADE, found) == text
