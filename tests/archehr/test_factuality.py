"""Counts of citations, evidence and links by the rules of 2025 and 2026."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench_tasks.archehr.alignment import alignment_counts
from pmbench_tasks.archehr.cases import AnswerSentence
from pmbench_tasks.archehr.factuality import Counts, counts_2025, counts_2026, counts_links, prf, total
from pmbench_tasks.archehr.key_citations import official_2026_characters

LABELS = {"1": "essential", "2": "essential", "3": "supplementary", "4": "supplementary", "5": "not-relevant"}


def test_strict_and_lenient_of_2025() -> None:
    found = counts_2025(LABELS, ["1", "3", "5", "x"])
    assert found == {"strict": Counts(1, 3, 1), "lenient": Counts(2, 2, 2)}
    # What is supplementary and not cited is missed: recall can be lower than strict.
    assert counts_2025(LABELS, ["1", "2"]) == {"strict": Counts(2, 0, 0), "lenient": Counts(2, 0, 2)}


def test_lenient_of_2026_does_not_look_at_supplementary_sentences() -> None:
    found = counts_2026(LABELS, ["1", "3", "5"])
    assert found == {"strict": Counts(1, 2, 1), "lenient": Counts(1, 1, 1)}
    assert counts_2026(LABELS, ["3", "4"])["lenient"] == Counts(0, 0, 2)


def test_a_citation_counts_once() -> None:
    assert counts_2025(LABELS, ["1", "1", "1"])["strict"] == Counts(1, 0, 1)


@pytest.mark.parametrize(
    ("counts", "rounded"),
    [
        # What the worked examples on the shared task's page come to, evidence and alignment, with the digits there.
        (Counts(1, 0, 1), (1.0, 0.5, 0.67)),
        (Counts(1, 1, 0), (0.5, 1.0, 0.67)),
        (Counts(3, 1, 2), (0.75, 0.6, 0.67)),
    ],
)
def test_worked_examples(counts: Counts, rounded: tuple[float, float, float]) -> None:
    assert tuple(round(value, 2) for value in prf(*counts)) == rounded


def test_links_are_pairs() -> None:
    predicted = {"1": ["1"], "2": ["5", "6"], "3": ["7"]}
    cited = {"1": ("1",), "2": ("5", "6", "7"), "3": ("8",), "4": ()}
    assert counts_links(predicted, cited) == Counts(3, 1, 2)


def test_a_key_with_text_for_citations_is_read_as_meant_and_as_the_official_scorer_does() -> None:
    # Of `"1,12"` the official scorer takes the characters: a perfect answer has F1 0.4.
    sentences = [
        AnswerSentence("1", "A.", ("1", "12"), official_2026_characters("1,12")),
        AnswerSentence("2", "B.", (), official_2026_characters("")),
    ]
    found = alignment_counts(sentences, {"1": ["1", "12"], "2": []})
    assert found == {"": Counts(2, 0, 0), "official_": Counts(1, 1, 2)}
    assert prf(*found["official_"]).f1 == pytest.approx(0.4)


def test_a_key_with_lists_is_read_alike() -> None:
    sentences = [AnswerSentence("1", "A.", ("1", "12"), official_2026_characters(["1", "12"]))]
    found = alignment_counts(sentences, {"1": ["12", "3"]})
    assert found[""] == found["official_"] == Counts(1, 1, 1)
    assert "official_" not in alignment_counts([AnswerSentence("1", "A.", ("1",))], {"1": ["1"]})


@pytest.mark.parametrize(
    ("counts", "of_2025", "of_2026"),
    [
        (Counts(0, 0, 0), (0, 0, 0), (1, 1, 1)),
        (Counts(0, 2, 0), (0, 0, 0), (0, 0, 0)),
        (Counts(0, 0, 2), (0, 0, 0), (0, 0, 0)),
        (Counts(0, 2, 2), (0, 0, 0), (0, 0, 0)),
    ],
)
def test_nothing_of_nothing(counts: Counts, of_2025: tuple[int, ...], of_2026: tuple[int, ...]) -> None:
    assert prf(*counts) == of_2025
    assert prf(*counts, empty=1) == of_2026


def test_micro_is_of_the_sums() -> None:
    cases = [Counts(3, 1, 0), Counts(0, 2, 4)]
    assert total(cases) == Counts(3, 3, 4)
    assert prf(*total(cases)).precision == 0.5


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)), st.sampled_from([0.0, 1.0]))
def test_f1_is_the_harmonic_mean_that_the_official_scorer_writes(
    picked: set[int], gold: set[int], empty: float
) -> None:
    labels = {str(one): "essential" for one in gold}
    found = prf(*counts_2025(labels, [str(one) for one in picked])["strict"], empty=empty)
    if not picked and not gold:
        assert found == (empty, empty, empty)
        return
    precision = Fraction(len(picked & gold), len(picked)) if picked else Fraction(0)
    recall = Fraction(len(picked & gold), len(gold)) if gold else Fraction(0)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else Fraction(0)
    assert found == pytest.approx((float(precision), float(recall), float(f1)))
