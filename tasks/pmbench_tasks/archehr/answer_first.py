"""`answer-first`: the answer, and then, with another prompt, what each of its sentences rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmbench import Model, Options, Prompt, Response, StrategyContext, split_sentences
from pmbench_tasks.archehr.answers import MOST_WORDS
from pmbench_tasks.archehr.note_text import as_data, case_values, one_line
from pmbench_tasks.archehr.official_lines import official_line
from pmbench_tasks.archehr.options import tries_of
from pmbench_tasks.archehr.problems import labelled_ids, labelled_ids_check, plain_answer_check
from pmbench_tasks.archehr.tries import Step, Try, data_of
from pmbench_tasks.archehr.turns import turn_at

ANSWER_TOKENS = 144
"""Most tokens of an answer: a third more than any of the demo's by clinicians has (107)."""

LINE_TOKENS, BESIDE_TOKENS = 16, 16
"""Most tokens of the line that names a sentence's note sentences, and beside these lines."""

ANSWER_ONLY = Step(
    "answer", Prompt("pmbench_tasks.archehr:prompts/answer_only.txt"), ANSWER_TOKENS, MOST_WORDS
)
CITE_ONLY = Step("cite", Prompt("pmbench_tasks.archehr:prompts/cite_only.txt"), LINE_TOKENS)


class AnswerFirst:
    """Two prompts, each with tries of its own; the official lines are put together from their answers."""

    needs = frozenset({"chat"})

    def __init__(self, answer: Step, cite: Step) -> None:
        self.answer, self.cite = answer, cite

    def describe(self) -> Mapping[str, Any]:
        """Digests of the prompts and their token limits; the second is for each sentence of the answer."""
        return {"answer": self.answer.describe(), "cite": {**self.cite.describe(), "beside": BESIDE_TOKENS}}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """Two requests, and another for each further try; of an answer without a sentence no citations are asked."""
        tries = tries_of(options)
        return min(2, tries), 2 * tries

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """A line for each sentence of the last answer, with what the last answer to the second prompt names for it.

        Raises:
            RequestFailed: the model could not answer one of the tries.
            ConfigError: the options are of another task.
        """
        tries = tries_of(context.options)
        check = plain_answer_check(inputs["sentences"])
        async with turn_at(model):
            answers = await self.answer.ask(case_values(inputs), check, model, tries=tries)
            sentences = [one_line(sentence) for sentence in split_sentences(answers[-1].text)]
            if not sentences:
                return Response(text=answers[-1].text, data=data_of(answers))
            asked, linked = await ask_links(self.cite, inputs, sentences, model, tries=tries)
        lines = [official_line(*pair) for pair in zip(sentences, linked, strict=True)]
        return Response(text="\n".join(lines), data=data_of([*answers, *asked]))


async def ask_links(
    step: Step,
    inputs: Mapping[str, Any],
    sentences: Sequence[str],
    model: Model,
    *,
    tries: int,
    some: bool = True,
) -> tuple[list[Try], list[tuple[str, ...]]]:
    """Ask which note sentences each sentence of an answer rests on.

    Args:
        step: the prompt, with the tokens of one line of its answer.
        inputs: of the case.
        sentences: of the answer, at least one.
        model: is asked.
        tries: at most.
        some: whether it is wrong that no sentence rests on anything.

    Returns:
        The tries; and of each sentence the ids that the last one names, those that are none of the note among them.

    Raises:
        RequestFailed: the model could not answer one of the tries.
    """
    known = [sentence["id"] for sentence in inputs["sentences"]]
    labelled = "\n".join(f"[A{number}] {as_data(text)}" for number, text in enumerate(sentences, 1))
    made = await step.ask(
        {**case_values(inputs), "answer": labelled, "sentences": len(sentences)},
        labelled_ids_check(known, len(sentences), some=some),
        model,
        tries=tries,
        most_tokens=BESIDE_TOKENS + step.max_tokens * len(sentences),
    )
    read = labelled_ids(made[-1].text, known, len(sentences))
    # Where there are words, a number that is no id may be anything.
    return made, [() if one is None else one.ids + (() if one.words else one.unknown) for one in read]
