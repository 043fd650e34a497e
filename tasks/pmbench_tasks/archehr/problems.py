"""What can be wrong with an answer, found by program: the codes that are recorded and what finds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pmbench import Completion, split_sentences
from pmbench_tasks.archehr.answers import MOST_WORDS, ParsedAnswer, parse_official
from pmbench_tasks.archehr.clean_answers import parse_clean
from pmbench_tasks.archehr.ids import ReadIds, read_ids

MOST_QUESTION_WORDS = 15
"""Of a clinician's question in 2026, subtask 1."""

CODES: Mapping[str, str] = {
    "empty": "it says nothing",
    "cut-off": "the token limit came before its end",
    "code-fence": "it stands in a code block",
    "list-mark": "it is a list",
    "heading": "it has a heading or an introduction",
    "several-sentences": "several sentences stand on one line",
    "repeated-line": "a line stands there twice",
    "repeated-note": "it only copies sentences of the note",
    "over-length": "it has more words than are scored",
    "no-citation": "it cites nothing",
    "citation-form": "citations are written in a form that the official scorer does not read",
    "unknown-id": "it cites what is no sentence of the note that was shown",
    "early-citation": "it cites where only the answer was asked for",
    "missing-sentence": "a sentence of the answer was passed over",
    "not-a-list": "words stand where ids were asked for",
    "several-lines": "it has more than one line",
    "not-a-question": "it does not end with a question mark",
}
"""Every code with what it means, in the order in which they are told."""

_LIST_MARK = re.compile(r"^\s*(?:[-*•–]\s|\(?\d{1,2}[.)]\s)", re.MULTILINE)
_HEADING = re.compile(r"^\s*(?:#{1,6}\s.*|(\*\*|__).+\1\W*|[^|]*:)\s*$", re.MULTILINE)
_CITED = re.compile(r"\|[^|\n]*\||\[\s*\d+[\d\s,;–-]*\]")
_LABELLED = re.compile(r"^\W*A\s?(\d{1,4})\b(.*)$", re.IGNORECASE | re.MULTILINE)

_SHOWN = 8
"""Ids named in a feedback; more would not help."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `detail` is for the feedback, and may hold what the model wrote."""

    code: str
    detail: str = ""


Check: TypeAlias = Callable[[Completion], list[Problem]]
"""Finds what is wrong with an answer, in the order of `CODES`."""


def cited_answer_check(shown: Sequence[Mapping[str, str]]) -> Check:
    """For an answer in the official lines, given the note sentences (`id`, `text`) that were shown."""
    known = [sentence["id"] for sentence in shown]

    def check(answer: Completion) -> list[Problem]:
        official = parse_official(answer.text)
        crowded = [
            str(number)
            for number, line in enumerate(official.lines, 1)
            if len(split_sentences(line.text)) > 1
        ]
        found = _prose(answer, [line.text for line in official.lines], shown)
        if found and found[0].code == "empty":
            return found
        if crowded:
            found.append(Problem("several-sentences", f"line{'s' * (len(crowded) > 1)} {_and(crowded)}"))
        found += _too_long(official.words, MOST_WORDS)
        return _ordered(found + _citations(official, answer.text, known))

    return check


def plain_answer_check(shown: Sequence[Mapping[str, str]]) -> Check:
    """For an answer without citations, given the note sentences that were shown."""

    def check(answer: Completion) -> list[Problem]:
        found = _prose(answer, split_sentences(answer.text), shown)
        found += _too_long(len(answer.text.split()), MOST_WORDS)
        if _CITED.search(answer.text):
            found.append(Problem("early-citation"))
        return _ordered(found)

    return check


def labelled_ids(text: str, known: Sequence[str], sentences: int) -> list[ReadIds | None]:
    """What lines `A1: 3,4` say of each sentence of an answer; None where there is no line. The first line counts."""
    lines: dict[int, ReadIds] = {}
    for number, rest in _LABELLED.findall(text):
        lines.setdefault(int(number), read_ids(rest, known))
    return [lines.get(number) for number in range(1, sentences + 1)]


