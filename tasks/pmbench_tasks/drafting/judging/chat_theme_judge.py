"""A chat model as theme judge: one question per sentence, or one per text with `together=true`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pmbench import SPLITTER, Model, Prompt
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
from pmbench_tasks.drafting.themes import THEMES, in_order

PROMPT = Prompt("pmbench_tasks.drafting:prompts/theme_judge.txt")

MAX_TOKENS = 100
TOKENS_EACH = 40
"""Tokens of an answer for each sentence that is asked about together with others."""

_NAMES = {
    "".join(letter for letter in written.casefold() if letter.isalpha()): name
    for name, title in THEMES.items()
    for written in (name, title)
}
"""A theme's name by its name or title without case, blanks and marks."""


class ChatThemeJudge:
    """Asks a chat model for the theme of each sentence; equal sentences are asked about once.

    Args:
        model: the judge.
        multi: a sentence may have several themes; else it has exactly one, as in the paper's appendix C.2.
        together: ask about the sentences of a text in one request (20 at most), not one by one.
    """

    def __init__(self, model: Model, *, multi: bool = False, together: bool = False) -> None:
        self.model, self.multi, self.together = model, multi, together

    def describe(self) -> Mapping[str, Any]:
        """Method, prompt and splitter; the model has its own place in a score's digest."""
        return {
            "method": "chat",
            "version": 1,
            "prompt": PROMPT.digest,
            "multi": self.multi,
            "together": TOGETHER if self.together else 1,
            "max_tokens": [MAX_TOKENS, TOKENS_EACH],
            "attempts": ATTEMPTS,
            "splitter": SPLITTER,
        }

    async def label(self, sentences: Sequence[str]) -> list[tuple[str, ...]]:
        """The themes of each sentence, in the order of `THEMES`; one each unless `multi`.

        Raises:
            RequestFailed: the model could not answer.
            Unscored: `unparsed`, an answer is in no readable form, names no theme, an unknown one, or several
                where one was asked for.
        """
        asked = list(dict.fromkeys(sentences))
        size = TOGETHER if self.together else 1
        questions: list[Callable[[], Awaitable[list[tuple[str, ...]]]]] = [
            partial(self._ask, portion) for portion in portions(asked, size)
        ]
        labels = [label for part in await side_by_side(questions) for label in part]
        found = dict(zip(asked, labels, strict=True))
        return [found[sentence] for sentence in sentences]

    async def _ask(self, sentences: Sequence[str]) -> list[tuple[str, ...]]:
        names = {"enum": list(THEMES)}
        key = "themes" if self.multi else "theme"
        entry = {key: {"type": "array", "items": names, "minItems": 1} if self.multi else names}
        one = {"type": "object", "properties": entry, "required": [key], "additionalProperties": False}
        read: Callable[[str], list[tuple[str, ...]]] = partial(
            parse_labels, multi=self.multi, count=len(sentences) if self.together else None
        )
        return await ask(
            self.model,
            PROMPT.messages(sentences=sentences, multi=self.multi, together=self.together),
            read,
            schema=list_schema(entry, [key]) if self.together else one,
            max_tokens=MAX_TOKENS + TOKENS_EACH * len(sentences) * self.together,
            judge="theme",
        )


def parse_labels(text: str, *, multi: bool, count: int | None = None) -> list[tuple[str, ...]]:
    """The themes that a model named for one sentence, or for each of `count`.

    Case, blanks, hyphens and underscores of a name do not matter.

    Raises:
        Unreadable: it is not as asked, a name is no theme, or there are several and `multi` is not set.
    """
    if count is not None:
        return [_themes(entry, multi=multi) for entry in numbered(text, count)]
    key = "themes" if multi else "theme"
    found = first_object(text, key)
    if found is None:
        raise Unreadable(f'There was no JSON object with "{key}" in your answer.')
    return [_themes(found, multi=multi)]


def _themes(found: Mapping[str, Any], *, multi: bool) -> tuple[str, ...]:
    said = found.get("themes" if multi else "theme")
    named = said if multi and isinstance(said, list) else [said]
    known = [
        _NAMES.get("".join(letter for letter in one.casefold() if letter.isalpha()))
        if isinstance(one, str)
        else None
        for one in named
    ]
    if not known or None in known:
        several = "a list of one or more of" if multi else "exactly one of"
        raise Unreadable(f"The theme must be {several}: {', '.join(THEMES)}.")
    return in_order([name for name in known if name])
