"""ArchEHR-QA 2025: an answer from the record in at most 75 words, each sentence citing the note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pmbench import Instance, Response, Row, Score, ViewBlock
from pmbench_tasks.archehr.base import Archehr, inputs_of, needed, needed_questions
from pmbench_tasks.archehr.cases import Case
from pmbench_tasks.archehr.exporters import official_scores, submission
from pmbench_tasks.archehr.findings import findings_of
from pmbench_tasks.archehr.metrics import METRICS
from pmbench_tasks.archehr.options import AnswerOptions
from pmbench_tasks.archehr.relevance import RELEVANCE
from pmbench_tasks.archehr.strategies import ANSWER_STRATEGIES
from pmbench_tasks.archehr.views import blocks_to_label, evidence_view


class AnswersWithCitations(Archehr):
    """Factuality of what an answer cites and relevance of what it says."""

    name = "archehr-qa"
    title = "Grounded answers from the record, ArchEHR-QA"
    strategies = ANSWER_STRATEGIES
    metrics = METRICS
    options = AnswerOptions
    judges: ClassVar = {"relevance": RELEVANCE}
    views: ClassVar = {"evidence": evidence_view}
    exporters: ClassVar = {"archehr": submission, "archehr-scores": official_scores}
    card = "pmbench_tasks.archehr:CARD-archehr-qa.md"
    reported = "pmbench_tasks.archehr:reported.toml"
    stat_words: ClassVar = {
        "strict_tp": "essential sentences of the note that the answer cites, each counted once",
        "strict_fp": "sentences of the note that the answer cites and that are not essential",
        "strict_fn": "essential sentences of the note that the answer does not cite",
    }

    def instance_of(self, case: Case, row: Row) -> Instance:
        """A case with its sentences; its key is for scoring.

        Raises:
            DataError: the case has no question, no note or no labels.
        """
        needed_questions(case, row)
        needed(case, row, case.sentences, "note sentences")
        needed(case, row, case.relevance, "relevance labels, so no answer to it can be scored")
        return self.made(case, inputs_of(case))

    def to_label(self, instance: Instance, response: Response) -> Sequence[ViewBlock]:
        """Questions, the note with the key's labels, the clinician's answer and the answer."""
        return blocks_to_label(instance.target["case"], response.text)

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Factuality and relevance of one answer."""
        from pmbench_tasks.archehr.scoring import score_of

        return await score_of(instance.target["case"], response, judges["relevance"])

    def findings(self, scores: Mapping[str, Score]) -> Iterator[str]:
        """What was lost to form, and what the official scorer would do."""
        return findings_of(scores)
