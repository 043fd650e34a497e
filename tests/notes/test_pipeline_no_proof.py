"""What proves nothing is not counted as proof: empty rewritings, and choices that cover nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from given_stage_parts import Answering, Quiet, items, run

from pmbench import Completion, UserError
from pmbench_tasks.notes.answers import Answered
from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.pipeline.building import to_enforce
from pmbench_tasks.notes.pipeline.choosing import choose, nothing_covered
from pmbench_tasks.notes.pipeline.covering import Covering
from pmbench_tasks.notes.pipeline.enforcing import Reference, enforce
from pmbench_tasks.notes.pipeline.leaving import tests_told as told_of_tests
from pmbench_tasks.notes.pipeline.records import Candidate

AP = "assessment_and_plan"


class Judge:
    """Says yes to every text that has words."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, checklist: Checklist, transcript: str, section: str) -> list[Answered]:
        self.asked.append(section)
        return [Answered(item="q1", met=bool(section.strip()))]


def candidates(*questions: str) -> list[Candidate]:
    return [Candidate(f"p{n}", question, (f"f{n}",)) for n, question in enumerate(questions, 1)]


def references(*texts: str) -> list[Reference]:
    return [Reference(f"n{n}", f"said {n}", text) for n, text in enumerate(texts, 1)]


@pytest.mark.parametrize("rewritten", ["", "  ", "PLAN:", "..."])
def test_a_rewriting_that_deletes_everything_proves_nothing_of_the_question(rewritten: str) -> None:
    # A judge says no to an empty text, whatever it is asked.
    notes = references("text 1", "text 2")
    model = Answering(lambda _: json.dumps({"rewritten": rewritten}))
    judge = Judge()
    found = run(enforce(candidates("Is it so?"), notes, model, judge, section=AP, progress=Quiet()))
    (tested,) = found.tested
    assert (tested.passing, tested.judged, tested.rate, tested.not_rewritten) == (2, 0, None, 2)
    assert [one.why for one in tested.tests] == ["rewriting: empty"] * 2
    assert sorted(judge.asked) == ["text 1", "text 2"]  # not about what is no rewriting
    assert "the model rewrote none of its 2 passing notes (2 rewriting: empty)" in found.stage.dropped[0].why
    assert "not rewritten by the model, so no test: 2 notes" in told_of_tests(found)


def test_where_the_model_was_cut_off_the_advice_is_another_model_and_not_another_judge() -> None:
    model = Answering(lambda _: Completion('{"rewritten": "no', finish="length"))
    found = run(
        enforce(candidates("Is it so?"), references("a text"), model, Judge(), section=AP, progress=Quiet())
    )
    assert "was cut off" in to_enforce(found) and "--model" in to_enforce(found)
    assert "--judge" not in to_enforce(found)
    blind = Answering(lambda _: json.dumps({"rewritten": "as before"}))
    found = run(
        enforce(candidates("Is it so?"), references("a text"), blind, Judge(), section=AP, progress=Quiet())
    )
    assert "--judge" in to_enforce(found)


def test_what_only_size_leaves_out_is_told_so() -> None:
    told = candidates("Is one so?", "Is two so?", "Is three so?", "Is four so?")
    matrix = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], dtype=float)
    found = choose(told, Covering(matrix, tuple(items("a", "b", "c", "d", "e")), ()), size=1)
    assert [one.id for one in found.stage.kept] == ["p1"]
    assert [one.why for one in found.stage.dropped] == [
        "--size 1 leaves no room for it: without --size it would be chosen, with its 1 feedback item",
        "--size 1 leaves no room for it: without --size it would be chosen, with its 1 feedback item",
        "it covers no feedback",
    ]


def test_a_checklist_that_covers_no_feedback_is_said_to_be_one() -> None:
    told = Covering(np.zeros((2, 3)), tuple(items("a", "b", "c")), ())
    found = choose(candidates("Is one so?", "Is two so?"), told)
    with pytest.raises(UserError, match="NO FEEDBACK IS COVERED") as caught:
        nothing_covered(found, Path("grown.json"))
    assert caught.value.exit_status == 1 and "\n" not in str(caught.value)
    one = Covering(np.array([[0.0, 1, 0]]), tuple(items("a", "b", "c")), ())
    nothing_covered(choose(candidates("Is one so?"), one), Path("grown.json"))
