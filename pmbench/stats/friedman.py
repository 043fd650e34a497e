"""Whether systems differ over several tasks, from their ranks alone: Friedman's test and Nemenyi's comparisons.

With R_j the mean rank of system j of k over N tasks, the statistic is
12 N / (k (k + 1)) · Σ (R_j − (k + 1)/2)², divided by 1 − Σ (t³ − t) / (N (k³ − k)) where t systems share a rank
(Friedman, JASA 32, 1937; ties: Conover, Practical Nonparametric Statistics, 1999, section 5.8), against chi-squared
with k − 1 degrees of freedom. Two systems differ where |R_i − R_j| / √(k (k + 1) / 6N) · √2 is beyond the studentised
range of k and infinity (Nemenyi 1963; Demšar, JMLR 7, 2006). The tasks are the sample: with few of them little can be
shown, whatever the number of instances.
"""

from __future__ import annotations

import math
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench.stats.checks import UnusableNumbers, finite_table
from pmbench.stats.joint import Pair

FEWEST_TASKS = 6
"""With fewer tasks chi-squared is no good approximation; a note says so."""


class Friedman(msgspec.Struct, frozen=True):
    """Systems over several tasks, by ranks.

    Attributes:
        statistic, p: of Friedman's test that all systems are alike.
        mean_ranks: of each system, 1 for the best.
        pairs: of systems; pair_p: Nemenyi's p of each, adjusted over all pairs.
        critical_difference: of mean ranks, beyond which two systems differ at the level.
        least_p: no p of Friedman's test can be less with so many tasks and systems, all of them in one order.
        tasks: how many; note: where there are few.
    """

    statistic: float
    p: float
    mean_ranks: list[float]
    pairs: list[Pair]
    pair_p: list[float]
    critical_difference: float
    least_p: float
    tasks: int
    note: str = ""


def friedman(values: ArrayLike, higher_is_better: bool = True, alpha: float = 0.05) -> Friedman:
    """Friedman's test with Nemenyi's comparisons.

    Args:
        values: of each task and system, shape (N, k), two tasks and three systems at least (two systems: use the
            paired test of one task).
        higher_is_better: in all tasks; turn the sign of those in which it is not.
        alpha: of the critical difference.

    Raises:
        UnusableNumbers: NaN (a system that lacks a task cannot be ranked there), or too few tasks or systems.
    """
    from scipy.special import chdtrc
    from scipy.stats import rankdata, studentized_range

    table = finite_table("values", values)
    tasks, systems = table.shape
    if tasks < 2 or systems < 3:
        raise UnusableNumbers(f"{tasks} tasks and {systems} systems: two tasks and three systems are needed")
    ranks = rankdata(-table if higher_is_better else table, axis=1)
    means = ranks.mean(axis=0)
    ties = sum(
        float((counts**3 - counts).sum())
        for row in ranks
        for counts in [np.unique(row, return_counts=True)[1].astype(float)]
    )
    factor = 1 - ties / (tasks * (systems**3 - systems))
    spread = float(((means - (systems + 1) / 2) ** 2).sum())
    statistic = 12 * tasks / (systems * (systems + 1)) * spread / factor if factor > 0 else math.nan
    scale = math.sqrt(systems * (systems + 1) / (6 * tasks))
    pairs = list(combinations(range(systems), 2))
    gaps = np.array([abs(means[one] - means[other]) for one, other in pairs])
    # Means of a few ranks have few different gaps, and each takes an integral.
    apart, place = np.unique(np.round(gaps, 12), return_inverse=True)
    pair_p = studentized_range.sf(apart / scale * math.sqrt(2), systems, np.inf)[place]
    critical = float(studentized_range.ppf(1 - alpha, systems, np.inf)) / math.sqrt(2) * scale
    return Friedman(
        statistic,
        float(chdtrc(systems - 1, statistic)),
        means.tolist(),
        pairs,
        np.clip(pair_p, 0.0, 1.0).tolist(),
        critical,
        float(chdtrc(systems - 1, tasks * (systems - 1))),
        tasks,
        f"{tasks} tasks: the p-values are rough below {FEWEST_TASKS}" if tasks < FEWEST_TASKS else "",
    )
