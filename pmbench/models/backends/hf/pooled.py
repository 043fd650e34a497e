"""Reward models and embedders: one number, or one vector, for a whole text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pmbench.core.errors import RequestFailed
from pmbench.models.backends.hf.engine import empty_memory
from pmbench.models.backends.hf.groups import plan
from pmbench.models.backends.hf.memory import Budget, out_of_memory

if TYPE_CHECKING:
    from pmbench.models.backends.hf.groups import Tokens
    from pmbench.models.backends.hf.loading import Loaded
    from pmbench.models.backends.hf.prompts import Speech
    from pmbench.models.backends.hf.worker import Job


class PooledEngine:
    """Rewards conversations, or embeds texts: batches of like length, padded on the right.

    Args:
        loaded: a sequence classifier of one logit, or a model of states.
        speech: its tokenizer, and for a classifier the template.
        budget: what fits into memory.
        context: most tokens of a text; a longer one is refused, never shortened.
        pooling: of an embedder: `mean`, `cls_token` or `lasttoken`; empty for a classifier.
    """

    def __init__(
        self, loaded: Loaded, speech: Speech, budget: Budget, *, context: int, pooling: str = ""
    ) -> None:
        self._model, self._device, self._takes = loaded.module, loaded.device, loaded.takes
        self._speech, self.budget = speech, budget
        self._context, self._pooling = context, pooling

    def encode(self, job: Job) -> None:
        """Make the conversation, with no turn to follow, or the text into tokens; `too-long` beyond the context."""
        if job.request is None:
            job.tokens = self._speech.plain(job.text)
        else:
            job.tokens = self._speech.prompt(job.request.messages, answer=False)
        if len(job.tokens) > self._context:
            raise RequestFailed(
                "too-long", f"a text of {len(job.tokens)} tokens, a context of {self._context}"
            )
        if not len(job.tokens):
            raise RequestFailed("invalid", "a text without a token")

    def turn(self, waiting: list[Job]) -> bool:
        """Compute the batch that the job is in which has waited longest."""
        prompts = [job.tokens for job in waiting]
        if not prompts:
            return False
        batches = plan(prompts, rows=self.budget.rows, tokens=self.budget.prefill, start=0, share=False)
        jobs = [waiting[place] for place in next(b for b in batches if 0 in b.members).members]
        for job in jobs:
            waiting.remove(job)
            job.begun = job.begun or time.monotonic()
        try:
            results = self._compute([job.tokens for job in jobs])
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                for job in jobs:
                    job.failed(RequestFailed("server", f"the engine failed ({type(error).__name__})"))
                return False
        else:
            for job, result in zip(jobs, results, strict=True):
                job.done(result)
            return False
        self._make_room(jobs, waiting)
        return False

    def give_up(self, error: Exception) -> None:
        """Nothing is under way between two batches."""

    def _make_room(self, jobs: list[Job], waiting: list[Job]) -> None:
        longest = max(len(job.tokens) for job in jobs)
        self.budget.halve(len(jobs), len(jobs) * longest)
        empty_memory()
        if len(jobs) == 1:
            jobs[0].failed(RequestFailed("memory", f"not enough memory for {longest} tokens"))
        else:
            waiting[:0] = jobs

    def _compute(self, texts: Sequence[Tokens]) -> list[Any]:
        lengths = [len(text) for text in texts]
        pad = self._padding(texts)
        ids = np.full((len(texts), max(lengths)), pad, np.int64)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = text
        mask = np.arange(ids.shape[1])[None, :] < np.asarray(lengths)[:, None]
        given: dict[str, Any] = {
            "input_ids": torch.from_numpy(ids).to(self._device),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)).to(self._device),
        }
        if "use_cache" in self._takes:
            given["use_cache"] = False
        out = self._model(**given)
        if not self._pooling:
            return list(out.logits[:, 0].float().tolist())
        vectors = _pooled(out.last_hidden_state.float(), given["attention_mask"], self._pooling)
        return list(vectors.cpu().numpy())

    def _padding(self, texts: Sequence[Tokens]) -> int:
        """The token to pad with.

        A decoder's classifier takes the logit of the last token that is not its padding token. Where that token
        is also what ends a turn it would take another one, so it is told a token that no text of the batch has.
        """
        config = self._model.config
        if hasattr(self._model, "score"):
            used = set(np.concatenate(texts).tolist())
            config.pad_token_id = next(token for token in range(len(used) + 1) if token not in used)
            text = config.get_text_config()
            text.pad_token_id = config.pad_token_id
            return int(config.pad_token_id)
        known = self._speech.tokenizer.pad_token_id
        return int(known if known is not None else config.pad_token_id or 0)


def _pooled(states: torch.Tensor, mask: torch.Tensor, pooling: str) -> torch.Tensor:
    """L2-normalised vectors of states (rows, tokens, width), by the mean over tokens, the first, or the last."""
    if pooling == "cls_token":
        found = states[:, 0]
    elif pooling == "lasttoken":
        found = states[torch.arange(len(states), device=states.device), mask.sum(dim=1) - 1]
    else:
        weights = mask[:, :, None].to(states.dtype)
        found = (states * weights).sum(dim=1) / weights.sum(dim=1)
    return torch.nn.functional.normalize(found, dim=-1)
