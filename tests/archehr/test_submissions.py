"""Official submissions of 2025 and 2026: read, written, and refused with the entry and the case."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench import DataError, says_nothing
from pmbench_tasks.archehr.submissions import Submission, read_submission, submission_2025, submission_2026

SECRET = "secretword"
SHARED = Path(os.environ.get("PMBENCH_SHARED", Path(__file__).parents[3] / "shared")) / "conformance/archehr"


def read(text: str | bytes, name: str = "submission.json") -> Submission | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_submission(file)


def made(value: Any) -> Submission:
    found = read(json.dumps(value))
    assert found is not None
    return found


def refused(value: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(value if isinstance(value, (str, bytes)) else json.dumps(value))
    line = str(caught.value)
    assert "\n" not in line
    assert SECRET not in line
    assert "submission.json" in line
    return line


def entry(value: Any, ident: Any = "1", name: str = "prediction") -> dict[str, Any]:
    return {"case_id": ident, name: value}


def test_answers_of_2025_are_kept_as_they_are() -> None:
    found = made([entry(" A. |1,2|\nB.\n", "1", "answer"), entry("", "2", "answer")])
    assert {ident: tuple(one) for ident, one in found.items()} == {
        "1": (" A. |1,2|\nB.\n", None),
        "2": ("", None),
    }
    assert (found.kind, found.notes) == ("answer", ())


def test_texts_of_2026() -> None:
    found = made([entry("Why was ERCP done?"), entry("", "2")])
    assert found["1"] == ("Why was ERCP done?", None)
    assert found["2"] == ("", None)
    assert found.kind == "text"


def test_evidence_of_2026() -> None:
    found = made([entry([], "2"), entry(["1", "5", "6"]), entry([], "3")])
    assert list(found) == ["2", "1", "3"]
    assert found["1"] == ("1, 5, 6", {"evidence": ["1", "5", "6"]})
    assert found["2"] == found["3"] == ("", {"evidence": []})


def test_alignments_of_2026() -> None:
    links = [
        {"answer_id": "1", "evidence_id": ["2"]},
        {"answer_id": "2", "evidence_id": []},
        {"answer_id": "1", "evidence_id": ["3", "2"], "score": 0.5},
    ]
    found = made([entry(links), entry([], "2")])
    assert found["1"] == (None, {"links": {"1": ["2", "3"], "2": []}})
    assert found["2"] == (None, {"links": {}})


def test_nothing_but_empty_lists_could_be_either() -> None:
    assert made([entry([]), entry([], "2")])["1"] == ("", {"evidence": [], "links": {}})


def test_case_ids_that_are_numbers_are_read_as_their_digits_and_noted() -> None:
    found = made([entry("a", 1), entry("b", 21), entry("c", "x")])
    assert list(found) == ["1", "21", "x"]
    assert len(found.notes) == 1
    assert "2 case ids are numbers" in found.notes[0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([entry("a"), entry("b")], "entry 2: case '1' is entry 1 already"),
        ([entry("a"), entry("b", 1)], "entry 2: case '1' is entry 1 already"),
        ([entry("a"), {"prediction": "b"}], "entry 2: has no case_id"),
        ([entry("a", None)], "entry 1: has no case_id"),
        ([entry("a", True)], "entry 1: has no case_id"),
        ([entry("a"), SECRET], "entry 2: is not an object"),
        ([{"case_id": "7", "text": SECRET}], "entry 1, case '7': has neither an answer nor a prediction"),
        ([{"case_id": "7", "answers": []}], "nor a prediction: this looks like the key"),
        (
            [{"case_id": "7", "answer": "a", "prediction": "b"}],
            "case '7': has both an answer and a prediction",
        ),
        ([entry(None, "7", "answer")], "entry 1, case '7', answer: text is expected"),
        ([entry([SECRET], "7", "answer")], "entry 1, case '7', answer: text is expected"),
        ([entry(None, "7")], "entry 1, case '7', prediction: is neither text nor a list"),
        ([entry({"1": ["2"]}, "7")], "entry 1, case '7', prediction: is neither text nor a list"),
        ([entry(["1", 2], "7")], "entry 1, case '7', prediction, item 2: is no sentence id written as text"),
        ([entry(["1", ["2"]], "7")], "prediction, item 2: is no sentence id written as text"),
        ([entry([{"answer_id": "1"}], "7")], "prediction, item 1: is no object with an answer_id"),
        ([entry([{"answer_id": 1, "evidence_id": []}], "7")], "prediction, item 1: is no object"),
        ([entry([{"answer_id": "1", "evidence_id": "2"}], "7")], "prediction, item 1: is no object"),
        ([entry([{"answer_id": "1", "evidence_id": [2]}], "7")], "prediction, item 1: is no object"),
        ([entry([{"answer_id": "1", "evidence_id": []}, SECRET], "7")], "prediction, item 2: is no object"),
        (
            [entry("a"), entry("b", "2", "answer")],
            "entry 2, case '2': the entries before it hold texts (2026)",
        ),
        ([entry([]), entry("b", "2")], "the entries before it hold empty lists (2026)"),
        (
            [entry([]), entry(["1"], "2"), entry("b", "3")],
            "entry 3, case '3': the entries before it hold lists of",
        ),
        (
            [entry(["1"]), entry([{"answer_id": "1", "evidence_id": []}], "2")],
            "hold lists of sentence ids (2026)",
        ),
        ('[{"case_id": "1",\n "answer": secretword}]', "line 2, column 12: no valid JSON: Expecting value"),
        ('[{"case_id": "1", "answer": "a", "answer": "b"}]', "the same key twice"),
        ('[{"case_id": "1", "answer": "\\udc00"}]', "case '1', answer: half of a surrogate pair"),
        (
            '[{"case_id": "1", "prediction": [{"answer_id": "1", "evidence_id": ["\\udc00"]}]}]',
            "surrogate pair",
        ),
        (b'[{"case_id": "1",\n "answer": "\xe9"}]', "line 2: not UTF-8. Convert it: iconv -f WINDOWS-1252"),
        ('[{"case_id": "1", "answer": "a"}]'.encode("utf-16"), "not UTF-8. Convert it: iconv -f UTF-16 -t"),
        ('[{"case_id": "é", "answer": "a"}]'.encode("utf-16-le"), "not UTF-8. Convert it: iconv -f UTF-16LE"),
        ("[]", "the submission holds no cases"),
        ("{}", "the submission is not a list"),
        ("null", "the submission is not a list"),
        ('{"case_id": "1", "answer": "a"}', "the submission is not a list"),
        ('[{"id": "1", "answer": "a"}]', "is no submission: nothing in it has a case_id"),
        ('[{"id": "\\"case_id\\""}]', "is no submission: nothing in it has a case_id"),
        ('[["case_id"]]', "is no submission: nothing in it has a case_id"),
        ("[broken", "line 1, column 2: no valid JSON: Expecting value"),
        ("", "the file is empty"),
        ([entry("a", " d2")], "entry 1, case_id: there is white space around the id 'd2'. Remove it"),
        ([entry("a", "\u200b")], "entry 1: has no case_id"),
        ('[{"case_id": "\\ud800", "answer": "a"}]', "entry 1, case_id: half of a surrogate pair"),
    ],
)
def test_broken_submissions_are_refused(value: Any, said: str) -> None:
    assert said in refused(value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[{"case_id": "1", "answer": "a"}]', "a.jsonl"),
        ("case_id,answer\n1,a\n", "a.csv"),
    ],
)
def test_what_is_no_submission_is_left_to_others(text: str, name: str) -> None:
    assert read(text, name) is None


def test_a_file_that_is_not_there_is_left_to_others(tmp_path: Path) -> None:
    assert read_submission(tmp_path / "submission.json") is None
    (tmp_path / "submission.zip").mkdir()
    assert read_submission(tmp_path / "submission.zip") is None


TEXT = st.text(max_size=60)
IDENT = st.text(min_size=1, max_size=8).map(str.strip).filter(lambda text: not says_nothing(text))
IDS = st.lists(IDENT, max_size=4)


@settings(deadline=None)  # each example is a file
@given(st.dictionaries(IDENT, TEXT, min_size=1, max_size=5))
def test_answers_come_back_from_a_submission_of_2025(answers: Mapping[str, str]) -> None:
    text = submission_2025(answers)
    assert text.isascii()
    assert all(set(one) == {"case_id", "answer"} for one in json.loads(text))
    assert {ident: one.text for ident, one in (read(text) or {}).items()} == answers


@settings(deadline=None)  # each example is a file
@given(st.dictionaries(IDENT, TEXT, min_size=1, max_size=5))
def test_texts_come_back_from_a_submission_of_2026(texts: Mapping[str, str]) -> None:
    text = submission_2026(texts)
    assert all(set(one) == {"case_id", "prediction"} for one in json.loads(text))
    assert {ident: one.text for ident, one in (read(text) or {}).items()} == texts


@settings(deadline=None)  # each example is a file
@given(st.dictionaries(IDENT, IDS, min_size=1, max_size=5), st.booleans())
def test_evidence_comes_back(evidence: Mapping[str, list[str]], wrapped: bool) -> None:
    found = read(submission_2026({k: {"evidence": v} if wrapped else v for k, v in evidence.items()}))
    assert {ident: one.data["evidence"] for ident, one in (found or {}).items() if one.data} == evidence


@settings(deadline=None)  # each example is a file
@given(
    st.dictionaries(IDENT, st.dictionaries(IDENT, IDS.map(lambda ids: list(dict.fromkeys(ids)))), min_size=1)
)
def test_alignments_come_back(links: Mapping[str, dict[str, list[str]]]) -> None:
    text = submission_2026({ident: {"links": one} for ident, one in links.items()})
    for one in json.loads(text):
        assert all(set(item) == {"answer_id", "evidence_id"} for item in one["prediction"])
    assert {ident: one.data["links"] for ident, one in (read(text) or {}).items() if one.data} == links


def test_the_official_samples_shapes_are_written() -> None:
    links = [{"answer_id": "1", "evidence_id": ["2"]}, {"answer_id": "2", "evidence_id": []}]
    by_links = submission_2026({"1": {"links": {"1": ["2"], "2": []}}})
    assert json.loads(by_links) == json.loads(submission_2026({"1": links})) == [entry(links)]
    assert json.loads(submission_2026({"1": ("1", "5")})) == [entry(["1", "5"])]


@pytest.mark.parametrize(
    "predictions",
    [
        {"1": 3},
        {"1": None},
        {"1": {"links": {}, "evidence": []}},
        {"1": "a", "2": ["1"]},
        {"1": [1]},
        {"1": [["1"]]},
    ],
)
def test_predictions_of_no_kind_are_not_written(predictions: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="of one kind"):
        submission_2026(predictions)


def test_the_conformance_submissions_are_read() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"no conformance data: {SHARED} is absent (PMBENCH_SHARED says where the folder is)")
    for file in sorted(SHARED.glob("submission_*.json")):
        found = read_submission(file)
        written = {one["case_id"]: one["answer"] for one in json.loads(file.read_text(encoding="utf-8"))}
        assert {ident: one.text for ident, one in (found or {}).items()} == written
