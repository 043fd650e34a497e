"""How often intervals of means that have a least value and no greatest one hold the truth, with few clusters.

Clusters are those of `statistics_shapes.py`. A cell is the share of 5,000 datasets whose nominal 95% interval holds
the value over a million instances, in brackets the median width, 1 being the range that holds 95% of the values, and
the share of datasets without bounds (the value is 0), which are left out. The method with a star is the one that is
used.
Run: python benchmarks/count_intervals.py [--repetitions 5000]
"""

from __future__ import annotations

import argparse

import numpy as np
from statistics_shapes import SHAPES, Columns, Floats, Shape, clusters_of, datasets, truth

from pmbench.core.metric import COUNT, Mean
from pmbench.stats.bootstrap import percentiles, resampled_values
from pmbench.stats.cluster_robust import jackknife_interval
from pmbench.stats.few_clusters import few_cluster_intervals

NUMBERS = (14, 20, 40, 75, 100)
RESAMPLES = 999


def poisson(level: float, shared: float, own: float, zeros: float | None = None) -> Columns:
    """Counts with a logarithm of this mean and spread; of so many on the scale of the logit none at all."""

    def columns(random: np.random.Generator, common: Floats, alone: Floats, _worse: Floats) -> Floats:
        counts = random.poisson(np.exp(level + shared * common + own * alone)).astype(float)
        if zeros is not None:
            counts[random.random(counts.shape) < 1 / (1 + np.exp(0.7 * (common + alone) - zeros))] = 0.0
        return np.stack([counts, np.ones(counts.shape)], axis=-1)

    return columns


MEAN = Mean("y", bounds=COUNT)
COUNTS = (
    Shape("score, mostly 0", MEAN, SHAPES[0].columns),
    Shape("counts, two in three 0", MEAN, poisson(0.5, 0.6, 0.6, 1.0)),
    Shape("rare counts", MEAN, poisson(-1.2, 0.8, 0.8)),
    Shape("words of a text", MEAN, poisson(4.5, 0.4, 0.3)),
)


def cells(shape: Shape, instances: int, repetitions: int) -> dict[str, str]:
    """Coverage by method."""
    random = np.random.default_rng([len(shape.name), instances])
    sums = datasets(shape, random, clusters_of(instances), repetitions, np.zeros(1))[:, :, 0]
    clusters = range(sums.shape[1])
    drawn = resampled_values([(MEAN, table) for table in sums], resamples=RESAMPLES, seed=instances)
    ends = {
        "percentile bootstrap": [percentiles(one, len(clusters))[:2] for one in drawn],
        "jackknife (CR3), t": [(one.low, one.high) for one in (jackknife_interval(MEAN, x) for x in sums)],
        "jackknife (CR3), logarithm, t *": [
            (one.low, one.high) for one in few_cluster_intervals([(MEAN, x) for x in sums], clusters)
        ],
    }
    true = float(truth(shape, np.zeros(1))[0])
    values = sums[..., 0].sum(axis=1) / sums[..., 1].sum(axis=1)
    spread = float(np.subtract(*np.quantile(values, [0.975, 0.025])))
    return {name: cell(np.array(found), true, spread) for name, found in ends.items()}


def cell(ends: Floats, true: float, spread: float) -> str:
    """Coverage, width, and how many have no bounds."""
    there = ~np.isnan(ends).any(axis=1)
    held = (ends[there, 0] <= true) & (true <= ends[there, 1])
    none = f", {1 - there.mean():.1%} none" if not there.all() else ""
    return f"{held.mean():.3f} ({np.median(ends[there, 1] - ends[there, 0]) / spread:.2f}{none})"


def main() -> None:
    """Print a table for each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5000)
    repetitions = parser.parse_args().repetitions
    titles = [f"{n} in {clusters_of(n)[-1] + 1}" for n in NUMBERS]
    for shape in COUNTS:
        columns = [cells(shape, n, repetitions) for n in NUMBERS]
        print(f"\nIntervals of one value, {shape.name}:\n\n| method | {' | '.join(titles)} |")
        print(f"|---|{'---|' * len(titles)}")
        for name in columns[0]:
            print(f"| {name} | {' | '.join(column[name] for column in columns)} |", flush=True)


if __name__ == "__main__":
    main()
