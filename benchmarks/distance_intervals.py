"""How often the 95% interval of a checklist's distances holds what they are in the mean over such feedback.

Feedback items lie around the topics of questions, each is covered by its own question, by others by chance, and a
fifth of them by none. Prints, for sets of 16 to 200 items, the distance in the mean over sets of as many items, the
distance over 40,000 items, and the share of sets in which an interval holds the former: the jackknife's, which is
used, and the percentile bootstrap's of the distance between centroids, which is not.
Run: python benchmarks/distance_intervals.py [SETS]
"""

from __future__ import annotations

import sys

import numpy as np

from pmbench_tasks.notes.evaluation.distances import Distances, cluster_distances

SHAPES = (
    (16, 4, 1.0, 0.1),
    (30, 6, 1.0, 0.1),
    (60, 8, 1.0, 0.1),
    (60, 8, 0.6, 0.05),
    (60, 8, 2.0, 0.1),
    (200, 10, 1.0, 0.1),
)
"""Items, questions, how far items lie from their topic, and chance of being covered by another question."""

DIMENSIONS, RESAMPLES = 64, 400


class Population:
    """Where sets of feedback are drawn from."""

    def __init__(self, random: np.random.Generator, questions: int, noise: float, extra: float) -> None:
        self.random, self.noise, self.extra = random, noise, extra
        topics = random.normal(size=DIMENSIONS) + random.normal(size=(questions, DIMENSIONS))
        self.topics = topics / np.linalg.norm(topics, axis=1, keepdims=True)
        self.often = random.dirichlet(np.full(questions, 3.0))

    def draw(self, items: int) -> tuple[np.ndarray, np.ndarray]:
        """Coverage, (questions, items), and vectors, (items, dimensions)."""
        own = self.random.choice(len(self.topics), size=items, p=self.often)
        spread = self.noise * self.random.normal(size=(items, DIMENSIONS)) / DIMENSIONS**0.5
        matrix = self.random.random((len(self.topics), items)) < self.extra
        matrix[own, np.arange(items)] = True
        matrix[:, self.random.random(items) < 0.2] = False
        return matrix.astype(float), self.topics[own] + spread


def bootstrapped(random: np.random.Generator, matrix: np.ndarray, vectors: np.ndarray) -> tuple[float, float]:
    """The percentile interval of the distance between centroids."""
    drawn = random.integers(0, len(vectors), size=(RESAMPLES, len(vectors)))
    values = [cluster_distances(matrix[:, one], vectors[one]).inter.value for one in drawn]
    low, high = np.nanquantile(values, (0.025, 0.975))
    return float(low), float(high)


def values_of(found: Distances) -> tuple[float, float]:
    """Within and between."""
    return found.intra.value, found.inter.value


def main() -> None:
    """Print one row for each shape."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 250
    random = np.random.default_rng(1)
    print(f"{sets} sets a row; nominal .95; simulation error about {0.22 / sets**0.5:.3f}")
    print("items  questions  within  (of 40,000)  held  between  (of 40,000)  held  held by percentiles")
    for items, questions, noise, extra in SHAPES:
        population = Population(random, questions, noise, extra)
        large = values_of(cluster_distances(*population.draw(40_000)))
        mean = np.nanmean(
            [values_of(cluster_distances(*population.draw(items))) for _ in range(1500)], axis=0
        )
        held = np.zeros(3)
        for _ in range(sets):
            given = population.draw(items)
            found = cluster_distances(*given)
            low, high = bootstrapped(random, *given)
            held += (
                found.intra.low <= mean[0] <= found.intra.high,
                found.inter.low <= mean[1] <= found.inter.high,
                low <= mean[1] <= high,
            )
        within, between, percentiles = held / sets
        print(
            f"{items:5}  {questions:9}  {mean[0]:6.3f}  {large[0]:11.3f}  {within:4.2f}  {mean[1]:7.3f}"
            f"  {large[1]:11.3f}  {between:4.2f}  {percentiles:19.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
