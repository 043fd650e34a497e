"""From what a backend returned to what counts as an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from pmbench.core.blank import says_nothing
from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion

_OPEN, _CLOSE = "<think>", "</think>"
_DECORATION = " \t\r\n*_`#>\"'([{-:.…“”‘’"


def separate_thinking(completion: Completion) -> Completion:
    """Move a thinking block at the start of the text to `reasoning`.

    The opening tag may be missing: some chat templates end the prompt with it. A block that was never closed
    is thinking only if the answer was cut off by the token limit.
    """
    text = completion.text.lstrip()
    opened = text.startswith(_OPEN)
    thinking, close, rest = text.removeprefix(_OPEN).partition(_CLOSE)
    if not close and not (opened and completion.finish == "length"):
        return completion
    if not opened and _OPEN in thinking:
        return completion
    thoughts = "\n".join(part for part in (completion.reasoning, thinking.strip()) if part)
    return msgspec.structs.replace(completion, text=rest.lstrip() if close else "", reasoning=thoughts)


def accept(completion: Completion) -> Completion:
    """The completion as an answer, thinking set apart.

    Raises:
        RequestFailed: it holds no answer: `null` (no text at all), `error` (an error object in place of an
            answer), `cut-off` (the token limit came before any text of the answer).
    """
    # A stranger's backend may hand on what its server sent, whatever the type says.
    if completion.text is None:  # type: ignore[unreachable,unused-ignore]
        raise RequestFailed("null", "the answer holds no text", retryable=True)
    if completion.finish == "error":
        raise RequestFailed("error", "the server sent an error in place of an answer", retryable=True)
    completion = separate_thinking(completion)
    if completion.finish == "length" and says_nothing(completion.text):
        raise RequestFailed("cut-off", "the token limit came before any text of the answer")
    return completion


def is_blank(completion: Completion) -> bool:
    """Whether a model ended by itself without having said anything: meant so, or a fault of the server."""
    return completion.finish == "stop" and says_nothing(completion.text)


def valid_choice(choice: Choice, options: Sequence[str]) -> Choice:
    """The choice, if it gives every option a probability.

    Raises:
        RequestFailed: `bad-choice`.
    """
    given = choice.probabilities
    if len(given) != len(options) or not all(0.0 <= p <= 1.0 + 1e-6 for p in (*given, choice.mass)):
        raise RequestFailed("bad-choice", f"{len(given)} probabilities for {len(options)} options")
    return choice


def choice_from(completion: Completion, options: Sequence[str]) -> Choice:
    """All probability on the option that the text starts with.

    Letter case and what people put around a word are ignored. The longest option that the text starts with
    is taken; failing that, the one option whose first word is the text's.

    Raises:
        RequestFailed: `refused`, or `no-option`: it starts with none of them.
    """
    if completion.finish == "refused":
        raise RequestFailed("refused", "the model declined to choose")
    place = _starts_with(completion.text, options)
    if place is None:
        raise RequestFailed("no-option", f"the answer starts with none of the {len(options)} options")
    one_hot = tuple(float(other == place) for other in range(len(options)))
    return Choice(
        one_hot, exact=False, usage=completion.usage, latency=completion.latency, cost=completion.cost
    )


def _starts_with(text: str, options: Sequence[str]) -> int | None:
    bare = _bare(text)
    starts = [
        place
        for place, option in enumerate(options)
        if (wanted := _bare(option)) and re.match(re.escape(wanted) + r"(?!\w)", bare)
    ]
    if starts:
        return max(starts, key=lambda place: len(_bare(options[place])))
    first = _first_word(bare)
    same = [place for place, option in enumerate(options) if first and _first_word(_bare(option)) == first]
    return same[0] if len(same) == 1 else None


def _bare(text: str) -> str:
    """Without case and without what stands before the first word; signs alone stay as they are."""
    return (text.lstrip(_DECORATION) or text.strip()).casefold()


def _first_word(text: str) -> str:
    found = re.match(r"\w+", text)
    return found[0] if found else ""
