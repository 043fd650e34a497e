"""Writing the lines of an answer as the official format has them: `Sentence. |1,2|`."""

from __future__ import annotations

from collections.abc import Iterable

from pmbench_tasks.archehr.note_text import one_line


def official_line(sentence: str, citations: Iterable[str]) -> str:
    """A sentence with its citations; without bars where it cites nothing."""
    cited = ",".join(citations)
    return f"{one_line(sentence)} |{cited}|" if cited else one_line(sentence)


def words_as_scored(sentence: str) -> int:
    """Words of a sentence as the official scorer counts them: what white space parts."""
    return len(sentence.split())
