"""What a causal language model does in the worker's thread: choices in batches, answers in a running batch.

An answer that ends leaves the running batch at once, and the next prompts take its place. Where memory is not
enough after all, half of the batch goes back to those that wait, with what was written so far, and batches stay
smaller from then on.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion, Usage
from pmbench.models import first_token
from pmbench.models.backends.hf.groups import plan
from pmbench.models.backends.hf.memory import Budget, out_of_memory
from pmbench.models.backends.hf.reading import Reader
from pmbench.models.backends.hf.writing import Writing, next_tokens

if TYPE_CHECKING:
    from pmbench.models.backends.hf.groups import Tokens
    from pmbench.models.backends.hf.prompts import Speech
    from pmbench.models.backends.hf.worker import Job

_EXPECTED = 512
"""Tokens of an answer that room is kept for; a longer one may have to make room for others."""

_WORTH, _PATIENCE = 8, 16
"""Prompts join a running batch when they are one for so many rows that run, or after so many steps: each time
holds the running rows up."""


class Note:
    """What the engine notes about a job: its answer so far, and how many tokens of its prompt were kept ones."""

    __slots__ = ("cached", "writing")

    def __init__(self, writing: Writing) -> None:
        self.writing, self.cached = writing, 0


class ChatEngine:
    """Chats and chooses.

    Args:
        reader: the model.
        speech: its tokenizer and template.
        budget: what fits into memory.
        context: most tokens of prompt and answer together.
        thinking: what the template is told for a chat; None: nothing. For a choice it is told not to think.
        ends: tokens that end an answer.
    """

    def __init__(
        self,
        reader: Reader,
        speech: Speech,
        budget: Budget,
        *,
        context: int,
        thinking: bool | None,
        ends: frozenset[int],
    ) -> None:
        self._reader, self._speech, self.budget = reader, speech, budget
        self._context, self._thinking, self._ends = context, thinking, ends
        self._rows = reader.rows()
        self._running: list[Job] = []
        self._since = 0
        self._full = False  # until a row leaves

    def encode(self, job: Job) -> None:
        """Make the prompt into tokens; `too-long` where it leaves no room for an answer."""
        request = job.request
        assert request is not None
        thinking = False if job.kind == "choose" else self._thinking
        job.tokens = self._speech.prompt(request.messages, thinking=thinking)
        room = self._context - len(job.tokens)
        if room < 1:
            raise RequestFailed(
                "too-long", f"a prompt of {len(job.tokens)} tokens, a context of {self._context}"
            )
        if job.kind == "chat":
            most = min(request.max_tokens, room)
            job.state = Note(Writing(request, self._speech, self._ends, most))

    def turn(self, waiting: list[Job]) -> bool:
        """One batch of choices, one admission, one token of every running answer: whichever there is to do."""
        self._leave([place for place, job in enumerate(self._running) if job.gone])
        if any(job.kind == "choose" for job in waiting):
            self._take(waiting, "choose", self.budget.rows, self._choose)
        if self._may_join(sum(job.kind == "chat" for job in waiting)):
            self._take(waiting, "chat", self.budget.rows - len(self._running), self._admit)
        if self._running:
            self._attempt(self._running, self._step, waiting)
        return bool(self._running)

    def give_up(self, error: Exception) -> None:
        """Fail the answers under way and forget what was kept."""
        for job in self._running:
            job.failed(error)
        self._running, self._rows, self._full = [], self._reader.rows(), False
        self._reader.beginnings.clear()

    def _may_join(self, asked: int) -> bool:
        """Whether it is time for prompts to join the running batch."""
        running = len(self._running)
        new = min(asked, self.budget.rows - running)
        self._since += 1
        if new < 1 or self._full or (running and not self._reader.joins):
            return False
        if new * _WORTH < running and self._since < _PATIENCE:
            return False
        self._since = 0
        return True

    def _take(self, waiting: list[Job], kind: str, rows: int, work: Callable[[list[Job], int], None]) -> None:
        """Do the work on a batch with the job that has waited longest and those that go well with it."""
        asked = [job for job in waiting if job.kind == kind]
        share, budget = self._reader.beginnings.most > 0, self.budget
        prompts = [_so_far(job) for job in asked]
        batches = plan(prompts, rows=rows, tokens=budget.prefill, start=budget.start, share=share)
        batch = next(batch for batch in batches if 0 in batch.members)
        jobs = [asked[place] for place in batch.members]
        if kind == "chat":
            jobs = self._fitting(sorted(jobs, key=asked.index))
        for job in jobs:
            waiting.remove(job)
            job.begun = job.begun or time.monotonic()
        if jobs:
            self._attempt(jobs, lambda: work(jobs, batch.shared), waiting)
        else:
            self._full = True

    def _fitting(self, jobs: list[Job]) -> list[Job]:
        """The first of these jobs, as many as the running batch has room for; one if there is none."""
        width, fits = max((_expected(job) for job in self._running), default=0), 0
        for job in jobs:
            width = max(width, _expected(job))
            if (len(self._running) + fits + 1) * width > self.budget.tokens:
                break
            fits += 1
        return jobs[: fits if self._running else max(fits, 1)]

    def _choose(self, jobs: list[Job], shared: int) -> None:
        logits, _, cached = self._reader.read([job.tokens for job in jobs], shared)
        tops = torch.log_softmax(logits, dim=-1).topk(min(first_token.TOP, logits.shape[-1]))
        for job, logs, places, known in zip(
            jobs, tops.values.tolist(), tops.indices.tolist(), cached, strict=True
        ):
            try:
                job.done(self._choice(job, logs, places, known))
            except RequestFailed as error:
                job.failed(error)

    def _choice(self, job: Job, logs: list[float], places: list[int], cached: int) -> Choice:
        if not all(math.isfinite(log) or log < 0 for log in logs):
            raise _no_numbers()
        assert job.request is not None
        tokens = [(self._speech.token(place), log) for place, log in zip(places, logs, strict=True)]
        probabilities, mass = first_token.option_probabilities(tokens, job.request.options)
        return Choice(probabilities, mass=mass, usage=Usage(len(job.tokens), 1, cached), latency=job.seconds)

    def _admit(self, jobs: list[Job], shared: int) -> None:
        """Read prompts and write the first token of each answer; those that go on join the running batch."""
        prompts = [_so_far(job) for job in jobs]
        logits, held, cached = self._reader.read(prompts, shared)
        for job, known in zip(jobs, cached, strict=True):
            job.state.cached = max(job.state.cached, min(known, len(job.tokens)))
        ended = self._write(jobs, logits)
        stay = [place for place in range(len(jobs)) if place not in ended]
        if stay:
            self._rows.admit(held, stay, [len(prompts[place]) for place in stay])
            self._running += [jobs[place] for place in stay]

    def _step(self) -> None:
        logits = self._reader.step([job.state.writing.ids[-1] for job in self._running], self._rows)
        self._leave(self._write(self._running, logits))

    def _write(self, jobs: Sequence[Job], logits: torch.Tensor) -> list[int]:
        """Add the next token to each answer and hand over those that have ended; their places."""
        ended = []
        tokens = next_tokens(logits, [job.state.writing for job in jobs])
        for place, (job, token) in enumerate(zip(jobs, tokens, strict=True)):
            if token is None:
                job.failed(_no_numbers())
            elif job.state.writing.add(token):
                job.done(self._completion(job))
            else:
                continue
            ended.append(place)
        return ended

    def _completion(self, job: Job) -> Completion:
        note: Note = job.state
        used = len(job.tokens) + len(note.writing.ids)
        return Completion(
            text=note.writing.text,
            finish=note.writing.finish or "error",
            reasoning=note.writing.reasoning,
            usage=Usage(len(job.tokens), len(note.writing.ids), note.cached),
            latency=job.seconds,
            raw={"cut": "context"} if note.writing.finish == "length" and used >= self._context else {},
        )

    def _leave(self, places: list[int]) -> None:
        if not places:
            return
        self._full = False
        self._rows.leave(places)
        for place in sorted(places, reverse=True):
            self._running[place] = self._running[-1]
            self._running.pop()

    def _attempt(self, jobs: list[Job], work: Callable[[], None], waiting: list[Job]) -> None:
        """Work on these jobs. If memory is not enough, all go back to those that wait, and batches get smaller."""
        try:
            work()
            return
        except Exception as error:
            if not out_of_memory(error):
                for job in jobs:
                    job.failed(RequestFailed("server", f"the engine failed ({type(error).__name__})"))
                raise
        # Out of the handler: the error holds on to what was being computed.
        alone = len(jobs) == 1 and (jobs is self._running or not self._running)
        widest = max(len(_so_far(job)) for job in jobs)
        back = list(dict.fromkeys([*self._running, *jobs]))
        back = [job for job in back if not job.future.done()]
        self.budget.halve(len(jobs), len(jobs) * widest)
        self._running, self._rows, self._full = [], self._reader.rows(), False
        self._reader.beginnings.clear()
        self._reader.beginnings.most = self.budget.kept
        empty_memory()
        if alone:
            for job in back:
                job.failed(RequestFailed("memory", f"not enough memory for {widest} tokens"))
        else:
            waiting[:0] = back


def _so_far(job: Job) -> Tokens:
    """The prompt, with what was written of its answer before it had to make room for others."""
    if job.state is None or not job.state.writing.ids:
        return job.tokens
    return np.concatenate([job.tokens, np.asarray(job.state.writing.ids, np.int32)])


def _expected(job: Job) -> int:
    """Tokens that it will have, unless its answer is a long one."""
    written = len(job.state.writing.ids)
    return len(job.tokens) + written + min(int(job.state.writing.room), _EXPECTED)


def _no_numbers() -> RequestFailed:
    return RequestFailed("not-a-number", "the model's numbers overflow; ?dtype=float32 may help")


def empty_memory() -> None:
    """Give back what nothing holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
