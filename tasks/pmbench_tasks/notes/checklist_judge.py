"""A chat model as judge of the role `checklist`: every question of a checklist answered about one text.

How answer, quote and probability come together: the *answer* is what the model says, in a request that asks for a
quote as well, and it alone decides whether a question is met. The *quote* is kept beside it as evidence and decides
nothing. The *probability of yes* comes from a second request that begins with the same words and ends after one
token, where the backend has log-probabilities and questions are asked one by one; it stands beside the answer, never
in its place, and where the two disagree this is counted. A missing answer is not filled in from a probability: two
ways of asking are two judges.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pmbench import Completion, Message, Model, RequestFailed
from pmbench_tasks.asking import side_by_side, valid
from pmbench_tasks.notes.answers import (
    ABSENT,
    CUT_OFF,
    FAILED,
    REFUSED,
    UNPARSED,
    Answered,
    Reading,
    read_one,
    read_several,
    schema_of,
)
from pmbench_tasks.notes.checklist import Checklist, Item
from pmbench_tasks.notes.judge_prompts import PROMPT, Form, Kind, messages_of

Ask = Literal["item", "batch"]
Probability = Literal["auto", "off"]

ATTEMPTS = 2
"""How often an answer that cannot be read is asked for."""

MAX_TOKENS = 160
"""Most tokens of one answer with its quote."""

TOKENS_EACH = 90
"""Tokens of an answer for each question that is asked together with others."""

TOO_LONG = "too-long"
"""The kind of failure of a request that is longer than the model's context."""

YES_NO = ("yes", "no")


class ChecklistJudge:
    """Asks a chat model the questions of checklists.

    Args:
        model: the judge.
        ask: `item`: one request for each question; `batch`: one for all of them. They are different judges: the
            answers to questions that stand together influence each other.
        probability: `off`: none is asked for.
        kind: what is judged.
        checklist: where it is known which one will be asked, so that `describe` can tell.
    """

    def __init__(
        self,
        model: Model,
        *,
        ask: Ask = "item",
        probability: Probability = "auto",
        kind: Kind = "note",
        checklist: Checklist | None = None,
    ) -> None:
        self.model, self.mode, self.kind, self.checklist = model, ask, kind, checklist
        self.json = enforces_schema(model)
        self.asks_probability = ask == "item" and probability == "auto" and has_log_probabilities(model)

    def describe(self) -> Mapping[str, Any]:
        """What decides its answers: prompt, ways of asking, and the content of the checklist."""
        about: dict[str, Any] = {
            "method": "chat",
            "version": 1,
            "prompt": PROMPT.digest,
            "kind": self.kind,
            "ask": self.mode,
            "form": "json" if self.json else "lines",
            "probability": self.asks_probability,
            "max_tokens": [MAX_TOKENS, TOKENS_EACH],
            "attempts": ATTEMPTS,
        }
        return about if self.checklist is None else {**about, "checklist": self.checklist.digest}

    async def ask(self, checklist: Checklist, transcript: str, section: str) -> list[Answered]:
        """One answer for each item of a checklist, in order.

        Args:
            checklist: its section only names what `section` is.
            transcript: the source: what was said at the visit; of a reply, the patient's message and the chart.
            section: what is judged; `""`: it was not written, which the judge is told.

        Raises:
            RequestFailed: `too-long` where one question with both texts is longer than the model's context, for
                nothing is ever shortened; any other kind where no question at all could be asked. A request that
                fails by itself is a missing answer.
        """
        talk = _Talk(self, checklist, transcript, section)
        if self.mode == "batch":
            readings = await talk.together()
        else:
            readings = await talk.one_by_one()
        chances: dict[int, float] = {}
        if self.asks_probability and checklist.ends is None:
            # After all answers, not between them: an engine with one slot keeps one beginning at a time.
            chances = await talk.chances([at for at, one in enumerate(readings) if one.value is not None])
        return [
            _answered(item, reading, chances.get(at))
            for at, (item, reading) in enumerate(zip(checklist.items, readings, strict=True))
        ]


def enforces_schema(model: Model) -> bool:
    """Whether a model's backend keeps an answer to a JSON schema."""
    return "schema" in model.features


def has_log_probabilities(model: Model) -> bool:
    """Whether `choose` gives probabilities, not the one option that the model named."""
    return "choose" in model.offers and not model.chooses_in_words


