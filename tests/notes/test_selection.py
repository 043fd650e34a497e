"""Coverage, diversity, objective, selection and duplicates: conformance cases, sets of Python, scipy, networkx."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import pdist, squareform

from pmbench_tasks.notes import coverage, diversity, duplicate_clusters, objective, select
from pmbench_tasks.notes.selection import alpha_curve, objective_curve
from pmbench_tasks.notes.subset_search import Covering, beam_search, exhaustive

_SHARED = Path(os.environ.get("PMBENCH_SHARED", Path(__file__).parents[3] / "shared"))
_CASES = _SHARED / "conformance/checklist.json"


def conformance(kind: str) -> list[dict[str, Any]]:
    if not _CASES.is_file():
        pytest.skip(f"no conformance data: {_CASES} is absent (PMBENCH_SHARED says where the folder is)")
    found: list[dict[str, Any]] = json.loads(_CASES.read_text(encoding="utf-8"))[kind]
    assert found
    return found


def matrices(most: int, items: int = 8) -> st.SearchStrategy[Any]:
    return st.tuples(st.integers(1, most), st.integers(1, items)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.integers(0, 1))
    )


def plain_objective(matrix: list[list[int]], chosen: tuple[int, ...], alpha: float, penalty: float) -> float:
    """The formulas of the paper's appendix with sets of Python."""
    sets = [{j for j, cell in enumerate(matrix[i]) if cell} for i in chosen]
    share = len(set().union(*sets)) / len(matrix[0])
    own = []
    for i, one in enumerate(sets):
        others = [
            len(one & other) / len(one | other) if one | other else 0.0
            for j, other in enumerate(sets)
            if j != i
        ]
        own.append(1 - sum(others) / len(others) if others else 1.0)
    return alpha * share + (1 - alpha) * sum(own) / len(own) - penalty * len(chosen)


def searched(
    matrix: list[list[int]], size: int | None, alpha: float, penalty: float
) -> tuple[float, list[int]]:
    """The best subset among all, smallest and first where tied."""
    sizes = range(1, len(matrix) + 1) if size is None else [size]
    subsets = [s for k in sizes for s in itertools.combinations(range(len(matrix)), k)]
    worth = {subset: round(plain_objective(matrix, subset, alpha, penalty), 10) for subset in subsets}
    best = min(subsets, key=lambda subset: (-worth[subset], len(subset), subset))
    return worth[best], list(best)


def test_every_conformance_case_of_selection() -> None:
    for case in conformance("selection"):
        matrix = case["matrix"]
        assert coverage(matrix) == pytest.approx(case["coverage"], abs=1e-12)
        assert diversity(matrix) == pytest.approx(case["diversity"], abs=1e-12)
        assert objective(matrix) == pytest.approx(case["objective"], abs=1e-12)
        best = [matrix[index] for index in select(matrix)]
        assert objective(best) == pytest.approx(case["best_objective"], abs=1e-12)


def test_every_conformance_case_of_duplicates() -> None:
    for case in conformance("deduplication"):
        assert duplicate_clusters(case["similarity"]) == case["clusters"]


def test_a_worked_example() -> None:
    matrix = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    assert coverage(matrix) == 3 / 4
    # Similarities 1/3, 0, 0: diversities 1 - 1/6, 1 - 1/6, 1.
    assert diversity(matrix) == pytest.approx((5 / 6 + 5 / 6 + 1) / 3)
    assert objective(matrix) == pytest.approx(0.5 * 0.75 + 0.5 * 8 / 9 - 0.0015)
    assert objective(matrix, alpha=1, penalty=0) == 3 / 4
    assert objective(matrix, alpha=0, penalty=0.1) == pytest.approx(8 / 9 - 0.3)


def test_coverage_is_a_share_and_not_the_sum_of_the_matrix() -> None:
    matrix = [[1, 1, 0], [1, 1, 0]]
    assert np.sum(matrix) / 3 > 1
    assert coverage(matrix) == 2 / 3


