"""Carrying out a plan: lock, respond, score, aggregate. The same command again is the resume."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import msgspec

from pmbench.core.errors import StorageError
from pmbench.models.facade import FacadeModel
from pmbench.running.aggregating import aggregate
from pmbench.running.beginning import begin
from pmbench.running.folder import Opened, read_json, read_lines, write_json
from pmbench.running.judging import score, stored_scores
from pmbench.running.plan import Plan
from pmbench.running.progress import Progress
from pmbench.running.records import ResponseRecord, ScoreRecord, slim
from pmbench.running.responding import Key, respond
from pmbench.running.results import Counts, Results
from pmbench.running.workers import Stop

RESULTS, SCORING = "results.json", "scoring.json"


@dataclass(frozen=True)
class Outcome:
    """What a command came to.

    Attributes:
        results: as in `results.json`.
        interrupted: whether it was stopped by the user.
        to_go_on: what to do to go on, where no further request could be sent.
        waiting: whether it waits for a batch job that is under way.
        asked: requests that this process made to models and judges, retries included (recorded answers are
            not asked for); stored: answers taken from the store.
        kept: whether `results.json` keeps the results of more instances, made before.
        unreadable: stored answers that could not be read and were asked for again.
        cut: texts that the embedder cut off at its limit in this process.
        folder: the folder of the scores.
    """

    results: Results
    interrupted: bool
    to_go_on: str
    waiting: bool
    asked: int
    stored: int
    kept: bool
    unreadable: int
    cut: int
    folder: Path


def carry_out(plan: Plan, progress: Progress) -> Outcome:
    """Do what is missing of a run and return its results, which are also on disk.

    Raises:
        RunLocked: another process is in this run.
        UserError: the disk is full, a model cannot be opened; what was done is kept.
    """
    with plan.folder.locked():
        plan.begin_round(begin(plan).round)
        before = signal.getsignal(signal.SIGINT)
        outcome = asyncio.run(_phases(plan, progress))
        if not outcome.interrupted:
            with contextlib.suppress(ValueError, TypeError):  # not in the main thread; set by no Python code
                signal.signal(signal.SIGINT, before)
        return outcome


async def _phases(plan: Plan, progress: Progress) -> Outcome:
    responses: dict[Key, ResponseRecord] = {
        (r.id, r.sample): slim(r)
        for r in read_lines(plan.folder.responses, ResponseRecord)
        if r.round == plan.round
    }
    scores: dict[Key, ScoreRecord] = stored_scores(plan)
    store = Opened(plan.store.path)
    interrupted, stop, judging = False, Stop(), Stop()
    _interruptible(plan)
    try:
        plan.budget.spent(*_spent(responses.values(), scores.values()))
        await respond(plan, responses, progress, stop)
        await plan.model.close(wait=bool(stop.reason))
        # What is there can be scored, also when the model can be asked no more.
        await score(plan, responses, scores, progress, judging)
        stop = stop if stop.reason else judging
    except asyncio.CancelledError:
        # The user's Ctrl-C; what is on disk is counted and shown.
        interrupted = True
        for model in _served(plan):
            await model.close(wait=True)
    finally:
        await plan.close()
    store.check()
    results = aggregate(plan, responses, scores, interrupted=interrupted, stopped=stop.reason)
    models = plan.models
    kept = _write_results(plan, results)
    return Outcome(
        results=results,
        interrupted=interrupted,
        to_go_on=stop.to_go_on,
        waiting=stop.waiting,
        asked=sum(model.requests for model in models if model.backend.keeps),
        stored=sum(model.answered_from_store for model in models),
        kept=kept,
        unreadable=sum(len(model.unreadable) for model in models),
        cut=plan.embedder.truncated if plan.embedder else 0,
        folder=plan.folder.scores(plan.scoring_digest),
    )


def _spent(*records: Iterable[ResponseRecord | ScoreRecord]) -> tuple[int, float]:
    """Requests and US dollars that a run has taken, as its records tell."""
    requests, cost = 0, 0.0
    for record in itertools.chain(*records):
        requests += record.calls + (record.retries if isinstance(record, ResponseRecord) else 0)
        cost += record.cost or 0.0
    return requests, cost


def _served(plan: Plan) -> list[FacadeModel]:
    """The models of servers, whose answers cost something."""
    return [model for model in plan.models if model.backend.endpoint is not None]


def _interruptible(plan: Plan) -> None:
    """Let the first Ctrl-C cancel this task, and every further one do nothing.

    A second one would only disturb the closing, which takes no longer than a model takes to stop at a token, or a
    server to answer what it was sent already: a minute at most.
    """
    task, loop = asyncio.current_task(), asyncio.get_running_loop()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if task is not None and not task.done():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            plan.budget.end()
            for model in _served(plan):
                model.let_land()
            loop.call_soon_threadsafe(task.cancel)

    with contextlib.suppress(ValueError):  # not in the main thread: asyncio's own way is left in place
        signal.signal(signal.SIGINT, interrupt)


def _write_results(plan: Plan, results: Results) -> bool:
    """Write `results.json` and `scoring.json`, unless they say the same; whether they keep more instances."""
    folder = plan.folder.scores(plan.scoring_digest)
    path = folder / RESULTS
    # Always: it may have been changed, and what it says decides what may be compared.
    write_json(folder / SCORING, plan.scoring)
    if path.exists():
        try:
            old = read_json(path, Results)
        except StorageError:
            old = None
        if old is not None and msgspec.structs.replace(old, finished_at=results.finished_at) == results:
            return False
        if old is not None and old.round == results.round and _more(old.counts, results.counts):
            return True
    write_json(path, results)
    return False


def _more(old: Counts, new: Counts) -> bool:
    """A part of the instances (`--limit`) does not take the place of more that were done before."""
    return old.instances > new.instances and old.scored >= new.scored
