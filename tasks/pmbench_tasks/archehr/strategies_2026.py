"""The strategies of the four subtasks of 2026: a model asked without examples, or similarity alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pmbench import Model, Options, Prompt, Response, Strategy, StrategyContext
from pmbench_tasks.archehr.answer_first import ANSWER_ONLY, BESIDE_TOKENS, CITE_ONLY, ask_links
from pmbench_tasks.archehr.ids import read_ids
from pmbench_tasks.archehr.note_text import case_values, one_line
from pmbench_tasks.archehr.options import cutoff_of, tries_of
from pmbench_tasks.archehr.problems import (
    MOST_QUESTION_WORDS,
    Check,
    id_list_check,
    plain_answer_check,
    question_check,
)
from pmbench_tasks.archehr.similarity import RULE, candidates, embedder_of, filtered, kept
from pmbench_tasks.archehr.tries import Step, data_of
from pmbench_tasks.archehr.turns import turn_at

QUESTION_TOKENS = 48
"""Most tokens of a question of 15 words."""

LIST_TOKENS = 160
"""Most tokens of a list of ids: a note of 60 sentences, each of them named."""

LEAST_LINKED = 1
"""Note sentences that a sentence of an answer is linked to whatever their cosine."""


class Asked:
    """One prompt about a case with tries; the last answer is the text.

    Args:
        step: the prompt.
        check: makes what its answers are held to, from the note sentences.
    """

    needs = frozenset({"chat"})

    def __init__(self, step: Step, check: Callable[[Sequence[Mapping[str, str]]], Check]) -> None:
        self.step, self.check = step, check

    def describe(self) -> Mapping[str, Any]:
        """Digests of the prompts and the limits."""
        return self.step.describe()

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """One request, and another for each further try."""
        return 1, tries_of(options)

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """The last try as the model wrote it.

        Raises:
            RequestFailed: the model could not answer one of the tries.
            ConfigError: the options are of another task.
        """
        check = self.check(inputs.get("sentences", ()))
        tries = tries_of(context.options)
        async with turn_at(model):
            made = await self.step.ask(case_values(inputs), check, model, tries=tries)
        return Response(text=made[-1].text, data=data_of(made))


class AskedEvidence(Asked):
    """Asks for the ids of the note sentences that are needed."""

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`evidence`: ids of the note that the last try names; `dropped`: what it names that is none.

        Raises:
            RequestFailed: the model could not answer one of the tries.
            ConfigError: the options are of another task.
        """
        told = await super().__call__(inputs, model, context)
        read = read_ids(told.text, [sentence["id"] for sentence in inputs["sentences"]])
        data = {**told.data, "evidence": list(read.ids), "dropped": list(read.unknown)}
        return Response(text=", ".join(read.ids), data=data)


class SimilarEvidence:
    """Takes the note sentences that are similar to the questions; no model is asked."""

    needs = frozenset({"embed"})

    def describe(self) -> Mapping[str, Any]:
        """The rule of the filter."""
        return {"filter": RULE}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """No request."""
        cutoff_of(options)
        return 0, 0

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`evidence`: ids in document order.

        Raises:
            ConfigError: the options are of another task, or the run has no embedder.
        """
        ids = await filtered(inputs, context, cutoff_of(context.options))
        return Response(text=", ".join(ids), data=data_of((), evidence=ids, dropped=[]))


class AskedLinks:
    """Asks for the note sentences that each sentence of a given answer rests on."""

    needs = frozenset({"chat"})

    def __init__(self, step: Step) -> None:
        self.step = step

    def describe(self) -> Mapping[str, Any]:
        """Digests of the prompts and the limits, the tokens for each sentence."""
        return {**self.step.describe(), "beside": BESIDE_TOKENS}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """One request, and another for each further try; none about an answer without sentences."""
        some = bool(inputs["answer_sentences"])
        return int(some), int(some) * tries_of(options)

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`links`: of each sentence of the answer the ids of the note; `dropped`: how many named ids are none.

        Raises:
            RequestFailed: the model could not answer one of the tries.
            ConfigError: the options are of another task.
        """
        tries, given = tries_of(context.options), inputs["answer_sentences"]
        if not given:
            return Response(data=data_of((), links={}, dropped=0))
        texts = [one_line(sentence["text"]) for sentence in given]
        async with turn_at(model):
            made, linked = await ask_links(self.step, inputs, texts, model, tries=tries, some=False)
        known = {sentence["id"] for sentence in inputs["sentences"]}
        links = {
            sentence["id"]: [id_ for id_ in ids if id_ in known]
            for sentence, ids in zip(given, linked, strict=True)
        }
        dropped = sum(id_ not in known for ids in linked for id_ in ids)
        return Response(text=_shown(links), data=data_of(made, links=links, dropped=dropped))


class SimilarLinks:
    """Links a sentence of the answer to the note sentences that are similar to it; no model is asked."""

    needs = frozenset({"embed"})

    def describe(self) -> Mapping[str, Any]:
        """The rule."""
        return {"headings": "never", "least_linked": LEAST_LINKED}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """No request."""
        cutoff_of(options)
        return 0, 0

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """`links`: of each sentence of the answer the ids of the note in document order.

        Raises:
            ConfigError: the options are of another task, or the run has no embedder.
        """
        cutoff, embedder = cutoff_of(context.options), embedder_of(context)
        given, sentences = inputs["answer_sentences"], candidates(inputs["sentences"])
        answer = await embedder.embed([one_line(sentence["text"]) for sentence in given])
        note = await embedder.embed([one_line(sentence["text"]) for sentence in sentences])
        links = {
            sentence["id"]: [
                sentences[place]["id"] for place in kept([*map(float, row)], cutoff, LEAST_LINKED)
            ]
            for sentence, row in zip(given, answer @ note.T, strict=True)
        }
        return Response(text=_shown(links), data=data_of((), links=links, dropped=0))


def _shown(links: Mapping[str, Sequence[str]]) -> str:
    return "\n".join(f"{id_}: {', '.join(ids) or 'none'}" for id_, ids in links.items())


def _question_check(_sentences: Sequence[Mapping[str, str]]) -> Check:
    return question_check


def _list_check(sentences: Sequence[Mapping[str, str]]) -> Check:
    return id_list_check([sentence["id"] for sentence in sentences])


_QUESTION = Step(
    "question",
    Prompt("pmbench_tasks.archehr:prompts/question.txt"),
    QUESTION_TOKENS,
    MOST_QUESTION_WORDS,
)
_EVIDENCE = Step("evidence", Prompt("pmbench_tasks.archehr:prompts/evidence.txt"), LIST_TOKENS)

QUESTIONS_STRATEGIES: Mapping[str, Strategy] = {"zero-shot": Asked(_QUESTION, _question_check)}

EVIDENCE_STRATEGIES: Mapping[str, Strategy] = {
    "zero-shot": AskedEvidence(_EVIDENCE, _list_check),
    "similarity": SimilarEvidence(),
}

ANSWERS_STRATEGIES: Mapping[str, Strategy] = {"zero-shot": Asked(ANSWER_ONLY, plain_answer_check)}

ALIGNMENT_STRATEGIES: Mapping[str, Strategy] = {
    "zero-shot": AskedLinks(CITE_ONLY),
    "similarity": SimilarLinks(),
}
