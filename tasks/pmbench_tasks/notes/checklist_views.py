"""One text with its answers: each question, what was answered, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pmbench import Record, ViewBlock, ViewLine

_LONGEST_QUOTE = 200
"""Characters of a quote that are shown."""

_WHERE = {"text": "", "source": ", in the source", "": ", which stands nowhere"}


def note_view(record: Record) -> list[ViewBlock]:
    """The visit's note or section, and each question; `=` is a yes, `-` a no, no sign a missing answer."""
    return [_head(record), *_judged(record, "The note")]


def reply_view(record: Record) -> list[ViewBlock]:
    """The patient's message, the draft, and each question; `=` is a yes, `-` a no, no sign a missing answer."""
    message = str(record.instance.inputs.get("message", ""))
    return [
        _head(record),
        ViewBlock("The patient's message", _lines(message)),
        *_judged(record, "The draft"),
    ]


def _head(record: Record) -> ViewBlock:
    slices = ", ".join(f"{name}: {label}" for name, label in record.instance.slices.items())
    return ViewBlock(f"Instance {record.instance.id}", (ViewLine(slices),) if slices else ())


def _judged(record: Record, title: str) -> Iterator[ViewBlock]:
    if record.response is None:
        yield ViewBlock(title, (ViewLine("There is none: the model did not answer."),))
        return
    if record.score is None or not isinstance(record.score.evidence, dict):
        yield ViewBlock(f"{title} (not scored)", _lines(record.response.text))
        return
    evidence = record.score.evidence
    checklist = evidence["checklist"]
    section = str(checklist["section"]).replace("_", " ")
    text = str(evidence["text"])
    shown = _lines(text) if text.strip() else (ViewLine("Nothing was written."),)
    yield ViewBlock(f"{title}{f': {section}' if section else ''}", shown)
    answers = evidence["answers"]
    yield ViewBlock(_counted(str(checklist["name"]), answers), tuple(map(_answer, answers)), signs_told=True)


def _counted(name: str, answers: list[Mapping[str, Any]]) -> str:
    missing = sum(one["met"] is None and one["grade"] is None for one in answers)
    grades = [one["grade"] for one in answers if one["grade"] is not None]
    if grades:
        return f"{name}: {len(grades)} grades, {missing} missing"
    yes = sum(one["met"] is True for one in answers)
    return f"{name}: {yes} yes (=), {len(answers) - yes - missing} no (-), {missing} missing"


def _answer(one: Mapping[str, Any]) -> ViewLine:
    text = f"{one['item']}  {one['question']}"
    beside = "; ".join(_beside(one))
    if one["met"] is None:
        return ViewLine(text, "", beside)
    return ViewLine(text, "kept" if one["met"] else "deleted", beside)


def _beside(one: Mapping[str, Any]) -> Iterator[str]:
    if one["grade"] is not None:
        yield f"grade {one['grade']}"
    elif one["met"] is None:
        yield f"no answer ({one['why']})"
    else:
        yield "yes" if one["met"] else "no"
    if one["p_yes"] is not None:
        yield f"probability of yes {one['p_yes']:.2f}"
    if quote := " ".join(str(one["quote"]).split()):
        cut = quote if len(quote) <= _LONGEST_QUOTE else f"{quote[: _LONGEST_QUOTE - 1].rstrip()}…"
        yield f"“{cut}”{_WHERE[one['found']]}"


def _lines(text: str) -> tuple[ViewLine, ...]:
    return tuple(ViewLine(line.strip()) for line in text.splitlines() if line.strip())
