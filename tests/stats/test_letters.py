"""Letters under a table: every case of the conformance data, brute force, and what a reader relies on."""

from __future__ import annotations

import json
import os
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench.core.errors import UserError
from pmbench.stats import compact_letters
from pmbench.stats.letters import different_pairs

_ROOT = Path(__file__).resolve().parents[2]
_CASES = Path(os.environ.get("PMBENCH_SHARED", _ROOT.parent / "shared")) / "conformance/statistics.json"


@pytest.mark.skipif(not _CASES.exists(), reason="the conformance data are not beside the repository")
def test_conformance_of_letters() -> None:
    cases = json.loads(_CASES.read_text())["letters"]
    assert cases
    for case in cases:
        letters = compact_letters(case["systems"], case["different"])
        check_sharing(letters, [tuple(pair) for pair in case["different"]])
        assert len(set("".join(letters))) == case["fewest_letters"]


def check_sharing(letters: list[str], different: list[tuple[int, int]]) -> None:
    apart = {frozenset(pair) for pair in different}
    assert all(letters)
    for one, other in combinations(range(len(letters)), 2):
        assert bool(set(letters[one]) & set(letters[other])) == (frozenset((one, other)) not in apart)


def fewest_by_trying(n: int, different: list[tuple[int, int]]) -> int:
    """The smallest number of sets of systems that share exactly what they should, every choice tried."""
    apart = {frozenset(pair) for pair in different}
    together = {frozenset(pair) for pair in combinations(range(n), 2)} - apart
    sets = [
        set(one)
        for size in range(1, n + 1)
        for one in combinations(range(n), size)
        if not any(frozenset(pair) in apart for pair in combinations(one, 2))
    ]
    largest = [one for one in sets if not any(one < other for other in sets)]
    for number in range(1, len(largest) + 1):
        for chosen in combinations(largest, number):
            held = {frozenset(pair) for one in chosen for pair in combinations(one, 2)}
            if held >= together and set().union(*chosen) == set(range(n)):
                return number
    return 0


@settings(max_examples=150, deadline=None)
@given(n=st.integers(1, 6), data=st.data())
def test_as_few_letters_as_trying_every_choice(n: int, data: st.DataObject) -> None:
    pairs = list(combinations(range(n), 2))
    different = [pair for pair in pairs if data.draw(st.booleans())]
    letters = compact_letters(n, different)
    check_sharing(letters, different)
    assert len(set("".join(letters))) == fewest_by_trying(n, different)


def fewest_by_integer_programming(n: int, different: list[tuple[int, int]]) -> int:
    """The smallest cover by the largest sets, found by networkx, with scipy's solver of whole numbers."""
    graph = nx.complement(nx.Graph(different))
    graph.add_nodes_from(range(n))
    graph.add_edges_from((a, b) for a, b in combinations(range(n), 2) if (a, b) not in set(different))
    sets = [set(one) for one in nx.find_cliques(graph)]
    held = [[set(edge) <= one for one in sets] for edge in graph.edges]
    held += [[node in one for one in sets] for node in range(n)]
    found = scipy.optimize.milp(
        np.ones(len(sets)),
        constraints=scipy.optimize.LinearConstraint(np.array(held, dtype=float), lb=1),
        integrality=np.ones(len(sets)),
        bounds=scipy.optimize.Bounds(0, 1),
    )
    return round(found.fun)


@pytest.mark.parametrize("share", [0.2, 0.35, 0.5])
@pytest.mark.parametrize("n", [9, 12, 15])
def test_as_few_letters_as_integer_programming(n: int, share: float) -> None:
    """Differences in no order at all, where taking the largest sets first takes too many."""
    generator = np.random.default_rng(n)
    for _ in range(8):
        different = [pair for pair in combinations(range(n), 2) if generator.random() < share]
        letters = compact_letters(n, different)
        check_sharing(letters, different)
        assert len(set("".join(letters))) == fewest_by_integer_programming(n, different)


def test_insert_and_absorb_may_leave_a_letter_too_many() -> None:
    """Six systems in a ring of triangles: of the four largest sets the middle one is not needed."""
    together = {(0, 1), (0, 2), (1, 2), (1, 3), (1, 4), (3, 4), (2, 4), (2, 5), (4, 5)}
    different = [pair for pair in combinations(range(6), 2) if pair not in together]
    letters = compact_letters(6, different)
    check_sharing(letters, different)
    assert letters == ["a", "ab", "ac", "b", "bc", "c"]


def test_letters_come_in_the_order_of_the_table() -> None:
    """The worked example of overlapping groups: neighbours alike, the ends apart."""
    assert compact_letters(4, [(0, 2), (0, 3), (1, 3)]) == ["a", "ab", "bc", "c"]
    assert compact_letters(3, [(0, 1), (2, 0), (1, 2)]) == ["a", "b", "c"]
    assert compact_letters(3, []) == ["a", "a", "a"]
    assert compact_letters(1, []) == ["a"]
    assert compact_letters(0, []) == []


def test_more_groups_than_the_alphabet_has_letters() -> None:
    everything = list(combinations(range(80), 2))
    letters = compact_letters(80, everything)
    assert len(set(letters)) == 80
    assert all(len(letter) == 1 and letter.isalpha() for letter in letters)


@pytest.mark.parametrize("reach", [1, 3, 40])
def test_two_hundred_systems_in_order(reach: int) -> None:
    different = [pair for pair in combinations(range(200), 2) if pair[1] - pair[0] > reach]
    letters = compact_letters(200, different)
    check_sharing(letters, different)
    assert len(set("".join(letters))) == 200 - reach


def test_hostile_differences_still_have_right_letters() -> None:
    """Sixty systems in three camps, alike only across camps: 8,000 triangles to choose from."""
    different = [pair for pair in combinations(range(60), 2) if pair[0] % 3 == pair[1] % 3]
    letters = compact_letters(60, different)
    check_sharing(letters, different)


@pytest.mark.parametrize("pair", [(0, 0), (0, 3), (-1, 1), (0, 1, 2)])
def test_a_pair_that_is_none_is_refused(pair: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="of 3 systems"):
        compact_letters(3, [pair])


def test_pairs_that_differ() -> None:
    p = [((0, 1), 0.05), ((0, 2), 0.051), ((1, 2), float("nan"))]
    assert different_pairs(p) == [(0, 1)]
    assert different_pairs(p, alpha=0.06) == [(0, 1), (0, 2)]
