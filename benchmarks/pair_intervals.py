"""How often intervals of an accuracy over pairs hold the truth, and how often tests of two equal systems err.

Messages have a level (1 to 6, as many of each as can be) and a latent urgency, (6 − level)·β + N(0, 1); a
comparator sees the difference of the latent urgencies of a pair plus N(0, 0.7). Pairs of the same level, where a
design has them, are labelled by a coin's toss, the same for every system. The truth is the mean over all
repetitions, each with messages of its own. Two systems compared are equally good: what they share of the latent
noise of the messages is ρ. The last methods are those of `pmbench.stats.dyadic`.
Run: python benchmarks/pair_intervals.py [--repetitions 5000]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmbench.stats import dyadic
from pmbench.stats.dyadic import dyadic_differences, dyadic_intervals

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

CHUNK = 50  # repetitions that share which messages make pairs
DRAWS = 500  # of the message bootstrap
NOISE = 0.7
Z = 1.959963984540054
OURS = "dyadic, leave-out, logit, t"
OURS_DIFFERENCE = "dyadic, leave-out, t"


class Design(NamedTuple):
    """How many messages, and which pairs of them: a number of random ones of different level, or all (0)."""

    name: str
    messages: int
    pairs: int
    beta: float


class Rivals(NamedTuple):
    """Two systems: what they share of each message's noise, and of how many pairs' noise they share."""

    name: str
    rho: float
    same_pairs: float = 0.0
    random: bool = False


MAIN = (
    Design("362 messages, 1,502 pairs, β .6", 362, 1502, 0.6),
    Design("362 messages, 1,502 pairs, β 1.2", 362, 1502, 1.2),
    Design("all pairs of 30, β .6", 30, 0, 0.6),
    Design("all pairs of 30, β 1.2", 30, 0, 1.2),
    Design("60 messages, 200 pairs, β .6", 60, 200, 0.6),
    Design("all pairs of 30, β 2", 30, 0, 2.0),
)
FEW = (
    *(Design(f"all pairs of {m}, β .6", m, 0, 0.6) for m in (6, 8, 10, 12, 15, 20)),
    Design("10 messages, 15 pairs", 10, 15, 0.6),
    Design("12 messages, 20 pairs", 12, 20, 0.6),
    Design("20 messages in 10 pairs", 20, -10, 0.6),
    Design("40 messages in 20 pairs", 40, -20, 0.6),
)
RIVALS = (
    Rivals("nothing shared", 0.0),
    Rivals("half shared", 0.5),
    Rivals("messages' noise shared", 1.0),
    Rivals("20% of pairs apart", 1.0, 0.8),
    Rivals("nearly identical (5% of pairs apart)", 1.0, 0.95),
    Rivals("both random", 0.0, random=True),
)


def graph(random: np.random.Generator, design: Design) -> tuple[Places, Places, Places]:
    """Levels (M,), first and second message of each pair (n,)."""
    levels = np.arange(design.messages) % 6 + 1
    first, second = np.triu_indices(design.messages, 1)
    if design.pairs > 0:
        apart = np.flatnonzero(levels[first] != levels[second])
        chosen = random.choice(apart, design.pairs, replace=False)
        first, second = first[chosen], second[chosen]
    elif design.pairs < 0:  # each message in one pair
        order = random.permutation(design.messages)
        first, second = order[: -design.pairs], order[-design.pairs :]
    return levels, first, second


def answers(
    random: np.random.Generator, design: Design, repetitions: int, rivals: Rivals
) -> Iterator[tuple[Places, Places, Floats, Floats]]:
    """First and second messages (n,), and whether each of two systems is right, (r, n), chunk by chunk."""
    for start in range(0, repetitions, CHUNK):
        count = min(CHUNK, repetitions - start)
        levels, first, second = graph(random, design)
        coin = random.random((count, len(first))) < 0.5
        truth = np.where(levels[first] == levels[second], coin, levels[first] < levels[second])
        shared = random.standard_normal((count, design.messages))
        pair_noise = random.standard_normal((count, len(first)))
        right = []
        for _ in range(2):
            own = random.standard_normal((count, design.messages))
            latent = (6 - levels) * design.beta + rivals.rho**0.5 * shared + (1 - rivals.rho) ** 0.5 * own
            latent = latent * (not rivals.random)
            again = random.standard_normal((count, len(first)))
            noise = np.where(random.random((count, len(first))) < rivals.same_pairs, pair_noise, again)
            right.append(((latent[:, first] - latent[:, second] + NOISE * noise > 0) == truth).astype(float))
        yield first, second, right[0], right[1]


def spreads(first: Places, second: Places, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Standard errors, each (r,): as if independent, message jackknife, dyadic-robust without correction."""
    pairs, messages = len(first), int(max(first.max(), second.max())) + 1
    incidence = np.zeros((pairs, messages))
    incidence[np.arange(pairs), first] = incidence[np.arange(pairs), second] = 1
    incidence = incidence[:, incidence.any(axis=0)]
    residuals = values - values.mean(axis=1, keepdims=True)
    sums, squares = residuals @ incidence, (residuals**2).sum(axis=1)
    without = -sums / (pairs - incidence.sum(axis=0))
    centred = without - without.mean(axis=1, keepdims=True)
    jackknife = (centred**2).sum(axis=1) * (1 - 1 / incidence.shape[1])
    robust = np.maximum((sums**2).sum(axis=1) - squares, 0)
    return squares**0.5 / pairs, jackknife**0.5, robust**0.5 / pairs


