"""What `pmbench.stats` offers by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import pmbench.stats
from pmbench.core.errors import UserError
from pmbench.stats import randomisation_test

_ROOT = Path(__file__).resolve().parents[2]
_CASES = Path(os.environ.get("PMBENCH_SHARED", _ROOT.parent / "shared")) / "conformance/statistics.json"

Floats = np.ndarray


def f1(sums: Floats) -> Floats:
    return 2 * sums[..., 0] / (2 * sums[..., 0] + sums[..., 1] + sums[..., 2])


def mean(sums: Floats) -> Floats:
    return sums[..., 0] / sums[..., 1]


def with_count(values: Floats) -> Floats:
    return np.stack([values, np.ones(len(values))], axis=1)


@pytest.mark.skipif(not _CASES.exists(), reason="the conformance data are not beside the repository")
def test_conformance_of_the_randomisation_test() -> None:
    cases = json.loads(_CASES.read_text())["randomisation"]
    assert cases
    for case in cases:
        one, other = case["f1"], case["mean"]
        found = randomisation_test(one["a"], one["b"], case["clusters"], f1)
        assert found == pytest.approx((one["difference"], one["p"]), abs=1e-12)
        a, b = (with_count(np.array(other[name], dtype=float)) for name in "ab")
        found = randomisation_test(a, b, case["clusters"], mean)
        assert found == pytest.approx((other["difference"], other["p"]), abs=1e-12)


def test_every_name_is_there_and_nothing_is_loaded_before_it_is_asked_for() -> None:
    for name in pmbench.stats.__all__:
        assert callable(getattr(pmbench.stats, name))
    code = "import sys, pmbench.stats; print('numpy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
    with pytest.raises(AttributeError, match="no_such_test"):
        pmbench.stats.no_such_test  # noqa: B018


def test_exact_up_to_fourteen_clusters_and_drawn_beyond() -> None:
    generator = np.random.default_rng(0)
    a, b = with_count(generator.normal(0.4, 1, 15)), with_count(generator.normal(0, 1, 15))
    for n in (14, 15):
        difference, p = randomisation_test(a[:n], b[:n], list(range(n)), mean, resamples=999, seed=1)
        theirs = scipy.stats.permutation_test(
            (a[:n, 0] - b[:n, 0],), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert difference == pytest.approx(theirs.statistic)
        if n == 14:
            assert p == pytest.approx(theirs.pvalue, abs=1e-12)
        else:
            assert p == pytest.approx(theirs.pvalue, abs=0.05)
            assert p * 1000 == pytest.approx(round(p * 1000), abs=1e-9)  # (1 + hits) / (1 + resamples)


def test_ties_count_as_hits() -> None:
    """All of 0.1 apart, but for rounding: only none or all swapped is as extreme, 2 of 2^7."""
    a, b = np.array([0.1, 0.2, 0.3, 0.4, 0.7, 0.6, 1.1]), np.array([0.0, 0.1, 0.2, 0.3, 0.6, 0.5, 1.0])
    assert randomisation_test(with_count(a), with_count(b), range(7), mean)[1] == 2 / 128


def test_order_of_rows_and_of_systems_changes_nothing() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.integers(0, 9, (2, 60, 3)).astype(float)
    clusters = generator.integers(0, 25, 60)
    found = randomisation_test(a, b, clusters, f1, resamples=500)
    places = generator.permutation(60)
    shuffled = randomisation_test(a[places], b[places], clusters[places].tolist(), f1, resamples=500)
    assert shuffled == pytest.approx(found, abs=1e-14)
    swapped = randomisation_test(b, a, clusters, f1, resamples=500)
    assert swapped == pytest.approx((-found[0], found[1]), abs=1e-14)


@pytest.mark.parametrize("error", [ValueError, UserError])
def test_nan_is_refused_with_its_row(error: type[Exception]) -> None:
    good = with_count(np.arange(5.0))
    bad = good.copy()
    bad[3, 0] = np.nan
    with pytest.raises(error, match=r"stats_b: NaN in row 3, column 0"):
        randomisation_test(good, bad, range(5), mean)
    bad[3, 0] = np.inf
    with pytest.raises(error, match=r"stats_a: an infinite number in row 3"):
        randomisation_test(bad, good, range(5), mean)


def test_what_cannot_be_compared_is_refused() -> None:
    good = with_count(np.arange(5.0))
    with pytest.raises(ValueError, match="shapes"):
        randomisation_test(good, good[:4], range(5), mean)
    with pytest.raises(ValueError, match="labels"):
        randomisation_test(good, good, range(4), mean)
    with pytest.raises(ValueError, match="no value"):
        randomisation_test(good * [1, 0], good, range(5), mean)
    with pytest.raises(ValueError, match="shape"):
        randomisation_test(good, good, range(5), lambda sums: sums)
    with pytest.raises(ValueError, match="no rows"):
        randomisation_test(good[:0], good[:0], [], mean)
    with pytest.raises(ValueError, match="resamples"):
        randomisation_test(good, good, range(5), mean, resamples=0)


def test_what_is_no_table_of_numbers_is_refused() -> None:
    good = with_count(np.arange(5.0))
    with pytest.raises(ValueError, match="stats_a: not a table of numbers"):
        randomisation_test([["a", "b"]], good, range(5), mean)
    with pytest.raises(ValueError, match=r"stats_b: an array of shape \(5, 2, 1\)"):
        randomisation_test(good, good[..., None], range(5), mean)
    alone = np.arange(5.0)  # one statistic: a sum that is compared as it is
    assert randomisation_test(alone, alone + 1, range(5), lambda sums: sums[..., 0]) == (-5, 2 / 32)


def test_equal_systems_have_p_1() -> None:
    table = with_count(np.arange(40.0))
    assert randomisation_test(table, table, range(40), mean, resamples=200) == (0, 1)
