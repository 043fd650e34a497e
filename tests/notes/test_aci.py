"""ACI-bench in its published shapes, and tables that are not ACI-bench."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from given_notes import ReadNotes

from pmbench import ConfigError, DataError, read_table
from pmbench.data.loading import Dataset, load
from pmbench_tasks.notes.aci import read_aci
from pmbench_tasks.notes.sections import EMPTY, SECTIONS, sections_of
from pmbench_tasks.notes.visits import band_of

SAID = "[doctor] What brings you in?\n[patient] My knee."
NOTE = "CHIEF COMPLAINT\n\nKnee pain.\n\nPLAN\n\nIce."
SECRET = "Zanzibar"


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "aci-bench"


def csv_file(path: Path, *rows: tuple[str, ...], header: str = "dataset,encounter_id,dialogue,note") -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(header + "\r\n")
        csv.writer(stream).writerows(rows)
    return path


def json_file(path: Path, *items: tuple[str, str, str]) -> Path:
    data = [{"src": src, "tgt": tgt, "file": file} for src, tgt, file in items]
    path.write_text(json.dumps({"data": data}, indent=4), encoding="utf-8")
    return path


def lines_file(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def loaded(path: Path, **more: Any) -> tuple[Dataset, ReadNotes]:
    task = ReadNotes()
    return load(task, str(path), **more), task


def test_a_folder_is_read_with_its_metadata_and_is_public(folder: Path) -> None:
    found, task = loaded(folder, split="valid+test1")
    assert (len(found.instances), found.sensitivity) == (60, "public")
    assert any("CC BY 4.0" in note for note in found.notes)
    slices = [one.slices for one in found.instances]
    assert Counter(one["dataset"] for one in slices) == {"aci": 33, "virtassist": 15, "virtscribe": 12}
    assert Counter(one.get("sex") for one in slices) == {"male": 33, "female": 26, None: 1}
    assert Counter(one["length"] for one in slices) == {"longer": 60}
    assert list(task.remarks(found.instances)) == [
        "1 of 60 notes have no objective_exam",
        "10 of 60 notes have no objective_results",
    ]
    first = found.instances[0]
    assert first.inputs["transcript"].startswith("[doctor]")
    assert set(first.inputs) == {"transcript"}
    assert first.target["sections"] == sections_of(first.target["note"])


def test_splits_are_not_joined_unasked(folder: Path) -> None:
    found, _ = loaded(folder)
    assert len(found.instances) == 40 and found.instances[0].id == "D2N088"
    assert any("split test1" in note for note in found.notes)
    with pytest.raises(ConfigError, match=r"no split 'test2', but test1 \(40\), valid \(20\)"):
        loaded(folder, split="test2")
    one, _ = loaded(folder / "valid.csv")
    assert len(one.instances) == 20 and one.sensitivity == "public"


def test_json_has_the_same_visits_as_csv(folder: Path, tmp_path: Path) -> None:
    rows = read_table(folder / "valid.csv")
    shutil.copyfile(folder / "valid.csv", tmp_path / "valid.csv")
    items = [
        (row.text("dialogue"), row.text("note"), f"{row.text('encounter_id')}-{row.text('dataset')}")
        for row in rows
    ]
    whole = json_file(tmp_path / "valid_full.json", *items)
    found, _ = loaded(whole)
    assert found.sensitivity == "public"
    assert found.fingerprint == loaded(tmp_path / "valid.csv")[0].fingerprint
    with pytest.raises(DataError, match="holds ACI-bench as CSV and as JSON"):
        loaded(tmp_path)


def test_a_division_by_itself_says_nothing_of_the_others(tmp_path: Path) -> None:
    part = json_file(
        tmp_path / "valid_objective_results.json",
        (SAID, "RESULTS\n\nX-ray is normal.\n\n", "D2N068-virtassist-objective_results"),
        (SAID, f"objective_results: {EMPTY}.\n", "D2N069-virtassist-objective_results"),
    )
    found, task = loaded(part)
    assert [one.target["only"] for one in found.instances] == ["objective_results"] * 2
    full, empty = task.visits
    assert (
        full.sections["objective_results"].startswith("RESULTS") and empty.sections["objective_results"] == ""
    )
    assert full.holds("objective_results") and empty.holds("objective_results")
    assert not full.holds("subjective") and not empty.holds("subjective")
    assert list(task.remarks(found.instances)) == ["1 of 2 notes have no objective_results"]


def test_files_of_all_divisions_make_whole_visits(tmp_path: Path) -> None:
    texts = {"subjective": "CC:\nKnee.\n", "objective_exam": f"objective_exam: {EMPTY}.\n"}
    for name in SECTIONS:
        json_file(
            tmp_path / f"train_{name}.json", (SAID, texts.get(name, f"{name} text"), f"D2N001-aci-{name}")
        )
    found, task = loaded(tmp_path)
    (visit,) = task.visits
    assert visit.id == "D2N001" and visit.only == ""
    assert visit.sections == {
        "subjective": "CC:\nKnee.\n",
        "objective_exam": "",
        "objective_results": "objective_results text",
        "assessment_and_plan": "assessment_and_plan text",
    }
    # Whole notes go before their divisions.
    json_file(tmp_path / "train.json", (SAID, NOTE, "D2N001-aci"))
    json_file(tmp_path / "train_full.json", (SAID, NOTE, "D2N001-aci"))
    found, _ = loaded(tmp_path)
    assert found.instances[0].target["note"] == NOTE
    for name in ("train.json", "train_full.json", "train_subjective.json"):
        (tmp_path / name).unlink()
    with pytest.raises(DataError, match="visits lack subjective"):
        loaded(tmp_path)


def test_experiments_on_transcripts_have_ids_of_their_own(tmp_path: Path) -> None:
    table = csv_file(
        tmp_path / "test1_aci_asr.csv", ("aci", "ACI066", SAID, NOTE), header="dataset,id,dialogue,note"
    )
    metadata = tmp_path / "test1_aci_asr_metadata.csv"
    csv_file(metadata, ("ACI066", "Male ", "9-month"), header="id,patient_gender,patient_age")
    found, _ = loaded(table)
    assert found.sensitivity == "public"
    assert found.instances[0].slices == {
        "dataset": "aci",
        "sex": "male",
        "age_band": "0-17",
        "length": "shorter",
    }


def test_what_only_looks_like_aci_bench_is_phi(tmp_path: Path) -> None:
    own = csv_file(tmp_path / "own.csv", ("aci", "D2N001", SAID, NOTE), ("aci", "patient-7", SAID, NOTE))
    found, _ = loaded(own)
    assert (len(found.instances), found.sensitivity) == (2, "phi")
    assert [one.id for one in found.instances] == ["D2N001", "patient-7"]
    for part, ident in (("aci", "D2N208"), ("aci", "D2N000"), ("clinic", "D2N001")):
        other = csv_file(tmp_path / "other.csv", (part, ident, SAID, NOTE))
        assert read_aci(other) is None and loaded(other)[0].sensitivity == "phi"
    with pytest.raises(DataError, match=r"holds ACI-bench and 'own\.csv', too"):
        csv_file(tmp_path / "valid.csv", ("aci", "D2N068", SAID, NOTE))
        (tmp_path / "other.csv").unlink()
        loaded(tmp_path)


def test_json_of_other_visits_is_refused_not_taken_for_public(tmp_path: Path) -> None:
    own = json_file(tmp_path / "own.json", (SAID, NOTE, "D2N001-aci"), (SECRET, SECRET, SECRET))
    with pytest.raises(DataError, match=r"1 of its 2 visits are not of it.*Save the list") as raised:
        loaded(own)
    assert SECRET not in str(raised.value)
    (tmp_path / "list.json").write_text(json.dumps([{"src": SAID, "tgt": NOTE}]), encoding="utf-8")
    found, _ = loaded(tmp_path / "list.json")
    assert found.sensitivity == "phi" and found.instances[0].target["note"] == NOTE


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"data": [{"src": "' + SECRET, "broken JSON"),
        ('{"data": [{"src": "a", "tgt": 5, "file": "D2N001-aci"}]}', r"Expected 'str', got 'int'.*tgt"),
        ('{"data": [{"src": "' + SECRET + '"}]}', "missing required field 'tgt'"),
    ],
)
def test_broken_json_is_told_without_its_text(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "valid.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=said) as raised:
        loaded(path)
    assert SECRET not in str(raised.value)


def test_bad_rows_are_named_by_their_place(tmp_path: Path) -> None:
    row = {"id": "1", "transcript": SAID, "note": NOTE}
    path = tmp_path / "own.jsonl"
    for bad, said in (
        (
            {"section": SECRET},
            r"row 2, column 'section': no division of a note has this name.*assessment_and_plan",
        ),
        ({"sections": {SECRET: "x"}}, "row 2, column 'sections': no division"),
        ({"sections": ["x"]}, "row 2, column 'sections': the divisions are not an object of texts"),
        ({"transcript": "  "}, "row 2, column 'transcript': a value is required"),
        ({"transcript": "[…] \u200b"}, "row 2, column 'transcript': nothing is said in the transcript"),
        ({"id": "1"}, "the same id as row 1"),
    ):
        lines_file(path, row, {**row, "id": "2", **bad})
        with pytest.raises(DataError, match=said) as raised:
            loaded(path)
        assert SECRET not in str(raised.value)


def test_own_visits_by_guessed_columns(tmp_path: Path) -> None:
    path = lines_file(
        tmp_path / "own.jsonl",
        {"encounter_id": "a", "src": SAID, "tgt": NOTE, "gender": "female", "draft": "PLAN\nIce."},
        {"encounter_id": "b", "src": SAID, "tgt": "Ice.", "section": "Assessment and plan"},
        {"encounter_id": "c", "src": SAID, "sections": {"objective_exam": "Fine.", "subjective": EMPTY}},
        {"encounter_id": "d", "src": SAID},
    )
    found, task = loaded(path)
    assert [one.id for one in found.instances] == ["a", "b", "c", "d"]
    assert found.column("draft") == {"a": "PLAN\nIce."}
    whole, part, given, none = task.visits
    assert whole.slices == {"sex": "female", "length": "shorter"} and whole.sections["assessment_and_plan"]
    assert (part.only, part.sections["assessment_and_plan"]) == ("assessment_and_plan", "Ice.")
    assert (given.note, given.sections["objective_exam"], given.sections["subjective"]) == (
        "Fine.",
        "Fine.",
        "",
    )
    assert not any(map(none.holds, SECTIONS))
    assert "1 of 4 visits have no reference note" in list(task.remarks(found.instances))


def test_ages_as_they_are_written() -> None:
    ages = ("62", "45.0", "9-month", "240-month", "100", "", "17", "18", "65", "unknown", "-3", "40 weeks")
    bands = ("40-64", "40-64", "0-17", "18-39", "80+", "", "0-17", "18-39", "65-79", "", "", "")
    assert tuple(map(band_of, ages)) == bands
