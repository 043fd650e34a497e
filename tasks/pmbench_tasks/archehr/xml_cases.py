"""The official XML of ArchEHR-QA (`archehr-qa.xml`), of every release seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pmbench import DataError, id_shown, says_nothing
from pmbench_tasks.archehr.cases import AnswerSentence, Case, Sentence
from pmbench_tasks.archehr.entries import check_case_id, read_bytes, to_utf8

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

ROOT = "annotations"
CHILDREN = (
    "patient_narrative",
    "patient_question",
    "clinician_question",
    "clinical_specialty",
    "note_excerpt",
    "note_excerpt_sentences",
    "answer_sentences",
)
"""Elements of a case that are read."""

_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["'](?!utf-?8["'])""", re.IGNORECASE)
_NAME = re.compile(r"[\w.-]{1,40}")


@dataclass(frozen=True, slots=True)
class XmlCase:
    """A case as the XML has it, without key and mapping.

    Attributes:
        number: its place in the file, from 1.
        excerpt: whether there is text of a note, in sentences or not.
        unread: names of elements that the format does not have.
    """

    case: Case
    number: int
    excerpt: bool
    unread: tuple[str, ...] = ()


def read_xml(path: Path) -> list[XmlCase]:
    """The cases of an XML file, in its order.

    Of a case's elements each may be absent, as in releases that were published in steps: `patient_narrative`,
    `patient_question` (`phrase`), `clinician_question`, `clinical_specialty` (once or several times),
    `note_excerpt`, `note_excerpt_sentences` (`sentence`) and `answer_sentences` (`sentence`). Others are not read,
    and named in `unread`. Elements and text where only cases or sentences belong are refused: they could be such.

    Raises:
        DataError: broken, with a document type or entities, another root element, a case or sentence without id
            or twice, an element twice, an empty note, something among cases or sentences that is none.
    """
    where = str(path)
    root = _parsed(read_bytes(path), where)
    if root.tag != ROOT:
        raise DataError(
            f"the root is {_named(root)}, not <{ROOT}>",
            where=where,
            remedy="Give the official archehr-qa.xml",
        )
    _check_only(root, "case", where)
    found: dict[str, XmlCase] = {}
    for number, element in enumerate(root.iterfind("case"), 1):
        made = XmlCase(
            _case(element, number, where), number, _has_text(element.find("note_excerpt")), _unread(element)
        )
        if made.case.id in found:
            raise DataError(
                f"it is case number {found[made.case.id].number} already",
                where=f"{where}, case {id_shown(made.case.id)} (number {number})",
                remedy="Leave one of them out",
            )
        found[made.case.id] = made
    if not found:
        raise DataError("holds no <case>", where=where, remedy="Give the official archehr-qa.xml")
    return list(found.values())


def _parsed(data: bytes, where: str) -> Element:
    """The root element; neither document types nor entities are read, so that nothing is fetched or blown up."""
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    if not data.strip():
        raise DataError("the file is empty", where=where, remedy="Give the official archehr-qa.xml")
    try:
        root: Element = fromstring(data, forbid_dtd=True, forbid_entities=True, forbid_external=True)
    except DefusedXmlException:
        raise DataError(
            "has a document type (<!DOCTYPE …>), which could bring entities and other files",
            where=where,
            remedy="Remove it; the official file has none",
        ) from None
    except ParseError as error:
        raise _broken(error, data, where) from None
    except (LookupError, ValueError):
        raise DataError(
            "is in an encoding that cannot be read", where=where, remedy="Save it as UTF-8"
        ) from None
    return root


def _broken(error: SyntaxError, data: bytes, where: str) -> DataError:
    import xml.parsers.expat.errors as expat

    code: int = getattr(error, "code", 0)
    line, column = getattr(error, "position", (1, 0))
    place = f"{where}, line {line}, column {column + 1}"
    # Of expat's own words only: they quote nothing of the file.
    reason = expat.messages.get(code, "broken")
    if code == expat.codes[expat.XML_ERROR_INVALID_TOKEN] and not _DECLARED.match(data):
        try:
            data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return DataError(
                "not UTF-8, and no other encoding is declared",
                where=place,
                remedy=to_utf8(data),
            )
    return DataError(f"broken XML: {reason}", where=place, remedy="Mend the file, or copy it again")


