"""`together` and `evidence-first`: one prompt for the answer and its citations at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmbench import Model, Options, Prompt, Response, StrategyContext
from pmbench_tasks.archehr.answers import MOST_WORDS
from pmbench_tasks.archehr.note_text import case_values
from pmbench_tasks.archehr.options import cutoff_of, tries_of
from pmbench_tasks.archehr.problems import cited_answer_check
from pmbench_tasks.archehr.similarity import RULE, filtered
from pmbench_tasks.archehr.tries import Step, data_of
from pmbench_tasks.archehr.turns import turn_at

CITED_TOKENS = 176
"""Most tokens of an answer with its citations: a third more than any of the demo's by clinicians has (129)."""


class CitedAnswer:
    """Asks for an answer in the official lines.

    Args:
        step: the prompt.
        evidence_first: whether the model sees only the note sentences that are similar to the questions.
    """

    def __init__(self, step: Step, *, evidence_first: bool = False) -> None:
        self.step, self.evidence_first = step, evidence_first
        self.needs = frozenset({"chat", "embed"} if evidence_first else {"chat"})

    def describe(self) -> Mapping[str, Any]:
        """Digests of the prompts, the token limit, and the rule of the filter."""
        return {**self.step.describe(), **({"filter": RULE} if self.evidence_first else {})}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """One request, and another for each further try."""
        if self.evidence_first:
            cutoff_of(options)
        return 1, tries_of(options)

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """The last try as the model wrote it; `shown`: ids of the sentences that passed the filter.

        Raises:
            RequestFailed: the model could not answer one of the tries.
            ConfigError: the options are of another task.
        """
        tries, sentences, more = tries_of(context.options), inputs["sentences"], {}
        if self.evidence_first:
            more["shown"] = await filtered(inputs, context, cutoff_of(context.options))
            sentences = [sentence for sentence in sentences if sentence["id"] in set(more["shown"])]
        values, check = case_values(inputs, more.get("shown")), cited_answer_check(sentences)
        async with turn_at(model):
            made = await self.step.ask(values, check, model, tries=tries)
        return Response(text=made[-1].text, data=data_of(made, **more))


ANSWER_AND_CITE = Step(
    "cited answer", Prompt("pmbench_tasks.archehr:prompts/answer_and_cite.txt"), CITED_TOKENS, MOST_WORDS
)