def bootstrap(random: np.random.Generator, first: Places, second: Places, values: Floats) -> Floats:
    """Percentile bounds (2, r); a pair weighs the product of how often its messages were drawn."""
    messages = int(max(first.max(), second.max())) + 1
    counts = random.multinomial(messages, np.full(messages, 1 / messages), size=DRAWS).astype(float)
    weights = counts[:, first] * counts[:, second]
    total = weights.sum(axis=1)
    drawn = values @ weights[total > 0].T / total[total > 0]
    bounds: Floats = np.quantile(drawn, [0.025, 0.975], axis=1)
    return bounds


def intervals(
    random: np.random.Generator, first: Places, second: Places, a: Floats, b: Floats | None
) -> dict[str, tuple[Floats, Floats]]:
    """Bounds (r,) by method, of the accuracy of a or of the difference of a and b."""
    values = a if b is None else a - b
    mean = values.mean(axis=1)
    apart, jackknife, robust = spreads(first, second, values)
    found = {
        "pairs as if independent": (mean - Z * apart, mean + Z * apart),
        "message bootstrap, percentile": tuple(bootstrap(random, first, second, values)),
        "leave-one-message-out jackknife": (mean - Z * jackknife, mean + Z * jackknife),
        "dyadic-robust, normal": (mean - Z * robust, mean + Z * robust),
    }
    ids = (first.tolist(), second.tolist())
    if b is None:
        ours = [(one.low, one.high) for one in dyadic_intervals(*ids, values)]
    else:
        both = [(row, row + len(a)) for row in range(len(a))]
        ours = [(one.low, one.high) for one in dyadic_differences(*ids, np.concatenate([a, b]), both)]
    low, high = np.array(ours).T
    found[OURS if b is None else OURS_DIFFERENCE] = (low, high)
    return found


def simulate(design: Design, repetitions: int, rivals: Rivals | None) -> dict[str, tuple[float, float]]:
    """By method: coverage, and mean width relative to the range of the middle 95% of the values."""
    random = np.random.default_rng([1, design.messages, abs(design.pairs), int(10 * design.beta)])
    means, bounds = [], []
    for first, second, a, b in answers(random, design, repetitions, rivals or RIVALS[0]):
        means.append((a if rivals is None else a - b).mean(axis=1))
        bounds.append(intervals(random, first, second, a, None if rivals is None else b))
    values = np.concatenate(means)
    truth = values.mean() if rivals is None else 0.0
    spread = float(np.diff(np.quantile(values, [0.025, 0.975]))[0])
    found = {}
    for name in bounds[0]:
        low = np.concatenate([one[name][0] for one in bounds])
        high = np.concatenate([one[name][1] for one in bounds])
        # Bounds that are a multiple of 1/n but for rounding hold that multiple.
        holds = (low - 1e-12 <= truth) & (truth <= high + 1e-12)
        found[name] = float(holds.mean()), float((high - low).mean()) / spread
    return found


def table(title: str, columns: list[tuple[str, dict[str, tuple[float, float]]]], errors: bool) -> None:
    """Print a Markdown table of methods by designs."""
    print(f"\n### {title}\n")
    print("| method | " + " | ".join(name for name, _ in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for method in columns[0][1]:
        cells = []
        for _, found in columns:
            coverage, width = found[method]
            cells.append(f"{1 - coverage:.3f} ({width:.2f})" if errors else f"{coverage:.3f} ({width:.2f})")
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5000, help="simulated datasets for each column")
    repetitions = parser.parse_args().repetitions
    dyadic.FEWEST_MESSAGES = 2  # the tables show what would be below the limit
    error = (0.05 * 0.95 / repetitions) ** 0.5
    print(
        f"{repetitions} repetitions a column; simulation error about {error:.3f}. In brackets: mean width, the"
    )
    print("range of the middle 95% of the values being 1.")
    for title, designs in (("Accuracy: coverage of 95% intervals", MAIN), ("Few messages: coverage", FEW)):
        columns = [(design.name, simulate(design, repetitions, None)) for design in designs]
        table(title, columns, errors=False)
    for design in (*MAIN, *(FEW[place] for place in (1, 2, 4, 5, 6, 8))):
        title = f"Two equally good systems, {design.name}: how often 0 is outside the 95% interval"
        columns = [(rivals.name, simulate(design, repetitions, rivals)) for rivals in RIVALS]
        table(title, columns, errors=True)


if __name__ == "__main__":
    main()
