"""How often intervals of judge-corrected differences of two systems hold the truth, and how long they are.

300 instances in about 130 clusters, two systems that find what an instance needs with chances that depend on the
cluster, and a judge who takes more of what is missing for found with the first system than with the second. Prints a
line for each metric and number of labelled responses: the share of intervals that hold the truth, and their mean
length as a share of that of intervals from the labelled responses alone.

    python benchmarks/corrected_differences.py
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import F1, Macro, Metric
from pmbench.stats.prediction_powered import prediction_powered_difference

Floats = NDArray[np.float64]
MICRO = F1("a", "b", "c", "micro")
METRICS: tuple[Metric, ...] = (MICRO, Macro(MICRO, "macro", limits=(0, 1)))
ROWS, CLUSTERS, DATASETS = 300, 150, 400
SYSTEMS = ((0.3, 0.15), (0.0, 0.05))
"""Of each system its skill, and how much of what is missing the judge takes for found."""


def counts(generator: np.random.Generator, rows: int) -> tuple[list[int], list[tuple[Floats, Floats]]]:
    """Clusters, and for each system people's matches, deletions and additions, and the judge's."""
    clusters = max(CLUSTERS, rows // 2)
    cluster = generator.integers(0, clusters, rows)
    ease, sentences = generator.normal(0, 0.8, clusters)[cluster], generator.integers(2, 9, rows)
    found = []
    for skill, kind in SYSTEMS:
        chance = 1 / (1 + np.exp(-(skill + ease + generator.normal(0, 0.4, rows))))
        matches, deletions = generator.binomial(sentences, chance), generator.poisson(3 * (1 - chance))
        judged = matches + generator.binomial(sentences - matches, kind) - generator.binomial(matches, 0.03)
        gone = generator.binomial(deletions, 1 - kind) + generator.poisson(0.2, rows)
        people = np.stack([matches, deletions, sentences - matches], axis=1).astype(float)
        found.append((people, np.stack([judged, gone, sentences - judged], axis=1).astype(float)))
    return cluster.tolist(), found


def columns(metric: Metric, table: Floats) -> Floats:
    """Columns of a metric."""
    return metric.columns(dict(zip("abc", table.T, strict=True)))


def main() -> None:
    """Print the table."""
    _, systems = counts(np.random.default_rng(0), 1_000_000)
    for metric in METRICS:
        first, second = (float(metric.value(columns(metric, people).sum(axis=0))) for people, _ in systems)
        for labelled in (20, 40, 100):
            generator = np.random.default_rng(labelled)
            held, lengths = 0, []
            for _ in range(DATASETS):
                cluster, made = counts(generator, ROWS)
                y, f = ([columns(metric, one[which]) for one in made] for which in (0, 1))
                found = prediction_powered_difference(
                    metric,
                    (y[0][:labelled], y[1][:labelled]),
                    (f[0][:labelled], f[1][:labelled]),
                    (f[0][labelled:], f[1][labelled:]),
                    cluster[:labelled],
                    cluster[labelled:],
                )
                held += found.low <= first - second <= found.high
                alone = found.labelled_only
                lengths.append((found.high - found.low) / (alone[2] - alone[1]))
            print(f"{metric.name} {labelled}: {held / DATASETS:.3f} ({np.mean(lengths):.2f})", flush=True)


if __name__ == "__main__":
    main()
