"""Can stars be told from the questions that cover a remark? (Section 5.2 and appendix F.2.)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pmbench import MissingExtra
from pmbench_tasks.notes.evaluation.covering import coverage_matrix, known_items
from pmbench_tasks.notes.evaluation.intervals import NAN, Estimate, Floats, nothing, with_missing

Setting = Literal["binary", "multiclass"]
"""`binary`: 1 star against 5, others left out; `multiclass`: all five."""

SPLITS = 20
"""More would cost time and hardly narrow the interval, in which n_test/n_train = 1/4 outweighs 1/J."""

TEST_SHARE = 0.2
FOLDS = 5
GRID = tuple(float(c) for c in np.logspace(-4, 4, 10))
"""Inverse strengths of the penalty that are tried: scikit-learn's usual ones (LogisticRegressionCV)."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """How well stars are predicted on feedback that the model has not seen.

    Attributes:
        setting: `binary` or `multiclass`.
        accuracy, macro_f1: mean over splits.
        majority, majority_f1: those of always saying the most frequent rating of the part that is learnt from, on the
            same splits. With the paper's 1113 and 680 items that accuracy is 0.62, which is what it reports of its
            baseline checklist.
        items: feedback items used; ratings: how many of each number of stars.
        without: items left out: no stars, other stars, or a missing answer of the coverage matrix.
        splits, folds: how many; fewer folds where a rating has fewer items to learn from.
        tested: items that each split tests; by_split: accuracy of each split, in order.
    """

    setting: Setting
    accuracy: Estimate
    macro_f1: Estimate
    majority: Estimate
    majority_f1: Estimate
    items: int
    ratings: dict[int, int]
    without: int
    splits: int
    folds: int
    tested: int = 0
    by_split: tuple[float, ...] = ()


def predict_stars(
    matrix: ArrayLike,
    stars: Sequence[float],
    setting: Setting = "binary",
    *,
    splits: int = SPLITS,
    seed: int = 0,
) -> Prediction:
    """Logistic regression of stars on the coverage matrix, tested on feedback held out.

    In each split 80% of the items, stratified by rating, choose the penalty by stratified 5-fold cross-validation
    (accuracy) and fit; the other 20% test. The paper made one split and gives no interval. Repeated splits share
    items, so their spread over √J is far too small; the interval is mean ± t · s · √(1/J + n_test/n_train) with
    J − 1 degrees of freedom, cut at 0 and 1 (Nadeau & Bengio 2003).

    Args:
        matrix: coverage, questions by feedback items: 1, 0 or NaN.
        stars: of each item, 1 to 5; NaN where it has none.
        setting: which ratings are told apart.
        splits: how many.
        seed: of the splits.

    Raises:
        ValueError: lengths that differ, or stars that are not from 1 to 5.
        MissingExtra: scikit-learn is not installed.
    """
    features, labels, without = rated(matrix, stars, setting)
    counted = Counter(labels.tolist())
    about: dict[str, Any] = {
        "setting": setting,
        "items": len(labels),
        "ratings": dict(sorted(counted.items())),
        "without": without,
    }
    folds = _folds(counted)
    missing = int(np.isnan(coverage_matrix(matrix)).sum())
    if problem := _problem(features, counted, folds):
        none = nothing("split", problem, missing=missing)
        return Prediction(
            accuracy=none, macro_f1=none, majority=none, majority_f1=none, splits=0, folds=0, **about
        )
    results = np.array([_one_split(features, labels, folds, seed + split) for split in range(splits)])
    tested = int(np.ceil(TEST_SHARE * len(labels)))
    share = tested / (len(labels) - tested)
    numbers = [with_missing(_over_splits(column, share), missing, NAN, NAN) for column in results.T]
    return Prediction(
        accuracy=numbers[0],
        macro_f1=numbers[1],
        majority=numbers[2],
        majority_f1=numbers[3],
        splits=splits,
        folds=folds,
        tested=tested,
        by_split=tuple(results[:, 0].tolist()),
        **about,
    )


def rated(
    matrix: ArrayLike, stars: Sequence[float], setting: Setting
) -> tuple[Floats, NDArray[np.int64], int]:
    """Features (items by questions) and stars of the items that a setting uses, and how many are left out.

    Raises:
        ValueError: as in `predict_stars`.
    """
    table = coverage_matrix(matrix)
    given = np.asarray(stars, dtype=np.float64)
    if given.shape != (table.shape[1],):
        raise ValueError(f"{given.size} ratings and coverage of {table.shape[1]} feedback items")
    if not (np.isnan(given) | np.isin(given, (1, 2, 3, 4, 5))).all():
        raise ValueError("stars must be from 1 to 5, or NaN")
    wanted = (1, 5) if setting == "binary" else (1, 2, 3, 4, 5)
    used = known_items(table) & np.isin(given, wanted)
    return table[:, used].T, given[used].astype(np.int64), int((~used).sum())


def _one_split(
    features: Floats, labels: NDArray[np.int64], folds: int, seed: int
) -> tuple[float, float, float, float]:
    sklearn = require_sklearn()
    learn, test, learnt, tested = sklearn.model_selection.train_test_split(
        features, labels, test_size=TEST_SHARE, stratify=labels, random_state=seed
    )
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        said = _fitted(learn, learnt, folds, seed).predict(test)
    usual = np.full_like(tested, _usual(learnt, labels))
    return (
        float((said == tested).mean()),
        _macro_f1(tested, said),
        float((usual == tested).mean()),
        _macro_f1(tested, usual),
    )


def _usual(learnt: NDArray[np.int64], labels: NDArray[np.int64]) -> int:
    """The rating that is most frequent in what is learnt from; of equals the one that is among all items.

    Stratified splits of few items often tie ratings that are not tied in the data: of 7 and 8 items the test takes 1
    and 2. To break such ties always the same way would be worse than to say the most frequent rating.
    """
    often, everywhere = Counter(learnt.tolist()), Counter(labels.tolist())
    return int(min(often, key=lambda one: (-often[one], -everywhere[one], one)))


def _fitted(features: Floats, labels: NDArray[np.int64], folds: int, seed: int) -> Any:
    """The classifier with the penalty of the best mean accuracy over the folds, the strongest of equals."""
    sklearn = require_sklearn()
    parts = list(
        sklearn.model_selection.StratifiedKFold(folds, shuffle=True, random_state=seed).split(
            features, labels
        )
    )
    right = [
        np.mean(
            [
                (
                    _classifier(c).fit(features[learn], labels[learn]).predict(features[test]) == labels[test]
                ).mean()
                for learn, test in parts
            ]
        )
        for c in GRID
    ]
    return _classifier(GRID[int(np.argmax(right))]).fit(features, labels)


def _classifier(penalty: float) -> Any:
    # This solver is exact in a few steps for so few features; the usual one spends its time on starting threads.
    sklearn = require_sklearn()
    return sklearn.linear_model.LogisticRegression(C=penalty, solver="newton-cholesky", max_iter=1_000)


def _macro_f1(true: NDArray[np.int64], said: NDArray[np.int64]) -> float:
    """Macro F1 over the ratings that are in either; one that was never right has F1 0."""
    return float(require_sklearn().metrics.f1_score(true, said, average="macro", zero_division=0))


def _over_splits(values: Floats, share: float) -> Estimate:
    return corrected_interval(values, share)[0]


def corrected_interval(values: Floats, share: float, *, least: float = 0.0) -> tuple[Estimate, float]:
    """Mean over splits with the corrected interval, and p of its being 0 (Nadeau & Bengio 2003, equation 3.3).

    Args:
        values: of each split, (J,).
        share: tested items over learnt ones.
        least: where the interval is cut, as at 1.

    Returns:
        The mean, and p of the two-sided t-test with J − 1 degrees of freedom: 1 where all values are 0; NaN of one
        split, or where all are equal and not 0.
    """
    from scipy import stats

    count, mean = len(values), float(values.mean())
    if count < 2:
        return Estimate(value=mean, low=NAN, high=NAN, unit="split", units=count, note="one split"), NAN
    error = float(values.std(ddof=1)) * (1 / count + share) ** 0.5
    reach = float(stats.t.ppf(0.975, count - 1)) * error
    found = Estimate(
        value=mean, low=max(least, mean - reach), high=min(1.0, mean + reach), unit="split", units=count
    )
    if error < 1e-12:
        return found, NAN if abs(mean) > 1e-12 else 1.0
    return found, float(2 * stats.t.sf(abs(mean) / error, count - 1))


def _folds(counted: Counter[int]) -> int:
    """5, or the items of the rarest rating that are left to learn from."""
    rarest = min(counted.values(), default=0)
    return min(FOLDS, int(rarest * (1 - TEST_SHARE)))


def _problem(features: Floats, counted: Counter[int], folds: int) -> str:
    if len(counted) < 2:
        return "fewer than two ratings to tell apart"
    if not features.shape[1]:
        return "no questions"
    if folds < 2:
        return f"too few items with {min(counted, key=lambda one: counted[one])} stars"
    if np.ceil(TEST_SHARE * len(features)) < len(counted):
        return "too few items"
    return ""


def require_sklearn() -> Any:
    """scikit-learn with the parts that are used.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import sklearn
        import sklearn.linear_model
        import sklearn.metrics
        import sklearn.model_selection
    except ImportError:
        raise MissingExtra("predictive power", "checklist", "sklearn") from None
    return sklearn
