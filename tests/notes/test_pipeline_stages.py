"""Single stages: what becomes of proposals, duplicates, tags, unit tests, coverage and choice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from given_stage_parts import Answering, BagOfWords, Quiet, entries, items, numbered, run

from pmbench import Completion, DataError, RequestFailed
from pmbench_tasks.notes import objective, select
from pmbench_tasks.notes.answers import Answered
from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.pipeline.choosing import choose
from pmbench_tasks.notes.pipeline.covering import Covering, assign
from pmbench_tasks.notes.pipeline.enforcing import Reference, enforce
from pmbench_tasks.notes.pipeline.merging import merge
from pmbench_tasks.notes.pipeline.plots import alpha_plot, size_plot
from pmbench_tasks.notes.pipeline.proposing import propose, propose_without_feedback, turn
from pmbench_tasks.notes.pipeline.records import Candidate
from pmbench_tasks.notes.pipeline.references import read_references
from pmbench_tasks.notes.pipeline.tagging import tag

AP = "assessment_and_plan"
FINE = {"yes_is_good": True, "reworded": ""}


def candidates(*questions: str) -> list[Candidate]:
    return [Candidate(f"p{n}", question, (f"f{n}",)) for n, question in enumerate(questions, 1)]


def proposing(most: int) -> Answering:
    """Proposes one question for all items of a batch; more than `most` are too long for it."""

    def answer(said: str) -> str | RequestFailed:
        if "Which way round" in said:
            return numbered(said, lambda _: FINE)
        there = entries(said)
        if len(there) > most:
            return RequestFailed("too-long")
        return json.dumps(
            {
                "questions": [
                    {"question": f"Is it so, as in {sorted(there.values())[0]}?", "feedback": list(there)}
                ]
            }
        )

    return Answering(answer)


def test_a_batch_that_is_too_long_is_shown_in_halves_and_nothing_is_lost() -> None:
    told = items(*(f"remark number {n}" for n in range(10)))
    model = proposing(3)
    found = run(propose(told, model, section=AP, progress=Quiet()))
    assert sorted(source for one in found.kept for source in one.sources) == sorted(one.id for one in told)
    assert not found.failures
    sizes = [len(entries(said)) for said in model.asked if "Which way round" not in said]
    assert sizes == [10, 5, 2, 3, 5, 2, 3]


def test_an_answer_that_was_cut_off_is_never_taken_in_part() -> None:
    def answer(said: str) -> str | Completion:
        if "Which way round" in said:
            return numbered(said, lambda _: FINE)
        there = entries(said)
        if len(there) > 1:
            return Completion(
                '{"questions": [{"question": "Is it short?", "feedback": [1]}, {"ques', finish="length"
            )
        return json.dumps({"questions": [{"question": "Is it short?", "feedback": [1]}]})

    found = run(
        propose(items("too long a note", "much too long"), Answering(answer), section=AP, progress=Quiet())
    )
    assert sorted(one.sources for one in found.kept) == [("f1",), ("f2",)]


def test_one_item_that_is_too_long_for_the_model_is_a_counted_failure() -> None:
    found = run(
        propose(items("remark one here", "remark two here"), proposing(0), section=AP, progress=Quiet())
    )
    assert found.kept == ()
    assert sorted((one.about, one.kind) for one in found.failures) == [
        (("f1",), "too-long"),
        (("f2",), "too-long"),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        "no JSON",
        '{"questions": "none"}',
        '{"questions": [{"question": "Is it so?"}]}',
        '{"questions": [{"question": "Is it so?", "feedback": [0]}]}',
        '{"questions": [{"question": "Is it so?", "feedback": [3]}]}',
        '{"questions": [{"question": "Is it so?", "feedback": [true]}]}',
        '{"questions": [{"question": 7, "feedback": [1]}]}',
        '{"questions": [' + ",".join(['{"question": "Is it so?", "feedback": [1]}'] * 61) + "]}",
    ],
)
def test_a_proposal_in_another_form_is_asked_for_again_three_times_at_most(wrong: str) -> None:
    model = Answering(lambda _: wrong)
    found = run(propose(items("remark one here", "remark two here"), model, section=AP, progress=Quiet()))
    assert found.kept == () and [one.kind for one in found.failures] == ["unreadable"]
    assert model.attempts == [0, 1, 2]
    assert "Answer again, with the JSON object only." in model.asked[1]


def test_the_seed_decides_the_batches_and_nothing_else_does() -> None:
    told = items(*(f"remark number {n}" for n in range(10)))

    def shown(seed: int) -> list[str]:
        model = proposing(99)
        run(propose(told, model, section=AP, batch=4, seed=seed, progress=Quiet()))
        return sorted(model.asked)

    assert shown(1) == shown(1) != shown(2)


def test_questions_are_turned_around_and_bad_ones_dropped_with_the_reason() -> None:
    told = {
        "Is anything repeated?": {"yes_is_good": False, "reworded": "Is the section free of repetition?"},
        "Is anything invented?": {"yes_is_good": False, "reworded": "What is invented?"},
        "Is it vague in any way?": {"yes_is_good": "hm"},
    }
    model = Answering(lambda said: numbered(said, lambda text: told.get(text, FINE)))
    found = run(
        turn(
            candidates(
                *told, "Is it short enough?", "How long is it?", "Is it long, short or N/A?", "It is short."
            ),
            model,
            section=AP,
            progress=Quiet(),
        )
    )
    assert [one.question for one in found.kept] == [
        "Is the section free of repetition?",
        "Is it short enough?",
    ]
    assert {one.id: one.why for one in found.dropped} == {
        "p2": "turned around, it cannot be answered yes or no: it is an open question",
        "p3": "the model did not say whether yes is the good answer (unreadable)",
        "p5": "it cannot be answered yes or no: it is an open question",
        "p6": 'it asks for "not applicable"',
        "p7": "it is a statement, not a question",
    }
    assert [one.about for one in found.failures] == [("p3",)]


def test_like_questions_become_one_with_the_feedback_of_all() -> None:
    told = candidates(
        "Is a dose given for every medicine?",
        "Is the plan easy to read?",
        "Is a dose given for each medicine?",
        "is a dose given for every medicine",
        "Is the follow-up visit named?",
    )
    model = Answering(lambda _: '{"question": "Does every medicine have its dose?"}')
    found = run(merge(told, model, BagOfWords(), section=AP, progress=Quiet()))
    assert [(one.question, one.sources, one.parents) for one in found.stage.kept] == [
        ("Does every medicine have its dose?", ("f1", "f4", "f3"), ("p1", "p4", "p3")),
        ("Is the plan easy to read?", ("f2",), ()),
        ("Is the follow-up visit named?", ("f5",), ()),
    ]
    assert len(model.asked) == 1 and len(entries(model.asked[0])) == 2


def test_where_the_common_wording_is_no_question_the_best_founded_one_stays() -> None:
    told = [
        Candidate("p1", "Is a dose given for every medicine?", ("f1",)),
        Candidate("p2", "Is a dose given for each medicine?", ("f2", "f3")),
    ]
    model = Answering(lambda _: '{"question": "Which doses are given?"}')
    found = run(merge(told, model, BagOfWords(), section=AP, progress=Quiet()))
    assert [one.question for one in found.stage.kept] == ["Is a dose given for each medicine?"]
    assert found.clusters[0].how == "first kept" and len(model.asked) == 3
    assert [one.kind for one in found.stage.failures] == ["unreadable"]


def test_what_is_close_to_a_question_that_is_there_is_dropped() -> None:
    there = [Candidate("x1", "Is a dose given for every medicine?")]
    told = candidates("Is a dose given for each medicine?", "Is the follow-up visit named?")
    found = run(
        merge(told, Answering(lambda _: ""), BagOfWords(), section=AP, existing=there, progress=Quiet())
    )
    assert [one.id for one in found.stage.kept] == ["p2"]
    assert [one.why for one in found.stage.dropped] == ["close to x1, which is there already"]


def test_tags_decide_and_no_tag_is_no_yes() -> None:
    tags = {"Is one so?": (True, True), "Is two so?": (False, True), "Is three so?": (False, False)}

    def entry(text: str) -> dict[str, object]:
        if text not in tags:
            return {"reason": "?"}
        return {"reason": "so", "every_visit": tags[text][0], "this_section_only": tags[text][1]}

    model = Answering(lambda said: numbered(said, entry))
    found = run(tag(candidates(*tags, "Is four so?"), model, section=AP, progress=Quiet()))
    assert [one.question for one in found.kept] == ["Is one so?"]
    assert [one.why for one in found.dropped] == [
        "it cannot be answered for every visit",
        "it cannot be answered for every visit and it needs another section of the note",
        "the model did not say whether it fits every visit (unreadable)",
    ]


class Judge:
    """Says yes unless the text has the word `no` (then no) or `hm` (then nothing), and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, checklist: Checklist, transcript: str, section: str) -> list[Answered]:
        self.asked.append(section)
        if "fails" in section:
            raise RequestFailed("server")
        met = None if "hm" in section else "no" not in section
        return [Answered(item="q1", met=met, why="" if met is not None else "unparsed")]


