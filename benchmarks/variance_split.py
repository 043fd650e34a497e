"""Whether the split of a score's variance says what it should, on data shaped like the tasks.

    python benchmarks/variance_split.py

Messages are harder or easier, those of one patient more alike, and samples of one answer vary. Of every dataset the
samples' share is estimated with its interval, and the standard error with the samples there are and with eight. A
cell is over 5,000 datasets: the mean share against the true one; how often the 95% interval holds the true one; the
mean standard error over the standard deviation of the value; the mean of the error told for eight samples over the
standard deviation of the value of eight. True values are those of 300,000 messages.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import F1, Mean, Metric
from pmbench.stats.linearised import response_values
from pmbench.stats.nested_parts import nested_parts

Floats = NDArray[np.float64]

MORE = 8
"""Samples for which the error is told from fewer."""

METRICS: dict[str, Metric] = {"right or wrong": Mean("y"), "F1 of sums": F1("tp", "fp", "fn")}


@dataclass(frozen=True)
class Design:
    """Messages in clusters, and samples of each."""

    instances: int
    clusters: int
    samples: int

    def __str__(self) -> str:
        return f"{self.instances} in {self.clusters}, {self.samples} samples"


DESIGNS = [
    Design(20, 20, 3),
    Design(40, 21, 3),
    Design(100, 48, 2),
    Design(100, 48, 5),
    Design(300, 163, 2),
    Design(1500, 850, 2),
]


def drawn(generator: np.random.Generator, clusters: NDArray[np.intp], samples: int, metric: Metric) -> Floats:
    """Columns (n, samples, k) of a dataset."""
    level = generator.normal(0, 0.6, clusters.max() + 1)[clusters] + generator.normal(0, 0.8, len(clusters))
    rate = 1 / (1 + np.exp(-(level[:, None] + generator.normal(0, 0.7, (len(clusters), samples)))))
    if isinstance(metric, Mean):
        right = (generator.random(rate.shape) < rate).astype(float)
        return np.stack([right, np.ones_like(right)], axis=-1)
    size = np.broadcast_to(generator.integers(1, 9, len(clusters))[:, None], rate.shape)
    found = generator.binomial(size, rate)
    return np.stack([found, generator.poisson(1.5, rate.shape), size - found], axis=-1).astype(float)


def clustered(generator: np.random.Generator, design: Design) -> NDArray[np.intp]:
    """A cluster for each message, every cluster with one at least."""
    more = generator.integers(0, design.clusters, design.instances - design.clusters)
    return np.sort(np.concatenate([np.arange(design.clusters), more])).astype(np.intp)


def cell(design: Design, metric: Metric, repetitions: int, seed: int) -> str:
    """What a design comes to."""
    generator = np.random.default_rng([seed, design.instances, design.samples])
    true = share(design, metric, generator)
    shares, held, errors, told, values, wide = [], [], [], [], [], []
    for _ in range(repetitions):
        clusters = clustered(generator, design)
        table = drawn(generator, clusters, MORE, metric)
        few = table[:, : design.samples]
        found = nested_parts(response_values(metric, few), clusters.tolist())
        shares.append(found.sample_share)
        held.append(found.low <= true <= found.high)
        errors.append(found.se())
        told.append(found.se(MORE))
        values.append(float(metric.value(few.mean(axis=1).sum(axis=0))))
        wide.append(float(metric.value(table.mean(axis=1).sum(axis=0))))
    return (
        f"{np.mean(shares):.3f} of {true:.3f}, {np.mean(held):.3f},"
        f" {np.mean(errors) / np.std(values):.2f}, {np.mean(told) / np.std(wide):.2f}"
    )


def share(design: Design, metric: Metric, generator: np.random.Generator) -> float:
    """The samples' share in very many messages, in clusters of the design's sizes."""
    times = 300_000 // design.instances
    clusters = np.concatenate(
        [clustered(generator, design) + copy * design.clusters for copy in range(times)]
    )
    table = drawn(generator, clusters, design.samples, metric)
    return nested_parts(response_values(metric, table), clusters.tolist()).sample_share


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(f"| design | {' | '.join(METRICS)} |")
    print("|---" * (1 + len(METRICS)) + "|")
    for design in DESIGNS:
        cells = [cell(design, metric, asked.repetitions, asked.seed) for metric in METRICS.values()]
        print(f"| {design} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