class _Talk:
    """The questions about one text."""

    def __init__(self, judge: ChecklistJudge, checklist: Checklist, source: str, text: str) -> None:
        self.judge, self.checklist, self.source, self.text = judge, checklist, source, text

    async def one_by_one(self) -> list[Reading]:
        """The answer to each item, each from a request of its own.

        Raises:
            RequestFailed: `too-long`, or every request failed.
        """
        asked: list[Callable[[], Awaitable[Reading | RequestFailed]]] = [
            partial(self._one, item) for item in self.checklist.items
        ]
        found = await side_by_side(asked)
        failures = [one for one in found if isinstance(one, RequestFailed)]
        if failures and len(failures) == len(found):
            raise failures[0]
        return [_failed(one) if isinstance(one, RequestFailed) else one for one in found]

    async def together(self) -> list[Reading]:
        """The answers to all items from one request, and from a second one to those that could not be read.

        Raises:
            RequestFailed: the first request failed.
        """
        found = dict.fromkeys(range(1, len(self.checklist.items) + 1), Reading(None, "", UNPARSED))
        said = self._messages(self.checklist.items, "batch")
        for attempt in range(ATTEMPTS):
            open_ones = [number for number, one in found.items() if one.value is None]
            if not open_ones:
                break
            try:
                done = await self._chat(said, open_ones, attempt)
            except RequestFailed as error:
                if not attempt or error.kind == TOO_LONG:
                    raise
                found.update((number, _failed(error)) for number in open_ones)
                break
            found.update(_told(done, read_several(done.text, open_ones, self.checklist.ends)))
            left = [str(number) for number in open_ones if found[number].value is None]
            said += _again(done, f"There is no answer that can be read for {', '.join(left)}.", "these alone")
        return list(found.values())

    async def chances(self, places: Sequence[int]) -> dict[int, float]:
        """The probability of yes for these items; those that have none are left out."""
        asked: list[Callable[[], Awaitable[float | None]]] = [
            partial(self._chance, self.checklist.items[place]) for place in places
        ]
        found = await side_by_side(asked)
        return {place: one for place, one in zip(places, found, strict=True) if one is not None}

    async def _one(self, item: Item) -> Reading | RequestFailed:
        said = self._messages([item], "item")
        reading = Reading(None, "", UNPARSED)
        try:
            for attempt in range(ATTEMPTS):
                done = await self._chat(said, (), attempt)
                reading = _told(done, {1: read_one(done.text, self.checklist.ends)})[1]
                if reading.value is not None:
                    break
                said += _again(done, "Your answer could not be read.", "in the form asked for")
        except RequestFailed as error:
            if error.kind == TOO_LONG:
                raise
            return error
        return reading

    async def _chance(self, item: Item) -> float | None:
        try:
            choice = await self.judge.model.choose(self._messages([item], "choose"), YES_NO)
        except RequestFailed as error:
            if error.kind == TOO_LONG:
                raise
            return None
        return choice.probabilities[0] if choice.exact else None

    async def _chat(self, said: Sequence[Message], numbers: Sequence[int], attempt: int) -> Completion:
        return await self.judge.model.chat(
            said,
            max_tokens=MAX_TOKENS + TOKENS_EACH * len(numbers),
            temperature=0.0,
            schema=schema_of(numbers, self.checklist.ends) if self.judge.json else None,
            attempt=attempt,
        )

    def _messages(self, items: Sequence[Item], form: Form) -> list[Message]:
        return messages_of(
            self.checklist,
            [item.question for item in items],
            source=self.source,
            text=self.text,
            kind=self.judge.kind,
            form=form,
            json=self.judge.json,
        )


def _told(done: Completion, readings: Mapping[int, Reading]) -> dict[int, Reading]:
    """Readings whose reason is the model's refusal or the token limit, where that is why they are missing."""
    cause = {"refused": REFUSED, "length": CUT_OFF}.get(done.finish, "")
    if not cause:
        return dict(readings)
    lost = (UNPARSED, ABSENT)
    return {n: one._replace(why=cause) if one.why in lost else one for n, one in readings.items()}


def _again(done: Completion, what: str, how: str) -> list[Message]:
    return [
        {"role": "assistant", "content": valid(done.text)},
        {"role": "user", "content": f"{what} Answer again, {how}."},
    ]


def _failed(error: RequestFailed) -> Reading:
    return Reading(None, "", f"{FAILED}: {error.kind}")


def _answered(item: Item, reading: Reading, chance: float | None) -> Answered:
    value = reading.value
    return Answered(
        item=item.id,
        met=value if isinstance(value, bool) else None,
        p_yes=chance,
        quote=reading.quote,
        why=reading.why,
        grade=value if isinstance(value, int) and not isinstance(value, bool) else None,
    )
