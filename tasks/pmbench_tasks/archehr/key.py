"""The official key of ArchEHR-QA (`archehr-qa_key.json`), of every release seen, joined with the cases of the XML."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmbench import DataError, id_shown, says_nothing
from pmbench_tasks.archehr.cases import RELEVANCE, AnswerSentence, Case, id_text, shown_some
from pmbench_tasks.archehr.entries import checked_text, entries, json_value, read_bytes, text_of
from pmbench_tasks.archehr.key_citations import has_range, official_2026_characters, parse_citations

SAME_RELEASE = "Take XML and key of the same release"

Entry = tuple[str, Mapping[str, Any]]
"""The place of an entry for messages, and its object."""


def read_key(path: Path) -> dict[str, Entry]:
    """The entries of a key by case id.

    Raises:
        DataError: broken JSON, no list, an entry that is no object or names no case, a case twice.
    """
    where = str(path)
    found = {
        ident: (place, entry)
        for ident, place, entry in entries(json_value(read_bytes(path), where), where, "the key")
    }
    if not found:
        raise DataError("the key holds no cases", where=where, remedy="Give the official key, or none")
    return found


def check_same_cases(cases: Sequence[Case], key: Collection[str], file: Path, key_file: Path) -> None:
    """Raises DataError unless the XML and the key are of the same cases."""
    missing = [case.id for case in cases if case.id not in key]
    if missing:
        raise DataError(
            f"{_count(missing, 'case')} of {file.name} not in the key: {shown_some(missing)}",
            where=str(key_file),
            remedy=f"{SAME_RELEASE}, or remove the key to go without one",
        )
    ids = {case.id for case in cases}
    more = [ident for ident in key if ident not in ids]
    if more:
        raise DataError(
            f"{_count(more, 'case')} of the key not in {file.name}: {shown_some(more)}",
            where=str(key_file),
            remedy=SAME_RELEASE,
        )


def with_key(case: Case, entry: Entry) -> tuple[Case, bool]:
    """The case with the labels and the answer that the key has for it, and whether ranges of citations were expanded.

    A key may lack `answers` (labels), `clinician_answer_without_citations` and `clinician_answer_sentences`, and
    these their `citations`. Where it has labels, it must have one for each sentence of the note: the official key
    lists all, and the official scorers take a sentence without a label for not relevant (2025) or for an id that
    is none (2026), so that a key of another release would give numbers that look right. Where the XML has no
    note, its labels stand unchecked.

    Raises:
        DataError: a label that is none, a sentence without one, with two, or not in the note; a sentence of the
            answer without id or text, or twice; a citation that is no sentence of the note.
    """
    place, values = entry
    relevance = _relevance(values, case, place)
    known = {sentence.id for sentence in case.sentences} or set(relevance)
    answer_sentences, ranges = _answer_sentences(values, known, place)
    made = replace(
        case,
        relevance=relevance,
        answer=text_of(values, "clinician_answer_without_citations", place),
        answer_sentences=answer_sentences or case.answer_sentences,
    )
    return made, ranges


def _relevance(values: Mapping[str, Any], case: Case, place: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, label in enumerate(_list(values, "answers", place), 1):
        ident = id_text(label.get("sentence_id"))
        if ident is None:
            raise DataError(
                "has no sentence_id",
                where=f"{place}, answers, number {number}",
                remedy="Write the id as text",
            )
        checked_text(ident, f"{place}, answers, number {number}, sentence_id")
        its = f"{place}, sentence {id_shown(ident)}"
        if ident in found:
            raise DataError("has a label already", where=its, remedy="Leave one of them out")
        if label.get("relevance") not in RELEVANCE:
            raise DataError(
                "its relevance is no known label", where=its, remedy=f"Write one of {', '.join(RELEVANCE)}"
            )
        found[ident] = label["relevance"]
    if not found or not case.sentences:
        return found
    note = {sentence.id for sentence in case.sentences}
    if more := [ident for ident in found if ident not in note]:
        raise DataError(
            f"{_count(more, 'sentence')} with a label not in the note: {shown_some(more)}",
            where=place,
            remedy=SAME_RELEASE,
        )
    if missing := [sentence.id for sentence in case.sentences if sentence.id not in found]:
        raise DataError(
            f"{_count(missing, 'sentence')} of the note without a label: {shown_some(missing)}",
            where=place,
            remedy=f"{SAME_RELEASE}; a key labels every sentence",
        )
    return {sentence.id: found[sentence.id] for sentence in case.sentences}


def _answer_sentences(
    values: Mapping[str, Any], known: Collection[str], place: str
) -> tuple[tuple[AnswerSentence, ...], bool]:
    found: dict[str, AnswerSentence] = {}
    ranges = False
    for number, sentence in enumerate(_list(values, "clinician_answer_sentences", place), 1):
        ident = id_text(sentence.get("id"))
        if ident is None:
            raise DataError(
                "has no id", where=f"{place}, sentence number {number} of the answer", remedy="Give it an id"
            )
        checked_text(ident, f"{place}, sentence number {number} of the answer, id")
        its = f"{place}, sentence {id_shown(ident)} of the answer"
        if ident in found:
            raise DataError("the same id stands twice", where=its, remedy="Make the ids of an answer unique")
        text = checked_text(sentence.get("text"), f"{its}, text").strip()
        if says_nothing(text):
            raise DataError("has no text", where=its, remedy="Fill it in or leave the sentence out")
        cited, ranged = _citations(sentence, known, its)
        ranges = ranges or ranged
        official = official_2026_characters(sentence["citations"]) if "citations" in sentence else None
        found[ident] = AnswerSentence(ident, text, cited, official)
    return tuple(found.values()), ranges


def _citations(
    sentence: Mapping[str, Any], known: Collection[str], place: str
) -> tuple[tuple[str, ...], bool]:
    value = sentence.get("citations")
    try:
        cited, ranged = parse_citations(value, known), has_range(value, known)
    except ValueError:
        raise DataError(
            "is neither text nor a list of texts",
            where=f"{place}, citations",
            remedy='Write "2,5" or ["2", "5"]',
        ) from None
    for ident in cited:
        checked_text(ident, f"{place}, citations")
    if known and (unknown := [ident for ident in cited if ident not in known]):
        raise DataError(
            f"cites what is no sentence of the note: {shown_some(unknown)}", where=place, remedy=SAME_RELEASE
        )
    return cited, ranged


def _list(values: Mapping[str, Any], name: str, place: str) -> Iterable[Mapping[str, Any]]:
    value = values.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DataError("is not a list of objects", where=f"{place}, {name}", remedy="Write [{…}, {…}]")
    return value


def _count(idents: Sequence[str], what: str) -> str:
    return f"{len(idents)} {what}{'' if len(idents) == 1 else 's'}"
