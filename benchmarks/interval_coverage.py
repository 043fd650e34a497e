"""How often the 95% bootstrap interval holds the truth, by number of clusters, and how often the paired test errs.

Instances of a cluster share a random effect; counts of matches, deletions and additions are drawn so that the F1
of a large population is known. Prints coverage and the rate of p < .05 for two systems that are the same.
Run: python benchmarks/interval_coverage.py [DATASETS]
"""

from __future__ import annotations

import sys

import numpy as np

from pmbench.core.metric import F1, Macro, Metric
from pmbench.stats.bootstrap import bootstrap_interval
from pmbench.stats.randomisation import paired_test

CLUSTERS = (8, 12, 24, 50, 100)
METRICS: tuple[Metric, ...] = (
    F1("tp", "fp", "fn", "micro"),
    Macro(F1("tp", "fp", "fn"), "mean per response"),
)


def draw(random: np.random.Generator, clusters: int) -> tuple[dict[str, np.ndarray], list[int]]:
    """Statistics of 1 to 3 instances in each cluster, and the cluster of each instance."""
    sizes = random.integers(1, 4, clusters)
    rows = np.repeat(np.arange(clusters), sizes)
    skill = (0.25 + 0.2 * random.standard_normal(clusters)).clip(0.02, 0.9)[rows]
    reply = random.integers(2, 8, len(rows))
    matches = random.binomial(reply, skill)
    stats = {"tp": matches, "fn": reply - matches, "fp": random.poisson(6 * (1.2 - skill))}
    return {name: values.astype(float) for name, values in stats.items()}, rows.tolist()


def main() -> None:
    """Print one row for each number of clusters."""
    datasets = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    random = np.random.default_rng(1)
    large, _ = draw(random, 200_000)
    truths = [metric(large) for metric in METRICS]
    print(
        f"{datasets} datasets a row; nominal .95 and .05; simulation error about {0.22 / datasets**0.5:.3f}"
    )
    print(
        "clusters" + "".join(f"{metric.name:>20}" for metric in METRICS) + f"{'p < .05, no difference':>26}"
    )
    for clusters in CLUSTERS:
        hit, rejected = np.zeros(len(METRICS)), 0
        for _ in range(datasets):
            stats, rows = draw(random, clusters)
            for index, metric in enumerate(METRICS):
                found = bootstrap_interval(metric, metric.columns(stats), rows, resamples=2000)
                hit[index] += found.low <= truths[index] <= found.high
            other = {name: values.copy() for name, values in stats.items()}
            again = random.binomial((stats["tp"] + stats["fn"]).astype(int), 0.25).astype(float)
            both = random.binomial((stats["tp"] + stats["fn"]).astype(int), 0.25).astype(float)
            total = stats["tp"] + stats["fn"]
            stats["tp"], stats["fn"] = again, total - again
            other["tp"], other["fn"] = both, total - both
            metric = METRICS[1]
            test = paired_test(
                metric, metric.columns(stats), metric.columns(other), rows, permutations=1000, resamples=10
            )
            rejected += test.p < 0.05
        cells = "".join(f"{share / datasets:>20.3f}" for share in hit)
        print(f"{clusters:>8}{cells}{rejected / datasets:>26.3f}")


if __name__ == "__main__":
    main()
