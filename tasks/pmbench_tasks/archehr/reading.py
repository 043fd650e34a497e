"""Folders of ArchEHR-QA as rows: an XML with its key and mapping, or a sub-folder of these for each split."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pmbench import DataError, Row, id_shown
from pmbench_tasks.archehr.cases import Case, shown_some
from pmbench_tasks.archehr.key import check_same_cases, read_key, with_key
from pmbench_tasks.archehr.mapping import SPLITS, Mapped, read_mapping
from pmbench_tasks.archehr.xml_cases import XmlCase, read_xml

XML, KEY, MAPPING = "archehr-qa.xml", "archehr-qa_key.json", "archehr-qa_mapping.json"

_RANGES = "citations of the key that are written as ranges were expanded"
_NO_SENTENCES = "the XML has a note excerpt, but not its sentences"
_NO_NARRATIVE = "no patient_narrative, so the clinician's question alone asks"
_NO_QUESTION = "no clinician_question, so the patient's narrative alone asks"
_NO_SETTING = "not in the mapping file, so of no known setting"


def read_folder(path: Path) -> list[Row] | None:
    """The cases of a folder, or of an XML file and what stands beside it.

    A folder holds `archehr-qa.xml`, and `archehr-qa_key.json` and `archehr-qa_mapping.json` where there are any;
    or it has sub-folders that do (`dev`, `test`, `test-2026`), which are read in this order of splits. A file
    `NAME.xml` is read with `NAME_key.json` and `NAME_mapping.json`, else with the official names beside it.

    Returns:
        None where there is nothing of the kind. A row has the values `id`, `case` (a `Case`), `split`
        (`development`, `test`, `test-2026` or `""`) and `notes` (what `notes_of` tells); its number is the place
        of the case in its XML, from 1. Without a key, cases have neither labels nor answers: what a task needs,
        it asks for.

    Raises:
        DataError: the files are broken or do not belong together; the message names file, case and element.
    """
    if not path.is_dir():
        _check_no_key(path)
        return _rows(path) if path.suffix.lower() == ".xml" and _is_file(path) else None
    parts = {name: path / name / XML for name in SPLITS if _is_file(path / name / XML)}
    if _is_file(path / XML):
        if parts:
            raise DataError(
                f"holds {XML} and sub-folders with one, too: {', '.join(parts)}",
                where=str(path),
                remedy=f"Name one: --data {path / XML}, or --data {path / next(iter(parts))}",
            )
        return _rows(path / XML)
    _check_no_other(path, parts)
    rows = [row for name, file in parts.items() for row in _rows(file, SPLITS[name])]
    _check_unique(rows)
    return rows or None


def place_of(row: Row, element: str = "") -> str:
    """`FILE, case '7', note_excerpt`: the place of a row for a message; never the text in it."""
    place = f"{row.file}, case {id_shown(row.values['id'])}"
    return f"{place}, {element}" if element else place


def notes_of(rows: Iterable[Row]) -> list[str]:
    """What somebody should know of how the rows were read: what was expanded or is missing, and in which cases."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for note in row.values.get("notes", ()):
            found.setdefault(note, []).append(row.values["id"])
    return [
        f"{len(idents)} case{'' if len(idents) == 1 else 's'} ({shown_some(idents)}): {note}"
        for note, idents in found.items()
    ]


def _rows(file: Path, split: str = "") -> list[Row]:
    read = read_xml(file)
    key_file, mapping_file = _beside(file, "key", KEY), _beside(file, "mapping", MAPPING)
    mapping = read_mapping(mapping_file) if mapping_file else None
    if key_file is None:
        return [_row(one, one.case, file, mapping, split, ()) for one in read]
    key = read_key(key_file)
    check_same_cases([one.case for one in read], key, file, key_file)
    rows = []
    for one in read:
        case, ranges = with_key(one.case, key[one.case.id])
        rows.append(_row(one, case, file, mapping, split, (_RANGES,) if ranges else ()))
    return rows


def _row(
    one: XmlCase,
    case: Case,
    file: Path,
    mapping: Mapping[str, Mapped] | None,
    split: str,
    notes: tuple[str, ...],
) -> Row:
    mapped = (mapping or {}).get(case.id, Mapped())
    case = replace(case, setting=mapped.setting, split=mapped.split or split)
    if one.excerpt and not case.sentences:
        notes += (_NO_SENTENCES,)
    if case.clinician_question and not case.narrative:
        notes += (_NO_NARRATIVE,)
    if case.narrative and not case.clinician_question:
        notes += (_NO_QUESTION,)
    notes += tuple(f"{name} in it is none of the format, and is not read" for name in one.unread)
    if mapping is not None and case.id not in mapping:
        notes += (_NO_SETTING,)
    values = {"id": case.id, "split": case.split, "case": case, "notes": notes}
    return Row(values, str(file), one.number)


def _beside(file: Path, kind: str, official: str) -> Path | None:
    """The key or mapping that belongs to an XML; None where there is none."""
    for name in (f"{file.stem}_{kind}.json", official):
        if _is_file(file.parent / name):
            return file.parent / name
    return None


def _check_unique(rows: Iterable[Row]) -> None:
    first: dict[str, Row] = {}
    for row in rows:
        ident = row.values["id"]
        if ident in first:
            raise DataError(
                f"the same case is in {first[ident].file}, too",
                where=place_of(row),
                remedy="Name one of the sub-folders: --data FOLDER",
            )
        first[ident] = row


def _check_no_other(path: Path, parts: Collection[str]) -> None:
    """Raises DataError where something under another name looks like the data: it would go unread without a word.

    Args:
        path: a folder without the official XML.
        parts: its sub-folders that are read.
    """
    entries = sorted(path.iterdir())
    others = [one for one in entries if one.name not in parts and one.is_dir() and _is_file(one / XML)]
    if others and parts:
        raise DataError(
            f"its sub-folder {others[0].name} holds an {XML}, and has the name of no split",
            where=str(path),
            remedy=f"Call it dev, test or test-2026, or move it away; or name one: --data {path / min(parts)}",
        )
    if others:
        raise DataError(
            f"holds no {XML}, but a sub-folder does",
            where=str(path),
            remedy=f"Name it: --data {others[0]}; or call the sub-folders dev, test and test-2026",
        )
    if parts:
        return
    files = [one for one in entries if one.suffix.lower() == ".xml" and _is_file(one)]
    if files:
        raise DataError(
            f"there is no {XML} here, but {files[0].name}",
            where=str(path),
            remedy=f"Name it: --data {files[0]}",
        )
    if any(one.name in (KEY, MAPPING) for one in entries):
        raise DataError(f"there is no {XML} here", where=str(path), remedy="Put it beside the key")


def _check_no_key(path: Path) -> None:
    if path.name in (KEY, MAPPING):
        raise DataError(
            "is read with its XML, and not alone",
            where=str(path),
            remedy=f"Name the folder that holds {XML} too: --data {path.parent}",
        )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise DataError(
            f"cannot be looked into ({reason})", where=str(path.parent), remedy="Check its permissions"
        ) from None
