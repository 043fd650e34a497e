"""T-NDCG of an order: NDCG of the order less NDCG of its reverse (section 4.2 of arXiv 2601.13178).

Relevance is 6 − level (level 1 is the most urgent), the gain is linear and the discount of place p is
1/log2(p + 1) (Järvelin and Kekäläinen, ACM TOIS 20(4), 2002). Scores that agree to 9 decimals are tied; what
stands here is then the exact expectation over all orders of those tied (McSherry and Najork, ECIR 2008), not
the value of one of them. It has a closed form, since both NDCGs are linear in relevance: a tied message gets the
mean weight of the places that it shares.

Both NDCGs have the same ideal in the denominator. So the best that an inbox allows is below 1, and at k = n, where
the reverse order has all messages too, far below: 0.39 for 30 messages, five of each level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pmbench import ConfigError
from pmbench_tasks.urgency.messages import LEAST_URGENT
from pmbench_tasks.urgency.ranking import DECIMALS, as_rows, blocks, mean_over_ties, tied_places

Floats = NDArray[np.float64]


def t_ndcg(levels: ArrayLike, scores: ArrayLike, k: int) -> float:
    """Expected T-NDCG@k of one inbox.

    Args:
        levels: of n messages, 1 (most urgent) to 6; halves may occur.
        scores: of the same messages; higher is more urgent.
        k: places that count at either end; larger than n means n.

    Returns:
        Between −ideal and ideal; 0 where no message has a level below 6.

    Raises:
        ValueError: lists of different lengths, empty or not finite, or k below 1.
    """
    return float(t_ndcg_rows(_relevance(levels), as_rows(scores, "scores"), (k,))[0, 0])


def ideal_t_ndcg(levels: ArrayLike, k: int) -> float:
    """T-NDCG@k of the right order: the most that this inbox allows. Arguments and errors as `t_ndcg`."""
    relevance = _relevance(levels)
    return float(t_ndcg_rows(relevance, relevance, (k,))[0, 0])


def expected_t_ndcg(levels: ArrayLike, predicted_levels: ArrayLike, k: int) -> float:
    """Expected T-NDCG@k of an order by predicted levels, in any order within a level. See `t_ndcg`."""
    return t_ndcg(levels, LEAST_URGENT - as_rows(predicted_levels, "predicted levels"), k)


def t_ndcg_rows(relevance: Floats, scores: Floats, ks: Sequence[int]) -> Floats:
    """Expected T-NDCG of B inboxes at several k, from one sort.

    Args:
        relevance: shape (B, m), or (1, m) where all inboxes have the same messages.
        scores: shape (B, m), higher is more urgent.
        ks: places that count at either end; larger than m means m.

    Returns:
        Shape (B, number of ks).

    Raises:
        ValueError: the shapes do not fit, or a k is below 1.
    """
    rows, m = scores.shape
    if relevance.shape not in {(rows, m), (1, m)}:
        raise ValueError(f"relevance of shape {relevance.shape} does not fit scores of shape {scores.shape}")
    found = np.empty((rows, len(ks)))
    for block in blocks(rows, m):
        own = relevance if len(relevance) == 1 else relevance[block]
        order, start, end = tied_places(scores[block])
        ranked = np.take_along_axis(np.broadcast_to(own, order.shape), order, axis=1)
        best = np.sort(own, axis=1)[:, ::-1]
        for at, k in enumerate(ks):
            discounts = _discounts(m, k)
            weights = mean_over_ties(discounts - discounts[::-1], start, end)
            found[block, at] = _share((ranked * weights).sum(axis=1), (best * discounts).sum(axis=1))
    return found


def shuffled_t_ndcg(
    levels: ArrayLike, scores: ArrayLike, k: int, *, shuffles: int = 300, seed: int = 0
) -> tuple[float, float]:
    """Mean and standard deviation of T-NDCG@k over random orders of tied scores, as Table 11 of the paper has.

    The mean comes near to `t_ndcg`, which it is an estimate of.

    Args:
        levels, scores, k: as `t_ndcg`.
        shuffles: how many orders are drawn.
        seed: of the drawing.

    Returns:
        (mean, population standard deviation).

    Raises:
        ValueError: as `t_ndcg`.
    """
    relevance, rows = _relevance(levels), as_rows(scores, "scores")
    _alike(relevance, rows)
    keys = np.random.default_rng(seed).random((shuffles, rows.shape[1]))
    shuffled = np.argsort(keys, axis=1)
    by_score = np.argsort(-np.round(rows[0], DECIMALS)[shuffled], axis=1, kind="stable")
    order = np.take_along_axis(shuffled, by_score, axis=1)
    discounts = _discounts(rows.shape[1], k)
    top = relevance[0][order] @ (discounts - discounts[::-1])
    values = _share(top, np.sort(relevance, axis=1)[:, ::-1] @ discounts)
    return float(values.mean()), float(values.std())


def ranx_t_ndcg(levels: ArrayLike, scores: ArrayLike, k: int) -> float:
    """T-NDCG@k through ranx (Bassani, ECIR 2022), which the paper used; for those who have to cite it.

    ranx has no expectation over ties: what is tied stands in the order of the inbox. It reads relevance as whole
    numbers, so relevance is doubled where a half occurs, which leaves NDCG as it is.

    Raises:
        ConfigError: ranx is not installed, or a level is neither whole nor a half.
        ValueError: as `t_ndcg`.
    """
    relevance, rows = _relevance(levels), as_rows(scores, "scores")
    _alike(relevance, rows)
    _discounts(rows.shape[1], k)
    gains = np.round(2 * relevance[0]).astype(int)
    if (gains != 2 * relevance[0]).any():
        raise ConfigError("ranx needs levels that are whole or halves", remedy="Leave out -o ndcg=ranx")
    order = np.argsort(-np.round(rows[0], DECIMALS), kind="stable")
    return _through_ranx(gains, order, k) - _through_ranx(gains, order[::-1], k)


def _through_ranx(gains: NDArray[np.int_], order: NDArray[np.intp], k: int) -> float:
    """NDCG@k of one order by ranx."""
    import importlib
    import warnings

    with (
        warnings.catch_warnings()
    ):  # of numba, which compiles when ranx is first used: a matter of its own types
        warnings.simplefilter("ignore")
        try:
            ranx = importlib.import_module("ranx")
        except ImportError as error:
            raise ConfigError(
                "NDCG through ranx needs the module 'ranx', which is not installed",
                remedy="Run: pip install ranx, or leave out -o ndcg=ranx",
            ) from error
        run = {str(i): float(len(order) - place) for place, i in enumerate(order)}
        qrels = {str(i): int(gain) for i, gain in enumerate(gains)}
        metric = f"ndcg@{min(k, len(order))}"
        return float(ranx.evaluate(ranx.Qrels({"inbox": qrels}), ranx.Run({"inbox": run}), metric))


def _relevance(levels: ArrayLike) -> Floats:
    return LEAST_URGENT - as_rows(levels, "levels")


def _alike(relevance: Floats, scores: Floats) -> None:
    if relevance.shape != scores.shape:
        raise ValueError(f"{relevance.shape[1]} levels, but {scores.shape[1]} scores")


def _discounts(m: int, k: int) -> Floats:
    """The discount of each of m places, 0 beyond the k-th."""
    if k < 1:
        raise ValueError(f"k = {k}: at least one place has to count")
    places = np.arange(1, m + 1)
    return np.where(places <= k, 1.0 / np.log2(places + 1.0), 0.0)


def _share(gain: Floats, ideal: Floats) -> Floats:
    """Gain of ideal gain; 0 where that is not positive."""
    safe = np.where(ideal > 0, ideal, 1.0)
    return np.where(ideal > 0, gain / safe, 0.0)
