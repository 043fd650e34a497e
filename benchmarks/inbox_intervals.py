"""How often intervals of T-NDCG hold the truth, and how often tests of two equally good systems err.

Messages have a level (1 to 6) and a latent urgency, (6 − level)·β + N(0, 1); a comparator sees the difference of
the latent urgencies of a pair plus N(0, 0.7), d, and its win counts 1 + tanh(|d|/2), as if both orders were asked
with probability logistic(d). An inbox is sorted by the sum of wins; in a drawing copies of a message tie. Levels
are so many each (designed) or fall as they may. The truth is the mean over all repetitions, each with messages of
its own. Two systems compared are equally good: what they share of the messages' latent noise is ρ.
Methods marked * are those of `pmbench.stats.rankings`.
Run: python benchmarks/inbox_intervals.py [--repetitions 5000]
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from pmbench.stats.ranking_draws import Ranking, ranking_draws, widening, without_one
from pmbench.stats.rankings import Spread, spread_difference, spread_interval

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

CHUNK = 50  # repetitions worked out at once
DRAWS = 500
NOISE = 0.7
Z = 1.959963984540054
KS = (10, 30)


class Design(NamedTuple):
    """How many messages of each level (all of them of any level if only one number), β, and how many inboxes."""

    name: str
    sizes: tuple[int, ...]
    beta: float
    inboxes: int = 1

    @property
    def levels(self) -> Places | None:
        """Levels of a designed inbox."""
        return np.repeat(np.arange(1, 7), self.sizes) if len(self.sizes) > 1 else None

    def rankings(self) -> tuple[Ranking, ...]:
        """The inboxes, as the program is told of them."""
        strata = () if self.levels is None else tuple(self.levels.tolist())
        units = range(100, 100 + sum(self.sizes))
        return tuple(Ranking(f"inbox {i}", units, strata) for i in range(self.inboxes))


class Rivals(NamedTuple):
    """Two systems: what they share of each message's noise, and of how many pairs' noise they share."""

    name: str
    rho: float
    same_pairs: float = 0.0
    random: bool = False


EACH_5 = (5,) * 6
DESIGNS = (
    Design("designed, 5 a level, β .5", EACH_5, 0.5),
    Design("same, β 1.2", EACH_5, 1.2),
    Design("same, β 2.5", EACH_5, 2.5),
    Design("designed, 2, 3, 4, 6, 7, 8, β .5", (2, 3, 4, 6, 7, 8), 0.5),
    Design("designed, 2, 2, 2, 2, 2, 20, β .5", (2, 2, 2, 2, 2, 20), 0.5),
    Design("designed, 2 a level, β .5", (2,) * 6, 0.5),
    Design("3 designed inboxes, β .5", EACH_5, 0.5, 3),
    Design("random order, 5 a level (β 0)", EACH_5, 0.0),
    Design("30 of any level, β .5", (30,), 0.5),
    Design("30 of any level, β 1.2", (30,), 1.2),
    Design("10 of any level, β .5", (10,), 0.5),
    Design("3 inboxes of any level, β .5", (30,), 0.5, 3),
    Design("random order, 30 of any level (β 0)", (30,), 0.0),
)
DESIGNED = 8  # of them; in the others levels fall as they may
COMPARED = tuple(DESIGNS[place] for place in (0, 1, 3, 4, 5, 6, 8, 9, 10))
RIVALS = (
    Rivals("nothing shared", 0.0),
    Rivals("half shared", 0.5),
    Rivals("messages' noise shared", 1.0),
    Rivals("nearly identical (5% of pairs apart)", 1.0, 0.95),
    Rivals("both random", 0.0, random=True),
)


def antisymmetric(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """A number for each pair, its negative for the pair the other way round."""
    upper = np.triu(random.standard_normal(shape), 1)
    return upper - upper.swapaxes(-1, -2)


def systems(
    random: np.random.Generator, design: Design, rivals: Rivals, count: int
) -> tuple[NDArray[np.int32], list[Floats]]:
    """Relevance of the messages (r, n), and for two systems what each message gets from each other (r, n, n)."""
    n = sum(design.sizes)
    levels = (
        random.integers(1, 7, (count, n)) if design.levels is None else np.tile(design.levels, (count, 1))
    )
    shared, shared_noise = random.standard_normal((count, n)), antisymmetric(random, (count, n, n))
    gained = []
    for _ in range(2):
        own = random.standard_normal((count, n))
        latent = (6 - levels) * design.beta + rivals.rho**0.5 * shared + (1 - rivals.rho) ** 0.5 * own
        same = np.triu(random.random((count, n, n)) < rivals.same_pairs, 1)
        same |= same.swapaxes(1, 2)
        noise = np.where(same, shared_noise, antisymmetric(random, (count, n, n)))
        latent = latent * (not rivals.random)
        difference = latent[:, :, None] - latent[:, None, :] + NOISE * noise
        won = np.where(difference > 0, 1 + np.abs(np.tanh(difference / 2)), 0.0)
        won[:, np.arange(n), np.arange(n)] = 0.5  # a copy of the same message; among all of them 0.5 too much
        gained.append(won)
    return (6 - levels).astype(np.int32), gained


def t_ndcg(relevance: NDArray[np.int32], gained: Floats, draws: Places) -> Floats:
    """T-NDCG of drawn inboxes at each of `KS`, shape (r, B, 2): relevance (r, n), gained (r, n, n), draws (B, m).

    Only copies of one message tie, and they are of one level: any order of them will do. Score and relevance are
    packed into one number, so that one sort is enough.
    """
    drawn, m = draws.shape
    counts = np.zeros((gained.shape[1], drawn))
    np.add.at(counts, (draws, np.arange(drawn)[:, None]), 1)
    scores = (gained @ counts).swapaxes(1, 2)
    packed = (np.round(scores * 2**20).astype(np.int32) << 3) + relevance[:, None, :]
    places = np.arange(1, m + 1)
    rising = 1 / np.log2(1 + places[::-1])
    best = np.stack([np.where(places > m - k, rising, 0) for k in KS], axis=1)
    found = np.empty((len(gained), drawn, len(KS)))
    rows = np.arange(drawn)[:, None]
    for one in range(len(gained)):
        ordered = np.sort(packed[one][rows, draws], axis=1) & 7
        ideal = np.sort(relevance[one][draws], axis=1) @ best
        found[one] = (ordered @ (best - best[::-1])) / np.where(ideal > 0, ideal, 1)
    return found


class Drawn(NamedTuple):
    """Of one or two systems on the inboxes of a chunk: values (k, r, 2) and drawn values (k, r, B, 2)."""

    value: Floats
    within: Floats
    message: Floats
    left_out: Floats

    def less(self, other: Drawn) -> Drawn:
        """Differences of two systems."""
        return Drawn(*(ours - theirs for ours, theirs in zip(self, other, strict=True)))


def drawn(random: np.random.Generator, design: Design, rivals: Rivals, count: int) -> list[Drawn]:
    """Two systems' values and drawn values."""
    parts: list[list[list[Floats]]] = [[], []]
    for ranking in design.rankings():
        relevance, both = systems(random, design, rivals, count)
        units = ranking.units
        itself = np.arange(len(units))[None, :]
        message = ranking_draws(Ranking(ranking.name, units), DRAWS, 0)
        within = ranking_draws(ranking, DRAWS, 0) if ranking.strata else message[:2]
        without = without_one(ranking)
        for part, gained in zip(parts, both, strict=True):
            values = [t_ndcg(relevance, gained, d) for d in (itself, within, message, without)]
            part.append([values[0][:, 0], *values[1:]])
    return [Drawn(*(np.stack(column) for column in zip(*part, strict=True))) for part in parts]