def labelled_ids_check(known: Sequence[str], sentences: int, *, some: bool = True) -> Check:
    """For lines `A1: 3,4`, one for each sentence of an answer.

    Args:
        known: ids of the note sentences shown.
        sentences: of the answer.
        some: whether no id at all is wrong.
    """

    def check(answer: Completion) -> list[Problem]:
        found = _ended(answer)
        if _says_nothing(answer.text):
            return found
        read = labelled_ids(answer.text, known, sentences)
        there = [one for one in read if one is not None]
        missing = [f"A{number}" for number, one in enumerate(read, 1) if one is None]
        if missing:
            found.append(Problem("missing-sentence", _and(missing)))
        if some and there and not any(one.ids or one.unknown for one in there):
            found.append(Problem("no-citation"))
        return _ordered(found + _list_problems(there))

    return check


def id_list_check(known: Sequence[str]) -> Check:
    """For a list of ids, given those of the note."""

    def check(answer: Completion) -> list[Problem]:
        found = _ended(answer)
        if _says_nothing(answer.text):
            return found
        return _ordered(found + _list_problems([read_ids(answer.text, known)]))

    return check


def question_check(answer: Completion) -> list[Problem]:
    """For a clinician's question on one line."""
    found = _ended(answer)
    if _says_nothing(answer.text):
        return found
    text = answer.text.strip()
    if "```" in text:
        found.append(Problem("code-fence"))
    found += _too_long(len(text.split()), MOST_QUESTION_WORDS)
    if len(text.splitlines()) > 1:
        found.append(Problem("several-lines"))
    if not text.rstrip("\"'”’*` ").endswith("?"):
        found.append(Problem("not-a-question"))
    return _ordered(found)


def _prose(answer: Completion, sentences: Sequence[str], shown: Sequence[Mapping[str, str]]) -> list[Problem]:
    """What can be wrong with any text for a patient; nothing but that it is empty, if it is."""
    found = _ended(answer)
    if _says_nothing(answer.text):
        return found
    if "```" in answer.text:
        found.append(Problem("code-fence"))
    if _LIST_MARK.search(answer.text):
        found.append(Problem("list-mark"))
    if _HEADING.search(answer.text):
        found.append(Problem("heading"))
    bare = [words for sentence in sentences if (words := _bare(sentence))]
    if len(set(bare)) < len(bare):
        found.append(Problem("repeated-line"))
    if len(bare) > 1 and set(bare) <= {_bare(sentence["text"]) for sentence in shown}:
        found.append(Problem("repeated-note"))
    return found


def _ended(answer: Completion) -> list[Problem]:
    empty = [Problem("empty")] if _says_nothing(answer.text) else []
    return empty + ([Problem("cut-off")] if answer.finish == "length" else [])


def _says_nothing(text: str) -> bool:
    return not any(letter.isalnum() for letter in text)


def _too_long(words: int, most: int) -> list[Problem]:
    return [Problem("over-length", str(words))] if words > most else []


def _citations(official: ParsedAnswer, text: str, known: Sequence[str]) -> list[Problem]:
    """What is wrong with the citations of an answer in the official lines: what goodwill finds and that does not."""
    clean = parse_clean(text, known, MOST_WORDS)
    lost = [id_ for id_ in clean.citations if id_ not in official.citations]
    odd = [item for item in official.citations if item not in known and item not in clean.unknown]
    found = []
    if not official.citations and not lost and not clean.unknown:
        found.append(Problem("no-citation"))
    if lost or odd:
        found.append(Problem("citation-form", _and(lost or [item.strip() for item in odd])))
    if clean.unknown:
        found.append(Problem("unknown-id", _and(clean.unknown)))
    return found


def _list_problems(read: Sequence[ReadIds]) -> list[Problem]:
    unknown = list(dict.fromkeys(item for one in read for item in one.unknown))
    found = [Problem("unknown-id", _and(unknown))] if unknown else []
    return found + ([Problem("not-a-list")] if any(one.words for one in read) else [])


def _bare(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _and(items: Sequence[str]) -> str:
    """Some of the items in words: `2`, `2 and 4`, `2, 4 and 9`, `1, 2, 3 and others`."""
    some = [item[:24] for item in items[:_SHOWN]] + (["others"] if len(items) > _SHOWN else [])
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} and {some[-1]}"


def _ordered(problems: Sequence[Problem]) -> list[Problem]:
    place = {code: at for at, code in enumerate(CODES)}
    return sorted(problems, key=lambda problem: place[problem.code])
