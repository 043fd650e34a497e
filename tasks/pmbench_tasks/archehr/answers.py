"""An answer and its citations, as the official scorer reads them.

`clean_answers.parse_clean` reads the same text with goodwill; what both return is defined here.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_WORDS = 75
"""Words of an answer that the official scorer looks at."""

ENDS = (".", "!", "?")
"""What a sentence ends in, for the official scorer."""


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of an answer with its citations in the order written; the text is empty where a line only cites."""

    text: str
    citations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer as it is scored.

    Attributes:
        lines: the sentences with their citations, those beyond the cut among them.
        text: the sentences joined, cut to so many words.
        citations: distinct, in the order written: those that count.
        words: of the answer, before the cut.
        cut: whether words were cut off.
        unknown: what was cited and is no id of the note, distinct, in the order written. Of the official reading
            always empty: it does not know the note.
    """

    lines: tuple[Line, ...]
    text: str
    citations: tuple[str, ...]
    words: int
    cut: bool
    unknown: tuple[str, ...] = ()


def parse_official(answer: str, most_words: int = MOST_WORDS) -> ParsedAnswer:
    """Read an answer as `load_submission` of the official scorer of 2025 does, to the letter.

    A line is a sentence. What stands between its last two bars are its citations, split at commas and not
    stripped, so that `|1, 2|` cites `1` and ` 2`; what follows the last bar is dropped; earlier bars stay in the
    text. A full stop is added where a text ends in none of `.!?`. Longer answers are cut to their first words, words
    being what single spaces part; citations of sentences that are cut off still count. Where nothing is cited the
    official scorer stops; here `citations` is empty.

    Args:
        answer: in the format of 2025, `Sentence. |1,2|` a line.
        most_words: where it is cut.
    """
    lines = [_official_line(line) for line in answer.strip().split("\n") if line.strip()]
    return assembled(lines, [line.citations for line in lines], most_words)


def _official_line(line: str) -> Line:
    parts = line.rsplit("|", maxsplit=2)
    if len(parts) < 3:
        return Line(ended(line.strip()), ())
    return Line(ended(parts[0].strip()), tuple(item for item in parts[1].split(",") if item.strip()))


def ended(text: str) -> str:
    """The text with a full stop where it ends in no punctuation of a sentence; an empty one stays empty."""
    return f"{text}." if text and text[-1] not in ENDS else text


def assembled(
    lines: list[Line], counted: list[tuple[str, ...]], most_words: int, unknown: tuple[str, ...] = ()
) -> ParsedAnswer:
    """Put sentences together as the official scorer does.

    Args:
        lines: the sentences.
        counted: the citations that count.
        most_words: where the text is cut.
        unknown: as in `ParsedAnswer`.
    """
    text = " ".join(line.text for line in lines if line.text)
    words = words_of(text)
    if len(words) > most_words:
        text = " ".join(words[:most_words])
    citations = tuple(dict.fromkeys(item for items in counted for item in items))
    return ParsedAnswer(tuple(lines), text, citations, len(words), len(words) > most_words, unknown)


def words_of(text: str) -> list[str]:
    """Words as the official scorer counts them: parted by single spaces, not by tabs or other blanks."""
    return [word for word in text.split(" ") if word.strip()]
