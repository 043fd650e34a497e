"""Folders as rows: releases, splits, settings, and files that do not belong together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from given_files import SECRET, key_entry, write, xml, xml_case

from pmbench import DataError, Row, digest
from pmbench_tasks.archehr.reading import notes_of, place_of, read_folder

SHARED = Path(os.environ.get("PMBENCH_SHARED", Path(__file__).parents[3] / "shared")) / "conformance/archehr"


def rows_of(path: Path) -> list[Row]:
    rows = read_folder(path)
    assert rows is not None
    return rows


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_folder(path)
    line = str(caught.value)
    assert "\n" not in line
    assert SECRET not in line
    return line


def test_a_row_says_where_its_case_stands(tmp_path: Path) -> None:
    folder = write(tmp_path, xml(xml_case("a"), xml_case("b")), [key_entry("b"), key_entry("a")])
    rows = rows_of(folder)
    assert [(row.values["id"], row.number) for row in rows] == [("a", 1), ("b", 2)]
    assert place_of(rows[1], "answers") == f"{folder / 'archehr-qa.xml'}, case 'b', answers"
    assert rows[0].values["split"] == ""
    assert notes_of(rows) == []


def test_without_a_key_there_are_no_labels(tmp_path: Path) -> None:
    (row,) = rows_of(write(tmp_path, xml(xml_case())))
    assert row.values["case"].relevance == {}


def test_a_case_can_be_fingerprinted(tmp_path: Path) -> None:
    first = rows_of(write(tmp_path / "a", xml(xml_case()), [key_entry()]))[0].values["case"]
    second = rows_of(write(tmp_path / "b", xml(xml_case()), [key_entry()]))[0].values["case"]
    assert first == second
    assert digest({"case": first}) == digest({"case": second})


def test_an_xml_is_read_with_what_stands_beside_it(tmp_path: Path) -> None:
    folder = write(tmp_path, xml(xml_case("1")), [key_entry("1")])
    (folder / "mine.XML").write_text(xml(xml_case("m")))
    (folder / "mine_key.json").write_text(
        f'[{{"case_id": "m", "clinician_answer_without_citations": "{SECRET}"}}]'
    )
    assert rows_of(folder / "mine.XML")[0].values["case"].answer == SECRET
    assert rows_of(folder / "archehr-qa.xml")[0].values["case"].relevance
    assert [row.values["id"] for row in rows_of(folder)] == ["1"]


@pytest.mark.parametrize("name", ["my_key.json", "x.csv"])
def test_other_files_are_left_to_others(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[]")
    assert read_folder(tmp_path / name) is None
    assert read_folder(tmp_path) is None
    assert read_folder(tmp_path / "nothing") is None


def test_sub_folders_are_splits(tmp_path: Path) -> None:
    for name, ident in (("test-2026", "121"), ("dev", "1"), ("test", "21"), ("docs", "0")):
        write(tmp_path / name, xml(xml_case(ident)) if name != "docs" else None)
    rows = rows_of(tmp_path)
    assert [(row.values["id"], row.values["split"], row.values["case"].split) for row in rows] == [
        ("1", "development", "development"),
        ("21", "test", "test"),
        ("121", "test-2026", "test-2026"),
    ]
    assert rows[1].file == str(tmp_path / "test" / "archehr-qa.xml")


def test_a_case_in_two_splits_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "dev", xml(xml_case("1"), xml_case("2")))
    write(tmp_path / "test", xml(xml_case("2")))
    line = refused(tmp_path)
    assert f"{tmp_path / 'test' / 'archehr-qa.xml'}, case '2': the same case is in" in line


def test_an_xml_beside_splits_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "dev", xml(xml_case("1")))
    write(tmp_path, xml(xml_case("1")))
    assert "holds archehr-qa.xml and sub-folders with one, too: dev" in refused(tmp_path)


def test_sub_folders_of_other_names_are_not_guessed_at(tmp_path: Path) -> None:
    write(tmp_path / "release-1.3", xml(xml_case("1")))
    assert f"--data {tmp_path / 'release-1.3'}" in refused(tmp_path)


def test_a_sub_folder_of_another_name_beside_splits_is_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "test", xml(xml_case("1")))
    write(tmp_path / "Dev", xml(xml_case("2")))
    line = refused(tmp_path)
    assert "its sub-folder Dev holds an archehr-qa.xml, and has the name of no split" in line
    assert f"--data {tmp_path / 'test'}" in line


@pytest.mark.parametrize("name", ["ArchEHR-QA.xml", "mine.XML"])
def test_an_xml_of_another_name_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(xml(xml_case("1")))
    (tmp_path / "archehr-qa_key.json").write_text("[]")
    line = refused(tmp_path)
    assert f"there is no archehr-qa.xml here, but {name}. Name it: --data {tmp_path / name}" in line


def test_a_key_without_its_xml_is_named(tmp_path: Path) -> None:
    key = write(tmp_path, key=[key_entry("1")]) / "archehr-qa_key.json"
    assert "there is no archehr-qa.xml here. Put it beside the key" in refused(tmp_path)
    assert (
        f"is read with its XML, and not alone. Name the folder that holds archehr-qa.xml too: --data {tmp_path}"
        in (refused(key))
    )


def test_a_question_that_is_not_there_is_told(tmp_path: Path) -> None:
    question = "<clinician_question>\nWhy?\n</clinician_question>"
    narrative = (
        "<patient_narrative>He fell.</patient_narrative><clinician_question>\u200b</clinician_question>"
    )
    rows = rows_of(write(tmp_path, xml(xml_case("a", inside=question), xml_case("b", inside=narrative))))
    assert notes_of(rows) == [
        "1 case ('a'): no patient_narrative, so the clinician's question alone asks",
        "1 case ('b'): no clinician_question, so the patient's narrative alone asks",
    ]


def test_elements_of_other_names_are_told(tmp_path: Path) -> None:
    inside = f"<patient_narative>{SECRET}</patient_narative><clinician_question>Why?</clinician_question>"
    assert "1 case ('a'): <patient_narative> in it is none of the format, and is not read" in notes_of(
        rows_of(write(tmp_path, xml(xml_case("a", inside=inside))))
    )


def test_the_mapping_says_setting_and_split(tmp_path: Path) -> None:
    mapping: list[dict[str, Any]] = [
        {"case_id": "1", "document_id": "x", "document_source": "mimic-iii"},
        {"case_id": 2, "document_id": "x", "document_source": "mimic-iv", "split": "dev"},
        {"case_id": "3", "document_source": "own", "setting": "Ward", "split": "test-2026"},
        {"case_id": "99", "document_source": "mimic-iv"},
    ]
    text = xml(*(xml_case(str(number)) for number in range(1, 5)))
    rows = rows_of(write(tmp_path, text, mapping=mapping))
    assert [(row.values["case"].setting, row.values["split"]) for row in rows] == [
        ("icu", ""),
        ("ed", "development"),
        ("ward", "test-2026"),
        ("", ""),
    ]
    assert notes_of(rows) == ["1 case ('4'): not in the mapping file, so of no known setting"]


def test_the_mapping_goes_before_the_name_of_the_folder(tmp_path: Path) -> None:
    mapping = [{"case_id": "1", "split": "test"}, {"case_id": "2"}]
    write(tmp_path / "dev", xml(xml_case("1"), xml_case("2")), mapping=mapping)
    assert [row.values["split"] for row in rows_of(tmp_path)] == ["test", "development"]


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({}, "the mapping is not a list"),
        ([{"case_id": "1"}, {"case_id": "1"}], "entry 2: case '1' is entry 1 already"),
        ([{"document_id": "1"}], "entry 1: has no case_id"),
        ([{"case_id": "1", "split": SECRET}], "entry 1, case '1', split: is no split"),
        (
            [{"case_id": "1", "setting": SECRET * 9}],
            "entry 1, case '1', setting: the setting is no short label",
        ),
        ([{"case_id": "1", "setting": 3}], "entry 1, case '1', setting: text is expected"),
    ],
)
def test_broken_mappings_are_refused(tmp_path: Path, mapping: Any, said: str) -> None:
    line = refused(write(tmp_path, xml(xml_case("1")), mapping=mapping))
    assert said in line
    assert "archehr-qa_mapping.json" in line


def test_a_note_without_its_sentences_is_told(tmp_path: Path) -> None:
    text = xml(xml_case(inside="<note_excerpt>\nHe had pain.\n</note_excerpt>"))
    rows = rows_of(write(tmp_path, text))
    assert notes_of(rows) == ["1 case ('1'): the XML has a note excerpt, but not its sentences"]


def test_many_cases_of_one_note_are_counted(tmp_path: Path) -> None:
    rows = rows_of(write(tmp_path, xml(*(xml_case(str(n)) for n in range(5))), mapping=[]))
    assert notes_of(rows) == ["5 cases ('0', '1', '2', …): not in the mapping file, so of no known setting"]


def test_the_conformance_files_are_read() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"no conformance data: {SHARED} is absent (PMBENCH_SHARED says where the folder is)")
    rows = rows_of(SHARED)
    assert [row.values["id"] for row in rows] == [str(number) for number in range(1, 11)]
    assert all(row.values["case"].relevance and row.values["case"].answer for row in rows)
    assert all(row.values["case"].sentences[0].id == "0" for row in rows)
