"""One record as blocks of marked lines: the draft with its expected edits, then the clinician's reply."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmbench import Record, ViewBlock, ViewLine
from pmbench_tasks.drafting.pieces import Passage, Piece, first_word, pieces_of
from pmbench_tasks.drafting.themes import THEMES

_SHORT = 60
"""Characters of a sentence that are quoted beside another one."""

_MOST_BESIDE = 3
"""Sentences that are quoted beside a piece of the draft; of more, the number is told."""

_ORDER = {title.lower(): place for place, title in enumerate(THEMES.values())}


def edits_view(record: Record) -> list[ViewBlock]:
    """What the instance is, the message, the counts, the draft with its expected edits, and the reply."""
    instance = record.instance
    slices = ", ".join(f"{name}: {label}" for name, label in instance.slices.items())
    blocks = [
        ViewBlock(f"Instance {instance.id}", (ViewLine(slices),) if slices else ()),
        _plain("The patient's message", _lines(str(instance.inputs.get("message", "")))),
    ]
    if record.response is None:
        return [*blocks, _plain("The draft", ["There is none: the model did not answer."])]
    if record.score is None or not isinstance(record.score.evidence, dict):
        return [*blocks, _plain("The draft (not scored)", _lines(record.response.text))]
    evidence = record.score.evidence
    entries = [_entry(number, entry) for number, entry in enumerate(evidence["reply"], 1)]
    sentences = [
        _Sentence(int(entry["start"]), int(entry["end"]), _titles(entry))
        for entry in evidence.get("draft_sentences", ())
    ]
    told = [*_told(record.score.stats), *_themes_told(entries, sentences)]
    if any(entry.near for entry in entries):
        told.append(
            "numbers at passages are cosines; a near one may have been refused (another dose, day, side, a denial)"
        )
    edited = tuple(_edited(str(evidence["draft"]), entries, sentences))
    if record.score.stats.get("html"):
        told.append("the draft holds HTML tags, which are taken as text")
    gone = sum(line.mark == "deleted" for line in edited)
    if 0 < record.score.stats["deletions"] < gone:
        told.append("pieces to delete that stand side by side once the rest is gone count as one sentence")
    return [
        *blocks,
        _plain("Expected edits", told),
        ViewBlock("The draft with its expected edits", edited),
        ViewBlock("The clinician's reply, sentence by sentence", tuple(map(_reply_line, entries))),
    ]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A sentence of the reply.

    Attributes:
        answer: the passage that the judge named; None: the sentence is to be added.
        near: similarity as text; empty where there is none.
        passage: where the draft has it; None where it is not there word for word.
        themes: their titles; short: the sentence as it is quoted.
    """

    number: int
    sentence: str
    answer: str | None
    near: str
    passage: Passage | None
    themes: tuple[str, ...]
    short: str


@dataclass(frozen=True, slots=True)
class _Sentence:
    """Where a sentence of the draft begins and ends, and its themes."""

    start: int
    end: int
    themes: tuple[str, ...]


def _entry(number: int, entry: Mapping[str, Any]) -> _Entry:
    sentence, similarity = str(entry["sentence"]), entry["similarity"]
    return _Entry(
        number=number,
        sentence=sentence,
        answer=entry["answer"],
        near="" if similarity is None else f"{similarity:.2f}",
        passage=Passage(int(entry["start"]), int(entry["end"]), number) if entry["found"] else None,
        themes=_titles(entry),
        short=_short(sentence),
    )


def _reply_line(entry: _Entry) -> ViewLine:
    """The sentence with its themes, and what became of it."""
    text = f"{entry.number}: {entry.sentence}"
    if entry.answer is None:
        near = [f"nearest passage {entry.near}"] if entry.near else []
        return ViewLine(text, "added", _joined([*entry.themes, "to add", *near]))
    where = "" if entry.passage else "not word for word "
    quoted = f"{where}in the draft: “{_short(entry.answer)}”{_bracketed(entry.near)}"
    return ViewLine(text, "kept", _joined([*entry.themes, quoted]))


def _told(stats: Mapping[str, float]) -> Iterator[str]:
    """The counts in words."""
    matches, additions, deletions = stats["matches"], stats["additions"], stats["deletions"]
    yield (
        f"{_many(matches + additions, 'sentence')} of the reply: {matches:.0f} in the draft,"
        f" {additions:.0f} to add ({_many(stats['words_to_add'], 'word')})"
    )
    yield f"{_many(deletions, 'sentence')} of the draft to delete ({_many(stats['words_to_delete'], 'word')})"
    if stats.get("nonverbatim"):
        yield f"matched, but not word for word in the draft, so that nothing is kept: {stats['nonverbatim']:.0f}"
    if stats.get("words_cut"):
        yield f"left out before judging: {_many(stats['words_cut'], 'word')} of the response"
    if stats.get("usable"):
        yield "usable with no edit"


