"""What a checklist has to do with feedback: coverage, diversity, distances, prediction of stars, coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pmbench_tasks.notes import coverage, diversity
from pmbench_tasks.notes.evaluation.covering import (
    _diversities,
    coverage_estimate,
    coverage_gap,
    diversity_estimate,
)
from pmbench_tasks.notes.evaluation.distances import cluster_distances
from pmbench_tasks.notes.evaluation.influence import influences, logistic_fits
from pmbench_tasks.notes.evaluation.intervals import Floats
from pmbench_tasks.notes.evaluation.predictive import GRID, _fitted, _over_splits, predict_stars

NAN = float("nan")
MATRICES = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 12)), elements=st.sampled_from([0.0, 1.0])
)


def test_coverage_by_hand() -> None:
    # Items 1 and 2 are covered, 3 is not; 4 has a missing answer: 2 of 3 known. Read as no: 2 of 4, as yes: 3 of 4.
    found = coverage_estimate([[1, 0, 0, NAN], [0, 1, 0, 0]])
    assert found.value == pytest.approx(2 / 3)
    assert (found.missing, found.units, found.unit) == (1, 3, "feedback item")
    assert (found.least, found.most) == (0.5, 0.75)


def test_an_item_with_a_missing_answer_is_left_out_even_where_it_is_covered() -> None:
    # Kept only when it is covered, it would raise the share: 1 of 2 and not 2 of 3.
    found = coverage_estimate([[1, 0, 1], [0, 0, NAN]])
    assert (found.value, found.least, found.most) == (0.5, 2 / 3, 2 / 3)


def test_the_interval_of_coverage_is_that_of_scipys_bootstrap() -> None:
    from scipy import stats

    generator = np.random.default_rng(3)
    matrix = (generator.random((4, 200)) < 0.2).astype(float)
    found = coverage_estimate(matrix, resamples=9_999)
    theirs = stats.bootstrap(
        (matrix.any(axis=0).astype(float),), np.mean, method="percentile", n_resamples=9_999, rng=1
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.011)


def test_everything_covered_has_the_exact_lower_end_of_a_share() -> None:
    from statsmodels.stats.proportion import proportion_confint

    found = coverage_estimate(np.ones((2, 30)))
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(proportion_confint(30, 30, method="beta")[0])


@settings(deadline=None)
@given(MATRICES)
def test_numbers_are_those_of_the_public_functions(matrix: Floats) -> None:
    assert coverage_estimate(matrix, resamples=20).value == pytest.approx(coverage(matrix))
    assert diversity_estimate(matrix, resamples=20).value == pytest.approx(diversity(matrix))


@settings(max_examples=50, deadline=None)
@given(MATRICES, st.integers(0, 99))
def test_diversity_of_a_resample_is_diversity_of_the_items_drawn(matrix: Floats, seed: int) -> None:
    items = matrix.shape[1]
    drawn = np.random.default_rng(seed).integers(0, items, size=items)
    counts = np.bincount(drawn, minlength=items).astype(float)[None]
    assert _diversities(matrix, counts)[0] == pytest.approx(diversity(matrix[:, drawn]), abs=1e-6)


def test_the_gap_of_two_checklists_is_paired_by_item() -> None:
    one, two = [[1, 1, 1, 0]], [[1, 0, NAN, 0]]
    found = coverage_gap(one, two)
    assert (found.value, found.units) == (pytest.approx(1 / 3), 3)
    same = coverage_gap(one, one)
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)  # no difference on any item: no spread
    with pytest.raises(ValueError, match="4 and 2"):
        coverage_gap(one, [[1, 0]])


def test_distances_by_hand() -> None:
    # Vectors (1,0), (0,2), (-3,0). Question 1 covers the first two: distance 1 - 0 = 1. Question 2 covers the first
    # and the third: 1 + 1 = 2, and question 3 only the second: no pair. Intra = (1 + 2) / 2.
    # Centroids: (½, ½); (0, 0), which has no direction; (0, 1). Inter = 1 - cos 45° = 1 - √½.
    found = cluster_distances([[1, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 2], [-3, 0]])
    assert found.intra.value == pytest.approx(1.5)
    assert found.inter.value == pytest.approx(1 - 0.5**0.5)
    assert found.by_question == pytest.approx((1.0, 2.0, NAN), nan_ok=True)
    assert (found.without_pairs, found.without_items) == (1, 0)


def test_distances_are_those_of_scikit_learn_and_scipy() -> None:
    from scipy.spatial.distance import pdist
    from sklearn.preprocessing import normalize

    generator = np.random.default_rng(5)
    vectors = generator.normal(size=(60, 16)) + 0.5
    matrix = (generator.random((6, 60)) < 0.3).astype(float)
    found = cluster_distances(matrix, vectors)
    chosen = [vectors[row == 1] for row in matrix]
    assert found.by_question == pytest.approx([pdist(one, "cosine").mean() for one in chosen])
    centroids = np.array([normalize(one).mean(axis=0) for one in chosen])
    assert found.inter.value == pytest.approx(pdist(centroids, "cosine").mean())
    assert found.intra.low < found.intra.value < found.intra.high


def test_the_interval_of_a_distance_is_that_of_the_jackknife_by_hand() -> None:
    """Every item left out once; the error is that of scipy's t over the pseudo-values (Tukey)."""
    from scipy import stats

    generator = np.random.default_rng(6)
    vectors = generator.normal(size=(40, 8)) + 1.0
    matrix = (generator.random((5, 40)) < 0.3).astype(float)
    found = cluster_distances(matrix, vectors)
    for name in ("intra", "inter"):
        one = getattr(found, name)
        kept = [np.delete(np.arange(40), place) for place in range(40)]
        without = [getattr(cluster_distances(matrix[:, keep], vectors[keep]), name).value for keep in kept]
        pseudo = 40 * one.value - 39 * np.array(without)
        reach = stats.t.ppf(0.975, 39) * stats.sem(pseudo)
        assert (one.low, one.high) == pytest.approx((max(0, one.value - reach), one.value + reach))