@settings(deadline=None)
@given(matrices(7))
def test_jaccard_is_that_of_scipy(matrix: Any) -> None:
    if len(matrix) > 1:
        similar = 1 - squareform(pdist(matrix.astype(bool), "jaccard"))
        similar[~matrix.any(axis=1)] = 0  # scipy has two empty sets alike
        similar[:, ~matrix.any(axis=1)] = 0
        np.fill_diagonal(similar, 0)
        expected = 1 - similar.sum(axis=1).mean() / (len(matrix) - 1)
        assert diversity(matrix) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(matrices(6), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.sampled_from([0.0, 0.0005, 0.05]))
def test_up_to_twelve_questions_the_best_subset_is_found(matrix: Any, alpha: float, penalty: float) -> None:
    rows = matrix.tolist()
    worth, best = searched(rows, None, alpha, penalty)
    found = select(matrix, alpha=alpha, penalty=penalty)
    assert objective([rows[index] for index in found], alpha, penalty) == pytest.approx(worth, abs=1e-9)
    assert found == best
    for size in range(1, len(rows) + 1):
        assert select(matrix, size, alpha, penalty) == searched(rows, size, alpha, penalty)[1]


def test_exact_on_twelve_questions() -> None:
    random = np.random.default_rng(3)
    for density in (0.1, 0.3):
        rows = (random.random((12, 40)) < density).astype(int).tolist()
        worth, best = searched(rows, None, 0.5, 0.0005)
        assert select(rows) == best
        assert objective([rows[index] for index in best]) == pytest.approx(worth, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(matrices(9, 12))
def test_beam_search_never_claims_more_than_the_best(matrix: Any) -> None:
    covering = Covering(matrix == 1)
    exact, beam = exhaustive(covering, 0.5, 0.0005), beam_search(covering, 0.5, 0.0005)
    for best, found in zip(exact, beam, strict=True):
        assert found.objective <= best.objective + 1e-9
        assert found.objective == pytest.approx(objective(matrix[list(found.indices)]))
        assert len(set(found.indices)) == len(best.indices)
    # Of one question all are looked at, and of all questions there is one subset.
    assert (beam[0], beam[-1]) == (exact[0], exact[-1])


def test_a_beam_as_wide_as_all_subsets_is_exact() -> None:
    matrix = np.random.default_rng(5).random((8, 20)) < 0.3
    covering = Covering(matrix)
    wide = beam_search(covering, 0.5, 0.0005, width=100)
    assert [one.indices for one in wide] == [one.indices for one in exhaustive(covering, 0.5, 0.0005)]


def test_many_questions_go_through_beam_search_and_find_what_was_planted() -> None:
    """Fifteen questions that share out the feedback, among sixty that repeat parts of what they cover."""
    random = np.random.default_rng(7)
    planted = np.kron(np.eye(15, dtype=int), np.ones((1, 10), dtype=int))
    rest = np.array([planted[random.integers(15)] * (random.random(150) < 0.6) for _ in range(60)])
    order = random.permutation(75)
    matrix = np.vstack([planted, rest])[order]
    found = select(matrix)
    assert found == sorted(np.flatnonzero(order < 15).tolist())
    assert (coverage(matrix[found]), diversity(matrix[found])) == (1, 1)
    assert select(matrix, 4) == select(matrix, 4)
    assert len(select(matrix, 20)) == 20


def test_ties_are_settled_by_size_and_then_by_place() -> None:
    same = [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert select(same, penalty=0) == [0, 2]
    assert select(np.zeros((13, 4)), 3) == [0, 1, 2]
    assert select(np.zeros((12, 4)), 3) == [0, 1, 2]
    assert select([[0, 0], [0, 0]]) == [0]


def test_feedback_in_another_order_changes_nothing() -> None:
    random = np.random.default_rng(11)
    matrix = random.random((20, 50)) < 0.2
    assert select(matrix) == select(matrix[:, random.permutation(50)])


def test_the_curve_over_sizes_has_the_best_of_each() -> None:
    matrix = (np.random.default_rng(2).random((6, 15)) < 0.3).astype(int)
    curve = objective_curve(matrix)
    assert curve.size.tolist() == [1, 2, 3, 4, 5, 6]
    for size, worth, share, diverse, indices in zip(*curve, strict=True):
        rows = matrix[list(indices)]
        assert list(indices) == select(matrix, int(size))
        assert (worth, share, diverse) == pytest.approx((objective(rows), coverage(rows), diversity(rows)))
    assert select(matrix) == list(curve.indices[int(curve.objective.argmax())])


def test_the_curve_over_alpha_goes_from_diversity_to_coverage() -> None:
    matrix = np.random.default_rng(4).random((10, 30)) < 0.25
    curve = alpha_curve(matrix)
    assert curve.alpha.tolist() == pytest.approx([step / 10 for step in range(11)])
    assert (np.diff(curve.coverage - curve.diversity) >= -1e-9).all()
    assert curve.size[0] == 1
    assert curve.coverage[-1] == coverage(matrix[select(matrix, alpha=1)])
    assert alpha_curve(matrix, [0.5], size=3).size.tolist() == [3]


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([], "two dimensions"),
        ([[]], "no feedback"),
        (np.zeros((0, 3)), "no questions"),
        ([[0, 2]], "zeros and ones"),
        ([[0.5, 1]], "zeros and ones"),
        ([[0, float("nan")]], "zeros and ones"),
        ([[0, 1], [1]], "rows of one length"),
        ([0, 1], "two dimensions"),
        ([["a"]], "rows of one length"),
    ],
)
def test_what_is_no_coverage_matrix_is_refused(matrix: Any, said: str) -> None:
    for function in (objective, select):
        with pytest.raises(ValueError, match=said):
            function(matrix)


