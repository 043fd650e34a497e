"""How long intervals and comparisons of systems take that each put one inbox of 30 messages in order.

Systems are made up: each compares all messages in both orders and errs at random. Timed in this process, by their
own 10,000 draws: the intervals of T-NDCG@10, as results have them; all pairs of systems, with letters, places and the
chance of being best, as a leaderboard has them; and for comparison a sort of as many draws by numpy.
Run: python benchmarks/inbox_speed.py [--systems 20] [--messages 30] [--resamples 10000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from pmbench.stats.many_systems import compare_all
from pmbench.stats.schemes import Rows, intervals
from pmbench_tasks.urgency.inbox_metrics import inbox_arrays, inbox_stats
from pmbench_tasks.urgency.inbox_task import SynthInbox


def system(skill: float, levels: list[int], random: np.random.Generator) -> Rows:
    """What one system's order of the inbox is made of."""
    urgency = -skill * np.array(levels) + random.normal(size=len(levels))
    apart = urgency[None, :] - urgency[:, None] + random.normal(0, 0.7, (len(levels), len(levels)))
    data = {"comparisons": (1 / (1 + np.exp(-apart))).tolist()}
    stats, arrays = inbox_stats(levels, data), inbox_arrays(levels, data, strata=levels)
    columns = SynthInbox.metrics[0].columns({name: np.array([value]) for name, value in stats.items()})
    units = [[f"m{place}" for place in range(len(levels))]]
    return Rows(columns, [True], ["inbox"], ["inbox"], units, [[arrays]])


def main() -> None:
    """Print seconds, and how many times those of a sort."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--messages", type=int, default=30)
    parser.add_argument("--resamples", type=int, default=10_000)
    asked = parser.parse_args()
    random, metric = np.random.default_rng(0), SynthInbox.metrics[0]
    levels = [1 + place % 6 for place in range(asked.messages)]
    systems = [system(0.05 * place, levels, random) for place in range(asked.systems)]
    began = time.perf_counter()
    for rows in systems:
        found = intervals([(metric, rows)], resamples=asked.resamples)[0]
    bounds = time.perf_counter() - began
    began = time.perf_counter()
    compared = compare_all(metric, systems, resamples=asked.resamples)
    pairs = time.perf_counter() - began
    began = time.perf_counter()
    for _ in systems:
        np.argsort(random.random((asked.resamples, asked.messages)), axis=1)
    sorts = time.perf_counter() - began
    what = f"{asked.systems} systems, one inbox of {asked.messages}, {asked.resamples:,} draws"
    print(f"{what}: {metric.title} of the last {found.value:.3f} [{found.low:.3f}, {found.high:.3f}]")
    print(f"intervals               {bounds:5.2f} s, {bounds / sorts:5.1f} times a sort of each draw")
    print(f"all {len(compared.pairs)} pairs, places {pairs:5.2f} s, {pairs / sorts:5.1f} times")


if __name__ == "__main__":
    main()