def others(found: Drawn, design: Design, difference: bool) -> dict[str, tuple[Floats, Floats]]:
    """Bounds (r, 2) of methods worked out here, for the mean over inboxes."""
    value, (inboxes, n) = found.value.mean(axis=0), (design.inboxes, sum(design.sizes))
    within = (found.within - found.value[:, :, None]).mean(axis=0)
    message = (found.message - found.value[:, :, None]).mean(axis=0)
    jackknife = ((n - 1) * found.left_out.var(axis=2)).sum(axis=0) ** 0.5 / inboxes
    low, high = np.quantile(message, [0.025, 0.975], axis=1)
    bounds = {"all messages drawn, percentile": (value + low, value + high)}
    if not difference:
        bounds["all messages drawn, basic"] = value - high, value - low
    if design.levels is not None:
        low, high = np.quantile(within, [0.025, 0.975], axis=1)
        bounds["within levels, percentile"] = value + low, value + high
        wide = widening(design.sizes)
        if difference:
            bounds["within levels, widened, percentile"] = value + wide * low, value + wide * high
        else:
            t = stdtrit(inboxes * (n - len(design.sizes)), 0.975) * wide * within.std(axis=1)
            bounds["within levels, widened, t"] = value - t, value + t
    bounds["jackknife, normal"] = value - Z * jackknife, value + Z * jackknife
    if difference or design.levels is not None:
        t = stdtrit(inboxes * (n - 1), 0.975) * jackknife
        bounds["jackknife, t"] = value - t, value + t
    return bounds


