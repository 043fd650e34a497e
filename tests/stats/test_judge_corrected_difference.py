"""Judge-corrected differences of two systems: against ppi_py, a formula written out, and many made-up datasets."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pmbench.core.metric import F1, Macro, Mean, Metric
from pmbench.stats.checks import UnusableNumbers
from pmbench.stats.prediction_powered import (
    ALL_LABELLED,
    NO_ERROR_SEEN,
    NOTHING_COUNTED,
    prediction_powered_difference,
    prediction_powered_mean,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ppi_py = pytest.importorskip("ppi_py", reason="ppi-python is not installed")

Rows = np.ndarray
EDITS = F1("a", "b", "c", "f1")
MEAN = Mean("s")


def with_count(values: Rows) -> Rows:
    return np.stack([values, np.ones(len(values))], axis=1)


def scored(generator: np.random.Generator, rows: int, clusters: int) -> tuple[Rows, list[tuple[Rows, Rows]]]:
    """Clusters, and of two systems people's counts and those of a judge who is kinder to the first."""
    cluster = generator.integers(0, clusters, rows)
    ease, sentences = generator.normal(0, 0.8, clusters)[cluster], generator.integers(2, 9, rows)
    systems = []
    for skill, kind in ((0.3, 0.15), (0.0, 0.05)):
        chance = 1 / (1 + np.exp(-(skill + ease + generator.normal(0, 0.4, rows))))
        found, gone = generator.binomial(sentences, chance), generator.poisson(3 * (1 - chance))
        by_judge = found + generator.binomial(sentences - found, kind) - generator.binomial(found, 0.03)
        kept = generator.binomial(gone, 1 - kind) + generator.poisson(0.2, rows)
        people = np.stack([found, gone, sentences - found], axis=1).astype(float)
        systems.append((people, np.stack([by_judge, kept, sentences - by_judge], axis=1).astype(float)))
    return cluster, systems


def of(metric: Metric, counts: Rows) -> Rows:
    return metric.columns(dict(zip("abc", counts.T, strict=True)))


@pytest.mark.parametrize("seed", range(4))
def test_of_means_it_is_ppi_of_the_differences(seed: int) -> None:
    generator = np.random.default_rng(seed)
    truth = generator.uniform(0, 1, (2, 240)) + generator.uniform(0, 1, 240)
    judge = truth + generator.normal([[0.2], [0.0]], 0.2, (2, 240))
    y, f, rest = truth[:, :40], judge[:, :40], judge[:, 40:]
    found = prediction_powered_difference(
        MEAN, *((with_count(one[0]), with_count(one[1])) for one in (y, f, rest))
    )
    theirs = ppi_py.ppi_mean_pointestimate(y[0] - y[1], f[0] - f[1], rest[0] - rest[1])
    assert found.value == pytest.approx(float(np.squeeze(theirs)), abs=1e-9)
    alone = prediction_powered_mean(y[0] - y[1], f[0] - f[1], rest[0] - rest[1])
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=1e-7)


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_of_a_formula_each_systems_sums_are_corrected(weight: float) -> None:
    _, ((people, judge), (others, of_others)) = scored(np.random.default_rng(1), 90, 90)
    found = prediction_powered_difference(
        EDITS,
        (people[:30], others[:30]),
        (judge[:30], of_others[:30]),
        (judge[30:], of_others[30:]),
        weight=weight,
    )
    values = []
    for y, f in ((people, judge), (others, of_others)):
        tp, fp, fn = y[:30].mean(axis=0) + weight * (f[30:].mean(axis=0) - f[:30].mean(axis=0))
        values.append(2 * tp / (2 * tp + fp + fn))
    assert found.value == pytest.approx(values[0] - values[1], rel=1e-9)


def test_the_systems_turned_round_turn_the_difference() -> None:
    cluster, systems = scored(np.random.default_rng(2), 120, 60)
    sides = [tuple(one[which] for one in systems) for which in (0, 1)]

    def found(turn: int):
        (y, f) = (tuple(of(EDITS, one) for one in side[::turn]) for side in sides)
        return prediction_powered_difference(
            EDITS,
            (y[0][:40], y[1][:40]),
            (f[0][:40], f[1][:40]),
            (f[0][40:], f[1][40:]),
            cluster[:40].tolist(),
            cluster[40:].tolist(),
        )

    ahead, back = found(1), found(-1)
    assert (back.value, back.low, back.high) == pytest.approx((-ahead.value, -ahead.high, -ahead.low))


@pytest.mark.parametrize("metric", [EDITS, Macro(EDITS, limits=(0, 1))], ids=["micro", "macro"])
def test_intervals_hold_the_truth_and_are_shorter_than_those_of_the_labels_alone(metric: Metric) -> None:
    """300 datasets of 40 labelled and 200 other rows; 0.95 ± 2 · 0.013 is expected of exact intervals."""
    _, ((first, _), (second, _)) = scored(np.random.default_rng(10), 400_000, 400_000)
    truth = float(metric.value(of(metric, first).sum(axis=0)) - metric.value(of(metric, second).sum(axis=0)))
    generator = np.random.default_rng(11)
    held, widths = 0, []
    for _ in range(300):
        cluster, systems = scored(generator, 240, 150)
        y, f = ([of(metric, one[which]) for one in systems] for which in (0, 1))
        found = prediction_powered_difference(
            metric,
            (y[0][:40], y[1][:40]),
            (f[0][:40], f[1][:40]),
            (f[0][40:], f[1][40:]),
            cluster[:40].tolist(),
            cluster[40:].tolist(),
        )
        held += found.low <= truth <= found.high
        widths.append((found.high - found.low, found.labelled_only[2] - found.labelled_only[1]))
    assert held / 300 > 0.92
    corrected, alone = np.mean(widths, axis=0)
    assert corrected < 0.85 * alone


def test_a_judge_that_was_never_seen_wrong_adds_nothing() -> None:
    _, ((people, _), (others, _)) = scored(np.random.default_rng(3), 90, 90)
    labelled, rest = (people[:30], others[:30]), (people[30:], others[30:])
    found = prediction_powered_difference(EDITS, labelled, labelled, rest)
    assert found.note == NO_ERROR_SEEN and (found.value, found.low, found.high) == found.labelled_only
    none = (people[:0], others[:0])
    all_of_them = prediction_powered_difference(EDITS, (people, others), (people + 1.0, others), none)
    assert all_of_them.note == ALL_LABELLED


def test_tables_of_other_rows_are_refused() -> None:
    rows = np.ones((5, 3))
    with pytest.raises(UnusableNumbers):
        prediction_powered_difference(EDITS, (rows, rows), (rows[:4], rows[:4]), (rows, rows))


@pytest.mark.parametrize("turn", [1, -1])
def test_where_people_counted_nothing_for_one_system_there_is_no_difference(turn: int) -> None:
    _, ((people, judge), (others, of_others)) = scored(np.random.default_rng(5), 90, 90)
    found = prediction_powered_difference(
        EDITS,
        (0 * people[:30], others[:30])[::turn],
        (judge[:30], of_others[:30])[::turn],
        (judge[30:], of_others[30:])[::turn],
    )
    assert np.isnan([found.value, found.low, found.high]).all() and found.note == NOTHING_COUNTED
