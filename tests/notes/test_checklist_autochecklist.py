"""The same judge answers give the same numbers as AutoChecklist, but for answers that are missing.

AutoChecklist's own numbers stand in `given_judge_answers`; where the package is installed they are computed again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from given_judge_answers import CASES, Answers, Expected

from pmbench_tasks.notes.aggregates import by_category, normalised_rate, pass_rate, weighted_rate, yes_share
from pmbench_tasks.notes.checklist import autochecklist_json, own_checklist, read_checklist

CASE = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


class Judge:
    """A client of AutoChecklist that gives these answers."""

    def __init__(self, answers: Answers, indices: list[int]) -> None:
        self.answers, self.indices = answers, indices
        self.asked = 0

    def supports_logprobs(self, model: str) -> bool:
        return True

    def chat_completion(self, **request: Any) -> dict[str, Any]:
        given = [
            {"question_index": number, "answer": "YES" if self.answers.met[index] else "NO"}
            for number, index in enumerate(self.indices, 1)
            if self.answers.met[index] is not None
        ]
        return {"choices": [{"message": {"content": json.dumps({"answers": given})}}]}

    def get_logprobs(self, **request: Any) -> dict[str, float]:
        yes, no = self.answers.probabilities[self.indices[self.asked]]
        self.asked += 1
        return {"yes": yes, "no": no}


def theirs(answers: Answers) -> Expected:
    """What the installed AutoChecklist makes of the answers."""
    package = pytest.importorskip("autochecklist", reason="autochecklist is not installed")
    models = pytest.importorskip("autochecklist.models")
    items = [
        models.ChecklistItem(id=str(index), question=f"Is {index}?", weight=weight, category=category or None)
        for index, (weight, category) in enumerate(zip(answers.weights, answers.categories, strict=True))
    ]
    whole = models.Checklist(items=items, source_method="feedback", generation_level="corpus")

    def scored(checklist: Any, **more: Any) -> Any:
        judge = Judge(answers, [int(item.id) for item in checklist.items])
        return package.ChecklistScorer(client=judge, model="given", **more).score(checklist, target="note")

    batch = scored(whole, mode="batch")
    grouped = models.GroupedScore(
        scores={name: scored(part, mode="batch") for name, part in whole.by_category().items()}
    )
    likely = scored(whole, mode="item", use_logprobs=True)
    return Expected(
        batch.pass_rate,
        batch.weighted_score,
        likely.normalized_score,
        grouped.pass_rate,
        grouped.micro_pass_rate,
    )


def shares(answers: Answers) -> list[float | None]:
    return [yes_share(yes, no) for yes, no in answers.probabilities]


@CASE
def test_the_expected_numbers_are_those_of_the_package(case: Answers) -> None:
    assert theirs(case) == pytest.approx(case.expected)


@CASE
def test_missing_answers_read_as_no_give_the_numbers_of_autochecklist(case: Answers) -> None:
    grouped = by_category(case.met, case.categories, missing="no")
    assert pass_rate(case.met, missing="no") == pytest.approx(case.expected.passed)
    assert weighted_rate(case.met, case.weights, missing="no") == pytest.approx(case.expected.weighted)
    assert normalised_rate(shares(case)) == pytest.approx(case.expected.normalised)
    assert grouped.macro == pytest.approx(case.expected.macro)
    assert grouped.micro == pytest.approx(case.expected.micro)


def test_a_missing_answer_is_not_a_no() -> None:
    case = CASES["two missing"]
    assert case.expected.passed == 3 / 6
    assert pass_rate(case.met) == 3 / 4
    assert pass_rate(case.met, missing="yes") == 5 / 6
    assert case.expected.weighted == pytest.approx(220 / 410)
    assert weighted_rate(case.met, case.weights) == pytest.approx(220 / 260)
    assert weighted_rate(case.met, case.weights, missing="yes") == pytest.approx(370 / 410)
    grouped = by_category(case.met, case.categories)
    assert grouped.macro == pytest.approx((1 + 2 / 3) / 2)
    assert grouped.without == ("",)
    assert case.expected.macro == pytest.approx((1 / 2 + 2 / 3 + 0) / 3)


def test_what_a_model_gave_no_probability_to_is_missing_and_not_a_half() -> None:
    assert yes_share(0.0, 0.0) is None
    assert yes_share(1e-11, 0.0) is None
    assert normalised_rate([0.9, None]) == 0.9
    assert normalised_rate([None]) is None


def test_its_yes_needs_more_than_a_half_of_the_probability() -> None:
    """So its pass rate from probabilities is not that of the likelier answers."""
    package = pytest.importorskip("autochecklist", reason="autochecklist is not installed")
    scorer = package.ChecklistScorer(mode="item", client=Judge(CASES["all answered"], []), model="given")
    said = [scorer._confidence_to_level(share)[0].value for share in (0.5, 0.59, 0.6)]
    assert said == ["no", "no", "yes"]


@pytest.mark.parametrize("name", ["assessment-and-plan", "baseline"])
def test_autochecklist_loads_what_is_written_for_it(tmp_path: Path, name: str) -> None:
    ours = own_checklist(name)
    path = tmp_path / "checklist.json"
    path.write_text(autochecklist_json(ours), encoding="utf-8")
    again = read_checklist(path)
    assert (again.digest, again.name) == (ours.digest, ours.name)
    assert [item.source_feedback for item in again.items] == [item.source_feedback for item in ours.items]
    models = pytest.importorskip("autochecklist.models", reason="autochecklist is not installed")
    theirs = models.Checklist.load(str(path))
    assert [(item.id, item.question, item.weight, item.category) for item in theirs.items] == [
        (item.id, item.question, item.weight, item.category or None) for item in ours.items
    ]


def test_what_autochecklist_saves_is_read(tmp_path: Path) -> None:
    models = pytest.importorskip("autochecklist.models", reason="autochecklist is not installed")
    items = [
        models.ChecklistItem(question="Is the dose given?", metadata={"source_feedback_indices": [3, 7]}),
        models.ChecklistItem(question="Is there a follow-up?", weight=40, category="follow-up"),
    ]
    path = tmp_path / "saved.json"
    models.Checklist(items=items, source_method="feedback", generation_level="corpus").save(str(path))
    read = read_checklist(path)
    assert [item.id for item in read.items] == [item.id for item in items]
    assert [item.weight for item in read.items] == [100, 40]
    assert [item.category for item in read.items] == ["", "follow-up"]
    assert read.items[0].source_feedback == ("3", "7")
    assert (read.name, read.scale, read.section) == ("saved", "yes-no", "")
