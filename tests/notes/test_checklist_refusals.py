"""Numbers that are none, and options that would do nothing, are refused before anything is asked."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from given_evaluation import write_given

from pmbench import ConfigError, UserError
from pmbench_tasks.notes.checklist_options import NoteOptions, ReplyOptions, chosen_checklist
from pmbench_tasks.notes.evaluate_command import evaluate
from pmbench_tasks.notes.note_task import NotesChecklist
from pmbench_tasks.notes.pipeline.choosing import size_told
from pmbench_tasks.notes.pipeline.commands import baseline, build, update
from pmbench_tasks.notes.questions_command import questions_command
from pmbench_tasks.notes.stage_requests import Stage

MODEL = "openai:m?base_url=http://127.0.0.1:9/v1"


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.chdir(tmp_path)
    write_given(tmp_path)
    return tmp_path


def refusal(command: click.Command, *words: str) -> str:
    """What the user is told: by the command line itself, or in the one line of an error."""
    done = CliRunner().invoke(command, list(words))
    if isinstance(done.exception, UserError):
        assert done.exception.exit_status == 2
        return str(done.exception)
    assert done.exit_code == 2, (done.exception, done.output)
    return done.output


BUILD = ("--feedback", "demo", "-m", MODEL, "--out", "grown.json")
EVALUATE = ("ours.json", "-m", MODEL, "--out", "out")


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "1e999"])
@pytest.mark.parametrize("option", ["--alpha", "--penalty", "--threshold", "--enforceability", "--max-cost"])
def test_what_is_no_finite_number_is_refused(given: Path, option: str, value: str) -> None:
    told = refusal(build, *BUILD, "--notes", "demo", option, value)
    assert option in told and ("not a finite number" in told or "range" in told)
    assert not list(given.glob("grown*"))


@pytest.mark.parametrize(
    ("option", "value"), [("--penalty", "7"), ("--alpha", "1.5"), ("--max-cost", "0"), ("--max-cost", "-1")]
)
def test_what_is_out_of_its_range_is_refused(given: Path, option: str, value: str) -> None:
    assert option in refusal(build, *BUILD, option, value)


def test_a_bootstrap_of_one_drawing_or_of_a_billion_is_refused(given: Path) -> None:
    for value in ("1", "99", "99999999999"):
        assert "--resamples" in refusal(evaluate, *EVALUATE, "--notes", "demo", "--resamples", value)
        assert "--resamples" in refusal(questions_command, "run", "--resamples", value)
    assert "--splits" in refusal(evaluate, *EVALUATE, "--feedback", "demo", "--splits", "99999999999")


def test_more_questions_than_there_are_is_said() -> None:
    assert size_told(None, 8) == size_told(8, 8) == ""
    assert size_told(500, 8) == "; --size 500 asks for more than the 8 questions that could be chosen from"
    assert "1 question that" in size_told(2, 1)


@pytest.mark.parametrize(
    "more",
    [("-c", "feedback=zz"), ("--encoding", "latin-1")],
)
def test_the_demo_is_read_as_it_is_written(given: Path, more: tuple[str, str]) -> None:
    for command, words in ((build, BUILD), (evaluate, (*EVALUATE, "--feedback", "demo"))):
        assert "how the demo is to be read is known" in refusal(command, *words, *more)
    told = refusal(update, "ours.json", *BUILD, *more)
    assert "how the demo is to be read is known" in told


@pytest.mark.parametrize(
    "more",
    [
        ("--columns", "feedback=zz"),
        ("--encoding", "latin-1"),
        ("--feedback-limit", "3"),
        ("--embedder", "embedded"),
        ("--splits", "5"),
    ],
)
def test_options_about_feedback_need_feedback(given: Path, more: tuple[str, str]) -> None:
    told = refusal(evaluate, *EVALUATE, "--notes", "demo", *more)
    assert f"{more[0]}: has no effect without --feedback" in told


@pytest.mark.parametrize(
    "more",
    [
        ("--perturbations", "all"),
        ("--tests", "3"),
        ("--again", "1"),
        ("--ask", "batch"),
        ("-n", "2"),
        ("--headers", "aci-bench"),
    ],
)
def test_options_about_notes_need_notes(given: Path, more: tuple[str, str]) -> None:
    told = refusal(evaluate, *EVALUATE, "--feedback", "demo", *more)
    assert "has no effect without --notes" in told


@pytest.mark.parametrize("more", [("--tests", "3"), ("--enforceability", "0.5")])
def test_tests_of_questions_need_notes(given: Path, more: tuple[str, str]) -> None:
    assert f"{more[0]}: has no effect without --notes" in refusal(build, *BUILD, *more)
    assert "without --notes" in refusal(baseline, "-m", MODEL, "--out", "new.json", *more)


@pytest.mark.parametrize("names", ["", ",,", " "])
def test_perturbations_without_a_name_are_refused(given: Path, names: str) -> None:
    told = refusal(evaluate, *EVALUATE, "--notes", "demo", "--perturbations", names)
    assert told == "--perturbations: there is no name in it. Write none for none"


def test_a_column_that_is_named_twice_is_refused(given: Path) -> None:
    words = ("--feedback", "feedback.csv", "-m", MODEL, "--out", "grown.json")
    assert "stands twice" in refusal(build, *words, "-c", "stars=stars", "-c", "stars=id")


def test_questions_about_a_reply_are_not_asked_about_notes() -> None:
    with pytest.raises(ConfigError, match="are about a reply to a patient, and notes are judged here"):
        chosen_checklist(NoteOptions(checklist="reply"), "note")
    assert chosen_checklist(ReplyOptions(checklist="reply"), "reply").items


def test_one_of_a_thing_is_told_in_the_singular(given: Path) -> None:
    text = '{"name": "one", "items": [{"id": "a", "question": "Is the dose there?"}]}'
    (given / "one.json").write_text(text)
    (told,) = NotesChecklist(NoteOptions(checklist="one.json")).told_of_checklist()
    assert told.startswith("checklist one: 1 item (yes-no)")
    assert "1 request " in f"{Stage('propose', 1, 1)} " and "1 to 3 requests" in str(Stage("propose", 1, 3))
