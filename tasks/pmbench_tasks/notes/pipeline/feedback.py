"""Reading a file of feedback: its columns, its encoding, and what in it cannot be."""

from __future__ import annotations

import codecs
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pmbench import ConfigError, DataError, Row, UnknownName, id_shown, read_table
from pmbench_tasks.notes.pipeline.records import WHOLE, FeedbackItem
from pmbench_tasks.notes.pipeline.told import one_line
from pmbench_tasks.notes.sections import SECTIONS, known_section

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "feedback_id", "uid"),
    "feedback": ("feedback", "text", "comment", "comments", "remark", "remarks", "feedback_text"),
    "stars": ("stars", "rating", "star_rating", "score"),
    "section": ("section", "note_section", "sections"),
    "visit": ("visit", "visit_id", "encounter", "encounter_id"),
}
"""Names under which a file may have its columns; letter case, `_`, `-` and space do not count."""

LEAST_WORDS = 3
"""Words of the shortest feedback that is used: more than two, as in the paper (appendix B.1)."""

_ALIASES = {
    "ap": "assessment_and_plan",
    "a_p": "assessment_and_plan",
    "assessment": "assessment_and_plan",
    "assessment_plan": "assessment_and_plan",
    "plan": "assessment_and_plan",
    "hpi": "subjective",
    "hpi_subjective": "subjective",
    "history": "subjective",
    "exam": "objective_exam",
    "pe": "objective_exam",
    "physical_exam": "objective_exam",
    "results": "objective_results",
    "full": WHOLE,
    "full_note": WHOLE,
    "note": WHOLE,
    "whole": WHOLE,
    "whole_note": WHOLE,
}
"""What people write for a section beside its name."""

_STARS = re.compile(r"[1-5](?:\.0*)?")
_NOT_OF_FILES = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})


class FeedbackFile(msgspec.Struct, frozen=True):
    """A file of feedback as it was read.

    Attributes:
        items: those with a text, in the order of the file.
        empty: rows without one.
        unrated: items without stars.
        shown: how the file is called.
        rows: of the file, those without a text among them.
        taken: what is read -> its column; not_taken: columns that nothing is read from.
    """

    items: tuple[FeedbackItem, ...]
    empty: int
    unrated: int
    shown: str
    rows: int = 0
    taken: dict[str, str] = {}
    not_taken: tuple[str, ...] = ()

    @property
    def columns_told(self) -> tuple[str, ...]:
        """Lines on columns that were guessed, and on those that are passed over; none where there are no such."""
        guessed = [
            f"{what} from {name!r}" for what, name in self.taken.items() if _plain(name) != _plain(what)
        ]
        lines = [f"read is {', '.join(guessed)}; --columns decides"] if guessed else []
        if self.not_taken:
            many = ", ".join(map(repr, self.not_taken[:8])) + (", …" if len(self.not_taken) > 8 else "")
            one = (
                f"; --columns id={self.not_taken[0]} would take it for the id"
                if "id" not in self.taken
                else ""
            )
            lines.append(f"not read: {many}{one}")
        if "id" not in self.taken:
            lines.append("there is no id: items are called by the numbers of their rows, empty ones counted")
        name = Path(self.shown).name
        return tuple(f"{name}: {line}" for line in lines)


def read_feedback(
    path: Path, *, columns: Mapping[str, str] | None = None, encoding: str = ""
) -> FeedbackFile:
    """Read feedback from CSV, TSV, JSON lines, JSON or Parquet.

    The columns are `feedback` (required) and `id`, `stars`, `section`, `visit`, or what `NAMES` has for them. Without
    an `id`, rows are called by their number. A row without text is counted and left out.

    Args:
        path: the file.
        columns: which column is which, where that is not to be guessed.
        encoding: of a text file that is not UTF-8, as Python calls it (`latin-1`, `windows-1252`). It is never
            guessed: a wrong guess would put other letters into prompts without a word.

    Raises:
        DataError: the file cannot be read; it has no column of feedback; an id stands twice; stars are no whole
            number from 1 to 5 (another scale would be read wrongly); no section has that name; every text is empty.
        ConfigError: no such encoding, or no such column; an encoding is told of a file that is UTF-8.
    """
    rows = _rows(path, encoding)
    named = _columns(rows[0], path, columns or {})
    items: list[FeedbackItem] = []
    seen: set[str] = set()
    empty = 0
    for row in rows:
        text = row.text(named["feedback"])
        if not one_line(text):
            empty += 1
            continue
        item = _item(row, named, text)
        if item.id in seen:
            raise DataError(
                f"the id {id_shown(item.id)} stands twice",
                where=row.where(named.get("id")),
                remedy="Give each row its own, or leave the column out",
            )
        seen.add(item.id)
        items.append(item)
    if not items:
        raise DataError(
            "no row has a text", where=str(path), remedy=f"Fill in the column {named['feedback']!r}"
        )
    unrated = sum(item.stars is None for item in items)
    not_taken = tuple(column for column in rows[0].values if column not in named.values())
    return FeedbackFile(tuple(items), empty, unrated, str(path), len(rows), named, not_taken)


