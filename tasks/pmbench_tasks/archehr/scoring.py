"""What one answer with citations is worth."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pmbench import Response, Score, flesch_kincaid_grade
from pmbench_tasks.archehr.answers import Line, ParsedAnswer, parse_official
from pmbench_tasks.archehr.cases import Case
from pmbench_tasks.archehr.clean_answers import parse_clean
from pmbench_tasks.archehr.factuality import counts_2025
from pmbench_tasks.archehr.readings import note_text, to_human, to_notes
from pmbench_tasks.archehr.relevance import COMPONENTS, Relevance, part_name

SUPPORTED = 0.5
"""AlignScore from which a sentence counts as supported by the note; the score is a probability."""

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")

_SHORTEST = 4
"""Letters of a word that may tell what a sentence is about; a number counts whatever its length."""


async def score_of(case: Case, response: Response, relevance: Relevance) -> Score:
    """Factuality and relevance of one answer, what was lost to its form, and what clinicians ask.

    The official reading decides the official numbers; the clean one stands beside it.
    """
    known = {one.id for one in case.sentences}
    official, clean = parse_official(response.text), parse_clean(response.text, known)
    stats = _factuality("", case, official) | _factuality("clean_", case, clean)
    stats |= _form(official, clean, known) | tries_of(response)
    stats |= await _relevance(case, official, relevance)
    stats |= await _asked(case, clean, relevance)
    return Score(stats, evidence=_evidence(official, clean))


def _factuality(prefix: str, case: Case, answer: ParsedAnswer) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, counts in counts_2025(case.relevance, answer.citations).items():
        found |= {f"{prefix}{name}_{part}": float(number) for part, number in counts._asdict().items()}
    return found


def _form(official: ParsedAnswer, clean: ParsedAnswer, known: Collection[str]) -> dict[str, float]:
    """What the official reading loses, drops or takes for citations."""
    cited = set(official.citations)
    return {
        "words": float(official.words),
        "cut": float(official.cut),
        "cited_none": float(not official.citations),
        "lost_citations": float(len(set(clean.citations) - cited)),
        "stray_citations": float(len(cited - set(known))),
    }


def tries_of(response: Response) -> dict[str, float]:
    """How often the model was asked and whether its last answer was still wrong; nothing for recorded answers."""
    tries = response.data.get("tries")
    if not isinstance(tries, Sequence) or isinstance(tries, str):
        return {}
    return {"tries": float(len(tries)), "still_wrong": float(bool(response.data.get("problems")))}


async def _relevance(case: Case, answer: ParsedAnswer, relevance: Relevance) -> dict[str, float]:
    """Every component against the notes and, where the key has it, the clinician's answer."""
    pairs = {"notes": to_notes(case, answer.text)}
    if case.answer:
        pairs["human"] = to_human(case, answer.text)
    found: dict[str, float] = {}
    for version, pair in pairs.items():
        measured = await relevance.measure(pair)
        found |= {f"{version}_{name}": value for name, value in measured.items()}
        found |= part_of(version, measured, relevance.components)
    return found


def part_of(
    version: str, measured: Mapping[str, float], components: tuple[str, ...], of: tuple[str, ...] = COMPONENTS
) -> dict[str, float]:
    """The mean of those components that are computed, under a name that says which; nothing where all are.

    Args:
        version: `notes`, `human` or nothing; measured: shares by name.
        components: those of the official ones that are computed; of: the official ones.
    """
    if len(components) == len(of):
        return {}
    mean = sum(measured[name] for name in components) / len(components)
    return {"_".join(filter(None, [version, "part", part_name(components, len(of))])): mean}


async def _asked(case: Case, answer: ParsedAnswer, relevance: Relevance) -> dict[str, float]:
    """What clinicians ask: is every sentence grounded, are citations used, can a patient read it."""
    lines = [line for line in answer.lines if line.text]
    telling = {one.id: _telling(one.text) for one in case.sentences}
    said = [(_telling(line.text), dict.fromkeys(line.citations)) for line in lines]
    unused = [words.isdisjoint(telling[name]) for words, names in said for name in names if name in telling]
    found = {
        "sentences": float(len(lines)),
        "uncited_sentences": float(sum(not line.citations for line in lines)),
        "citations": float(len(unused)),
        "unused_citations": float(sum(unused)),
    }
    if (grade := flesch_kincaid_grade(answer.text)) is not None:
        found["grade"] = grade
    supported = await relevance.supported(note_text(case), [line.text for line in lines])
    if supported is not None:
        found["unsupported_sentences"] = float(sum(value < SUPPORTED for value in supported.shares))
        found["unsupported_cut"] = float(supported.cut)
    return found


def _telling(text: str) -> set[str]:
    """Words of four letters and numbers, letter case aside."""
    words = (word.lower() for word in _WORD.findall(text))
    return {word for word in words if len(word) >= _SHORTEST or any(sign.isdigit() for sign in word)}


def _evidence(official: ParsedAnswer, clean: ParsedAnswer) -> dict[str, Any]:
    return {
        "official": {"text": official.text, "citations": list(official.citations), "words": official.words},
        "clean": {"lines": [_line(line) for line in clean.lines]},
    }


def _line(line: Line) -> dict[str, Any]:
    return {"text": line.text, "citations": list(line.citations)}
