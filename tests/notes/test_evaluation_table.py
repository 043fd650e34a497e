"""Several checklists side by side: the comparison, its Markdown and its figures."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import numpy as np
import pytest

import pmbench_tasks.notes
from pmbench_tasks.notes.evaluation.answers import Answers
from pmbench_tasks.notes.evaluation.enforceability import UnitTest
from pmbench_tasks.notes.evaluation.evaluate import Comparison, Material, compare, evaluate
from pmbench_tasks.notes.evaluation.human import read_labels
from pmbench_tasks.notes.evaluation.intervals import Estimate, nothing
from pmbench_tasks.notes.evaluation.measures import measures
from pmbench_tasks.notes.evaluation.paired import holm
from pmbench_tasks.notes.evaluation.plots import alpha_plot, figures, length_plot
from pmbench_tasks.notes.evaluation.preferences import read_preferences
from pmbench_tasks.notes.evaluation.remarks import remarks
from pmbench_tasks.notes.evaluation.table import markdown, number, p_value, shown
from pmbench_tasks.notes.selection import alpha_curve, objective_curve

NAN = float("nan")
DEMO = Path(pmbench_tasks.notes.__file__).parent / "demo"


def material(name: str, *, seed: int, missing: float = 0.0) -> Material:
    """A checklist about which everything is known, of drawn answers; the labels' first three questions."""
    generator = np.random.default_rng(seed)
    pairs, labels = read_preferences(DEMO / "preferences.csv"), read_labels(DEMO / "labels.csv")
    questions = labels.questions[:3]

    def answers(notes: list[str], chance: float) -> Answers:
        met = (generator.random((len(notes), 3)) < chance).astype(float)
        met[generator.random(met.shape) < missing] = NAN
        return Answers(tuple(notes), questions, met)

    references = [f"visit-{number:02}/note" for number in range(1, 9)]
    drafts = sorted({note for pair in pairs for note in (pair.a, pair.b)})
    return Material(
        name=name,
        questions=questions,
        coverage=(generator.random((3, 80)) < 0.4).astype(float),
        stars=np.random.default_rng(9).choice([1.0, 2, 3, 4, 5], size=80).tolist(),
        embeddings=np.random.default_rng(8).normal(size=(80, 6)),
        reference=answers(references, 0.9),
        perturbed={kind: answers(references[:6], 0.4) for kind in ("delete_section", "paraphrase")},
        pairs=pairs,
        compared=answers(drafts, 0.7),
        unit_tests=[UnitTest(question, note, False) for question in questions for note in references[:4]],
        labels=labels,
        judged=answers(list(labels.notes), 0.8),
        runs=[answers(references, 0.9) for _ in range(2)],
        visits={note: note.split("/")[0] for note in [*references, *drafts]},
    )


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(
        [material("ours", seed=1, missing=0.1), material("base|line", seed=2)], resamples=200, splits=2
    )


def test_every_measure_of_the_table_is_there_with_an_interval(comparison: Comparison) -> None:
    found = {one.name: one for one in measures(comparison)}
    assert len(found) == 28
    for name, one in found.items():
        for value in one.estimates:
            assert value is not None, name
            assert value.value == value.value, name
            assert value.low <= value.value <= value.high, name
            assert value.unit and one.source, name
    assert found["coverage"].better == "higher"
    assert found["delta_paraphrase"].better == "near 0"
    assert found["intra_distance"].better == "lower"


def test_the_table_is_markdown_that_holds_together(comparison: Comparison) -> None:
    text = markdown(comparison, {"ours": {"ap01": "Is every | test found?"}})
    assert text.endswith("\n") and "nan" not in text
    width = 0
    for line in text.splitlines():
        if line.startswith("|"):
            cells = line.replace("\\|", "").count("|")
            width = width or cells
            assert cells == width, line
        else:
            width = 0
    for word in (
        "ap01: Is every \\| test found?",
        "base\\|line",
        "paraphrase (control)",
        "our reading",
        "missing}",
    ):
        assert word in text
    assert "ours: 3 of 3 questions are enforceable" in text


def test_p_values_of_contrasts_are_adjusted_over_all_of_them() -> None:
    three = compare(
        [material(name, seed=seed) for name, seed in (("a", 1), ("b", 2), ("c", 3))], resamples=50, splits=2
    )
    tests = {
        (one.first, one.second, name): (test.p, one.deltas.p_holm[name])
        for one in three.contrasts
        if one.deltas
        for name, test in one.deltas.by_perturbation.items()
    }
    assert len(tests) == 6
    assert [adjusted for _, adjusted in tests.values()] == pytest.approx(
        list(holm({str(key): p for key, (p, _) in tests.items()}).values())
    )


