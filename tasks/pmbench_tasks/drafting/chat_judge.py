"""A chat model as content judge: one question per sentence of the reply, a structured answer, one repair."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pmbench import SPLITTER, Model, Prompt, Unscored, split_sentences
from pmbench_tasks.drafting.answer import Answer, valid

PROMPT = Prompt("pmbench_tasks.drafting:prompts/content_judge.txt")

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"match": {"type": "boolean"}, "span": {"type": "string"}},
    "required": ["match", "span"],
    "additionalProperties": False,
}
MAX_TOKENS = 300
ATTEMPTS = 2
TOGETHER = 64
"""Sentences of one reply that are asked about at the same time; each holds a prompt with the whole draft."""
MOST_BRACES = 1_000
"""Opening braces of an answer at which its JSON object is looked for."""


class Unreadable(ValueError):
    """An answer that is not in the asked form; the message tells the model what to mend."""


class ChatContentJudge:
    """Asks a chat model, once per sentence; the sentences of one reply are asked about side by side."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def describe(self) -> Mapping[str, Any]:
        """Method, prompt and splitter; the model has its own place in a score's digest."""
        return {
            "method": "chat",
            "version": 1,
            "prompt": PROMPT.digest,
            "max_tokens": MAX_TOKENS,
            "attempts": ATTEMPTS,
            "splitter": SPLITTER,
        }

    async def match(self, sentences: Sequence[str], draft: str) -> list[Answer]:
        """One answer per sentence. Nothing is asked about a draft without a sentence: nothing can match.

        When one sentence cannot be answered, nothing more is asked about the others: they are called off, and
        have ended when the error is raised.

        Raises:
            RequestFailed: the model could not answer.
            Unscored: an answer could not be read (`unparsed`).
        """
        if not split_sentences(draft):
            return [Answer("") for _ in sentences]
        room = asyncio.Semaphore(TOGETHER)

        async def ask(sentence: str) -> Answer:
            async with room:
                return await self._ask(sentence, draft)

        # Not a TaskGroup: the caller counts a RequestFailed and an Unscored, not a group of them.
        asked = [asyncio.ensure_future(ask(sentence)) for sentence in sentences]
        try:
            return list(await asyncio.gather(*asked))
        finally:
            for one in asked:
                one.cancel()
            await asyncio.gather(*asked, return_exceptions=True)

    async def _ask(self, sentence: str, draft: str) -> Answer:
        messages = PROMPT.messages(sentence=sentence, draft=draft)
        for attempt in range(ATTEMPTS):
            completion = await self.model.chat(
                messages, max_tokens=MAX_TOKENS, temperature=0.0, schema=SCHEMA, attempt=attempt
            )
            try:
                return Answer(parse_answer(completion.text))
            except Unreadable as error:
                messages = [
                    *messages,
                    {"role": "assistant", "content": valid(completion.text)},
                    {"role": "user", "content": f"{error} Answer again, with the JSON object only."},
                ]
        raise Unscored("unparsed", f"the content judge's answer could not be read in {ATTEMPTS} attempts")


def parse_answer(text: str) -> str:
    """The passage that a model named, as valid Unicode; `""` where it said that there is none.

    Code fences and words around the JSON object are passed over; the first object with `match` counts. JSON
    can hold half a surrogate pair, which no file can: U+FFFD takes its place.

    Raises:
        Unreadable: there is no such object, or it is not as asked.
    """
    found = _first_object(text)
    if found is None:
        raise Unreadable('There was no JSON object {"match": true or false, "span": "..."} in your answer.')
    match, span = found["match"], found.get("span")
    if not isinstance(match, bool):
        raise Unreadable('"match" must be true or false.')
    if not match:
        return ""
    if not isinstance(span, str) or not any(letter.isalnum() for letter in span):
        raise Unreadable('"match" is true, so "span" must be the words copied from the draft.')
    return valid(span)


def _first_object(text: str) -> dict[str, Any] | None:
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    for _ in range(MOST_BRACES):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):  # a ValueError of another kind: a number of thousands of digits
            end = at + 1
        else:
            if isinstance(value, dict) and "match" in value:
                return value
        at = text.find("{", end)
    return None
