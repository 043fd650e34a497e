"""A judge that is off, for `statistics_simulations.py`: its columns where people's are given."""

from __future__ import annotations

import numpy as np
from statistics_shapes import Floats, Shape


def misjudged(random: np.random.Generator, shape: Shape, people: Floats) -> Floats:
    """Columns (n, k) of a judge that is too kind, and does not always count the same things as people."""
    n, counts = len(people), people.astype(int)
    if shape.name == "right or wrong":  # it calls one in seven right whatever people say
        right = np.where(random.random(n) < 0.85, people[:, 0], 1.0)
        return np.stack([right, people[:, 1]], axis=1)
    if shape.name == "mean, mostly 0":  # it is a little off, and sees something where there is nothing
        seen = np.where(random.random(n) < 0.1, random.beta(2, 2, n), 0.0)
        near = np.clip(people[:, 0] + random.normal(0.05, 0.15, n), 0.0, 1.0)
        return np.stack([np.where(people[:, 0] > 0, near, seen), people[:, 1]], axis=1)
    if shape.name == "ratio of sums":  # it finds more that could be matched, misses matches, makes some up
        there = counts[:, 1] + random.poisson(0.3, n)
        found = random.binomial(counts[:, 0], 0.9) + random.binomial(there - counts[:, 0], 0.2)
        return np.stack([found, there], axis=1).astype(float)
    lost, made_up = random.binomial(counts[:, 0], 0.1), random.binomial(counts[:, 2], 0.2)
    matched, added = counts[:, 0] - lost + made_up, counts[:, 2] - made_up + lost
    deleted = random.binomial(counts[:, 1], 0.8) + lost
    return np.stack([matched, deleted, added], axis=1).astype(float)