def references(*texts: str) -> list[Reference]:
    return [Reference(f"n{n}", f"said {n}", text) for n, text in enumerate(texts, 1)]


def test_the_rate_is_of_the_rewritten_notes_that_the_judge_sees_fail() -> None:
    # Of twelve reference notes nine pass, one fails, of one nothing is said, and one request fails.
    notes = references(*(f"text {n}" for n in range(9)), "no good", "hm", "it fails")
    rewritten = {f"text {n}": "no more" for n in range(6)} | {
        "text 6": "still there",
        "text 7": "hm",
        "text 8": "",
    }

    def answer(said: str) -> str:
        text = next(text for text in rewritten if f"<section>\n{text}\n</section>" in said)
        return json.dumps({"rewritten": rewritten[text] or text})

    judge, model = Judge(), Answering(answer)
    found = run(enforce(candidates("Is it so?"), notes, model, judge, section=AP, tests=10, progress=Quiet()))
    (tested,) = found.tested
    assert (tested.asked, tested.passing, tested.failing, tested.unanswered) == (12, 9, 1, 2)
    assert (len(tested.tests), tested.judged) == (9, 7) and tested.rate == pytest.approx(6 / 7)
    assert found.stage.kept and not found.stage.dropped
    assert sorted(one.kind for one in found.stage.failures) == [
        "judging: server",
        "judging: unparsed",
        "judging: unparsed",
        "rewriting: unchanged",  # three times the same text
    ]
    assert [one.outcome for one in tested.tests if not one.rewritten] == ["not rewritten"]
    assert sum("text 8" in said for said in model.asked) == 3