def test_what_is_not_given_is_not_computed() -> None:
    alone = compare([Material(name="a", questions=("q",), coverage=[[1, 0, 1]])])
    assert [one.name for one in measures(alone)] == ["coverage", "diversity"]
    text = markdown(alone)
    assert "Perturbations" not in text and "Preferences" not in text and "Differences" not in text
    assert figures(alone) == {}


def test_what_is_missing_or_redundant_is_remarked() -> None:
    notes = tuple(f"n{number}" for number in range(12))
    met = np.array([[1.0, 1, 1, number % 2, number % 2] for number in range(12)])
    reference = Answers(notes, ("a", "b", "c", "d", "e"), met)
    gone = Answers(notes[:2], reference.questions, np.full((2, 5), NAN))
    given = Material(
        name="ours",
        questions=reference.questions,
        coverage=[[1, NAN, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1]],
        embeddings=np.eye(3),
        reference=reference,
        perturbed={"delete_section": gone},
    )
    assert remarks(compare([given], resamples=50)) == [
        (
            "ours: answers of the coverage matrix that are missing: 1; feedback items with one are left out of "
            "coverage, diversity, distances and what is said of stars (2 remain)."
        ),
        (
            "ours: questions that cover fewer than two feedback items and have no intra-cluster distance: 3; "
            "that cover none and have no centroid: 1."
        ),
        (
            "ours: delete_section: 2 notes without a question answered before and after, 0 without a reference note, "
            "left out."
        ),
        "ours: answered alike for all notes, so that they tell none apart: a, b, c.",
        "ours: d and e have the same answer on all 12 notes that have both.",
    ]


def test_labels_of_other_questions_say_nothing_about_a_checklist() -> None:
    labels = read_labels(DEMO / "labels.csv")
    judged = Answers(labels.notes, ("b01",), np.ones((12, 1)))
    found = evaluate(Material(name="a", questions=("b01",), labels=labels, judged=judged))
    assert (found.judge, found.annotators) == (None, None)


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="other questions"):
        evaluate(Material(name="a", questions=("q",), reference=Answers(("n",), ("r",), np.ones((1, 1)))))
    with pytest.raises(ValueError, match="another number of questions"):
        evaluate(Material(name="a", questions=("q",), coverage=[[1], [0]]))
    one = Material(name="a", questions=("q",), coverage=[[1]])
    with pytest.raises(ValueError, match="one name"):
        compare([one, one])


def test_the_same_seed_gives_the_same_numbers_and_they_can_be_kept_as_json() -> None:
    first, second = (evaluate(material("a", seed=4), resamples=50, splits=2, seed=3) for _ in range(2))
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    assert msgspec.json.encode(
        evaluate(material("a", seed=4), resamples=50, splits=2, seed=5)
    ) != msgspec.json.encode(first)


def test_how_numbers_are_shown() -> None:
    def estimate(**more: float) -> Estimate:
        return Estimate(value=0.5, low=0.4, high=0.6, unit="note", units=80, resamples=9, **more)  # type: ignore[arg-type]

    assert shown(estimate()) == "0.500 [0.400, 0.600]"
    assert shown(estimate(missing=2, least=0.1, most=0.9), 1) == "0.5 [0.4, 0.6] {0.1 to 0.9; 2 missing}"
    assert shown(estimate(missing=2), 1) == "0.5 [0.4, 0.6] {2 missing}"
    assert shown(msgspec.structs.replace(estimate(), units=8), 1) == "0.5 [0.4, 0.6]†"
    assert shown(nothing("note", "no pairs", missing=3)) == "no pairs {3 missing}"
    assert shown(None) == "–"
    assert (p_value(0.0004), p_value(0.042), p_value(1.0), p_value(NAN)) == ("<.001", ".042", "1.000", "–")
    assert (number(-0.001, 2), number(-0.5, 1)) == ("0.00", "-0.5")


def test_figures_are_svg_and_the_same_each_time(comparison: Comparison) -> None:
    drawn = figures(comparison)
    assert sorted(drawn) == ["deltas.svg", "enforceability.svg", "preferences.svg", "reference.svg"]
    assert drawn == figures(comparison)
    matrix = (np.random.default_rng(0).random((5, 30)) < 0.3).astype(float)
    drawn["length.svg"] = length_plot({"ours": objective_curve(matrix)})
    drawn["alpha.svg"] = alpha_plot({"ours": alpha_curve(matrix)})
    for name, svg in drawn.items():
        assert ET.fromstring(svg).tag.endswith("svg"), name
    assert "paraphrase (control)" in drawn["deltas.svg"] and "base|line" in drawn["deltas.svg"]
    assert "ours: coverage" in drawn["alpha.svg"]


def test_plots_and_scikit_learn_are_imported_only_when_needed() -> None:
    code = (
        "import sys, pmbench_tasks.notes.evaluation.table, pmbench_tasks.notes.evaluation.plots\n"
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'sklearn', 'scipy.stats', 'torch')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
