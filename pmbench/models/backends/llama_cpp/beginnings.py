"""Beginnings that prompts share, read once, so that no answer depends on what was asked before.

How a prompt is cut into batches moves the last digits of what the model makes of it. A prompt with a marked
beginning is therefore always read in the same three steps: the beginning, from an empty slot; its last token once
more, alone; the rest. Where the slot still holds that very beginning, the first step is left out, and where what
follows it begins with another token than before, so that the engine keeps the beginning and nothing else, the second
too. Neither changes a digit. With one slot an answer so depends on its own request alone, as without any reuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pmbench.models.backends.llama_cpp.text import Speaker

LEAST = 32
"""Tokens of a beginning that are worth three steps."""


class Beginning:
    """What the one slot holds of the beginning of the last prompt that had one marked."""

    def __init__(self) -> None:
        self._held: list[int] = []
        self._next = -1

    def drop(self) -> None:
        """The slot may hold something else."""
        self._held = []

    def prepare(
        self, speaker: Speaker, body: Mapping[str, Any], shared: int, read: Callable[[list[int], bool], bool]
    ) -> list[int] | None:
        """Have the slot hold the beginning of a request, and nothing else.

        Args:
            speaker: the way to the engine.
            body: the chat request.
            shared: characters of its last message that belong to the beginning.
            read: reads tokens into the slot, keeping what it has of them or not; False where that was given up.

        Returns:
            The tokens of the whole prompt, of which the slot now holds the beginning; None where there is no
            such beginning, or reading it was given up: the slot then holds nothing that counts.

        Raises:
            RequestFailed: as `Speaker`.
        """
        prompt = speaker.templated(body)
        content = str(body["messages"][-1]["content"])
        at = prompt.rfind(content)
        if at < 0:  # the template changes the message
            return None
        whole = speaker.tokens(prompt, control=True, begins=True)
        begun = speaker.tokens(prompt[: at + shared], control=True, begins=True)
        beginning = whole[: _alike(whole, begun)]
        if not LEAST <= len(beginning) < len(whole):
            return None
        following = whole[len(beginning)]
        held, self._held = self._held, []
        if beginning != held and not read(beginning, False):
            return None
        # The engine keeps all that two prompts have in common, so what comes after the beginning must not be.
        if (beginning != held or following == self._next) and not read(beginning, True):
            return None
        self._held, self._next = beginning, following
        return whole


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two prompts have in common at their beginning."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
