"""The official key: labels, the clinician's answer, citations as text or list, and keys that must be refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from given_files import LABELS, SECRET, cited, key_entry, write, xml, xml_case
from hypothesis import given
from hypothesis import strategies as st

from pmbench import DataError
from pmbench_tasks.archehr.cases import Case
from pmbench_tasks.archehr.key_citations import has_range, official_2026_characters, parse_citations
from pmbench_tasks.archehr.reading import notes_of, read_folder


def read(tmp_path: Path, key: Any, text: str | None = None) -> Case:
    rows = read_folder(write(tmp_path, text or xml(xml_case("1")), key))
    assert rows is not None
    found: Case = rows[0].values["case"]
    return found


def refused(tmp_path: Path, key: Any, text: str | None = None) -> str:
    with pytest.raises(DataError) as caught:
        read(tmp_path, key, text)
    line = str(caught.value)
    assert "\n" not in line
    assert SECRET not in line
    assert "archehr-qa_key.json" in line
    return line


def test_labels_and_answer_are_joined_with_the_case(tmp_path: Path) -> None:
    entry = key_entry(
        labels=dict(reversed(LABELS.items())),
        clinician_answer="Aspirin prevents strokes [2,3].",
        clinician_answer_without_citations="\nAspirin prevents strokes.\n",
        clinician_answer_sentences=[cited("2,3", "1"), cited("", "2")],
    )
    case = read(tmp_path, [entry])
    assert list(case.relevance.items()) == list(LABELS.items())  # in the order of the note
    assert case.answer == "Aspirin prevents strokes."
    assert [one.citations for one in case.answer_sentences] == [("2", "3"), ()]
    assert [one.official for one in case.answer_sentences] == [("2", ",", "3"), ()]


def test_a_key_of_2025_has_labels_alone(tmp_path: Path) -> None:
    case = read(tmp_path, [key_entry()])
    assert case.relevance == LABELS
    assert (case.answer, case.answer_sentences) == ("", ())


def test_a_staged_key_has_the_answer_without_labels_and_citations(tmp_path: Path) -> None:
    case = read(tmp_path, [{"case_id": "1", "clinician_answer_sentences": [{"id": "1", "text": "Yes."}]}])
    assert case.relevance == {}
    assert case.answer_sentences[0].citations == ()
    assert case.answer_sentences[0].official is None


def test_labels_stand_where_the_xml_has_no_note(tmp_path: Path) -> None:
    text = xml(xml_case(inside="<patient_narrative>Why?</patient_narrative>"))
    assert read(tmp_path, [key_entry()], text).relevance == LABELS


def test_the_sentences_of_the_key_go_before_those_of_the_xml(tmp_path: Path) -> None:
    text = xml(xml_case(inside='<answer_sentences><sentence id="1">Yes.</sentence></answer_sentences>'))
    assert read(tmp_path / "a", [key_entry()], text).answer_sentences[0].text == "Yes."
    entry = key_entry(clinician_answer_sentences=[cited(["2"])])
    assert read(tmp_path / "b", [entry], text).answer_sentences[0].citations == ("2",)


def test_ranges_are_expanded_with_a_note(tmp_path: Path) -> None:
    entry = key_entry(clinician_answer_sentences=[cited("1, 2-4"), cited("3", "2")])
    rows = read_folder(write(tmp_path, xml(xml_case("1")), [entry])) or []
    assert rows[0].values["case"].answer_sentences[0].citations == ("1", "2", "3", "4")
    assert notes_of(rows) == ["1 case ('1'): citations of the key that are written as ranges were expanded"]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ({"1": []}, "the key is not a list"),
        ([], "the key holds no cases"),
        (["1"], "entry 1: is not an object"),
        ([{"answers": []}], "entry 1: has no case_id"),
        ([{"case_id": 1.5}], "entry 1: has no case_id"),
        ([key_entry(), key_entry()], "entry 2: case '1' is entry 1 already"),
        ([key_entry(), key_entry("9")], "1 case of the key not in archehr-qa.xml: '9'"),
        ([key_entry("9")], "1 case of archehr-qa.xml not in the key: '1'"),
        ([key_entry(f"{SECRET} {SECRET}")], "1 case of archehr-qa.xml not in the key: '1'"),
        ([{"case_id": "1", "answers": {}}], "entry 1, case '1', answers: is not a list of objects"),
        ([{"case_id": "1", "answers": ["1"]}], "entry 1, case '1', answers: is not a list of objects"),
        (
            [{"case_id": "1", "answers": [{"relevance": "essential"}]}],
            "answers, number 1: has no sentence_id",
        ),
        (
            [{"case_id": "1", "answers": [{"sentence_id": "2", "relevance": "essential"}] * 2}],
            "entry 1, case '1', sentence '2': has a label already",
        ),
        ([key_entry(labels=LABELS | {"2": "Essential!"})], "sentence '2': its relevance is no known label"),
        ([key_entry(labels=LABELS | {"2": SECRET})], "sentence '2': its relevance is no known label"),
        ([key_entry(labels={"1": "essential"})], "3 sentences of the note without a label: '2', '3', '4'"),
        ([key_entry(labels=LABELS | {"5": "essential"})], "1 sentence with a label not in the note: '5'"),
        (
            [key_entry(clinician_answer_without_citations=3)],
            "clinician_answer_without_citations: text is expected",
        ),
        (
            [key_entry(clinician_answer_sentences=[{"text": "a"}])],
            "sentence number 1 of the answer: has no id",
        ),
        (
            [key_entry(clinician_answer_sentences=[{"id": "1"}])],
            "sentence '1' of the answer, text: text is expected",
        ),
        (
            [key_entry(clinician_answer_sentences=[{"id": "1", "text": " "}])],
            "'1' of the answer: has no text",
        ),
        ([key_entry(clinician_answer_sentences=[cited("2"), cited("3")])], "the same id stands twice"),
        (
            [key_entry(clinician_answer_sentences=[{"id": "1", "text": "\u200b"}])],
            "'1' of the answer: has no text",
        ),
        (
            [key_entry(clinician_answer_sentences=[cited("2", "\ud800")])],
            "entry 1, case '1', sentence number 1 of the answer, id: half of a surrogate pair",
        ),
        (
            [key_entry(clinician_answer_sentences=[cited(["\ud800"])])],
            "sentence '1' of the answer, citations: half of a surrogate pair",
        ),
        (
            [{"case_id": "1", "answers": [{"sentence_id": "\ud800", "relevance": "essential"}]}],
            "entry 1, case '1', answers, number 1, sentence_id: half of a surrogate pair",
        ),
        ([{"case_id": "\ud800"}], "entry 1, case_id: half of a surrogate pair"),
        ([{"case_id": "1 "}], "entry 1, case_id: there is white space around the id '1'"),
        (
            [key_entry(clinician_answer_sentences=[cited("2,9")])],
            "cites what is no sentence of the note: '9'",
        ),
        (
            [key_entry(clinician_answer_sentences=[cited("2-9")])],
            "cites what is no sentence of the note: '2-9'",
        ),
        (
            [key_entry(clinician_answer_sentences=[cited({"2": 1})])],
            "citations: is neither text nor a list of texts",
        ),
        (
            [key_entry(clinician_answer_sentences=[cited([2.5])])],
            "citations: is neither text nor a list of texts",
        ),
    ],
)
def test_keys_that_do_not_fit_are_refused(tmp_path: Path, key: Any, said: str) -> None:
    assert said in refused(tmp_path, key)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"case_id": "1",\n secretword}]', "line 2, column 2: no valid JSON: Expecting property name"),
        ('[{"case_id": "1", "x": "secretword]', "no valid JSON: Unterminated string"),
        ('[{"case_id": "1", "case_id": "2"}]', "an object has the same key twice"),
        ('[{"case_id": "1", "x": NaN}]', "NaN or an infinity"),
        ('[{"case_id": "1", "x": ' + "9" * 5000 + "}]", "a number with too many digits"),
        ("[" * 100_000, "nested too deeply"),
        ("", "no valid JSON: Expecting value"),
        ('[{"case_id": "1", "clinician_answer_without_citations": "a\\ud800"}]', "half of a surrogate pair"),
    ],
)
def test_broken_json_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)


def test_a_key_in_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    folder = write(tmp_path, xml(xml_case("1")))
    (folder / "archehr-qa_key.json").write_bytes(b'[{"case_id": "1",\n"x": "\xe9"}]')
    with pytest.raises(DataError, match=r"archehr-qa_key.json, line 2: not UTF-8"):
        read_folder(folder)


def test_a_byte_order_mark_and_ids_that_are_numbers_are_taken(tmp_path: Path) -> None:
    key = [
        {
            "case_id": 1,
            "answers": [{"sentence_id": int(name), "relevance": label} for name, label in LABELS.items()],
        }
    ]
    folder = write(tmp_path, xml(xml_case("1")), key)
    file = folder / "archehr-qa_key.json"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    (row,) = read_folder(folder) or []
    assert row.values["case"].relevance == LABELS


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2", ("2",)),
        ("2,5", ("2", "5")),
        (" 5 , 2,5,", ("5", "2")),
        ("", ()),
        ("  ", ()),
        (None, ()),
        ([], ()),
        (["2", "5"], ("2", "5")),
        ([2, "5,6", None, ""], ("2", "5", "6")),
        (12, ("12",)),
        ("19-25", ("19", "20", "21", "22", "23", "24", "25")),
        ("3 – 4", ("3", "4")),
        ("9-3", ("9-3",)),
        ("1-999999", ("1-999999",)),
        ("S1,a-b", ("S1", "a-b")),
    ],
)
def test_citations_of_every_release(value: object, expected: tuple[str, ...]) -> None:
    assert parse_citations(value) == expected


@pytest.mark.parametrize("value", [True, 1.5, {"1": 2}, [["1"]]])
def test_citations_of_another_type_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="citations"):
        parse_citations(value)


def test_an_id_that_looks_like_a_range_is_an_id() -> None:
    assert parse_citations("1-2", {"1-2", "1", "2"}) == ("1-2",)
    assert not has_range("1-2", {"1-2", "1", "2"})
    assert parse_citations("1-3", {"1", "3"}) == ("1", "3")


def test_the_official_scorer_of_2026_takes_text_for_characters() -> None:
    assert set(official_2026_characters("1,12")) == {"1", ",", "2"}
    assert official_2026_characters(["1", "12"]) == ("1", "12")
    assert official_2026_characters("7") == ("7",)
    assert official_2026_characters("") == official_2026_characters(None) == ()


def test_a_perfect_prediction_has_f1_0_4_by_the_official_scorer() -> None:
    # The worked figure for the text "1,12": of the links (1, "1") and (1, "12") one is found among three.
    gold, predicted = set(official_2026_characters("1,12")), set(parse_citations("1,12"))
    assert 2 * len(gold & predicted) / (len(gold) + len(predicted)) == pytest.approx(0.4)


@given(st.lists(st.integers(0, 200).map(str), max_size=20))
def test_text_and_list_are_the_same_citations(idents: list[str]) -> None:
    assert parse_citations(",".join(idents)) == parse_citations(idents) == tuple(dict.fromkeys(idents))
    assert set(official_2026_characters(",".join(idents))) == set(",".join(idents))


@given(st.integers(0, 500), st.integers(0, 400))
def test_a_range_is_every_number_of_it(low: int, more: int) -> None:
    assert parse_citations(f"{low}-{low + more}") == tuple(str(n) for n in range(low, low + more + 1))
    assert has_range(f"{low}-{low + more}")