def test_a_distance_lies_within_its_own_interval() -> None:
    """Few items around each centroid: percentiles of a bootstrap lay far above the number itself."""
    generator = np.random.default_rng(7)
    topics = generator.normal(size=32) + generator.normal(size=(8, 32))
    own = generator.integers(0, 8, size=60)
    vectors = topics[own] + 2 * generator.normal(size=(60, 32))
    found = cluster_distances((own == np.arange(8)[:, None]).astype(float), vectors)
    assert found.inter.low < found.inter.value < found.inter.high
    assert found.intra.low < found.intra.value < found.intra.high


def test_distances_of_one_question_or_of_items_all_alike() -> None:
    found = cluster_distances(np.ones((1, 12)), np.eye(12))  # orthogonal items: every distance is 1
    assert (found.intra.value, found.intra.low, found.intra.high) == pytest.approx((1.0, 1.0, 1.0))
    assert np.isnan(found.inter.value) and found.inter.note  # one question: no two clusters


def test_embeddings_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(ValueError, match="length 0"):
        cluster_distances([[1, 1]], [[0, 0], [1, 0]])
    with pytest.raises(ValueError, match="2 feedback items and 1 embeddings"):
        cluster_distances([[1, 1]], [[1, 0]])
    with pytest.raises(ValueError, match="finite"):
        cluster_distances([[1]], [[NAN, 1]])


def stars_and_matrix(seed: int = 0, items: int = 200) -> tuple[list[float], Floats]:
    """Question 0 covers mostly complaints, question 1 mostly praise, question 2 is noise."""
    generator = np.random.default_rng(seed)
    stars = generator.choice([1.0, 2, 3, 4, 5], size=items)
    matrix = np.array(
        [
            generator.random(items) < np.where(stars < 3, 0.8, 0.1),
            generator.random(items) < np.where(stars > 3, 0.8, 0.1),
            generator.random(items) < 0.3,
        ]
    ).astype(float)
    return stars.tolist(), matrix


def test_questions_that_follow_the_stars_predict_them_and_noise_does_not() -> None:
    stars, matrix = stars_and_matrix()
    good = predict_stars(matrix, stars, splits=8)
    # Nobody can do better than .85: in 26% of cases both questions or neither cover an item,
    # and in 2% the wrong one does.
    assert good.majority.value < 0.7 < good.accuracy.value < 0.9
    assert good.ratings == {star: stars.count(star) for star in (1, 5)}
    assert good.items + good.without == 200
    noise = predict_stars(matrix[2:], stars, splits=8)
    assert noise.accuracy.low < noise.majority.value + 0.1
    many = predict_stars(matrix, stars, "multiclass", splits=3)
    assert many.macro_f1.value > many.majority_f1.value
    assert (many.items, many.folds, many.accuracy.unit) == (200, 5, "split")


def test_the_majority_is_scikit_learns_dummy_classifier() -> None:
    from sklearn.dummy import DummyClassifier
    from sklearn.metrics import f1_score
    from sklearn.model_selection import train_test_split

    stars, matrix = stars_and_matrix(1, 90)
    found = predict_stars(matrix, stars, "multiclass", splits=2, seed=4)
    scores = []
    for seed in (4, 5):
        x, test, y, truth = train_test_split(
            matrix.T, np.array(stars), test_size=0.2, stratify=stars, random_state=seed
        )
        said = DummyClassifier().fit(x, y).predict(test)
        scores.append(((said == truth).mean(), f1_score(truth, said, average="macro", zero_division=0)))
    assert (found.majority.value, found.majority_f1.value) == pytest.approx(np.mean(scores, axis=0))


