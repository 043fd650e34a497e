"""Holm, Benjamini and Hochberg, McNemar: worked cases, statsmodels and scipy."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from pmbench.stats.corrections import benjamini_hochberg, holm, mcnemar_exact

_ROOT = Path(__file__).resolve().parents[2]
_CASES = Path(os.environ.get("PMBENCH_SHARED", _ROOT.parent / "shared")) / "conformance/statistics.json"

conformance = pytest.mark.skipif(
    not _CASES.exists(), reason="the conformance data are not beside the repository"
)


def cases(name: str) -> list[dict[str, Any]]:
    found = list(json.loads(_CASES.read_text())[name])
    assert found
    return found


@conformance
def test_conformance_of_holm() -> None:
    for case in cases("holm"):
        assert holm(case["p"]) == pytest.approx(case["adjusted"], abs=1e-12)


@conformance
def test_conformance_of_mcnemar() -> None:
    for case in cases("mcnemar"):
        assert mcnemar_exact(case["b"], case["c"]) == pytest.approx(case["p"], rel=1e-12)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_statsmodels_adjusts_the_same(p: list[float]) -> None:
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist(), abs=1e-12)
    theirs = multipletests(p, method="fdr_bh")[1].tolist()
    assert benjamini_hochberg(p) == pytest.approx(theirs, abs=1e-12)


def test_benjamini_and_hochbergs_own_example() -> None:
    """The 15 p-values of their section 3.2 (thrombolysis), of which they reject the first four at 0.05."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324]
    p += [0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert sum(value <= 0.05 for value in benjamini_hochberg(p)) == 4
    assert sum(value <= 0.05 for value in holm(p)) == 3
    assert benjamini_hochberg([0.01, float("nan"), 0.04])[2] == 0.04


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12), st.randoms(use_true_random=False))
def test_adjusted_values_are_no_smaller_and_keep_their_order(p: list[float], order: Any) -> None:
    adjusted = holm(p)
    assert all(before <= after <= 1 for before, after in zip(p, adjusted, strict=True))
    places = list(range(len(p)))
    order.shuffle(places)
    assert holm([p[i] for i in places]) == [adjusted[i] for i in places]


def test_a_test_that_could_not_be_made_is_not_among_the_comparisons() -> None:
    nan = float("nan")
    adjusted = holm([0.01, nan, 0.04])
    assert adjusted[0] == 0.02
    assert adjusted[1] != adjusted[1]
    assert adjusted[2] == 0.04


@pytest.mark.parametrize("p", [-0.1, 1.01])
def test_holm_refuses_what_is_no_probability(p: float) -> None:
    with pytest.raises(ValueError, match="outside 0 to 1"):
        holm([0.5, p])
    with pytest.raises(ValueError, match="outside 0 to 1"):
        benjamini_hochberg([0.5, p])


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_the_binomial_test(b: int, c: int) -> None:
    expected = scipy.stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar_exact(b, c) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)


def test_mcnemar_of_thousands() -> None:
    assert mcnemar_exact(4900, 5100) == pytest.approx(scipy.stats.binomtest(4900, 10_000).pvalue, rel=1e-9)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 2)
    with pytest.raises(ValueError, match="whole number"):
        mcnemar_exact(1.5, 2)  # type: ignore[arg-type]
