"""The split with judges against the mean squares of statsmodels' analysis of variance."""

from __future__ import annotations

import numpy as np
import pytest

from pmbench.stats.variance_parts import variance_parts

formula_api = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")


def scores(n: int, samples: int, judges: int) -> np.ndarray:
    generator = np.random.default_rng(n)
    return np.asarray(
        generator.normal(0, 1.0, (n, 1, 1))
        + generator.normal(0, 0.7, (n, samples, 1))
        + generator.normal(0, 0.8, (1, 1, judges))
        + generator.normal(0, 0.6, (n, 1, judges))
        + generator.normal(0, 0.5, (n, samples, judges))
    )


def mean_squares(table: np.ndarray, formula: str) -> dict[str, float]:
    """By term of the formula, of the factors i, s and j."""
    import pandas
    from statsmodels.stats.anova import anova_lm

    places = np.indices(table.shape).reshape(3, -1)
    rows = pandas.DataFrame({"y": table.ravel(), **dict(zip("isj", places, strict=True))})
    found = anova_lm(formula_api.ols(formula, rows).fit(), typ=1)
    return dict(found["mean_sq"])


def test_samples_and_judges() -> None:
    """Expected mean squares of the module, solved."""
    table = scores(12, 3, 4)
    n, samples, judges = table.shape
    squares = mean_squares(table, "y ~ C(i) + C(i):C(s) + C(j) + C(i):C(j)")
    rest, crossed, within = squares["Residual"], squares["C(i):C(j)"], squares["C(i):C(s)"]
    found = variance_parts(table)
    assert found.below_zero == ()
    assert found.rest == pytest.approx(rest)
    assert found.instance_judge == pytest.approx((crossed - rest) / samples)
    assert found.sample == pytest.approx((within - rest) / judges)
    assert found.judge == pytest.approx((squares["C(j)"] - crossed) / (n * samples))
    assert found.instance == pytest.approx((squares["C(i)"] - within - crossed + rest) / (samples * judges))


def test_one_sample() -> None:
    table = scores(15, 1, 3)
    squares = mean_squares(table, "y ~ C(i) + C(j)")
    found = variance_parts(table)
    assert found.instance_judge == pytest.approx(squares["Residual"])
    assert found.judge == pytest.approx(max(0.0, squares["C(j)"] - squares["Residual"]) / 15)
    assert found.instance == pytest.approx((squares["C(i)"] - squares["Residual"]) / 3)
    assert set(found.shares()) == {"instance", "judge", "instance_judge"}
