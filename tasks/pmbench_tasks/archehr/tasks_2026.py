"""The four subtasks of ArchEHR-QA 2026: question, evidence, answer, alignment of an answer with the note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pmbench import Instance, Response, Row, Score
from pmbench_tasks.archehr import exporters
from pmbench_tasks.archehr.answers import MOST_WORDS
from pmbench_tasks.archehr.base import Archehr, inputs_of, needed, needed_questions
from pmbench_tasks.archehr.cases import Case
from pmbench_tasks.archehr.findings import findings_2026, findings_alignment, findings_evidence
from pmbench_tasks.archehr.metrics_2026 import (
    METRICS_ALIGNMENT,
    METRICS_ANSWERS,
    METRICS_EVIDENCE,
    METRICS_QUESTIONS,
)
from pmbench_tasks.archehr.options import AlignmentOptions, EvidenceOptions, TextOptions
from pmbench_tasks.archehr.problems import MOST_QUESTION_WORDS
from pmbench_tasks.archehr.relevance import COMPONENTS, QUESTION_COMPONENTS, RELEVANCE
from pmbench_tasks.archehr.strategies_2026 import (
    ALIGNMENT_STRATEGIES,
    ANSWERS_STRATEGIES,
    EVIDENCE_STRATEGIES,
    QUESTIONS_STRATEGIES,
)
from pmbench_tasks.archehr.views import alignment_view, evidence_list_view, text_view

CARD = "pmbench_tasks.archehr:CARD-archehr-2026.md"


class _Texts(Archehr):
    """A subtask whose responses are texts, scored by relevance.

    Attributes:
        components: of which the official scorer's overall_score is the mean.
        most_words: that are scored.
    """

    components: ClassVar[tuple[str, ...]]
    most_words: ClassVar[int]
    options = TextOptions
    judges: ClassVar = {"relevance": RELEVANCE}
    views: ClassVar = {"text": text_view}
    exporters: ClassVar = {"archehr": exporters.text_submission}
    card = CARD

    def findings(self, scores: Mapping[str, Score]) -> Iterator[str]:
        """What was cut, what is empty, what was not computed."""
        return findings_2026(scores, self.components, self.most_words)


class Questions(_Texts):
    """Subtask 1: the clinician's question that a patient's narrative asks, in at most 15 words."""

    name = "archehr-2026-questions"
    title = "The question that a patient asks, ArchEHR-QA 2026"
    strategies = QUESTIONS_STRATEGIES
    metrics = METRICS_QUESTIONS
    components = QUESTION_COMPONENTS
    most_words = MOST_QUESTION_WORDS

    def instance_of(self, case: Case, row: Row) -> Instance:
        """The narrative alone; the clinician's question is what is asked for.

        Raises:
            DataError: the case lacks one of the two.
        """
        needed(case, row, case.narrative, "patient's narrative")
        needed(case, row, case.clinician_question, "clinician's question to compare with")
        return self.made(case, {"narrative": case.narrative})

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Relevance of a question."""
        from pmbench_tasks.archehr.scoring_2026 import score_question

        return await score_question(instance.target["case"], response, judges["relevance"])


class Answers(_Texts):
    """Subtask 3: an answer in at most 75 words, without citations."""

    name = "archehr-2026-answers"
    title = "Answers from the record, ArchEHR-QA 2026"
    strategies = ANSWERS_STRATEGIES
    metrics = METRICS_ANSWERS
    components = COMPONENTS
    most_words = MOST_WORDS

    def instance_of(self, case: Case, row: Row) -> Instance:
        """A case with its note.

        Raises:
            DataError: the case has no question, no note or no answer of a clinician.
        """
        needed_questions(case, row)
        needed(case, row, case.sentences, "note sentences")
        needed(case, row, case.answer, "clinician_answer_without_citations to compare with")
        return self.made(case, inputs_of(case))

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Relevance of an answer."""
        from pmbench_tasks.archehr.scoring_2026 import score_answer

        return await score_answer(instance.target["case"], response, judges["relevance"])


class Evidence(Archehr):
    """Subtask 2: the sentences of the note that an answer needs."""

    name = "archehr-2026-evidence"
    title = "Evidence for an answer, ArchEHR-QA 2026"
    strategies = EVIDENCE_STRATEGIES
    metrics = METRICS_EVIDENCE
    options = EvidenceOptions
    views: ClassVar = {"evidence": evidence_list_view}
    exporters: ClassVar = {"archehr": exporters.evidence_submission}
    card = CARD

    def instance_of(self, case: Case, row: Row) -> Instance:
        """A case with its note.

        Raises:
            DataError: the case has no question, no note or no labels.
        """
        needed_questions(case, row)
        needed(case, row, case.sentences, "note sentences")
        needed(case, row, case.relevance, "relevance labels")
        return self.made(case, inputs_of(case))

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Counts of the sentences that were named.

        Raises:
            Unscored: the response names no list, or a sentence that the note has not.
        """
        from pmbench_tasks.archehr.scoring_2026 import score_evidence

        return score_evidence(instance.target["case"], response)

    def findings(self, scores: Mapping[str, Score]) -> Iterator[str]:
        """Cases in which there is nothing to find."""
        return findings_evidence(scores)


class Alignment(Archehr):
    """Subtask 4: for each sentence of the clinician's answer, the sentences of the note that it rests on."""

    name = "archehr-2026-alignment"
    title = "Alignment of answers with the note, ArchEHR-QA 2026"
    strategies = ALIGNMENT_STRATEGIES
    metrics = METRICS_ALIGNMENT
    options = AlignmentOptions
    views: ClassVar = {"alignment": alignment_view}
    exporters: ClassVar = {"archehr": exporters.alignment_submission}
    card = CARD

    def instance_of(self, case: Case, row: Row) -> Instance:
        """A case with its note and the sentences of the answer, without their citations.

        Raises:
            DataError: the case has no question, no note or no answer by sentences.
        """
        needed_questions(case, row)
        needed(case, row, case.sentences, "note sentences")
        needed(case, row, case.answer_sentences, "clinician_answer_sentences")
        sentences = [{"id": one.id, "text": one.text} for one in case.answer_sentences]
        return self.made(case, {**inputs_of(case), "answer_sentences": sentences})

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Counts of the links between answer and note.

        Raises:
            Unscored: the response holds no links, or one to a sentence that is not there.
        """
        from pmbench_tasks.archehr.scoring_2026 import score_alignment

        return score_alignment(instance.target["case"], response)

    def findings(self, scores: Mapping[str, Score]) -> Iterator[str]:
        """Cases in which there is nothing to find."""
        return findings_alignment(scores)
