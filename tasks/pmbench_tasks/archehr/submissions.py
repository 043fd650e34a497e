"""Official submissions of the shared tasks of 2025 and 2026: read from JSON or a zip file, and written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeGuard

from pmbench import DataError
from pmbench_tasks.archehr.entries import checked_text, entries, json_value, read_bytes
from pmbench_tasks.archehr.zipped import NAME, read_zipped

Kind = Literal["answer", "text", "evidence", "links", "none"]
"""What an entry holds: an answer of 2025; a text, ids or alignments of 2026; `none`: an empty list of either."""

HELD: Mapping[Kind, str] = {
    "answer": "answers (2025)",
    "text": "texts (2026)",
    "evidence": "lists of sentence ids (2026)",
    "links": "lists of alignments (2026)",
    "none": "empty lists (2026)",
}
"""What a file whose entries are of a kind holds, for messages."""

_ENTRY = '{"case_id": "1", "answer": "…"}'
_SHAPES = '"answer": "…", or "prediction": "…", ["1", …] or [{"answer_id": "1", "evidence_id": ["2", …]}, …]'


class Answered(NamedTuple):
    """What a submission holds for one case.

    Attributes:
        text: the answer or the prediction as it is, which may be empty; ids joined by `", "`; None for alignments.
        data: `{"evidence": [id, …]}`, `{"links": {answer id: [evidence id, …]}}`, both where every prediction of
            the file is an empty list, which could be either; None for texts.
    """

    text: str | None
    data: dict[str, Any] | None


class Submission(dict[str, Answered]):
    """What a submission holds, by case id and in its order.

    Attributes:
        kind: of all its entries.
        notes: what somebody should know of how it was read.
    """

    kind: Kind = "none"
    notes: tuple[str, ...] = ()


def read_submission(path: Path) -> Submission | None:
    """Read an official submission.

    2025: `[{"case_id": "1", "answer": "Text. |1,2|\\n…"}]`. 2026: `[{"case_id": "1", "prediction": …}]` with a text
    (subtasks 1 and 3), a list of sentence ids (2) or a list of `{"answer_id": "1", "evidence_id": ["2", …]}` (4).
    Either as `.json`, or packed as `.zip`. A case id that is a number is read as its digits, and noted. Ids of the
    predictions must be text, as the official scorers want them. Whether cases and ids are those of a dataset is
    not looked at here.

    Returns:
        None where the file has another ending, or there is none.

    Raises:
        DataError: no such list, broken, a case twice, an entry without case, answer or prediction, or of a type or
            kind that differs; an archive that is not to be trusted.
    """
    ending = path.suffix.lower()
    if ending not in (".json", ".zip") or not path.is_file():
        return None
    return _from_zip(path) if ending == ".zip" else _from_json(path)


def submission_2025(answers: Mapping[str, str]) -> str:
    """The JSON text of a submission of 2025: one answer by case id, its lines as they are (`Sentence. |1,2|`).

    It is ASCII, since the official scorer reads it in whatever encoding its machine has.
    """
    return _written({"case_id": ident, "answer": text} for ident, text in answers.items())


def submission_2026(predictions: Mapping[str, Any]) -> str:
    """The JSON text of a submission of 2026; participants pack it as `submission.json` in a zip file.

    Args:
        predictions: by case id, all of one kind: a text; a list of sentence ids, or `{"evidence": [id, …]}`; a
            list of `{"answer_id": id, "evidence_id": [id, …]}`, or `{"links": {answer id: [id, …]}}`.

    Raises:
        ValueError: a prediction of none of these kinds, or of two kinds.
    """
    made = {ident: _prediction(value) for ident, value in predictions.items()}
    kinds = {_kind_of(value) for value in made.values()} - {"none"}
    if None in kinds or len(kinds) > 1:
        raise ValueError("predictions are texts, or lists of ids, or lists of alignments: all of one kind")
    return _written({"case_id": ident, "prediction": value} for ident, value in made.items())


def _from_json(path: Path) -> Submission:
    data, where = read_bytes(path), str(path)
    if not data.strip():
        raise DataError("the file is empty", where=where, remedy=f"Write [{_ENTRY}, …]")
    value = json_value(data, where)
    listed = value if isinstance(value, list) else []
    if listed and not any(isinstance(entry, dict) and "case_id" in entry for entry in listed):
        raise DataError(
            "is no submission: nothing in it has a case_id",
            where=where,
            remedy=f"Write [{_ENTRY}, …]; other answers are read from .csv or .jsonl, with id and text",
        )
    return _submission(value, where)


def _from_zip(path: Path) -> Submission:
    data, name = read_zipped(path)
    where = f"{path}, {NAME}" if name == NAME else f"{path}, its JSON file"
    made = _submission(json_value(data, where), where)
    if name != NAME:
        made.notes += (f"{path}: the official scorers want its JSON file to be called {NAME}",)
    return made


def _prediction(value: Any) -> Any:
    if isinstance(value, Mapping) and set(value) == {"evidence"}:
        return list(value["evidence"])
    if isinstance(value, Mapping) and set(value) == {"links"}:
        return [{"answer_id": ident, "evidence_id": list(ids)} for ident, ids in value["links"].items()]
    return list(value) if isinstance(value, tuple) else value


def _written(items: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps(list(items), indent=2) + "\n"


def _submission(value: Any, where: str) -> Submission:
    read: dict[str, tuple[Any, Kind, str]] = {}
    numbers = 0
    for ident, place, entry in entries(value, where, "the submission"):
        numbers += not isinstance(entry["case_id"], str)
        read[ident] = (*_held(entry, place), place)
    if not read:
        raise DataError("the submission holds no cases", where=where, remedy="Give one entry for each case")
    made = Submission()
    made.kind = next(kind for _, kind, _ in read.values())
    for _, kind, place in read.values():
        if not _go_together(made.kind, kind):
            raise DataError(
                f"the entries before it hold {HELD[made.kind]}, this one does not",
                where=place,
                remedy="Make all entries of one kind",
            )
        made.kind = kind if made.kind == "none" else made.kind
    for ident, (held, _, _) in read.items():
        made[ident] = _answered(held, made.kind)
    if numbers:
        ids = "id is a number" if numbers == 1 else "ids are numbers"
        made.notes = (f"{where}: {numbers} case {ids}, read as digits; the official scorers do not",)
    return made


def _held(entry: Mapping[str, Any], place: str) -> tuple[Any, Kind]:
    """What an entry holds, checked, and its kind."""
    names = [name for name in ("answer", "prediction") if name in entry]
    if len(names) != 1:
        both = "has both an answer and a prediction" if names else "has neither an answer nor a prediction"
        key = ": this looks like the key" if not names and "answers" in entry else ""
        raise DataError(f"{both}{key}", where=place, remedy=f"Write {_SHAPES}")
    value = entry[names[0]]
    if names[0] == "answer":
        return checked_text(value, f"{place}, answer"), "answer"
    kind = _kind_of(value)
    if kind is None:
        raise DataError(_fault(value), where=f"{place}, prediction{_at(value)}", remedy=f"Write {_SHAPES}")
    for text in _texts(value):
        checked_text(text, f"{place}, prediction")
    return value, kind


def _go_together(one: Kind, other: Kind) -> bool:
    """Whether entries of these kinds can stand in one file: an empty list goes with ids and with alignments."""
    return one == other or ("none" in (one, other) and {one, other} <= {"none", "evidence", "links"})


def _kind_of(value: Any) -> Kind | None:
    """The kind of a prediction; None: it is none, or broken."""
    if isinstance(value, str):
        return "text"
    if not isinstance(value, list):
        return None
    if not value:
        return "none"
    if _are_ids(value):
        return "evidence"
    return "links" if all(map(_is_link, value)) else None


def _are_ids(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_link(item: Any) -> bool:
    return (
        isinstance(item, Mapping)
        and isinstance(item.get("answer_id"), str)
        and _are_ids(item.get("evidence_id"))
    )


def _fault(value: Any) -> str:
    """What is wrong with a prediction of no kind."""
    if not isinstance(value, list):
        return "is neither text nor a list"
    if any(isinstance(item, dict) for item in value):
        return "is no object with an answer_id that is text and an evidence_id that is a list of texts"
    return "is no sentence id written as text"


def _at(value: Any) -> str:
    """The place in a list of the first item that is at fault."""
    if not isinstance(value, list):
        return ""
    links = any(isinstance(item, dict) for item in value)
    good = [_is_link(item) if links else isinstance(item, str) for item in value]
    return f", item {good.index(False) + 1}"


def _texts(value: str | list[Any]) -> list[str]:
    """Every text in a prediction."""
    if isinstance(value, str):
        return [value]
    links = [
        text
        for item in value
        if not isinstance(item, str)
        for text in (item["answer_id"], *item["evidence_id"])
    ]
    return links or value


def _answered(held: Any, kind: Kind) -> Answered:
    if kind in ("answer", "text"):
        return Answered(held, None)
    if kind == "none":
        return Answered("", {"evidence": [], "links": {}})
    if kind == "evidence":
        return Answered(", ".join(held), {"evidence": list(held)})
    links: dict[str, list[str]] = {}
    for item in held:
        its = links.setdefault(item["answer_id"], [])
        its += [ident for ident in item["evidence_id"] if ident not in its]
    return Answered(None, {"links": links})