def programs(rankings: tuple[Ranking, ...], parts: list[Drawn]) -> tuple[Floats, Floats]:
    """The program's bounds (r, 2), of one system or of the difference of two."""
    count = parts[0].value.shape[1]
    bounds = np.empty((2, count, len(KS)))
    designed = bool(rankings[0].strata)
    for row in range(count):
        for k in range(len(KS)):
            spreads = [
                Spread(
                    rankings,
                    part.value[:, row, k],
                    (part.within if designed else part.message)[:, row, :, k],
                    list(part.left_out[:, row, :, k]),
                    "",
                )
                for part in parts
            ]
            one = spread_interval(spreads[0]) if len(spreads) == 1 else spread_difference(*spreads)
            bounds[:, row, k] = one.low, one.high
    return bounds[0], bounds[1]


def simulate(design: Design, repetitions: int, rivals: Rivals | None) -> dict[str, tuple[Floats, Floats]]:
    """By method, at each of `KS`: coverage, and mean width relative to the middle 95% of the values."""
    random = np.random.default_rng([2, *design.sizes, int(10 * design.beta), design.inboxes])
    rankings = design.rankings()
    ours = {
        (True, True): "within levels, widened, percentile",
        (True, False): "within levels, widened, t",
        (False, True): "jackknife, t",
        (False, False): "all messages drawn, widened, t",
    }[design.levels is not None, rivals is None]
    values, bounds = [], []
    for start in range(0, repetitions, CHUNK):
        two = drawn(random, design, rivals or RIVALS[0], min(CHUNK, repetitions - start))
        found = two[0] if rivals is None else two[0].less(two[1])
        values.append(found.value.mean(axis=0))
        bounds.append(others(found, design, rivals is not None))
        bounds[-1][ours + " *"] = programs(rankings, two[:1] if rivals is None else two)
    means = np.concatenate(values)
    truth = means.mean(axis=0) if rivals is None else np.zeros(len(KS))
    spread = np.diff(np.quantile(means, [0.025, 0.975], axis=0), axis=0)[0]
    result = {}
    for name in bounds[0]:
        low, high = (np.concatenate([one[name][side] for one in bounds]) for side in (0, 1))
        holds = (low - 1e-12 <= truth) & (truth <= high + 1e-12)
        result[name] = holds.mean(axis=0), (high - low).mean(axis=0) / spread
    return result


def table(title: str, columns: list[tuple[str, dict[str, tuple[Floats, Floats]]]], errors: bool) -> None:
    """Print a Markdown table of methods by designs, each @10 and @30."""
    print(f"\n### {title}\n")
    print("| method | " + " | ".join(name for name, _ in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    methods = sorted({name for _, found in columns for name in found})
    for method in methods:
        cells = []
        for _, found in columns:
            if method not in found:
                cells.append("–")
                continue
            shares = 1 - found[method][0] if errors else found[method][0]
            parts = [
                f"{share:.3f} ({width:.2f})" for share, width in zip(shares, found[method][1], strict=True)
            ]
            cells.append(", ".join(parts))
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5000, help="simulated datasets for each column")
    repetitions = parser.parse_args().repetitions
    error = (0.05 * 0.95 / repetitions) ** 0.5
    print(
        f"{repetitions} repetitions a column; simulation error about {error:.3f}. Each cell: @10, @30; in brackets"
    )
    print(f"the mean width, the range of the middle 95% of the values being 1. {DRAWS} draws.")
    for title, chosen in (
        ("designed inboxes", DESIGNS[:DESIGNED]),
        ("levels as they fell", DESIGNS[DESIGNED:]),
    ):
        columns = [(design.name, simulate(design, repetitions, None)) for design in chosen]
        table(f"T-NDCG, {title}: coverage of 95% intervals", columns, errors=False)
    for design in COMPARED:
        columns = [(rivals.name, simulate(design, repetitions, rivals)) for rivals in RIVALS]
        table(f"Two equally good systems, {design.name}: how often 0 is outside", columns, errors=True)


if __name__ == "__main__":
    main()
