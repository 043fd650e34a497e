"""One answer while it is written: which token comes next, and whether it was the last."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from pmbench.core.model import FinishReason

if TYPE_CHECKING:
    from pmbench.models.backend import Request
    from pmbench.models.backends.hf.prompts import Speech


class Writing:
    """An answer in the making.

    Attributes:
        ids: its tokens so far, the one that ended it included.
        finish: why it ended; empty while it goes on.
        text: once it has ended, without the stop text and what came after.
        reasoning: thoughts that the model has set apart.
    """

    def __init__(self, request: Request, speech: Speech, ends: frozenset[int], most: int) -> None:
        self.ids: list[int] = []
        self.finish: FinishReason | None = None
        self.text = self.reasoning = ""
        self.temperature = request.temperature
        self._stops, self._speech, self._ends, self._most = request.stop, speech, ends, most
        # A stop text ends within its own length in tokens: a token is a byte or more.
        self._tail = max((len(stop.encode()) for stop in request.stop), default=0) + 8
        self._random = random.Random(request.engine_seed)

    @property
    def room(self) -> int:
        """How many more tokens it may have."""
        return self._most - len(self.ids)

    def draw(self) -> float:
        """The next number of the answer's own sequence, from 0 to 1: it depends on nobody else's."""
        return self._random.random()

    def add(self, token: int) -> bool:
        """Take the next token; True if it was the last."""
        self.ids.append(token)
        ended = token in self._ends
        if ended or len(self.ids) >= self._most or self._may_stop():
            text, self.reasoning = self._speech.answer(self.ids[:-1] if ended else self.ids)
            cut = min((at for stop in self._stops if (at := text.find(stop)) >= 0), default=-1)
            if ended or cut >= 0:
                self.finish = "stop"
            elif len(self.ids) >= self._most:
                self.finish = "length"
            self.text = text[:cut] if cut >= 0 else text
        return self.finish is not None

    def _may_stop(self) -> bool:
        if not self._stops:
            return False
        tail = self._speech.text(self.ids[-self._tail :])
        return any(stop in tail for stop in self._stops)


def next_tokens(logits: torch.Tensor, writings: Sequence[Writing]) -> list[int | None]:
    """The next token of each answer: the most probable one, or one drawn at the answer's temperature.

    A token is drawn by one number of the answer's own: the first whose cumulated probability exceeds it. So the
    other rows of the batch change a draw only as far as they change the last digits of the probabilities.

    Args:
        logits: of shape (rows, vocabulary).
        writings: one for each row.

    Returns:
        None for a row whose logits are not numbers.
    """
    best, places = logits.max(dim=-1)  # a value that is no number is the greatest to torch
    chosen: list[int | None] = places.tolist()
    drawn = [row for row, writing in enumerate(writings) if writing.temperature > 0]
    if drawn:
        wide = logits[drawn].to("cpu" if logits.device.type == "mps" else logits.device, torch.float64)
        heat = wide.new_tensor([[writings[row].temperature] for row in drawn])
        chances = torch.softmax(wide / heat, dim=-1).cumsum(dim=-1)
        # Rounding may leave the last sum below one.
        luck = wide.new_tensor([[writings[row].draw()] for row in drawn]) * chances[:, -1:]
        found = torch.searchsorted(chances, luck, right=True).clamp(max=logits.shape[-1] - 1)
        for row, token in zip(drawn, found[:, 0].tolist(), strict=True):
            chosen[row] = token
    for row in torch.isnan(best).nonzero()[:, 0].tolist():
        chosen[row] = None
    return chosen
