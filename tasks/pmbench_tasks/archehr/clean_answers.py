"""An answer and its citations, read with goodwill: what a clinician would take them to mean.

Language models wrap answers in code fences, write bullets, cite `[1, 2]`, `|1-3|` or `(sentence 4)`, in the middle of
a line or on a line of its own. All of that is read here; none of it by the official scorer (`parse_official`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from pmbench import says_nothing
from pmbench_tasks.archehr.answers import ENDS, MOST_WORDS, Line, ParsedAnswer, assembled, ended, words_of
from pmbench_tasks.archehr.cited_items import Cited, Known, together
from pmbench_tasks.archehr.marks import NO_TEXT, pieces

_FENCE = re.compile(r"^(?:```|~~~)[ \t]*(?:(?:answer|text|txt|plaintext|markdown|md)\b[.:]?|[A-Za-z]*$)?")
_BULLET = re.compile(r"^(?:[-*•‣◦–—+]|[0-9]{1,2}[.)])[ \t]+")
_LABEL = re.compile(r"^(?:(?:final|the)[ \t]+)?answer[ \t]*:[ \t]*", re.IGNORECASE)
_HEADING = re.compile(r"^(?:#{1,6}(?:[ \t]|$)|(\*\*|__)(?:(?!\1).)*[^.!?]\1:?$)|:\**$")
_SOURCES = re.compile(
    r"^\(?(?:citations?|cited|sources?|references?|evidence|sentences?|see)[ \t]*:?\)?\.?$", re.IGNORECASE
)
_ENDING = re.compile(r"^\s*[.!?]+[\"'”’)]*")
_EMPTIED = re.compile(r" ?\([ \t]*(?:see|cf\.?)?[ \t]*\)")


def parse_clean(answer: str, known: Collection[str], most_words: int = MOST_WORDS) -> ParsedAnswer:
    """Read an answer with goodwill.

    Dropped: code fences, bullets, numbers of a list, `**`, and headings that cite nothing (with `#`, all bold, or
    ending in a colon). Citations are `|1,2|`, `[1, 2]`, `(sentence 4)`; their items may be parted by commas,
    semicolons, blanks or `and`, may be ranges (`1-3`, of numbers: every number between) and may bear a word such as
    `sentence` or `S`. A bar that was forgotten is made up for. Several marks on a line end several sentences, unless
    the text goes on in lower case; a line that only cites belongs to the sentence before it. What is no id of the
    note is dropped and returned as `unknown`.

    The answer is cut as the official scorer does, but citations of sentences wholly beyond the cut are dropped. Of an
    answer in the official format that keeps to the limit and cites ids of the note, the reading is the official one.

    Args:
        answer: what a model wrote.
        known: the ids of the note's sentences, opaque strings.
        most_words: where it is cut.
    """
    ids = Known(known)
    texts: list[str] = []
    cites: list[list[Cited]] = []
    for raw in answer.strip().split("\n"):
        for text, cited in _sentences(_plain(raw), ids):
            if not text and texts:
                cites[-1].append(cited)
            elif text or cited:
                texts.append(text)
                cites.append([cited])
    merged = [together(marks) for marks in cites]
    lines = [Line(text, one.found) for text, one in zip(texts, merged, strict=True) if text or one.found]
    unknown = together(merged).unknown
    return assembled(lines, list(_within(lines, most_words)), most_words, unknown)


def _within(lines: list[Line], most_words: int) -> Iterator[tuple[str, ...]]:
    """The citations of those sentences of which a word is left."""
    before = 0
    for line in lines:
        if before < most_words:
            yield line.citations
        before += len(words_of(line.text))


def _plain(line: str) -> str:
    """A line without what surrounds sentences in Markdown; a heading still with its signs."""
    line = line.strip().replace("\\|", "|").replace("｜", "|")
    line = _FENCE.sub("", line).strip()
    if line.endswith("```"):
        line = line.rstrip("`").rstrip()
    return _BULLET.sub("", line, count=1)


def _sentences(line: str, known: Known) -> Iterator[tuple[str, Cited]]:
    """The sentences of one line with what they cite."""
    parts = list(pieces(line, known))
    if _HEADING.search(line) and not any(cited for _, cited in parts):
        return
    text, begun = "", False
    cites: list[Cited] = []
    for before, cited in parts:
        ending = _ENDING.match(before) if begun else None
        if ending:
            text = text.rstrip() + ("" if text.rstrip()[-1:] in ENDS else ending[0].strip())
            before = before[ending.end() :]
        if ending or (begun and not _goes_on(text, before, cited)):
            yield _tidy(text), together(cites)
            text, cites = "", []
        text, begun = _joined(text, before), True
        cites += [cited] if cited else []
    if text.strip() or cites:
        yield _tidy(text), together(cites)


def _goes_on(text: str, before: str, cited: Cited | None) -> bool:
    """Whether a sentence goes on after a mark: another mark follows at once, or text in lower case or punctuation."""
    follows = before.strip()
    if not follows:
        return cited is not None
    if follows[0] in ",;:)":
        return True
    return follows[0].islower() and text.rstrip()[-1:] not in ENDS


def _joined(text: str, more: str) -> str:
    """A sentence that goes on after a mark: one space between, none before punctuation."""
    more = more.strip() if text else more
    gap = " " if text and more and more[0] not in ",;:.!?)" else ""
    return (text.rstrip() if text else "") + gap + more


def _tidy(text: str) -> str:
    """A sentence without bold and labels, ended as the official scorer ends it."""
    text = _EMPTIED.sub("", text.replace("**", "").replace("__", "")).strip().strip("`").strip()
    text = _LABEL.sub("", text)
    if _SOURCES.match(text) or NO_TEXT.match(text) or says_nothing(text.rstrip(".!?")):
        return ""
    return ended(text)
