"""The gap between two groups of pairs, against sums written out pair by pair and against a Welch test."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import t

from pmbench import Mean, PairMean
from pmbench.stats.dyadic import NOT_POSITIVE, DyadicDifference
from pmbench.stats.dyadic_gap import dyadic_gap
from pmbench.stats.schemes import Rows, gaps

RANDOM = np.random.default_rng(11)
PAIRS = [(f"m{a}", f"m{b}") for a, b in itertools.combinations(range(14), 2)]
FIRST, SECOND = zip(*PAIRS, strict=True)
RIGHT = RANDOM.integers(0, 3, len(PAIRS)) / 2
INSIDE = RANDOM.integers(0, 2, len(PAIRS)).astype(bool)


def test_the_variance_is_the_double_sum_over_pairs_that_share_a_message() -> None:
    """Written out: each message's sum from the mean without its pairs, squared, less each pair with itself."""
    got = dyadic_gap(FIRST, SECOND, RIGHT, INSIDE.tolist())
    means = {group: RIGHT[group == INSIDE].mean() for group in (True, False)}
    sizes = {group: int((group == INSIDE).sum()) for group in (True, False)}
    share = [
        (1 if inside else -1) * (value - means[bool(inside)]) / sizes[bool(inside)]
        for value, inside in zip(RIGHT, INSIDE, strict=True)
    ]
    total = -sum(one * one for one in share)
    for message in {*FIRST, *SECOND}:
        of_message = 0.0
        for group in (True, False):
            own = [n for n, pair in enumerate(PAIRS) if message in pair and INSIDE[n] == group]
            of_message += sum(share[n] for n in own) / (1 - len(own) / sizes[group])
        total += of_message**2
    assert got.difference == pytest.approx(means[True] - means[False])
    assert got.se == pytest.approx(math.sqrt(total))
    reach = t.ppf(0.975, 13) * math.sqrt(total)
    assert (got.low, got.high) == pytest.approx((got.difference - reach, got.difference + reach))
    assert got.p == pytest.approx(2 * t.sf(abs(got.difference) / math.sqrt(total), 13))


def test_pairs_that_share_nothing_come_to_welchs_variance() -> None:
    """Each message is in one pair: Σ e²/n² of each group, twice with the leave-out factor, once taken off."""
    first, second = [f"a{n}" for n in range(40)], [f"b{n}" for n in range(40)]
    values, inside = RANDOM.integers(0, 2, 40).astype(float), [n < 25 for n in range(40)]
    got = dyadic_gap(first, second, values, inside)
    parts = [values[:25], values[25:]]
    wanted = sum((2 * (len(part) / (len(part) - 1)) ** 2 - 1) * part.var() / len(part) for part in parts)
    assert got.se == pytest.approx(math.sqrt(wanted))


def test_turned_round_it_is_the_same_gap_and_the_order_of_rows_does_not_matter() -> None:
    got = dyadic_gap(FIRST, SECOND, RIGHT, INSIDE.tolist())
    other = dyadic_gap(SECOND, FIRST, RIGHT, (~INSIDE).tolist())
    assert (other.difference, other.low, other.high) == pytest.approx((-got.difference, -got.high, -got.low))
    order = RANDOM.permutation(len(PAIRS))
    mixed = dyadic_gap(
        [FIRST[n] for n in order], [SECOND[n] for n in order], RIGHT[order], INSIDE[order].tolist()
    )
    assert (mixed.difference, mixed.se) == pytest.approx((got.difference, got.se))


@pytest.mark.parametrize(
    ("inside", "note"),
    [([True] * 91, "one of the two groups"), ([True] + [False] * 90, "one of the two groups")],
)
def test_a_group_of_nothing_or_of_one_has_no_interval(inside: list[bool], note: str) -> None:
    got = dyadic_gap(FIRST, SECOND, RIGHT, inside)
    assert math.isnan(got.low) and got.note.startswith(note)


def test_few_messages_and_pairs_that_are_all_alike_have_no_interval() -> None:
    few = dyadic_gap(["a", "b", "c", "a"], ["b", "c", "a", "d"], [1, 0, 1, 0], [True, True, False, False])
    assert math.isnan(few.low) and "4 messages" in few.note
    alike = dyadic_gap(FIRST, SECOND, INSIDE.astype(float), INSIDE.tolist())
    assert alike.difference == 1.0 and math.isnan(alike.low) and alike.note == "no pair differs"


def test_a_variance_that_is_rounding_is_none() -> None:
    """Pairs in a ring, high and low by turns, take from the variance what pairs by themselves add to it."""
    ring = [(f"r{n}", f"r{(n + 1) % 40}") for n in range(40)]
    alone = [(f"a{n}", f"b{n}") for n in range(14)]
    first, second = zip(*ring, *alone, strict=True)
    inside = [True] * 50 + [False] * 4
    turns = np.where(np.arange(54) % 2 == 0, 0.5, -0.5)

    def gap(swing: float) -> DyadicDifference:
        scale = np.where(np.arange(54) < 40, swing, np.where(inside, 0.5, 0.0))
        return dyadic_gap(first, second, 0.5 + turns * scale, inside)

    low, high = 0.0, 1.0
    assert gap(low).note == "" and gap(high).note == NOT_POSITIVE
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if gap(middle).note == "" else (low, middle)
    assert gap(low).se > 1e-7 * gap(high).se > 0
    assert gap(high).p > 0.5 > 1e-9, "and not next to 0, from a standard error of nothing"


def test_what_is_no_share_is_refused() -> None:
    for values in ([math.nan] * 91, [2.0] * 91, [0.0] * 90):
        with pytest.raises(ValueError, match=r"NaN|items"):
            dyadic_gap(FIRST, SECOND, values, INSIDE.tolist())


def rows(columns: np.ndarray) -> Rows:
    ids = [f"{a}-{b}" for a, b in PAIRS]
    return Rows(columns, [True] * len(ids), ids, ids, PAIRS, [[{}]] * len(ids))


def test_a_metric_over_pairs_gets_that_gap_and_one_over_clusters_the_bootstraps() -> None:
    columns = np.stack([RIGHT, np.ones(len(RIGHT))], axis=1)
    third = np.arange(len(PAIRS)) % 3
    parts = [((third == 0).tolist(), (third != 0).tolist()), ((third == 1).tolist(), (third == 2).tolist())]
    found = gaps(PairMean("right"), rows(columns), parts)
    whole = dyadic_gap(FIRST, SECOND, RIGHT, third == 0)
    assert (found[0].value, found[0].low) == pytest.approx((whole.difference, whole.low))
    some = third != 0
    part = dyadic_gap(np.array(FIRST)[some], np.array(SECOND)[some], RIGHT[some], third[some] == 1)
    assert (found[1].value, found[1].high) == pytest.approx((part.difference, part.high))
    drawn = gaps(Mean("right"), rows(columns), parts, resamples=20_000)[0]
    # Without clusters the bootstrap's spread is that of two independent means, but for chance.
    groups = [RIGHT[third == 0], RIGHT[third != 0]]
    se = math.sqrt(sum(group.var() / len(group) for group in groups))
    assert drawn.value == pytest.approx(whole.difference)
    assert (drawn.high - drawn.low) / (2 * 1.96) == pytest.approx(se, rel=0.05)