@pytest.mark.parametrize(("seen", "kept"), [(7, True), (6, False)])
def test_seven_of_ten_is_enough(seen: int, kept: bool) -> None:
    notes = references(*(f"text {n}" for n in range(12)))
    count = iter(range(99))
    model = Answering(lambda _: json.dumps({"rewritten": "no more" if next(count) < seen else "as before"}))
    judge = Judge()
    found = run(enforce(candidates("Is it so?"), notes, model, judge, section=AP, progress=Quiet()))
    assert len(found.tested[0].tests) == 10 and found.tested[0].rate == seen / 10
    assert bool(found.stage.kept) is kept
    assert len(judge.asked) == 20  # not the two notes that are not needed


def test_a_question_that_no_note_passes_cannot_be_tested() -> None:
    notes = references("no", "no way", "hm")
    asked = (candidates("Is it so?"), notes, Answering(lambda _: ""), Judge())
    found = run(enforce(*asked, section=AP, progress=Quiet()))
    assert found.stage.kept == () and found.tested[0].rate is None
    assert "no reference note passes it (3 asked: 2 fail, 1 have no answer" in found.stage.dropped[0].why
    assert run(enforce(*asked, section=AP, least=0.0, progress=Quiet())).stage.kept


def test_the_matrix_has_no_number_where_there_is_no_answer() -> None:
    told = items("about one", "about both", "about none", "never answered", "wrong numbers")
    said_of = {"about one": [1], "about both": [2, 1, 2], "about none": [], "wrong numbers": [3]}

    def answer(said: str) -> str:
        found = next((numbers for text, numbers in said_of.items() if f"<feedback>{text}<" in said), None)
        return "?" if found is None else json.dumps({"covering": found})

    found = run(assign(["Is one so?", "Is two so?"], told, Answering(answer), progress=Quiet()))
    nan = np.nan
    np.testing.assert_array_equal(found.matrix, [[1, 1, 0, nan, nan], [0, 1, 0, nan, nan]])
    assert [one.text for one in found.uncovered] == ["about none"]
    assert [one.about for one in found.failures] == [("f4",), ("f5",)]


