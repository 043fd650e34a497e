"""Cases of ArchEHR-QA as the tasks hold them: questions, note, labels and the clinician's answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pmbench import id_shown, says_nothing

RELEVANCE = ("essential", "supplementary", "not-relevant")
"""Labels of a note's sentences: must be in an answer, supports one, has nothing to do with the question."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a note excerpt; headings count as sentences.

    Attributes:
        id: as the file has it, an opaque string that is never renumbered.
        text: without the white space around it.
        paragraph: the id of its paragraph; `""` where the file has none.
    """

    id: str
    text: str
    paragraph: str = ""


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """One sentence of the clinician's answer and the sentences of the note that it rests on.

    Attributes:
        citations: ids of the note, each once, in the order of the file, ranges expanded.
        official: what the official scorer of 2026 takes for the citations (see
            `key_citations.official_2026_characters`); None where the file says nothing of citations.
    """

    id: str
    text: str
    citations: tuple[str, ...] = ()
    official: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A patient's question, the note that may answer it, and the answer of a clinician.

    Attributes:
        narrative: what the patient wrote; `""` where a release leaves it out, as for the other texts.
        clinician_question: the question as a clinician understands it.
        phrases: the parts of the narrative that ask.
        sentences: of the note, in its order; empty where a release has no note.
        relevance: label by sentence id, of every sentence; empty where there is no key.
        answer: the clinician's answer without citations; `""` where there is none.
        answer_sentences: the same by sentence; empty where there are none.
        specialty: one or several, joined by `", "`; `""` where it is not said.
        setting: `icu`, `ed`, `ward` or what the mapping file says; `""` where it is not said.
        split: `development`, `test`, `test-2026`, or `""` where it is not said.
    """

    id: str
    narrative: str
    clinician_question: str
    phrases: tuple[str, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    relevance: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    answer_sentences: tuple[AnswerSentence, ...] = ()
    specialty: str = ""
    setting: str = ""
    split: str = ""


def shown_some(idents: Sequence[str], most: int = 3) -> str:
    """The first few of several ids: `'3', '7', '9', …`."""
    return ", ".join(map(id_shown, idents[:most])) + (", …" if len(idents) > most else "")


def id_text(value: object) -> str | None:
    """An id as text: text as it is, a whole number as its digits; None for anything else, and for blank text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and not says_nothing(value) else None