def _case(element: Element, number: int, where: str) -> Case:
    ident = element.get("id", "")
    if says_nothing(ident):
        raise DataError("has no id", where=f"{where}, case number {number}", remedy='Write <case id="…">')
    check_case_id(ident, f"{where}, case number {number}")
    place = f"{where}, case {id_shown(ident)}"
    if element.find(".//case") is not None:
        raise DataError("holds another case", where=place, remedy="Put cases one after the other")
    _check_no_text(element, place)
    return Case(
        id=ident,
        narrative=_text(_one(element, "patient_narrative", place), f"{place}, patient_narrative"),
        clinician_question=_text(_one(element, "clinician_question", place), f"{place}, clinician_question"),
        phrases=_phrases(_one(element, "patient_question", place), place),
        sentences=tuple(_sentences(_one(element, "note_excerpt_sentences", place), place)),
        answer_sentences=tuple(
            AnswerSentence(one.id, one.text)
            for one in _sentences(_one(element, "answer_sentences", place), place)
        ),
        specialty=_specialty(element, place),
    )


def _named(element: Element) -> str:
    """An element's name for a message, where it looks like one."""
    return f"<{element.tag}>" if _NAME.fullmatch(element.tag) else "another element"


def _unread(element: Element) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_named(one) for one in element if one.tag not in CHILDREN))


def _check_only(element: Element, name: str, place: str) -> None:
    """Raises DataError where an element holds others than those of one name, or text beside them."""
    for one in element:
        if one.tag != name:
            raise DataError(
                f"holds {_named(one)}, which would not be read",
                where=place,
                remedy=f"Put only <{name}> there",
            )
    _check_no_text(element, place)


def _check_no_text(element: Element, place: str) -> None:
    between = [element.text, *(one.tail for one in element)]
    for number, text in enumerate(between):
        if text and text.strip():
            raise DataError(
                f"there is text {f'after element {number} in it' if number else 'before its elements'}, which would"
                " not be read",
                where=place,
                remedy="Put it into an element, or remove it",
            )


def _one(element: Element, name: str, place: str) -> Element | None:
    found = element.findall(name)
    if len(found) > 1:
        raise DataError(
            f"stands {len(found)} times", where=f"{place}, {name}", remedy="Leave all but one out"
        )
    return found[0] if found else None


def _text(element: Element | None, place: str) -> str:
    if element is None:
        return ""
    if len(element):
        raise DataError(
            "there are elements inside its text, part of which would be lost",
            where=place,
            remedy="Write < in a text as &lt;",
        )
    text = (element.text or "").strip()
    return "" if says_nothing(text) else text


def _has_text(element: Element | None) -> bool:
    return element is not None and any(part.strip() for part in element.itertext())


def _phrases(element: Element | None, place: str) -> tuple[str, ...]:
    """The phrases of a patient's question; the question itself where it is not divided into phrases."""
    if element is None:
        return ()
    if element.find("phrase") is not None:
        _check_only(element, "phrase", f"{place}, patient_question")
    inside = element.findall("phrase") or [element]
    return tuple(filter(None, (_text(one, f"{place}, patient_question") for one in inside)))


def _specialty(element: Element, place: str) -> str:
    found: dict[str, None] = {}
    for one in element.findall("clinical_specialty"):
        for part in re.split(r"[,;\n]", _text(one, f"{place}, clinical_specialty")):
            if part.strip():
                found[" ".join(part.split())] = None
    return ", ".join(found)


def _sentences(parent: Element | None, place: str) -> Iterator[Sentence]:
    if parent is None:
        return
    inside = parent.findall("sentence")
    if not inside:
        raise DataError(
            "holds no <sentence>",
            where=f"{place}, {parent.tag}",
            remedy="Fill it in, or leave the element out",
        )
    _check_only(parent, "sentence", f"{place}, {parent.tag}")
    seen: set[str] = set()
    for number, element in enumerate(inside, 1):
        ident = element.get("id", "")
        if says_nothing(ident):
            raise DataError(
                "has no id", where=f"{place}, {parent.tag}, sentence number {number}", remedy="Give it an id"
            )
        its = f"{place}, {parent.tag}, sentence {id_shown(ident)}"
        if ident in seen:
            raise DataError("the same id stands twice", where=its, remedy="Make the ids of a case unique")
        seen.add(ident)
        text = _text(element, its)
        if not text:
            raise DataError("has no text", where=its, remedy="Fill it in or leave the sentence out")
        yield Sentence(ident, text, element.get("paragraph_id", ""))
