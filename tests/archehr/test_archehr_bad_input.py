"""What a user of the ArchEHR-QA tasks is told of files and options that are not what they should be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from given_files import LABELS, SECRET, cited, key_entry, write, xml, xml_case

from pmbench.cli.main import run

Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        status = run([*arguments])
        out, err = capsys.readouterr()
        assert SECRET not in out + err
        return status, out, err

    return command


def submission(path: Path, value: Any, *idents: str) -> str:
    """A file with the same prediction for each case; an answer of 2025 where it has bars."""
    name = "answer" if isinstance(value, str) and "|" in value else "prediction"
    path.write_text(json.dumps([{"case_id": ident, name: value} for ident in idents or ("d2",)]))
    return path.name


def scored(told: Told, data: str, *more: str, task: str = "archehr-qa") -> tuple[int, str, str]:
    return told("score", "-t", task, "-d", data, *more)


ANSWER, TEXT, IDS, LINKS = "A. |1|", "A.", ["1", "2"], [{"answer_id": "1", "evidence_id": ["2"]}]
HELD = {
    "archehr-qa": ("answers (2025)", ANSWER),
    "archehr-2026-questions": ("texts (2026)", TEXT),
    "archehr-2026-answers": ("texts (2026)", TEXT),
    "archehr-2026-evidence": ("lists of sentence ids (2026)", IDS),
    "archehr-2026-alignment": ("lists of alignments (2026)", LINKS),
}


@pytest.mark.parametrize("other", HELD)
@pytest.mark.parametrize("task", HELD)
def test_a_submission_to_another_task_is_refused_and_never_scored(
    told: Told, tmp_path: Path, task: str, other: str
) -> None:
    (wanted, _), (held, value) = HELD[task], HELD[other]
    file = submission(tmp_path / "submission.json", value)
    status, out, err = scored(told, "demo", "-r", file, "--max-missing", "1", task=task)
    if wanted == held:
        assert status == 0, err
        return
    assert (status, out) == (2, "")
    assert f"Error: submission.json: holds {held}, and {task} takes {wanted}. Score it with --task " in err
    assert other in err


@pytest.mark.parametrize("task", ["archehr-qa", "archehr-2026-questions", "archehr-2026-answers"])
def test_empty_lists_are_no_texts(told: Told, tmp_path: Path, task: str) -> None:
    file = submission(tmp_path / "submission.json", [])
    status, _, err = scored(told, "demo", "-r", file, task=task)
    assert status == 2
    assert "holds empty lists (2026), and" in err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"null", "the submission is not a list"),
        (b"[]", "the submission holds no cases"),
        (b'[["secretword"]]', "nothing in it has a case_id"),
        (
            '[{"case_id": "1", "answer": "secretword"}]'.encode("utf-16"),
            "not UTF-8. Convert it: iconv -f UTF-16",
        ),
        (b'[{"case_id": " d2", "answer": "secretword"}]', "white space around the id 'd2'"),
    ],
)
def test_what_is_wrong_with_a_submission_is_said_and_not_its_ending(
    told: Told, tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "broken.json").write_bytes(content)
    status, _, err = scored(told, "demo", "-r", "broken.json")
    assert status == 2
    assert said in err and "broken.json" in err and "cannot replay" not in err
    assert len(err.strip().splitlines()) == 1


def test_how_a_submission_was_read_stands_in_the_plan(told: Told, tmp_path: Path) -> None:
    write(tmp_path / "data", xml(xml_case()), [key_entry()])
    (tmp_path / "numbers.json").write_text('[{"case_id": 1, "answer": "A. |2|"}]')
    status, _, err = scored(told, "data", "-r", "numbers.json")
    assert status == 0, err
    assert "1 case id is a number, read as digits; the official scorers do not" in err


@pytest.mark.parametrize(
    ("task", "value"),
    [
        ("archehr-2026-evidence", ["2", "9"]),
        ("archehr-2026-alignment", [{"answer_id": "1", "evidence_id": ["9"]}]),
        ("archehr-2026-alignment", [{"answer_id": "9", "evidence_id": ["2"]}]),
    ],
)
def test_cases_that_name_a_sentence_that_is_not_there_are_named(
    told: Told, tmp_path: Path, task: str, value: Any
) -> None:
    write(tmp_path / "data", xml(xml_case()), [key_entry(clinician_answer_sentences=[cited("2")])])
    file = submission(tmp_path / "submission.json", value, "1", "elsewhere")
    status, out, err = scored(told, "data", "-r", file, task=task)
    assert status == 1
    assert "the submission names a sentence that is not there in 1 case ('1'): no score" in err
    assert "no-such-sentence 1" in out + err


def test_nothing_is_said_where_all_sentences_are_there(told: Told, tmp_path: Path) -> None:
    write(tmp_path / "data", xml(xml_case()), [key_entry()])
    file = submission(tmp_path / "submission.json", ["2"], "1")
    status, _, err = scored(told, "data", "-r", file, task="archehr-2026-evidence")
    assert status == 0
    assert "names a sentence" not in err


@pytest.mark.parametrize("task", [name for name in HELD if name != "archehr-2026-questions"])
def test_a_case_that_asks_nothing_is_refused(told: Told, tmp_path: Path, task: str) -> None:
    """As where the elements of both questions are misspelt; the model would be asked about nothing."""
    misspelt = xml_case().replace("patient_narrative", "narrative").replace("clinician_question", "question")
    entry = key_entry(clinician_answer_without_citations="A.", clinician_answer_sentences=[cited("2")])
    write(tmp_path / "data", xml(misspelt), [entry])
    status, _, err = told("run", "-t", task, "-d", "data", "-m", "smollm2-135m", "--dry-run")
    assert status == 2
    assert "case '1' has neither a patient_narrative nor a clinician_question with text" in err


FOUND_NOTHING = {
    "archehr-qa": "is 0 whatever is cited, and relevance to the notes is likeness to the question alone: '1'",
    "archehr-2026-evidence": "100 where nothing is named, else 0: '1'",
    "archehr-2026-alignment": "the clinician's answer cites nothing: its F1 is 0 whatever is linked: '1'",
}


@pytest.mark.parametrize("task", FOUND_NOTHING)
def test_a_case_with_nothing_to_find_is_told(told: Told, tmp_path: Path, task: str) -> None:
    labels = dict.fromkeys(LABELS, "not-relevant")
    write(
        tmp_path / "data", xml(xml_case()), [key_entry(labels=labels, clinician_answer_sentences=[cited("")])]
    )
    file = submission(tmp_path / "submission.json", HELD[task][1], "1")
    status, out, _ = scored(told, "data", "-r", file, "--json", "out.json", task=task)
    assert status == 0
    assert "in 1 case " in out and FOUND_NOTHING[task] in out
    assert any(
        FOUND_NOTHING[task] in line for line in json.loads((tmp_path / "out.json").read_text())["findings"]
    )


def test_a_long_id_is_not_shown_in_findings(told: Told, tmp_path: Path) -> None:
    ident = f"{SECRET} of Somebody born in 1943"
    write(tmp_path / "data", xml(xml_case(ident)), [key_entry(ident)])
    file = submission(tmp_path / "submission.json", "w " * 90 + "||", ident)
    status, out, _ = scored(told, "data", "-r", file, "--json", "out.json")
    assert status == 0
    assert "(citations there count officially): 1 case: (a long id)" in out
    assert SECRET not in str(json.loads((tmp_path / "out.json").read_text())["findings"])


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("archehr-qa", {"tries": "0"}, "option tries of archehr-qa: it must be from 1 to 100"),
        ("archehr-qa", {"tries": "101"}, "option tries of archehr-qa: it must be from 1 to 100"),
        (
            "archehr-2026-alignment",
            {"cutoff": "2"},
            "option cutoff of archehr-2026-alignment: it must be from -1 to 1",
        ),
        ("archehr-2026-evidence", {"cutoff": "inf"}, "option cutoff of archehr-2026-evidence: it must be"),
        ("archehr-qa", {"judge": "layer=99"}, "--judge relevance: layer has no effect without bertscore"),
        ("archehr-qa", {"judge": "layer=0"}, "option layer of judge relevance: it must be 1 or more"),
        (
            "archehr-qa",
            {"judge": "backbone=x"},
            "--judge relevance: backbone has no effect without alignscore",
        ),
    ],
)
def test_options_without_effect_or_out_of_bounds_are_refused(
    told: Told, tmp_path: Path, task: str, options: Mapping[str, str], said: str
) -> None:
    """Though neither a strategy nor a metric of these commands reads them."""
    file = submission(tmp_path / "submission.json", HELD[task][1])
    asked = [
        part
        for name, value in options.items()
        for part in (("-j", f"relevance=embedded?{value}") if name == "judge" else ("-o", f"{name}={value}"))
    ]
    status, _, err = scored(told, "demo", "-r", file, *asked, task=task)
    assert status == 2
    assert said in err


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\u2060\u00ad \u200e"])
def test_texts_that_nobody_sees_say_nothing(told: Told, tmp_path: Path, text: str) -> None:
    file = submission(tmp_path / "submission.json", text)
    status, out, _ = scored(told, "demo", "-r", file, "--max-missing", "1", task="archehr-2026-answers")
    assert status == 0
    assert "nothing is said, and the official scorer would stop there: 1 case: 'd2'" in out


def test_a_long_answer_without_a_space_takes_no_minutes(told: Told, tmp_path: Path) -> None:
    """100 kB in one word are within 75 words, for the official scorer too."""
    cites = ",".join(["2"] * 30_000)
    for place, text in enumerate(("a(b)c(d)" * 12_000 + " |2|", f"A stroke. |{cites}|")):
        file = submission(tmp_path / f"{place}.json", text)
        status, _, err = scored(told, "demo", "-r", file, "--max-missing", "1", "--json", f"out{place}.json")
        assert status == 0, err
    found = json.loads((tmp_path / "out1.json").read_text())["metrics"]
    assert found["unused_citations"]["value"] in (0, 1)  # one citation, however often it is written
