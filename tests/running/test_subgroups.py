"""Subgroups of a run: the same numbers as those of their instances alone, and nothing of empty labels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from pmbench.core.instance import Instance
from pmbench.core.metric import F1, Mean, Metric
from pmbench.core.unit_metrics import PairMean
from pmbench.leaderboard import who_wins
from pmbench.leaderboard.tested import Resampling
from pmbench.running.aggregating import _slices, measure
from pmbench.running.columns import ScoreColumns, rows_taken
from pmbench.running.records import ScoreRecord
from pmbench.stats.corrections import holm
from pmbench.stats.schemes import comparisons

METRICS: tuple[Metric, ...] = (Mean("y", limits=(0.0, 1.0)), F1("tp", "fp", "fn"), Mean("some"))
FAST = Resampling(resamples=300, permutations=300)


def scored(seed: int, n: int = 150) -> list[ScoreRecord]:
    """Two samples of each instance, some of them lost; a statistic that one subgroup alone has."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(n):
        for sample in range(2):
            stats = {
                "y": float(generator.random()),
                **{k: float(generator.integers(9)) for k in ("tp", "fp", "fn")},
            }
            if number % 3 == 0:
                stats["some"] = float(generator.random())
            one = ScoreRecord(id=f"i{number:03}", sample=sample, cluster=f"c{number // 2}", stats=stats)
            one.slices = labels(number)
            if generator.random() > 0.1:
                found.append(one)
    return found


def labels(number: int) -> dict[str, str]:
    return {"third": f"t{number % 3}", "ward": ["north", "", "  "][number % 3]}


def planned(n: int = 150) -> Any:
    chosen = [Instance(f"i{number:03}", {}, {}, None, labels(number)) for number in range(n)]
    return SimpleNamespace(chosen=chosen, task=SimpleNamespace(metrics=METRICS))


def test_subgroups_have_the_numbers_of_their_instances_alone_to_the_last_digit() -> None:
    records = scored(0)
    done = {f"i{number:03}": 2 for number in range(150)}
    found = _slices(planned(), records, done)
    assert list(found["third"]) == ["t0", "t1", "t2"]
    for number, one in enumerate(found["third"].values()):
        own = [record for record in records if record.slices["third"] == f"t{number}"]
        of_those = {record: 2 for at, record in enumerate(done) if at % 3 == number}
        metrics, clusters = measure(METRICS, own, of_those)
        assert msgspec.json.encode(one.metrics) == msgspec.json.encode(metrics)
        assert (one.clusters, one.instances, one.lost) == (clusters, 50, 100 - len(own))
        assert one.scored == len({record.id for record in own})
    assert found["third"]["t1"].metrics["some"].value is None


def test_an_empty_label_is_no_subgroup() -> None:
    assert list(_slices(planned(), scored(0), {})["ward"]) == ["north"]


def test_two_runs_are_compared_in_a_subgroup_as_in_its_instances_alone() -> None:
    sides = [ScoreColumns(scored(0)), ScoreColumns(scored(1))]
    common = sorted(set(sides[0].ids) & set(sides[1].ids))
    names = {"third": {one: f"t{int(one[1:]) % 3}" for one in common}}
    parts = who_wins.by_label(METRICS[1], sides, names, common, FAST)["third"]
    for part in parts:
        ids = [one for one in common if names["third"][one] == part.label]
        rows = [side.rows(METRICS[1], ids) for side in sides]
        assert rows[0] is not None and rows[1] is not None
        [test] = comparisons(METRICS[1], [rows[0], rows[1]], [(0, 1)], permutations=300, resamples=300)
        assert msgspec.json.encode(part.test) == msgspec.json.encode(test)
        assert part.first == float(METRICS[1].value(rows[0].columns.sum(axis=0)))
    assert [part.p_adjusted for part in parts] == holm([part.test.p for part in parts])


@pytest.mark.parametrize("metric", [METRICS[0], PairMean("y", limits=(0.0, 1.0))])
def test_rows_taken_are_the_rows_of_those_instances(metric: Metric) -> None:
    columns = ScoreColumns(scored(2))
    whole, places = columns.rows(metric), np.array([9, 3, 40])
    alone = columns.rows(metric, [columns.ids[place] for place in places])
    assert whole is not None and alone is not None
    taken = rows_taken(whole, places)
    assert (taken.columns == alone.columns).all()
    for name in ("present", "ids", "clusters", "units", "arrays"):
        assert list(getattr(taken, name)) == list(getattr(alone, name))
