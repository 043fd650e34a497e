"""A chat model as content judge: one question per sentence of the reply, or one per draft with `together=true`.

The draft stands before the sentence in every prompt, and all questions about one draft are asked side by side, so
that an engine or service that keeps what prompts have in common reads the draft once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pmbench import SPLITTER, Model, Prompt, split_sentences
from pmbench_tasks.drafting.judging.answer import Answer, valid
from pmbench_tasks.drafting.judging.asking import (
    ATTEMPTS,
    TOGETHER,
    Unreadable,
    ask,
    first_object,
    list_schema,
    numbered,
    portions,
    side_by_side,
)

PROMPT = Prompt("pmbench_tasks.drafting:prompts/content_judge.txt")
PROMPT_TOGETHER = Prompt("pmbench_tasks.drafting:prompts/content_judge_together.txt")

_ENTRY: Mapping[str, Any] = {"match": {"type": "boolean"}, "span": {"type": "string"}}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": _ENTRY,
    "required": ["match", "span"],
    "additionalProperties": False,
}
MAX_TOKENS = 300
TOKENS_EACH = 120
"""Tokens of an answer for each sentence that is asked about together with others."""


class ChatContentJudge:
    """Asks a chat model about each sentence of the reply.

    Args:
        model: the judge.
        together: ask about all sentences of a reply in one request (20 at most), not one by one as the paper
            does: cheaper, and other answers.
    """

    def __init__(self, model: Model, *, together: bool = False) -> None:
        self.model, self.together = model, together

    def describe(self) -> Mapping[str, Any]:
        """Method, prompt and splitter; the model has its own place in a score's digest."""
        return {
            "method": "chat",
            "version": 2,
            "prompt": (PROMPT_TOGETHER if self.together else PROMPT).digest,
            "max_tokens": MAX_TOKENS,
            "attempts": ATTEMPTS,
            "splitter": SPLITTER,
            **({"together": TOGETHER, "tokens_each": TOKENS_EACH} if self.together else {}),
        }

    async def match(self, sentences: Sequence[str], draft: str) -> list[Answer]:
        """One answer per sentence. Nothing is asked about a draft without a sentence: nothing can match.

        Raises:
            RequestFailed: the model could not answer.
            Unscored: `unparsed`, an answer could not be read.
        """
        if not split_sentences(draft):
            return [Answer("") for _ in sentences]
        asked = list(dict.fromkeys(sentences))
        size = TOGETHER if self.together else 1
        questions: list[Callable[[], Awaitable[list[str]]]] = [
            partial(self._ask, portion, draft) for portion in portions(asked, size)
        ]
        spans = [span for part in await side_by_side(questions) for span in part]
        found = dict(zip(asked, spans, strict=True))
        return [Answer(found[sentence]) for sentence in sentences]

    async def _ask(self, sentences: Sequence[str], draft: str) -> list[str]:
        if not self.together:
            messages = PROMPT.messages(sentence=sentences[0], draft=draft)
            span = await ask(
                self.model, messages, parse_answer, schema=SCHEMA, max_tokens=MAX_TOKENS, judge="content"
            )
            return [span]
        return await ask(
            self.model,
            PROMPT_TOGETHER.messages(sentences=sentences, draft=draft),
            partial(parse_answers, count=len(sentences)),
            schema=list_schema(_ENTRY, ["match", "span"]),
            max_tokens=MAX_TOKENS + TOKENS_EACH * len(sentences),
            judge="content",
        )


def parse_answer(text: str) -> str:
    """The passage that a model named, as valid Unicode; `""` where it said that there is none.

    Code fences and words around the JSON object are passed over; the first object with `match` counts. JSON
    can hold half a surrogate pair, which no file can: U+FFFD takes its place.

    Raises:
        Unreadable: there is no such object, or it is not as asked.
    """
    found = first_object(text, "match")
    if found is None:
        raise Unreadable('There was no JSON object {"match": true or false, "span": "..."} in your answer.')
    return _span(found)


def parse_answers(text: str, count: int) -> list[str]:
    """The passages named for each of several sentences, as `parse_answer` reads one.

    Raises:
        Unreadable: a sentence has no answer or two, or one is not as asked.
    """
    return [_span(entry) for entry in numbered(text, count)]


def _span(found: Mapping[str, Any]) -> str:
    match, span = found.get("match"), found.get("span")
    if not isinstance(match, bool):
        raise Unreadable('"match" must be true or false.')
    if not match:
        return ""
    if not isinstance(span, str) or not any(letter.isalnum() for letter in span):
        raise Unreadable('"match" is true, so "span" must be the words copied from the draft.')
    return valid(span)
