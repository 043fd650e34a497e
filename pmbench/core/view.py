"""How one instance is shown: blocks of marked lines, which a terminal, a file or a page renders each in its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mark = Literal["", "kept", "deleted", "added"]
"""What becomes of a line's text: nothing said, kept, deleted or added."""

SIGNS: dict[Mark, str] = {"": " ", "kept": "=", "deleted": "-", "added": "+"}
"""The sign of each mark, so that no reader depends on colour."""


@dataclass(frozen=True, slots=True)
class ViewLine:
    """A line, or a paragraph that may be wrapped.

    Attributes:
        text: as it stands in the dataset or the response.
        mark: what becomes of it.
        beside: a remark on it, shown at its side.
    """

    text: str
    mark: Mark = ""
    beside: str = ""


@dataclass(frozen=True, slots=True)
class ViewBlock:
    """Lines under a title.

    Attributes:
        title: what the lines are.
        lines: in order.
        signs_told: whether the title says what the signs of the lines mean, where it is not kept, deleted and added.
    """

    title: str
    lines: tuple[ViewLine, ...]
    signs_told: bool = False