def words_of(text: str) -> int:
    """Words between white space that have a letter or a digit."""
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def _rows(path: Path, encoding: str) -> Sequence[Row]:
    if not encoding or _plain(encoding) in ("utf8", "utf8sig"):
        try:
            return read_table(path)
        except DataError as error:
            if not error.what.startswith("not UTF-8"):
                raise
            raise DataError(
                error.what, where=error.where, remedy="Say how it is encoded, such as --encoding windows-1252"
            ) from None
    if not _is_of_text(encoding):
        raise ConfigError(
            "no such encoding",
            where=f"--encoding {encoding}",
            remedy="Write latin-1, windows-1252, utf-16…",
        )
    if path.suffix.lower() not in (".csv", ".tsv", ".jsonl", ".ndjson", ".json"):
        raise ConfigError(
            f"files ending in {path.suffix!r} have no encoding of their own", where=f"--encoding {encoding}"
        )
    try:
        raw = path.read_bytes()
        _refuse_utf8(raw, path, encoding)
        text = raw.decode(encoding)
    except (UnicodeDecodeError, ValueError):
        raise DataError(
            f"is not {encoding}", where=str(path), remedy="Give another --encoding, or save it as UTF-8"
        ) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=str(path)) from None
    # A folder that only its owner can look into, gone when the rows are read.
    with tempfile.TemporaryDirectory(prefix="pmbench-") as folder:
        copy = Path(folder) / f"feedback{path.suffix.lower()}"
        copy.write_text(text, encoding="utf-8", newline="")
        return read_table(copy, shown=str(path))


def _refuse_utf8(raw: bytes, path: Path, encoding: str) -> None:
    """Bytes beyond ASCII that happen to be UTF-8 are UTF-8: in another encoding such text hardly ever is.

    Raises:
        ConfigError: they are.
    """
    try:
        plain = raw.isascii() or not raw.decode("utf-8")
    except UnicodeDecodeError:
        return
    if not plain:
        raise ConfigError(
            f"{path} is UTF-8, with letters beyond ASCII, which would be read as others",
            where=f"--encoding {encoding}",
            remedy="Leave --encoding out",
        )


def _is_of_text(encoding: str) -> bool:
    """Whether files are written in this encoding. Python has others, between bytes, and of names and literals."""
    try:
        found = codecs.lookup(encoding)
        "a".encode(encoding)
    except (LookupError, ValueError):  # no such, or none of text; ValueError: of a name no encoding can have
        return False
    return found.name not in _NOT_OF_FILES


def _columns(row: Row, path: Path, given: Mapping[str, str]) -> dict[str, str]:
    for wanted, column in given.items():
        if wanted not in NAMES:
            raise UnknownName("column of feedback", wanted, NAMES)
        if column not in row.values:
            raise UnknownName(f"column in {path}", column, row.values)
    there: dict[str, list[str]] = {}
    for column in row.values:
        there.setdefault(_plain(column), []).append(column)
    found = dict(given)
    for wanted, names in NAMES.items():
        if wanted in found:
            continue
        fitting = [column for name in names for column in there.get(_plain(name), ())]
        if fitting and _plain(fitting[0]) != _plain(wanted) and len(fitting) > 1:
            raise DataError(
                f"{len(fitting)} columns could be {wanted!r}",
                where=str(path),
                remedy=f"Say which: --columns {wanted}=…",
            )
        if fitting:
            found[wanted] = fitting[0]
    if "feedback" not in found:
        raise DataError(
            "has no column 'feedback'",
            where=str(path),
            remedy="Say which column holds the words of clinicians: --columns feedback=…",
        )
    return found


def _item(row: Row, named: Mapping[str, str], text: str) -> FeedbackItem:
    def cell(column: str) -> str:
        return row.text(named[column]).strip() if column in named else ""

    return FeedbackItem(
        id=cell("id") or str(row.number),
        text=text,
        stars=_stars(cell("stars"), row, named.get("stars")),
        sections=_sections(cell("section"), row, named.get("section")),
        visit=cell("visit"),
    )


def _stars(given: str, row: Row, column: str | None) -> int | None:
    if not given:
        return None
    if not _STARS.fullmatch(given):
        raise DataError(
            "stars are whole numbers from 1 (worst) to 5 (best)",
            where=row.where(column),
            remedy="Bring them to that scale, or leave the cell empty",
        )
    return int(given[0])


def _sections(given: str, row: Row, column: str | None) -> tuple[str, ...]:
    found = []
    for name in filter(None, (part.strip() for part in re.split(r"[;,|]", given))):
        plain = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
        try:
            found.append(_ALIASES.get(plain) or known_section(plain))
        except UnknownName:
            # The name is not shown: in a column that was guessed it may be a clinician's words.
            raise DataError(
                "no section of a note has this name",
                where=row.where(column),
                remedy=f"Write one of {', '.join((*SECTIONS, WHOLE))}, or leave the cell empty",
            ) from None
    return tuple(dict.fromkeys(found))


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.casefold())