@pytest.mark.parametrize("counts", [(7, 8), (8, 7), (12, 13), (4, 11)])
def test_saying_the_most_frequent_rating_is_no_worse_than_its_share(counts: tuple[int, int]) -> None:
    # Of 7 and 8 items a stratified test part takes 1 and 2, which leaves a tie of 6 and 6 to learn from.
    from sklearn.dummy import DummyClassifier
    from sklearn.model_selection import train_test_split

    stars = [1.0] * counts[0] + [5.0] * counts[1]
    matrix = np.random.default_rng(0).integers(0, 2, (3, len(stars))).astype(float)
    found = predict_stars(matrix, stars, splits=4)
    often = 5 if counts[1] > counts[0] else 1
    scores = []
    for seed in range(4):
        x, test, y, truth = train_test_split(
            matrix.T, np.array(stars, dtype=int), test_size=0.2, stratify=stars, random_state=seed
        )
        tied = (y == 1).sum() == (y == 5).sum()
        dummy = DummyClassifier(strategy="constant", constant=often) if tied else DummyClassifier()
        scores.append((dummy.fit(x, y).predict(test) == truth).mean())
    assert found.majority.value == pytest.approx(np.mean(scores))
    assert found.majority.value >= max(counts) / sum(counts) - 1 / len(truth)
    if counts in ((7, 8), (8, 7)):
        assert found.majority.value == pytest.approx(2 / 3) and found.majority.value > 8 / 15


def test_cross_validation_chooses_as_scikit_learns_search_does() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    for seed in range(3):
        stars, matrix = stars_and_matrix(seed, 120)
        labels = np.array(stars, dtype=np.int64)
        search = GridSearchCV(
            LogisticRegression(solver="newton-cholesky", max_iter=1_000),
            {"C": list(GRID)},
            cv=StratifiedKFold(5, shuffle=True, random_state=7),
            scoring="accuracy",
        ).fit(matrix.T, labels)
        mine = _fitted(matrix.T, labels, 5, 7)
        assert pytest.approx(search.best_params_["C"]) == mine.C
        assert mine.predict(matrix.T).tolist() == search.predict(matrix.T).tolist()


def test_the_interval_over_splits_by_hand() -> None:
    # 0.6, 0.7, 0.8: mean .7, s = .1; √(1/3 + 1/4) = .7638; t(.975, 2) = 4.3027: .7 ± .3286, cut at 1.
    found = _over_splits(np.array([0.6, 0.7, 0.8]), 0.25)
    assert (found.value, found.low, found.high) == pytest.approx((0.7, 0.3714, 1.0), abs=1e-4)


@pytest.mark.parametrize(
    ("stars", "why"),
    [
        ([5.0] * 20, "fewer than two ratings"),
        ([5.0] * 19 + [1.0], "too few items with 1 stars"),
        ([NAN] * 20, "fewer than two ratings"),
    ],
)
def test_too_little_to_predict_from_is_said_and_no_number_is_made(stars: list[float], why: str) -> None:
    found = predict_stars(np.ones((2, 20)), stars)
    assert np.isnan(found.accuracy.value)
    assert why in found.accuracy.note


def test_stars_are_checked() -> None:
    for wrong in (0.0, 6.0, 2.5):
        with pytest.raises(ValueError, match="from 1 to 5"):
            predict_stars([[1]], [wrong])
    with pytest.raises(ValueError, match="2 ratings"):
        predict_stars([[1]], [1.0, 2.0])


def test_coefficients_are_scikit_learns_with_weights() -> None:
    from sklearn.linear_model import LogisticRegression

    generator = np.random.default_rng(2)
    x = (generator.random((80, 5)) < 0.3).astype(float)
    y = (generator.random(80) < 1 / (1 + np.exp(1 - 2 * x[:, 0] + x[:, 1]))).astype(float)
    weights = generator.multinomial(80, np.full(80, 1 / 80), size=4).astype(float)
    for penalty in (1e-3, 1.0, 1e3):
        mine = logistic_fits(x, y, weights, penalty)
        for fit, drawn in zip(mine, weights, strict=True):
            theirs = LogisticRegression(C=penalty, tol=1e-12, max_iter=10_000).fit(x, y, sample_weight=drawn)
            assert fit == pytest.approx([*theirs.coef_[0], theirs.intercept_[0]], abs=1e-3)


def test_a_resample_of_one_outcome_has_no_coefficients() -> None:
    x = np.array([[1.0], [0.0], [1.0]])
    fits = logistic_fits(x, np.array([1.0, 1.0, 0.0]), np.array([[1.0, 2, 0], [1, 1, 1]]), 1.0)
    assert np.isnan(fits[0]).all()
    assert np.isfinite(fits[1]).all()


def test_which_questions_predict_ratings() -> None:
    stars, matrix = stars_and_matrix()
    stars[0] = NAN
    found = influences(
        np.vstack([matrix, np.zeros(200)]), stars, ["bad", "good", "noise", "none"], resamples=200
    )
    bad, good, noise, none = found.questions
    assert bad.coefficient.high < 0 < good.coefficient.low
    assert noise.coefficient.low < 0 < noise.coefficient.high
    assert (none.covers, none.coefficient.note) == (0, "covers none")
    known = np.array(stars[1:])
    covered = matrix[0, 1:] == 1
    assert bad.stars.value == pytest.approx(known[covered].mean() - known[~covered].mean())
    assert (found.rated, bad.stars.units) == (199, 199)


def test_a_matrix_of_anything_else_is_refused() -> None:
    for wrong in ([[2]], [1, 0], [[0.5]]):
        with pytest.raises(ValueError, match="coverage matrix"):
            coverage_estimate(wrong)