def test_no_questions_cover_nothing() -> None:
    assert coverage(np.zeros((0, 3))) == 0


@pytest.mark.parametrize("size", [0, -1, 3])
def test_a_size_that_cannot_be_is_refused(size: int) -> None:
    for function in (lambda: select([[1], [0]], size), lambda: alpha_curve([[1], [0]], size=size)):
        with pytest.raises(ValueError, match="from 1 to 2"):
            function()


@pytest.mark.parametrize(("alpha", "penalty"), [(-0.1, 0), (1.1, 0), (float("nan"), 0), (0.5, float("inf"))])
def test_weights_that_cannot_be_are_refused(alpha: float, penalty: float) -> None:
    with pytest.raises(ValueError, match=r"alpha|penalty"):
        objective([[1]], alpha, penalty)


def test_duplicates_are_joined_through_others_and_at_the_threshold() -> None:
    chain = np.eye(4)
    for i, j in ((0, 2), (2, 3)):
        chain[i, j] = chain[j, i] = 0.85
    assert duplicate_clusters(chain) == [[0, 2, 3], [1]]
    assert duplicate_clusters(chain, 0.851) == [[0], [1], [2], [3]]
    assert duplicate_clusters(np.zeros((3, 3))) == [[0], [1], [2]]
    assert duplicate_clusters([]) == []
    assert duplicate_clusters([[1]]) == [[0]]


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_duplicates_are_the_components_of_networkx(number: int, seed: int) -> None:
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    drawn = np.random.default_rng(seed).random((number, number))
    similarity = (drawn + drawn.T) / 2
    graph = networkx.Graph()
    graph.add_nodes_from(range(number))
    graph.add_edges_from(zip(*np.nonzero(similarity >= 0.7), strict=True))
    expected = sorted(sorted(map(int, part)) for part in networkx.connected_components(graph))
    assert duplicate_clusters(similarity, 0.7) == expected


@pytest.mark.parametrize(
    "similarity", [[[1, 0.9]], [[1, 0.9], [0.1, 1]], [[1, float("nan")], [float("nan"), 1]], [1, 2]]
)
def test_what_is_no_similarity_matrix_is_refused(similarity: Any) -> None:
    with pytest.raises(ValueError, match="similarities"):
        duplicate_clusters(similarity)


def test_importing_the_family_does_not_import_numpy() -> None:
    import subprocess
    import sys

    code = "import sys, pmbench_tasks.notes, pmbench_tasks.notes.checklist; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
