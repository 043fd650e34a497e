"""One record as Markdown: the reply with what the draft already says, and the draft with what would go."""

from __future__ import annotations

import re
from typing import Any

from pmbench import Record

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+\-!|~&$@:])")
_NUMBERED = re.compile(r"^([^\S\n]*\d+)([.)])", re.MULTILINE)


def edits_view(record: Record) -> str:
    """The reply's sentences with the passages that match, then the draft, deletions struck through."""
    slices = ", ".join(f"{name} {label}" for name, label in record.instance.slices.items())
    lines = [f"### {escaped(record.instance.id)}", ""]
    lines += [escaped(slices), ""] if slices else []
    lines += ["**The message**", "", *_quoted(escaped(str(record.instance.inputs.get("message", "")))), ""]
    if record.response is None:
        return "\n".join([*lines, "No draft: the model did not answer.", ""])
    if record.score is None or not isinstance(record.score.evidence, dict):
        return "\n".join([*lines, "Not scored.", "", *_quoted(escaped(record.response.text)), ""])
    evidence = record.score.evidence
    draft = str(evidence["draft"])
    lines += [_summary(record.score.stats), "", "**The clinician's reply**", ""]
    lines += [_sentence(entry) for entry in evidence["reply"]]
    lines += ["", "**The draft** (what would be deleted is struck through)", ""]
    spans = [(e["start"], e["end"]) for e in evidence["reply"] if e["found"]]
    lines += _quoted(_struck(draft, spans)) if draft.strip() else ["The draft is empty."]
    return "\n".join([*lines, ""])


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: no heading, list, link, tag or emphasis can come of it."""
    return _NUMBERED.sub(r"\1\\\2", _marked(text))


def _marked(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _summary(stats: Any) -> str:
    return (
        f"{stats['matches']:.0f} matched, {stats['additions']:.0f} to add, {stats['deletions']:.0f} to delete"
        f" ({stats['words_to_add']:.0f} words to add, {stats['words_to_delete']:.0f} to delete)"
    )


def _sentence(entry: dict[str, Any]) -> str:
    line = f"- {_one_line(entry['sentence'])}"
    if entry["answer"] is None:
        return f"{line} → **to add**"
    near = f" ({entry['similarity']:.2f})" if entry["similarity"] is not None else ""
    lost = "" if entry["found"] else ", not in the draft word for word"
    return f"{line} → “{_one_line(entry['answer'])}”{near}{lost}"


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()))


def _quoted(text: str) -> list[str]:
    return [f"> {line}".rstrip() + ("  " if line.strip() else "") for line in text.splitlines()]


def _struck(draft: str, spans: list[tuple[int, int]]) -> str:
    """The draft, escaped; what no span covers is struck through, line by line."""
    pieces, at = [], 0
    for start, end in [*sorted(spans), (len(draft), len(draft))]:
        if start > at:
            pieces.append("\n".join(_strike(line) for line in draft[at:start].split("\n")))
        if end > at:
            pieces.append(escaped(draft[max(at, start) : end]))
            at = end
    return "".join(pieces)


def _strike(line: str) -> str:
    """Strikes from the first to the last letter or digit: `~~` beside punctuation is not read as a mark."""
    letters = [index for index, letter in enumerate(line) if letter.isalnum()]
    if not letters:
        return escaped(line)
    first, last = letters[0], letters[-1] + 1
    return f"{escaped(line[:first])}~~{_marked(line[first:last])}~~{escaped(line[last:])}"
