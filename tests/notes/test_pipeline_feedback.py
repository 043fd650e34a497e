"""Feedback as sites have it: columns, encodings, stars and sections; and which of it is used."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from given_stage_parts import Answering, Quiet, entries, items, numbered, run
from hypothesis import given
from hypothesis import strategies as st

from pmbench import ConfigError, DataError, UserError
from pmbench_tasks.notes.dry_run import feedback_told
from pmbench_tasks.notes.pipeline.feedback import read_feedback, words_of
from pmbench_tasks.notes.pipeline.filtering import filter_feedback
from pmbench_tasks.notes.pipeline.records import FeedbackItem
from pmbench_tasks.notes.pipeline.told import one_line

DEMO = Path(__file__).parents[2] / "tasks" / "pmbench_tasks" / "notes" / "demo"


def written(tmp_path: Path, text: str, encoding: str = "utf-8", name: str = "mine.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def test_columns_are_found_by_their_usual_names(tmp_path: Path) -> None:
    path = written(
        tmp_path, "Comment,Star Rating,Note-Section\nno dose given,2,A&P\nHPI is wrong here,1.0,HPI\n"
    )
    first, second = read_feedback(path).items
    assert first == FeedbackItem("1", "no dose given", 2, ("assessment_and_plan",))
    assert second.sections == ("subjective",) and second.stars == 1


def test_several_sections_and_the_whole_note(tmp_path: Path) -> None:
    path = written(tmp_path, "feedback,section\nboth are off today,exam; plan\nheadings are odd,whole note\n")
    assert [one.sections for one in read_feedback(path).items] == [
        ("objective_exam", "assessment_and_plan"),
        ("whole_note",),
    ]


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16"])
def test_an_encoding_is_never_guessed_and_is_taken_as_told(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path, "id,feedback\nf1,Señor Muñoz’s dose\n".replace("’", "'"), encoding)
    with pytest.raises(DataError) as caught:
        read_feedback(path)
    if encoding != "utf-16":
        assert "not UTF-8 at byte" in str(caught.value) and "--encoding windows-1252" in str(caught.value)
    assert "Mu" not in str(caught.value)
    assert read_feedback(path, encoding=encoding).items[0].text == "Señor Muñoz's dose"


@pytest.mark.parametrize("encoding", ["windows-1252", "latin-1", "utf-16"])
def test_an_encoding_for_a_file_that_is_utf_8_is_refused(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path, "id,feedback\nf1,Ménière's not coded\n")
    with pytest.raises(ConfigError, match=r"is UTF-8, with letters beyond ASCII.*Leave --encoding out"):
        read_feedback(path, encoding=encoding)
    plain = written(tmp_path, "id,feedback\nf1,no dose given\n", name="plain.csv")
    assert read_feedback(plain, encoding="windows-1252").items[0].text == "no dose given"


def test_columns_that_were_guessed_or_passed_over_are_named(tmp_path: Path) -> None:
    file = read_feedback(written(tmp_path, "Nr,Comment,Stars\nr01,no dose given,2\nr02,,3\n"))
    assert file.columns_told == (
        "mine.csv: read is feedback from 'Comment'; --columns decides",
        "mine.csv: not read: 'Nr'; --columns id=Nr would take it for the id",
        "mine.csv: there is no id: items are called by the numbers of their rows, empty ones counted",
    )
    assert (len(file.items), file.rows) == (1, 2)
    assert feedback_told("mine.csv", file.items, 0, file.rows) == "mine.csv: 1 of 2 rows of feedback"
    assert read_feedback(written(tmp_path, "id,feedback,stars\na,no dose given,2\n")).columns_told == ()


def test_a_wrong_or_unknown_encoding_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, "id,feedback\nf1,Muñoz\n", "latin-1")
    with pytest.raises(DataError, match="is not ascii"):
        read_feedback(path, encoding="ascii")
    with pytest.raises(ConfigError, match="no such encoding"):
        read_feedback(path, encoding="klingon")


@pytest.mark.parametrize("stars", ["0", "6", "3.5", "-1", "five", "nan", "1e400"])
def test_stars_of_another_scale_are_refused_with_their_place(tmp_path: Path, stars: str) -> None:
    path = written(tmp_path, f"id,feedback,stars\nf1,good plan today,5\nf2,bad plan today,{stars}\n")
    with pytest.raises(DataError, match=r"mine.csv, row 2, column 'stars': stars are whole numbers from 1"):
        read_feedback(path)


def test_empty_texts_and_missing_stars_are_counted(tmp_path: Path) -> None:
    path = written(
        tmp_path, 'id,feedback,stars\nf1,good plan today,\nf2,"  ",3\nf3,\u200b,3\nf4,dose is wrong,1\n'
    )
    file = read_feedback(path)
    assert (len(file.items), file.empty, file.unrated) == (2, 2, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,feedback\na,one two three\na,four five six\n", "the id 'a' stands twice"),
        ("id,stars\na,3\n", "has no column 'feedback'"),
        ("id,feedback,section\na,one two three,billing\n", "no section of a note has this name"),
        ("id,feedback\na, \n", "no row has a text"),
        ("id,text,comment\na,one,two\n", "2 columns could be 'feedback'"),
        ("", "the file is empty"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        read_feedback(written(tmp_path, text))
    assert told in str(caught.value) and "\n" not in str(caught.value) and "mine.csv" in str(caught.value)


def test_columns_may_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "id,text,comment\na,no dose given,x\n")
    assert read_feedback(path, columns={"feedback": "text"}).items[0].text == "no dose given"
    with pytest.raises(UserError, match="no column in"):
        read_feedback(path, columns={"feedback": "words"})
    with pytest.raises(UserError, match="no column of feedback called"):
        read_feedback(path, columns={"mood": "text"})


def test_words_are_those_with_a_letter_or_digit() -> None:
    assert words_of("fix this!! --") == 2 and words_of("MRI in 2 wks") == 4 and words_of(" ") == 0


def test_a_column_says_the_section_and_the_model_whether_it_is_about_the_note() -> None:
    told = [
        FeedbackItem("z", "the upload hangs again", sections=("assessment_and_plan",)),
        FeedbackItem("y", "nobody can say what this is", sections=("assessment_and_plan",)),
        FeedbackItem("a", "the dose is wrong", sections=("assessment_and_plan",)),
        FeedbackItem("b", "the app is slow"),
        FeedbackItem("c", "fix this"),
        FeedbackItem("d", "plan lacks the MRI"),
        FeedbackItem("e", "headings are odd everywhere"),
    ]
    about = {
        "the upload hangs again": "not_the_note",
        "nobody can say what this is": "hm",
        "the dose is wrong": "subjective",
        "the app is slow": "not_the_note",
        "plan lacks the MRI": "assessment_and_plan",
        "headings are odd everywhere": "whole_note",
    }
    model = Answering(lambda said: numbered(said, lambda text: {"about": about[text]}))
    found = run(filter_feedback(told, model, section="assessment_and_plan", progress=Quiet()))
    assert list(entries(model.asked[0]).values()) == list(about) and len(model.asked) == 3
    assert [one.id for one in found.used] == ["y", "a", "d"]
    assert [one.about for one in found.failures] == [("y",)]
    assert found.reasons == {
        "not about the note": 2,
        "two words or fewer": 1,
        "about the note as a whole": 1,
    }
    whole = run(filter_feedback(told, model, section="", progress=Quiet()))
    assert [one.id for one in whole.used] == ["y", "a", "d", "e"]


def test_items_without_a_usable_answer_are_asked_again_alone_and_then_counted() -> None:
    texts = [f"remark number {n} here" for n in range(12)]

    def answer(said: str) -> str:
        # Never a word about remark 3; about remark 7 only when it is asked about alone.
        there = entries(said)
        good = {n: t for n, t in there.items() if " 3 " not in t and (" 7 " not in t or len(there) == 1)}
        return json.dumps({str(n): {"about": "subjective"} for n in good})

    model = Answering(answer)
    found = run(filter_feedback(items(*texts, sections=()), model, section="subjective", progress=Quiet()))
    assert len(found.used) == 11
    assert [(one.about, one.kind) for one in found.failures] == [(("f4",), "unreadable")]
    assert found.read[3].why == "the model did not say what it is about (unreadable)"
    # Ten and two; the two that were left; each of these alone.
    assert sorted(len(entries(said)) for said in model.asked) == [1, 1, 2, 2, 10]


@given(st.text())
def test_any_text_becomes_one_line_that_is_no_tag(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert "</item>" not in line.casefold() and "<feedback" not in line.casefold()
    line.encode()


def test_the_demo_agrees_with_what_its_authors_say_of_it() -> None:
    truth = json.loads((DEMO / "concerns.json").read_text(encoding="utf-8"))
    file = read_feedback(DEMO / "feedback.csv")
    assert len(file.items) == 230 and file.empty == file.unrated == 0
    assert [one.id for one in file.items] == list(truth["kind"])
    short = {one.id for one in file.items if words_of(one.text) < 3}
    assert short == {ident for ident, kind in truth["kind"].items() if kind == "two_words_or_fewer"}
    with (DEMO / "feedback.csv").open(newline="", encoding="utf-8") as rows:
        tagged = {row["id"]: row["section"] for row in csv.DictReader(rows)}
    assert {one.id: "".join(one.sections) for one in file.items} == tagged

    def oracle(said: str) -> str:
        by_text = {one_line(one.text): one.id for one in file.items}

        def entry(text: str) -> dict[str, str]:
            about = truth["about_section"][by_text[text]]
            return {"about": about or "not_the_note"}

        return numbered(said, entry)

    found = run(
        filter_feedback(file.items, Answering(oracle), section="assessment_and_plan", progress=Quiet())
    )
    meant = {ident for ident, about in truth["about_section"].items() if about == "assessment_and_plan"}
    assert {one.id for one in found.used} == meant and len(meant) == 147


@pytest.mark.parametrize("encoding", ["base64", "rot13", "hex", "idna", "unicode_escape", "undefined"])
def test_what_is_no_encoding_of_files_is_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(ConfigError, match="no such encoding"):
        read_feedback(written(tmp_path, "feedback\nThe dose is missing\n"), encoding=encoding)


@pytest.mark.parametrize("stars", ["0_5", "1e0", "٣", "+5", "4.5", "nan"])
def test_stars_are_written_plainly(tmp_path: Path, stars: str) -> None:
    with pytest.raises(DataError, match="whole numbers from 1"):
        read_feedback(written(tmp_path, f"feedback,stars\nThe dose is missing,{stars}\n"))
    assert read_feedback(written(tmp_path, "feedback,stars\nNo dose,4.0\n")).items[0].stars == 4
