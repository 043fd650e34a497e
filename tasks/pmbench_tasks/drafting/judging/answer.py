"""What judges of a role have in common: the form of their answers, and of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pmbench_tasks.asking import valid


@dataclass(frozen=True, slots=True)
class Answer:
    """What a content judge answered for one sentence: a passage of the draft (`""`: no match).

    Attributes:
        similarity: cosine of the sentence and the passage, or of the best passage refused; None from a model.
    """

    span: str
    similarity: float | None = None


class ContentJudge(Protocol):
    """A judge in the role `content`."""

    def describe(self) -> Mapping[str, Any]:
        """What decides its answers."""
        ...

    async def match(self, sentences: Sequence[str], draft: str) -> list[Answer]:
        """One answer per sentence of the reply, in order.

        Raises:
            RequestFailed: the model could not answer.
            Unscored: an answer could not be read (`unparsed`), or there is too much to compare (`too-long`).
        """
        ...


class ThemeJudge(Protocol):
    """A judge in the role `theme`."""

    def describe(self) -> Mapping[str, Any]:
        """What decides its answers."""
        ...

    async def label(self, sentences: Sequence[str]) -> list[tuple[str, ...]]:
        """The themes of each sentence, in the order of `THEMES`: exactly one each unless several were asked for.

        Raises:
            RequestFailed: the model could not answer.
            Unscored: an answer could not be read (`unparsed`), or there is too much to label (`too-long`).
        """
        ...


__all__ = ["Answer", "ContentJudge", "ThemeJudge", "valid"]
