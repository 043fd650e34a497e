"""Intervals of lists: draws exactly within strata, means against closed forms and scipy, and what must not matter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from pmbench.stats import rankings
from pmbench.stats.bootstrap import at_a_limit
from pmbench.stats.ranking_draws import FEW, FEWEST_UNITS, ranking_draws, widening
from pmbench.stats.rankings import (
    Ranking,
    RankingDifference,
    RankingInterval,
    Statistic,
    leave_one_out,
    ranking_difference,
    ranking_interval,
    ranking_spread,
    spread_difference,
    spread_interval,
    within_strata,
)

Floats = NDArray[np.float64]
LEVELS = tuple(np.repeat([1, 2, 3, 4, 5, 6], 5).tolist())
DESIGNED = Ranking("inbox", range(30), LEVELS)
AS_THEY_FELL = Ranking("inbox", range(30))


def mean_of(values: ArrayLike) -> Statistic:
    """A statistic whose every interval is known: the mean of a number of each item."""
    table = np.asarray(values, dtype=float)
    return lambda draws: table[draws].mean(axis=1)


def interval(ranking: Ranking, values: ArrayLike, **options: object) -> RankingInterval:
    return ranking_interval([mean_of(values)], [float(np.mean(values))], [ranking], **options)  # type: ignore[arg-type]


def difference(ranking: Ranking, a: ArrayLike, b: ArrayLike) -> RankingDifference:
    means = [float(np.mean(a))], [float(np.mean(b))]
    return ranking_difference([mean_of(a)], [mean_of(b)], *means, [ranking])


def stratified_se(values: Floats, strata: Sequence[int]) -> float:
    """Of the mean of a stratified sample: √Σ (m/n)²·s²/m."""
    groups = [values[np.equal(strata, stratum)] for stratum in set(strata)]
    return math.sqrt(sum((len(g) / len(values)) ** 2 * g.var(ddof=1) / len(g) for g in groups))


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12), st.integers(0, 2**32))
def test_each_stratum_is_drawn_to_its_own_size_from_its_own_items(strata: list[str], seed: int) -> None:
    draws = within_strata(strata, 7, seed)
    assert draws.shape == (7, len(strata))
    for row in draws:
        assert [strata[place] for place in row] == strata


def test_items_of_a_stratum_are_drawn_equally_often_and_independently() -> None:
    draws = within_strata(["a"] * 3 + ["b"] * 2, 30_000, 1)
    first = np.bincount(draws[:, 0], minlength=5)
    assert scipy.stats.chisquare(first[:3]).pvalue > 0.001
    assert first[3:].tolist() == [0, 0]
    both = Counter(zip(draws[:, 3].tolist(), draws[:, 4].tolist(), strict=True))
    assert scipy.stats.chisquare([both[i, j] for i in (3, 4) for j in (3, 4)]).pvalue > 0.001


def test_more_resamples_begin_with_the_same_draws() -> None:
    assert (within_strata(LEVELS, 50, 3)[:20] == within_strata(LEVELS, 20, 3)).all()
    assert (within_strata(LEVELS, 20, 3) != within_strata(LEVELS, 20, 4)).any()


def test_leave_one_out() -> None:
    assert leave_one_out(4).tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert leave_one_out(1).shape == (1, 0)
    assert leave_one_out(0).shape == (0, 0)


def test_widening_makes_up_for_drawing_with_replacement() -> None:
    assert widening([5] * 6) == pytest.approx(math.sqrt(5 / 4))
    assert widening([2, 3]) == pytest.approx(math.sqrt((2 + 1.5) / 2))


def test_designed_list_has_the_interval_of_a_stratified_mean() -> None:
    values = np.repeat(np.arange(6), 5) * 3.0 + np.outer(np.arange(1, 7), [-2, -1, 0, 1, 2]).ravel()
    found = interval(DESIGNED, values)
    reach = scipy.stats.norm.ppf(0.975) * stratified_se(values, LEVELS)
    assert found.low == pytest.approx(values.mean() - reach, abs=0.06 * reach)
    assert found.high == pytest.approx(values.mean() + reach, abs=0.06 * reach)
    assert (found.method, found.units, found.rankings, found.note) == (rankings.WITHIN, 30, 1, "")


def test_list_as_it_fell_has_student_s_interval_of_a_mean() -> None:
    """The jackknife of a mean is s/√n exactly."""
    values = np.random.default_rng(2).normal(size=30)
    found = interval(AS_THEY_FELL, values, level=0.9)
    expected = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.method == rankings.JACKKNIFE


def test_jackknife_worked_by_hand() -> None:
    """The median of 1 … 10 without one of the lower five is 6, without one of the upper five 5.

    Their mean is 5.5, the squares of the deviations add up to 10·¼, and 9/10 of that is 2.25: se 1.5. Student's t
    of 9 degrees of freedom has 2.262157 at .975.
    """
    numbers = np.arange(1.0, 11.0)
    found = ranking_interval(
        [lambda draws: np.median(numbers[draws], axis=1)], [5.5], [Ranking("list", range(10))]
    )
    assert (found.low, found.high) == pytest.approx((5.5 - 3.3932357, 5.5 + 3.3932357))


def test_difference_of_two_systems_is_a_paired_test() -> None:
    generator = np.random.default_rng(3)
    shared = generator.normal(size=30) * 5
    a, b = shared + generator.normal(0.4, 1, 30), shared + generator.normal(size=30)
    found, expected = difference(AS_THEY_FELL, a, b), scipy.stats.ttest_rel(a, b)
    assert found.difference == pytest.approx((a - b).mean())
    assert found.p == pytest.approx(expected.pvalue, rel=0.1)
    bounds = expected.confidence_interval()
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high), abs=0.02)
    assert found.method == rankings.DRAWN_T


def test_difference_on_a_designed_list_has_the_freedom_of_its_strata() -> None:
    generator = np.random.default_rng(4)
    level = np.repeat(np.arange(6), 5) * 2.0
    a, b = level + generator.normal(0.5, 1, 30), generator.normal(size=30)
    found, se = difference(DESIGNED, a, b), stratified_se(a - b, LEVELS)
    assert (found.low, found.high) == pytest.approx(
        scipy.stats.t.interval(0.95, 24, found.difference, se), abs=0.03 * se
    )
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(found.difference) / se, 24), rel=0.1)
    assert found.method == rankings.WITHIN_T


def test_mean_over_lists_adds_their_variances_as_welch_does() -> None:
    """Welch's interval of mean(x) − mean(−y) is that of the sum of two independent means."""
    generator = np.random.default_rng(5)
    x, y = generator.normal(1, 3, 12), generator.normal(2, 0.5, 40)
    lists = [Ranking("one", range(12)), Ranking("two", range(40))]
    found = ranking_interval([mean_of(x), mean_of(y)], [x.mean(), y.mean()], lists)
    expected = scipy.stats.ttest_ind(x, -y, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((expected.low / 2, expected.high / 2))
    assert (found.units, found.rankings) == (52, 2)


def test_designed_lists_together_are_narrower_by_the_root_of_their_number() -> None:
    values = np.random.default_rng(6).normal(size=30)
    one = interval(DESIGNED, values)
    lists = [Ranking(f"inbox {i}", range(30), LEVELS) for i in range(4)]
    four = ranking_interval([mean_of(values)] * 4, [float(values.mean())] * 4, lists)
    assert (four.high - four.low) == pytest.approx((one.high - one.low) / 2, rel=0.05)


def test_designed_lists_and_others_together() -> None:
    values = np.random.default_rng(7).normal(size=30)
    lists = [Ranking("one", range(30), LEVELS), Ranking("two", range(30))]
    means = [float(values.mean())] * 2
    found = ranking_interval([mean_of(values)] * 2, means, lists)
    se = math.hypot(stratified_se(values, LEVELS), values.std(ddof=1) / math.sqrt(30)) / 2
    assert found.high - found.value == pytest.approx(scipy.stats.t.ppf(0.975, 53) * se, rel=0.03)
    assert found.method == rankings.MIXED
    compared = ranking_difference([mean_of(values)] * 2, [mean_of(-values)] * 2, means, means, lists)
    assert compared.method == rankings.MIXED_T
    assert compared.high - compared.difference == pytest.approx(2 * (found.high - found.value), rel=0.03)


def test_draws_of_a_list_do_not_depend_on_other_lists() -> None:
    values = np.random.default_rng(8).normal(size=30)
    other = Ranking("another", range(30), LEVELS)
    alone = ranking_spread([mean_of(values)], [0.0], [DESIGNED], resamples=100)
    among = ranking_spread([mean_of(-values), mean_of(values)], [0.0, 0.0], [other, DESIGNED], resamples=100)
    assert (among.drawn[1] == alone.drawn[0]).all()
    assert (ranking_draws(other, 100, 0) != ranking_draws(DESIGNED, 100, 0)).any()


def test_order_of_items_changes_nothing() -> None:
    generator = np.random.default_rng(9)
    ids, values, more = [f"m{i}" for i in range(30)], generator.normal(size=30), generator.normal(size=30)
    order = generator.permutation(30)
    for strata in ((), LEVELS):
        moved = Ranking("x", [ids[i] for i in order], [strata[i] for i in order] if strata else ())
        kept = Ranking("x", ids, strata)
        assert interval(moved, values[order]).low == pytest.approx(interval(kept, values).low, abs=1e-12)
        ours = ranking_spread([mean_of(values)], [values.mean()], [kept], resamples=200)
        theirs = ranking_spread([mean_of(more[order])], [more.mean()], [moved], resamples=200)
        again = ranking_spread([mean_of(more)], [more.mean()], [kept], resamples=200)
        assert (theirs.drawn == again.drawn).all()
        assert spread_difference(ours, theirs) == spread_difference(ours, again)


def test_seed_decides_the_interval_and_resamples_are_counted() -> None:
    values = np.random.default_rng(10).normal(size=30)
    one, again, other = (interval(DESIGNED, values, seed=s, resamples=500) for s in (1, 1, 2))
    assert one == again
    assert one.low != other.low
    assert one.resamples == 500


@given(
    st.lists(st.floats(-5, 5), min_size=30, max_size=30), st.lists(st.floats(-5, 5), min_size=30, max_size=30)
)
def test_p_is_below_a_level_exactly_where_the_interval_leaves_0_out(a: list[float], b: list[float]) -> None:
    spreads = [ranking_spread([mean_of(x)], [float(np.mean(x))], [DESIGNED], resamples=50) for x in (a, b)]
    found, mirrored = spread_difference(*spreads), spread_difference(*spreads[::-1])
    assert 0 < found.p <= 1
    assert found.low <= found.difference <= found.high
    if found.note != rankings.NO_SPREAD:
        assert (found.p < 0.05) == (not found.low <= 0 <= found.high)
    assert (-mirrored.high, -mirrored.low) == pytest.approx((found.low, found.high))


def test_systems_that_order_alike_do_not_differ() -> None:
    values = np.random.default_rng(11).normal(size=30)
    found = difference(DESIGNED, values, values)
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert found.note == rankings.NO_SPREAD


def test_a_difference_that_no_draw_changes_has_a_p_above_0() -> None:
    found = difference(DESIGNED, np.ones(30), np.zeros(30))
    assert (found.difference, found.p, found.note) == (1, 1 / 10_001, rankings.NO_SPREAD)


def test_no_spread_at_a_limit_has_bounds_and_elsewhere_none_but_the_value() -> None:
    perfect = interval(DESIGNED, np.ones(30), limits=(-1, 1))
    assert (perfect.low, perfect.high) == at_a_limit(1, (-1, 1), 30)
    assert perfect.note == rankings.NO_SPREAD
    assert interval(AS_THEY_FELL, -np.ones(30), limits=(-1, 1)).high == at_a_limit(-1, (-1, 1), 30)[1]
    constant = interval(DESIGNED, np.zeros(30), limits=(-1, 1))
    assert (constant.low, constant.high, constant.note) == (0, 0, rankings.NO_SPREAD)


def test_bounds_stay_within_limits_and_hold_the_value() -> None:
    values = np.r_[np.zeros(3), np.ones(27)]
    found = interval(AS_THEY_FELL, values, limits=(0, 1))
    assert found.high == 1 < interval(AS_THEY_FELL, values).high
    worse = ranking_interval([lambda draws: draws[:, 0] * 0.0 - (draws[:, 0] > 0)], [0.0], [DESIGNED])
    assert worse.low < worse.value == worse.high == 0


@pytest.mark.parametrize(
    ("ranking", "words"),
    [
        (Ranking("short", range(FEWEST_UNITS - 1)), "'short' has 9 items: fewer than 10"),
        (Ranking("lone", range(30), (*LEVELS[:-1], 7)), "'lone' has a stratum of one item"),
    ],
)
def test_a_list_that_supports_no_interval_says_why(ranking: Ranking, words: str) -> None:
    values = np.random.default_rng(12).normal(size=len(ranking.units))
    found = interval(ranking, values)
    assert found.value == pytest.approx(values.mean())
    assert math.isnan(found.low)
    assert words in found.note
    compared = difference(ranking, values, -values)
    assert compared.difference == pytest.approx(2 * values.mean())
    assert math.isnan(compared.p)
    assert words in compared.note


def test_strata_of_two_are_flagged() -> None:
    values = np.random.default_rng(13).normal(size=12)
    ranking = Ranking("pairs", range(12), np.repeat(range(6), 2).tolist())
    assert interval(ranking, values).note == FEW
    assert difference(ranking, values, -values).note == FEW


def test_draws_without_a_value_are_left_out_and_counted() -> None:
    values = np.random.default_rng(14).normal(size=30)

    def sometimes(draws: NDArray[np.intp]) -> Floats:
        return np.where((draws == 0).any(axis=1), values[draws].mean(axis=1), np.nan)

    found = ranking_interval([sometimes], [values.mean()], [DESIGNED])
    assert found.undefined / found.resamples == pytest.approx(0.8**5, abs=0.02)
    assert found.low < found.value < found.high
    no_value = ranking_interval([sometimes], [values.mean()], [AS_THEY_FELL])
    assert math.isnan(no_value.low)
    assert no_value.note == rankings.NO_VALUE_DRAWN
    compared = ranking_difference([sometimes], [mean_of(values)], [0.0], [0.0], [DESIGNED])
    assert compared.undefined == found.undefined


def test_two_systems_without_a_draw_in_common_cannot_be_compared() -> None:
    def one_of_two(side: bool) -> Statistic:
        return lambda draws: np.where((draws[:, 0] == 0) == side, draws[:, 1] * 1.0, np.nan)

    found = ranking_difference([one_of_two(True)], [one_of_two(False)], [1.0], [0.0], [DESIGNED])
    assert math.isnan(found.p)
    assert found.note == rankings.NO_VALUE_DRAWN


def test_a_list_without_a_value_or_no_list_has_no_interval() -> None:
    assert ranking_interval([mean_of(np.ones(30))], [math.nan], [DESIGNED]).note == rankings.NO_VALUE
    nothing = spread_interval(ranking_spread([], [], []))
    assert math.isnan(nothing.value)
    assert nothing.note == rankings.NO_VALUE


def test_what_does_not_fit_is_refused() -> None:
    mean = mean_of(np.ones(30))
    with pytest.raises(ValueError, match="1 statistics and 2 values of 1 lists"):
        ranking_spread([mean], [0.0, 1.0], [DESIGNED])
    with pytest.raises(ValueError, match="same name"):
        ranking_spread([mean, mean], [0.0, 0.0], [DESIGNED, AS_THEY_FELL])
    with pytest.raises(ValueError, match="stands twice"):
        ranking_spread([mean], [0.0], [Ranking("x", [0] * 30)])
    with pytest.raises(ValueError, match="2 strata of 30 items"):
        ranking_spread([mean], [0.0], [Ranking("x", range(30), (1, 2))])
    with pytest.raises(ValueError, match="1 resamples"):
        ranking_spread([mean], [0.0], [DESIGNED], resamples=1)
    with pytest.raises(ValueError, match="shape"):
        ranking_spread([lambda draws: draws * 1.0], [0.0], [DESIGNED])
    spread = ranking_spread([mean], [0.0], [DESIGNED], resamples=10)
    for level in (0, 1, 95):
        with pytest.raises(ValueError, match="level"):
            spread_interval(spread, level=level)
    with pytest.raises(ValueError, match="different lists"):
        spread_difference(spread, ranking_spread([mean], [0.0], [AS_THEY_FELL], resamples=10))
    with pytest.raises(ValueError, match="drawn 10 times and 11"):
        spread_difference(spread, ranking_spread([mean], [0.0], [DESIGNED], resamples=11))
