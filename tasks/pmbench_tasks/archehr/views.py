"""A case as it is shown: the answer beside the note, each sentence found, missed or cited in vain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pmbench import Record, ViewBlock, ViewLine
from pmbench_tasks.archehr.answers import MOST_WORDS, words_of
from pmbench_tasks.archehr.cases import Case, Sentence


def evidence_view(record: Record) -> list[ViewBlock]:
    """Questions, the answer with citations, the note with what the answer found in it, the clinician's answer.

    In the note `=` marks an essential sentence that is cited, `+` one that ought to be, `-` a sentence that is cited
    and is not essential. Citations are the official reading's.
    """
    case = record.instance.target["case"]
    blocks = _asked(case)
    evidence = record.score.evidence if record.score is not None else None
    if not isinstance(evidence, dict):
        return [*blocks, _response(record)]
    cited = [str(name) for name in evidence["official"]["citations"]]
    blocks.append(ViewBlock("The answer, with what each sentence cites", tuple(_answer(evidence, case))))
    blocks.append(ViewBlock(_counted(case, cited), tuple(_note(case, cited)), signs_told=True))
    if case.answer:
        blocks.append(ViewBlock("The clinician's answer", (ViewLine(case.answer),)))
    return blocks


def _answer(evidence: Mapping[str, Any], case: Case) -> Iterator[ViewLine]:
    counted = set(evidence["official"]["citations"])
    before = 0
    for line in evidence["clean"]["lines"]:
        names = [str(name) for name in line["citations"]]
        beside = ", ".join(_told(name, case, counted) for name in names) or "cites nothing"
        after = before + len(words_of(line["text"]))
        if before >= MOST_WORDS:
            beside += "; beyond the 75th word, not scored, though its citations count officially"
        elif after > MOST_WORDS:
            beside += f"; cut after {MOST_WORDS - before} words"
        before = after
        yield ViewLine(line["text"] or "(citations without a sentence)", beside=beside)
    known = {one.id for one in case.sentences}
    if stray := [name for name in evidence["official"]["citations"] if name not in known]:
        yield ViewLine(
            "", beside=f"read as citations, and no sentence of the note: {', '.join(map(repr, stray))}"
        )


def _told(name: str, case: Case, counted: set[str]) -> str:
    label = case.relevance.get(name, "no label")
    lost = "" if name in counted else ", lost to its form"
    return f"{name} ({label}{lost})"


def _counted(case: Case, cited: list[str]) -> str:
    essential = {name for name, label in case.relevance.items() if label == "essential"}
    found = essential & set(cited)
    return (
        f"The note: of {len(essential)} essential sentences {len(found)} found (=), {len(essential - found)} missed"
        f" (+); {len(set(cited) - essential)} cited in vain (-)"
    )


def _note(case: Case, cited: list[str]) -> Iterator[ViewLine]:
    for one in case.sentences:
        yield note_line(one, case.relevance.get(one.id, ""), one.id in cited)


def note_line(one: Sentence, label: str, cited: bool) -> ViewLine:
    """A sentence of the note with its mark."""
    text = f"{one.id}  {one.text}"
    if label == "essential":
        return (
            ViewLine(text, "kept", "essential, found")
            if cited
            else ViewLine(text, "added", "essential, missed")
        )
    if cited and label == "supplementary":
        return ViewLine(text, "deleted", "supplementary: cited in vain by the strict count only")
    if cited:
        return ViewLine(text, "deleted", "cited in vain")
    return ViewLine(text, "", label if label == "supplementary" else "")


def evidence_list_view(record: Record) -> list[ViewBlock]:
    """Questions, and the note with the sentences that were named, as in `evidence_view`."""
    case = record.instance.target["case"]
    blocks = _asked(case)
    if record.score is None or not isinstance(record.score.evidence, dict):
        return [*blocks, _response(record)]
    cited = [str(name) for name in record.score.evidence["cited"]]
    return [*blocks, ViewBlock(_counted(case, cited), tuple(_note(case, cited)), signs_told=True)]


def text_view(record: Record) -> list[ViewBlock]:
    """The questions that a text answers, the text as it was scored, and what it was compared with."""
    case = record.instance.target["case"]
    asked = "clinician_question" in record.instance.inputs
    if record.score is not None and isinstance(record.score.evidence, dict):
        response = ViewBlock("The response as it is scored", (ViewLine(str(record.score.evidence["text"])),))
    else:
        response = _response(record)
    reference = case.answer if asked else case.clinician_question
    return [
        *_asked(case)[: 2 if asked else 1],
        response,
        ViewBlock("What it is compared with", (ViewLine(reference),)),
    ]


def alignment_view(record: Record) -> list[ViewBlock]:
    """Each sentence of the clinician's answer with the sentences that were linked to it, and that ought to be."""
    case = record.instance.target["case"]
    if record.score is None or not isinstance(record.score.evidence, dict):
        return [*_asked(case), _response(record)]
    links = record.score.evidence["links"]
    lines: list[ViewLine] = []
    texts = {one.id: one.text for one in case.sentences}
    for one in case.answer_sentences:
        named = set(links.get(one.id, ()))
        lines.append(ViewLine(f"{one.id}  {one.text}"))
        for name in (*one.citations, *sorted(named - set(one.citations))):
            text = f"   {name}  {texts.get(name, '')}"
            lines.append(_link(text, right=name in one.citations, found=name in named))
    return [*_asked(case), ViewBlock("The clinician's answer and its evidence", tuple(lines))]


def _link(text: str, *, right: bool, found: bool) -> ViewLine:
    if right:
        return ViewLine(text, "kept", "found") if found else ViewLine(text, "added", "missed")
    return ViewLine(text, "deleted", "in vain")


def blocks_to_label(case: Case, answer: str) -> list[ViewBlock]:
    """What people read who label an answer: nothing of its score, the key's labels beside the note's sentences."""
    note = [
        ViewLine(f"{one.id}  {one.text}", beside=case.relevance.get(one.id, "")) for one in case.sentences
    ]
    return [
        *_asked(case),
        ViewBlock("The note, with what the key says of each sentence", tuple(note)),
        *([ViewBlock("The clinician's answer", (ViewLine(case.answer),))] if case.answer else []),
        ViewBlock("The answer to label", (ViewLine(answer),)),
    ]


def _asked(case: Case) -> list[ViewBlock]:
    return [
        ViewBlock("The patient's question", (ViewLine(case.narrative),)),
        ViewBlock("The clinician's question", (ViewLine(case.clinician_question),)),
    ]


def _response(record: Record) -> ViewBlock:
    if record.response is None:
        return ViewBlock("The response", (ViewLine("There is none: the model did not answer."),))
    return ViewBlock("The response (not scored)", (ViewLine(record.response.text),))