def test_the_choice_is_that_of_the_objective_by_hand() -> None:
    # Two questions cover the same three items, a third the fourth: one of the two is of no use.
    matrix = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]], dtype=float)
    told = candidates("Is one so?", "Is two so?", "Is three so?")
    found = choose(told, Covering(matrix, tuple(items("a", "b", "c", "d")), ()))
    assert [one.id for one in found.stage.kept] == ["p1", "p3"] and found.covers == (3, 1)
    assert found.coverage == 1.0 and found.diversity == 1.0
    assert found.objective == pytest.approx(1 - 2 * 0.0005) and found.search == "exact"
    assert [one.id for one in found.stage.dropped] == ["p2"]
    assert "adds less than it costs" in found.stage.dropped[0].why


@pytest.mark.parametrize("size", [None, 3, 99])
def test_the_choice_is_what_select_chooses(size: int | None) -> None:
    draws = np.random.default_rng(7)
    for questions in (5, 12, 16):
        matrix = (draws.random((questions, 40)) < 0.2).astype(float)
        told = candidates(*(f"Is number {n} so?" for n in range(questions)))
        covering = Covering(matrix, tuple(items(*(f"item {n}" for n in range(40)))), ())
        found = choose(told, covering, size=size)
        meant = select(matrix, None if size is None else min(size, questions))
        assert {one.id for one in found.stage.kept} == {told[place].id for place in meant}
        assert found.objective == pytest.approx(objective(matrix[meant]))


def test_nothing_is_chosen_where_nothing_is_known() -> None:
    empty = Covering(np.full((1, 2), np.nan), tuple(items("a", "b")), ())
    with pytest.raises(DataError, match="no usable answer for any of 2 feedback items"):
        choose(candidates("Is one so?"), empty)


def test_plots_are_the_same_file_again() -> None:
    matrix = np.eye(4)
    found = choose(
        candidates(*(f"Is {n} so?" for n in range(4))), Covering(matrix, tuple(items("a", "b", "c", "d")), ())
    )
    one, other = (size_plot(found.by_size, 4) for _ in range(2))
    assert one == other and b"chosen: 4" in one and b"questions" in one
    assert alpha_plot(found.by_alpha, 0.5) == alpha_plot(found.by_alpha, 0.5)


def test_the_baseline_asks_without_feedback() -> None:
    def answer(said: str) -> str:
        if "Which way round" in said:
            return numbered(said, lambda _: FINE)
        return json.dumps({"questions": [{"question": "Is it complete?"}, {"question": "Is it correct?"}]})

    model = Answering(answer)
    found = run(propose_without_feedback(model, section=AP, count=2, progress=Quiet()))
    assert [one.question for one in found.kept] == ["Is it complete?", "Is it correct?"]
    assert "Write the 2 questions" in model.asked[0] and all(not one.sources for one in found.kept)


def test_reference_notes_are_those_that_have_the_section(tmp_path: Path) -> None:
    demo = read_references("demo", "objective_results")
    assert demo and all(one.text.strip() and one.transcript.strip() for one in demo)
    assert len(read_references("demo", AP)) == 8
    path = tmp_path / "notes.jsonl"
    rows = [
        {"encounter_id": "a", "dialogue": "[doctor] Hello.", "note": "HPI: Fine."},
        {"encounter_id": "b", "dialogue": "[doctor] Hello.", "note": "HPI: Fine.\nPLAN: Rest."},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [(one.id, one.text) for one in read_references(str(path), AP)] == [("b", "Rest.")]
    with pytest.raises(DataError, match="no note has the section objective_exam"):
        read_references(str(path), "objective_exam")


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([{"id": "a", "feedback": "No dose.", "stars": 2}], "has no column 'transcript'"),
        (
            [{"id": "a", "transcript": "Hello.", "note": "PLAN: Rest."}] * 2,
            "row 2, column 'id': the id 'a' stands twice",
        ),
    ],
)
def test_a_file_that_has_no_visits_or_one_twice(
    tmp_path: Path, rows: list[dict[str, object]], what: str
) -> None:
    path = tmp_path / "visits.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=re.escape(what)):
        read_references(str(path), AP)