def _themes_told(entries: Sequence[_Entry], sentences: Sequence[_Sentence]) -> Iterator[str]:
    """Themes of both texts and of one of them, in the order of the table of themes."""
    reply = {theme for entry in entries for theme in entry.themes}
    draft = {theme for sentence in sentences for theme in sentence.themes}
    groups = {
        "in both": reply & draft,
        "only in the reply": reply - draft,
        "only in the draft": draft - reply,
    }
    parts = [f"{where}: {', '.join(_in_order(found))}" for where, found in groups.items() if found]
    if parts:
        yield f"themes {'; '.join(parts)}"


def _edited(draft: str, entries: Sequence[_Entry], sentences: Sequence[_Sentence]) -> Iterator[ViewLine]:
    """The draft in its order; each sentence to be added after the passage of the matched sentence before it.

    Where that passage ends inside a sentence of the draft, that sentence is not torn: it stands after the whole.
    """
    starts = [sentence.start for sentence in sentences]
    added = _additions(entries, sentences, starts)
    places = sorted(added, reverse=True)
    passages = (entry.passage for entry in entries if entry.passage is not None)
    spans = ((sentence.start, sentence.end) for sentence in sentences)

    def due(end: int) -> Iterator[ViewLine]:
        while places and places[-1] <= end:
            for entry in added[places.pop()]:
                beside = _joined([*entry.themes, f"sentence {entry.number} of the reply"])
                yield ViewLine(entry.sentence, "added", beside)

    yield from due(0)
    if not draft.strip():
        yield ViewLine("The draft is empty.")
    for piece in pieces_of(draft, passages, spans, most=_MOST_BESIDE):
        text = draft[piece.start : piece.end]
        inside = _around(piece.start + first_word(text), sentences, starts)
        yield from _piece_lines(text, piece, inside.themes if inside else (), entries)
        yield from due(piece.end)
    yield from due(len(draft))


def _piece_lines(
    text: str, piece: Piece, themes: Sequence[str], entries: Sequence[_Entry]
) -> Iterator[ViewLine]:
    if first_word(text) < 0:
        yield from (ViewLine(line, "", "no word, so nothing to delete") for line in _lines(text))
        return
    matched = [entries[number - 1] for number in piece.matches]
    told = [f"{entry.number}: {entry.short}{_bracketed(entry.near)}" for entry in matched]
    more = [f"and {piece.of - len(told)} more"] if piece.of > len(told) else []
    beside = _joined([*themes, *told, *more])
    for line in _lines(text):
        # A line without a word, such as a rule of dashes, has no remark of its own.
        yield ViewLine(line, "kept" if matched else "deleted", beside if first_word(line) >= 0 else "")


def _additions(
    entries: Iterable[_Entry], sentences: Sequence[_Sentence], starts: Sequence[int]
) -> dict[int, list[_Entry]]:
    """Sentences to be added, by the place in the draft after which they stand."""
    added: dict[int, list[_Entry]] = {}
    place = 0
    for entry in entries:
        if entry.answer is None:
            added.setdefault(place, []).append(entry)
        elif entry.passage is not None:
            inside = _around(entry.passage.end - 1, sentences, starts)
            place = max(entry.passage.end, inside.end if inside else 0)
    return added


def _around(place: int, sentences: Sequence[_Sentence], starts: Sequence[int]) -> _Sentence | None:
    """The sentence of the draft that a place is in."""
    at = bisect_right(starts, place) - 1
    return sentences[at] if at >= 0 and place < sentences[at].end else None


def _plain(title: str, lines: Iterable[str]) -> ViewBlock:
    return ViewBlock(title, tuple(map(ViewLine, lines)))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _titles(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Themes as they are shown; scores made before there were any have none."""
    return tuple(THEMES.get(name, name).lower() for name in entry.get("themes", ()))


def _in_order(titles: Iterable[str]) -> list[str]:
    return sorted(titles, key=lambda title: (_ORDER.get(title, len(_ORDER)), title))


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _SHORT].split())
    whole = len(line) <= _SHORT and len(text) <= 4 * _SHORT
    return line if whole else f"{line[: _SHORT - 1].rstrip()}…"


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(parts)


def _many(count: float, what: str) -> str:
    return f"{count:.0f} {what}{'' if count == 1 else 's'}"
