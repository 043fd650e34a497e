"""The strategies of `archehr-qa` (the paper's section Evaluation framework, Fig. 3), in our own prompts."""

from __future__ import annotations

from collections.abc import Mapping

from pmbench import Strategy
from pmbench_tasks.archehr.answer_first import ANSWER_ONLY, CITE_ONLY, AnswerFirst
from pmbench_tasks.archehr.cited_answer import ANSWER_AND_CITE, CitedAnswer
from pmbench_tasks.archehr.heuristic import Heuristic

ANSWER_STRATEGIES: Mapping[str, Strategy] = {
    "together": CitedAnswer(ANSWER_AND_CITE),
    "answer-first": AnswerFirst(ANSWER_ONLY, CITE_ONLY),
    "evidence-first": CitedAnswer(ANSWER_AND_CITE, evidence_first=True),
    "heuristic": Heuristic(),
}
