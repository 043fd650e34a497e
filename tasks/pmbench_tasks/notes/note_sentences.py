"""The sentences of a note by division: what perturbations delete, repeat, move and insert.

Headings are not sentences: the header of a division, a line in capitals, a line with nothing behind its colon. They
stay where they are.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pmbench import sentence_spans
from pmbench_tasks.notes.sections import SECTIONS, Headers, headers_of, pieces_of

_HEADING_WORDS = 6
_LEAST_WORDS = 4
"""Words that a sentence must have to be taken into another note: `Denies pain.` could be of any."""

_MARKER = re.compile(r"^(?:[-*•‣◦▪·–—]|\(?\d{1,2}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Part:
    """A division of a note with its sentences.

    Attributes:
        section: the division.
        text: all of it, its header included.
        spans: where its sentences begin and end in `text`.
    """

    section: str
    text: str
    spans: tuple[tuple[int, int], ...]

    def sentence(self, index: int) -> str:
        """The sentence of that index, from 0."""
        start, end = self.spans[index]
        return self.text[start:end]

    def sentences(self) -> list[str]:
        """All sentences, in order."""
        return [self.text[start:end] for start, end in self.spans]

    def edited(self, words: Mapping[int, str | None]) -> str:
        """The division with other words for some of its sentences, by index from 0; None: without the sentence."""
        made, at = "", 0
        for index in sorted(words):
            start, end = self.spans[index]
            new = words[index]
            if new is None:
                start, end = _with_space(self.text, start, end)
            made, at = made + self.text[at:start] + (new or ""), max(at, end)
        return made + self.text[at:]

    def behind(self, index: int, text: str) -> str:
        """What to put behind a sentence to have another there: on a line of its own where that one has one."""
        start, end = self.spans[index]
        before = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        alone = not before.strip() and not self.text[end:].split("\n", 1)[0].strip()
        return f"\n{before}{text}" if alone else f" {text}"


def parts_of(note: str | Mapping[str, str], *, headers: Headers = "aci-bench") -> list[Part]:
    """The divisions of a note that have text, in its order, with their sentences.

    Args:
        note: a note, which is divided; or its divisions, which are taken as they are, in their usual order.
        headers: the published list of headers.

    Raises:
        UnknownName: there is no such list of headers.
    """
    if isinstance(note, str):
        pieces = [(one.section, note[one.start : one.end]) for one in pieces_of(note, headers=headers)]
    else:
        pieces = [(name, note[name]) for name in SECTIONS if note.get(name, "")]
    return [Part(name, text, tuple(_spans(text, headers))) for name, text in pieces if text]


class SentencePool:
    """Sentences of many notes, to be inserted into others.

    Args:
        notes: by id of the visit; each a note or its divisions.
        headers: the published list of headers.

    Raises:
        UnknownName: there is no such list of headers.
    """

    def __init__(
        self, notes: Mapping[str, str | Mapping[str, str]], *, headers: Headers = "aci-bench"
    ) -> None:
        self._sentences: dict[str, list[tuple[str, str]]] = {name: [] for name in SECTIONS}
        for ident, note in notes.items():
            for part in parts_of(note, headers=headers):
                texts = [_MARKER.sub("", text) for text in part.sentences()]
                self._sentences[part.section] += [
                    (ident, text) for text in texts if len(text.split()) >= _LEAST_WORDS
                ]

    def draw(
        self, rng: random.Random, section: str, count: int, *, ident: str, note: str
    ) -> list[tuple[str, str]]:
        """Sentences of a division of other notes, each with the id of its visit, without marks of a list.

        Args:
            rng: draws them.
            section: the division that they are taken from.
            count: how many; there may be fewer.
            ident: the visit into whose note they go: none of its own.
            note: that note: none that it has already.
        """
        there, drawn = _plain(note), list[tuple[str, str]]()
        known = self._sentences[section]
        for index in rng.sample(range(len(known)), len(known)):
            if len(drawn) == count:
                break
            source, text = known[index]
            if source != ident and _plain(text) not in there and (source, text) not in drawn:
                drawn.append((source, text))
        return drawn


def _spans(text: str, headers: Headers) -> Iterator[tuple[int, int]]:
    first = next(headers_of(text, headers=headers), None)
    # A header in front of words on its line (`HPI: He came …`) stays; where the words are one sentence with it
    # (`Results of the scan …`) they stay, too: nothing may be put between.
    opened = first.end if first is not None and not text[: first.start].strip() else 0
    colon = opened and text[opened - 1] == ":"
    for start, end in sentence_spans(text):
        if start < opened:
            if not colon or end <= opened:
                continue
            start = opened + len(text[opened:end]) - len(text[opened:end].lstrip())
            if start >= end:
                continue
        if not _is_heading(text, start, end):
            yield start, end


def _is_heading(text: str, start: int, end: int) -> bool:
    sentence = text[start:end]
    if "\n" in sentence or len(sentence.split()) > _HEADING_WORDS:
        return False
    if text[text.rfind("\n", 0, start) + 1 : start].strip() or text[end:].split("\n", 1)[0].strip():
        return False
    return sentence.endswith(":") or (sentence.isupper() and sentence[-1] not in ".!?")


def _with_space(text: str, start: int, end: int) -> tuple[int, int]:
    """A sentence with the space that goes when it goes: behind it; or its whole line, with an empty one behind it."""
    after = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    if after < len(text) and text[after] != "\n":
        return start, after
    if start and text[start - 1] != "\n":
        return len(text[:start].rstrip(" \t")), after
    more = 2 if text[:start].endswith("\n\n") and text.startswith("\n\n", after) else 1
    return start, min(after + more, len(text))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
