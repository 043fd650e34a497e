"""What the responses to the four subtasks of 2026 are worth, by the rules of their official scorers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmbench import Response, Score, Unscored, flesch_kincaid_grade, says_nothing
from pmbench_tasks.archehr.alignment import alignment_counts
from pmbench_tasks.archehr.answers import MOST_WORDS
from pmbench_tasks.archehr.cases import Case
from pmbench_tasks.archehr.factuality import Counts, counts_2026
from pmbench_tasks.archehr.problems import MOST_QUESTION_WORDS
from pmbench_tasks.archehr.readings import to_human
from pmbench_tasks.archehr.relevance import COMPONENTS, QUESTION_COMPONENTS, Compared, Relevance
from pmbench_tasks.archehr.scoring import part_of, tries_of


async def score_question(case: Case, response: Response, relevance: Relevance) -> Score:
    """Relevance of the first 15 words to the clinician's question."""
    text, stats = _cut(response.text, MOST_QUESTION_WORDS)
    measured = await relevance.measure(Compared(text, case.clinician_question, case.narrative))
    there = [name for name in QUESTION_COMPONENTS if name == "rougeLsum" or name in relevance.components]
    kept = {name: value for name, value in measured.items() if name not in ("bleu", "sari")}
    stats |= kept | part_of("", measured, tuple(there), QUESTION_COMPONENTS)
    return Score({**stats, **tries_of(response)}, evidence={"text": text})


async def score_answer(case: Case, response: Response, relevance: Relevance) -> Score:
    """Relevance of the first 75 words to the clinician's answer; SARI's source is the narrative."""
    text, stats = _cut(response.text, MOST_WORDS)
    measured = await relevance.measure(to_human(case, text))
    stats |= measured | part_of("", measured, relevance.components, COMPONENTS)
    if (grade := flesch_kincaid_grade(text)) is not None:
        stats["grade"] = grade
    return Score({**stats, **tries_of(response)}, evidence={"text": text})


def score_evidence(case: Case, response: Response) -> Score:
    """Counts of the sentences that were named.

    Raises:
        Unscored: `no-list`: the response names none; `no-such-sentence`: it names what is no sentence of the note,
            where the official scorer stops.
    """
    named = _ids(response.data.get("evidence"))
    if named is None:
        raise Unscored("no-list", "the response holds no list of sentence ids")
    known = {one.id for one in case.sentences}
    if not set(named) <= known:
        raise Unscored("no-such-sentence", "the response names what is no sentence of the note")
    stats: dict[str, float] = {}
    for name, counts in counts_2026(case.relevance, named).items():
        stats |= {
            f"{name}_tp": float(counts.tp),
            f"{name}_fp": float(counts.fp),
            f"{name}_fn": float(counts.fn),
        }
    return Score({**stats, **tries_of(response)}, evidence={"cited": list(dict.fromkeys(named))})


def score_alignment(case: Case, response: Response) -> Score:
    """Counts of links between answer and note.

    Raises:
        Unscored: `no-links`: the response holds none; `no-such-sentence`: it links what is not there, where
            the official scorer stops.
    """
    given = response.data.get("links")
    read = {name: _ids(ids) for name, ids in given.items()} if isinstance(given, Mapping) else {"": None}
    links = {name: ids for name, ids in read.items() if ids is not None}
    if len(links) < len(read):
        raise Unscored("no-links", "the response holds no links from answer to note")
    answers, notes = {one.id for one in case.answer_sentences}, {one.id for one in case.sentences}
    if not set(links) <= answers or not {name for ids in links.values() for name in ids} <= notes:
        raise Unscored("no-such-sentence", "the response links a sentence that is not there")
    stats: dict[str, float] = {}
    for prefix, found in alignment_counts(case.answer_sentences, links).items():
        stats |= _plain(prefix, found)
    return Score({**stats, **tries_of(response)}, evidence={"links": links})


def _plain(prefix: str, counts: Counts) -> dict[str, float]:
    return {f"{prefix}{part}": float(number) for part, number in counts._asdict().items()}


def _ids(value: Any) -> list[str] | None:
    """A list of ids; None for anything else."""
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return list(value) if listed and all(isinstance(one, str) for one in value) else None


def _cut(text: str, most: int) -> tuple[str, dict[str, float]]:
    """The first words, parted by single spaces, and how many there were (the official scorers of 2026)."""
    words = text.split()
    stats = {
        "words": float(len(words)),
        "cut": float(len(words) > most),
        "said_nothing": float(says_nothing(text)),
    }
    return " ".join(words[:most]), stats
