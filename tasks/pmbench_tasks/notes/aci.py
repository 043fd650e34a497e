"""ACI-bench (Yim et al. 2023) in the shapes in which it is published: CSV with metadata beside it, and JSON.

Only what is ACI-bench beyond doubt is read here, since it is public and may go anywhere: the columns, the names of
its parts and its own ids have to be there in every row. A table that merely looks like it is read like any other
table, as words of patients.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from pmbench import DataError, Row, read_table
from pmbench_tasks.notes.sections import SECTIONS
from pmbench_tasks.notes.visits import band_of

PARTS = ("virtassist", "virtscribe", "aci")
"""The parts of ACI-bench, by how visits were recorded: its column `dataset`."""

SPLITS = {
    "clinicalnlp_taskB_test1": "test1",
    "clinicalnlp_taskC_test2": "test2",
    "clef_taskC_test3": "test3",
}
"""Splits by the names of their files; every other file is the split of its own name (`train`, `valid`)."""

_HEADERS = (b"dataset,encounter_id,dialogue,note", b"dataset,id,dialogue,note")
_METADATA = "_metadata"
_FULL = "_full"
_ID = re.compile(r"D2N(?!000)[01]\d\d|D2N20[0-7]|(?:ACI|VA|VS)\d{3}")
_FILE = re.compile(
    rf"(?P<id>{_ID.pattern}|\d{{1,2}})-(?P<dataset>{'|'.join(PARTS)})(?:-(?P<section>{'|'.join(SECTIONS)}))?"
)
_JSON_START = re.compile(rb'\s*\{\s*"data"\s*:\s*\[')
_HEAD = 4096


class _Item(msgspec.Struct):
    src: str
    tgt: str
    file: str


class _Items(msgspec.Struct):
    data: list[_Item]


def read_aci(path: Path) -> list[Row] | None:
    """The visits of a file or folder of ACI-bench.

    A CSV has the columns `dataset,encounter_id,dialogue,note` (`id` in the experiments on transcripts); its metadata
    are read from `NAME_metadata.csv` beside it. A JSON file is `{"data": [{"src", "tgt", "file"}]}`, with whole notes
    or with one division of each. Of a folder all splits are read; where it holds whole notes and divisions, the
    whole notes are.

    Returns:
        None where it is nothing of the kind. Rows have the names of `visits.COLUMNS`, and `split`.

    Raises:
        DataError: it is in that shape, but broken; or a JSON file of that shape holds other visits.
    """
    if path.is_dir():
        return _folder(path)
    kind = path.suffix.lower()
    if kind == ".csv" and _starts(path, *_HEADERS):
        return _csv(path)
    if kind == ".json" and _JSON_START.match(_head(path)):
        return _json(path)
    return None


def _folder(path: Path) -> list[Row] | None:
    files = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith(".")]
    tables = [
        file
        for file in files
        if file.suffix.lower() in (".csv", ".json") and not file.stem.endswith(_METADATA)
    ]
    whole = {file: rows for file in _chosen(tables) if (rows := read_aci(file)) is not None}
    if not whole:
        return None
    others = [file for file in _chosen(tables) if file not in whole]
    suffixes = {file.suffix.lower() for file in whole}
    if others or len(suffixes) > 1:
        raise DataError(
            "holds ACI-bench as CSV and as JSON"
            if not others
            else f"holds ACI-bench and {others[0].name!r}, too",
            where=str(path),
            remedy=f"Name one file: --data {next(iter(whole))}",
        )
    rows = [row for found in whole.values() for row in found]
    return _joined(rows, path) if all("section" in row.values for row in rows) else rows


def _chosen(files: Sequence[Path]) -> list[Path]:
    """The files that are read: of a split's whole notes one file, and its divisions only where there is none."""
    names = {file.name for file in files}
    chosen = []
    for file in files:
        stem, section = _split_name(file)
        twin = f"{stem}{_FULL}{file.suffix}"
        if section and {twin, f"{stem}{file.suffix}"} & names:
            continue
        if not section and file.name != twin and twin in names:
            continue
        chosen.append(file)
    return chosen


def _split_name(file: Path) -> tuple[str, str]:
    """The name of a file without what it says of its content, and which division that is."""
    if file.suffix.lower() != ".json":
        return file.stem, ""
    for section in SECTIONS:
        if file.stem.endswith(f"_{section}"):
            return file.stem.removesuffix(f"_{section}"), section
    return file.stem.removesuffix(_FULL), ""


def _csv(path: Path) -> list[Row] | None:
    rows = read_table(path)
    key = "encounter_id" if "encounter_id" in rows[0].values else "id"
    if not all(_ID.fullmatch(row.text(key)) and row.text("dataset") in PARTS for row in rows):
        return None
    split, people = _split_of(path), _people(path, key)
    return [
        Row(
            {
                "id": row.text(key),
                "transcript": row.text("dialogue"),
                "note": row.text("note"),
                "dataset": row.text("dataset"),
                "split": split,
                **people.get(row.text(key), {}),
            },
            row.file,
            row.number,
            {"id": key, "transcript": "dialogue"},
        )
        for row in rows
    ]


def _people(path: Path, key: str) -> dict[str, dict[str, str]]:
    """Sex and age band of each patient, from the metadata beside a file, where there are any."""
    beside = path.with_name(f"{path.stem}{_METADATA}{path.suffix}")
    if not beside.is_file():
        return {}
    return {
        row.text(key): {
            "sex": row.text("patient_gender").strip().lower(),
            "age_band": band_of(row.text("patient_age")),
        }
        for row in read_table(beside)
    }


def _json(path: Path) -> list[Row]:
    try:
        items = msgspec.json.decode(path.read_bytes(), type=_Items).data
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"is not ACI-bench's JSON ({_reason(error)})", where=str(path), remedy="Fetch the file again"
        ) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=str(path), remedy="Check it") from None
    found = [_FILE.fullmatch(item.file) for item in items]
    if foreign := sum(match is None for match in found):
        raise DataError(
            f"has the shape of ACI-bench, but {foreign} of its {len(items)} visits are not of it",
            where=str(path),
            remedy='Save the list under "data" as a file of its own: it is then read as visits of yours',
        )
    split = _split_of(path)
    return [
        Row(
            {
                "id": match["id"],
                "transcript": item.src,
                "note": item.tgt,
                "dataset": match["dataset"],
                "split": split,
                **({"section": match["section"]} if match["section"] else {}),
            },
            str(path),
            number,
            {"id": "file", "transcript": "src", "note": "tgt"},
        )
        for number, (item, match) in enumerate(zip(items, found, strict=True), 1)
        if match is not None
    ]


def _joined(rows: Iterable[Row], path: Path) -> list[Row]:
    """One row for each visit, of rows with one division each.

    Raises:
        DataError: a visit lacks some of its divisions, and not all but one.
    """
    visits: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        parts = visits.setdefault((row.text("split"), row.text("id")), {})
        section = row.text("section")
        if section in parts:
            raise DataError(
                f"the same division of this visit as row {parts[section].number} of {parts[section].file}",
                where=row.where("id"),
                remedy="Fetch the file again",
            )
        parts[section] = row
    made = []
    for parts in visits.values():
        first = next(iter(parts.values()))
        if 1 < len(parts) < len(SECTIONS):
            missing = ", ".join(name for name in SECTIONS if name not in parts)
            raise DataError(
                f"visits lack {missing}",
                where=str(path),
                remedy=f"Put the files of all divisions there, or name one: --data {first.file}",
            )
        if len(parts) == 1:
            made.append(first)
            continue
        texts = {name: parts[name].text("note") for name in SECTIONS}
        values = {key: value for key, value in first.values.items() if key not in ("note", "section")}
        made.append(Row({**values, "sections": texts}, first.file, first.number, first.origin))
    return made


def _split_of(path: Path) -> str:
    stem, _ = _split_name(path)
    return SPLITS.get(stem, stem)


def _starts(path: Path, *beginnings: bytes) -> bool:
    line = _head(path).removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].rstrip(b"\r")
    return line in beginnings


def _head(path: Path) -> bytes:
    """The beginning of a file; nothing of one that cannot be read, which whoever reads it next says."""
    try:
        with path.open("rb") as stream:
            return stream.read(_HEAD)
    except OSError:
        return b""


def _reason(error: Exception) -> str:
    """What is wrong with a JSON file, without a word of its text."""
    if isinstance(error, msgspec.ValidationError):
        return str(error).replace("`", "'")
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else "broken JSON"
