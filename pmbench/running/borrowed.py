"""Models for work that is no run: a command of a plugin borrows them, under the rules that a run has.

    async with pmbench.open_models({"model": name}, runs=None, sensitivity="phi") as borrowed:
        answer = await borrowed["model"].chat(messages, max_tokens=200)

The policy is checked over all of them before anything is sent; answers lie in the store of the runs folder,
so that the same command again asks for nothing twice; a budget stops the work cleanly; Ctrl-C lets land what is under
way at a server.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import msgspec

from pmbench.core.dataset import Sensitivity
from pmbench.core.errors import ConfigError, Halted, UserError
from pmbench.core.model import Embedder, Usage
from pmbench.models.backend import Backend
from pmbench.models.catalogue import backend_for, is_embedded, open_backend
from pmbench.models.embedder import LocalEmbedder, open_embedder
from pmbench.models.facade import FacadeModel, Sampling, Traffic
from pmbench.models.model_embedder import ModelEmbedder
from pmbench.models.serving.policy import Part, check_policy
from pmbench.models.settings import Rates, settings
from pmbench.models.store import FILE_NAME, CompletionStore
from pmbench.models.traffic.budget import RAISE, Budget
from pmbench.running.checks import check_needs
from pmbench.running.folder import make_folder
from pmbench.running.plan import runs_folder
from pmbench.running.progress import PlainLines, Progress, Silent

CHAT = frozenset({"chat"})


class Unfinished(UserError):
    """Work that stopped before its end, to be gone on with by the same command: exit status 1."""

    exit_status = 1


class Spent(msgspec.Struct, frozen=True):
    """What this process has asked of borrowed models.

    Attributes:
        requests: sent, retries included.
        stored: answers that no request was sent for.
        cost: US dollars, as far as prices are known.
        unreadable: rows of the store that were passed over because they cannot be read.
    """

    requests: int
    stored: int
    cost: float
    unreadable: int = 0


@dataclass
class Borrowed:
    """What `open_models` hands out. `borrowed[role]` is the model of a role.

    Attributes:
        embedder: where one was asked for.
        remote: who sends text where, in words; empty where everything stays on this machine.
        identities: what decides the answers of each role, the embedder's under `embedder`; for records.
        local: whether the model of each role is on this machine, the embedder's under `embedder`.
        progress: hears of every phase; for phases, counts and remarks, never for text of a dataset.
    """

    models: Mapping[str, FacadeModel]
    embedder: Embedder | None
    remote: Sequence[str]
    identities: Mapping[str, Mapping[str, str]]
    local: Mapping[str, bool]
    progress: Progress
    _budget: Budget = field(repr=False)
    _all: Sequence[FacadeModel] = field(repr=False)

    def __getitem__(self, role: str) -> FacadeModel:
        return self.models[role]

    @property
    def spent(self) -> Spent:
        """What was asked so far."""
        models = list(dict.fromkeys(self._all))
        return Spent(
            requests=sum(model.requests for model in models),
            stored=sum(model.answered_from_store for model in models),
            cost=self._budget.cost,
            unreadable=sum(len(model.unreadable) for model in models),
        )


@contextlib.asynccontextmanager
async def open_models(
    names: Mapping[str, str],
    *,
    runs: str | Path | None = None,
    sensitivity: Sensitivity = "phi",
    allow_remote: bool = False,
    embedder: str | None = None,
    needs: Mapping[str, frozenset[str]] | None = None,
    seed: int = 0,
    concurrency: int | None = None,
    max_requests: int | None = None,
    max_cost: float | None = None,
    quiet: bool = False,
    dry_run: bool = False,
) -> AsyncIterator[Borrowed]:
    """Open models for work that is no run. They are closed, and the store with them, when the block ends.

    Args:
        names: the model of each role, by what its role is called in messages; roles may share a model.
        runs: the runs folder, whose completion store is used; None: PMBENCH_RUNS, else `runs`.
        sensitivity: of whatever text will be in prompts.
        allow_remote: whether deidentified text may go to a remote model.
        embedder: its name; None: none is needed.
        needs: what the model of a role must offer; `chat` unless it says otherwise.
        seed: of sampling.
        concurrency: most requests in flight at one model.
        max_requests, max_cost: of this process, over all roles.
        quiet: whether `progress` says nothing.
        dry_run: whether nothing will be asked: a server need not be there then, nor its key.

    Raises:
        PolicyError: text would go where it must not; before anything is sent.
        UserError: a name or a number is wrong, something is missing, a model does not offer what is needed.
        Unfinished: from inside the block, where the budget is used up or a server fails all the time.
    """
    _check_numbers(seed, concurrency, max_requests, max_cost)
    backends = {name: backend_for(name) for name in dict.fromkeys(names.values())}
    embedding = None if embedder is None or is_embedded(embedder) else backend_for(embedder)
    parts = [
        *(Part(_roles(names, name), name, backend) for name, backend in backends.items()),
        *([Part("embedder", embedder or "", embedding)] if embedding is not None else []),
    ]
    remote = check_policy(parts, sensitivity, allow_remote=allow_remote)
    _check_prices(parts, max_cost)
    _check_recorded(parts)
    folder = runs_folder(None if runs is None else str(runs))
    make_folder(folder)
    budget = Budget(max_requests, max_cost)
    store = CompletionStore(folder / FILE_NAME)
    opened: list[FacadeModel | LocalEmbedder | ModelEmbedder] = []
    try:
        models: dict[str, FacadeModel] = {}
        for name, backend in backends.items():
            traffic = _traffic(backend, concurrency, budget)
            models[name] = open_backend(
                name,
                backend,
                store=store,
                sampling=Sampling(seed=seed),
                traffic=traffic,
                check=not (dry_run and backend.endpoint is not None),
            )
            opened.append(models[name])
        for role, name in names.items():
            check_needs(role, (needs or {}).get(role, CHAT), models[name])
        vectors = _embedder(embedder, embedding, store, _traffic(embedding, concurrency, budget), dry_run)
        if vectors is not None:
            opened.append(vectors)
        everything = list(models.values())
        if isinstance(vectors, ModelEmbedder):
            everything.append(vectors.model)
        borrowed = Borrowed(
            models={role: models[name] for role, name in names.items()},
            embedder=vectors,
            remote=[f"sends {sensitivity} text to {part}" for part in remote],
            identities=_identities(names, models, vectors),
            local={
                **{role: models[name].local for role, name in names.items()},
                **({} if embedder is None else {"embedder": embedding is None or embedding.local}),
            },
            progress=Silent() if quiet else PlainLines(),
            _budget=budget,
            _all=everything,
        )
        served = [model for model in everything if model.backend.endpoint is not None]
        async with _ending_well(served, budget):
            yield borrowed
    finally:
        for one in opened:
            await one.close()
        store.close()


@contextlib.asynccontextmanager
async def _ending_well(served: Sequence[FacadeModel], budget: Budget) -> AsyncIterator[None]:
    """What a server was sent is let land, whatever ends the work; no budget left is an `Unfinished`."""
    with _landing_at_ctrl_c(served, budget):
        try:
            yield
        except asyncio.CancelledError:
            for model in served:
                await model.close(wait=True)
            raise
        except Halted as halted:
            for model in served:
                await model.close(wait=True)
            raise _unfinished(halted, budget) from None


def _unfinished(halted: Halted, budget: Budget) -> Unfinished:
    """What stopped a command, and what to type to go on with it; there is no run here that could be named."""
    kept = "what was answered is kept, and is not asked for again"
    if halted.to_go_on == RAISE.format("--max-requests") and budget.max_requests:
        why = f"this command has made the {budget.max_requests} requests that --max-requests allows"
        return Unfinished(why, remedy=f"Give this command again with a higher --max-requests: {kept}")
    if halted.to_go_on == RAISE.format("--max-cost"):
        limit = f"--max-cost {budget.max_cost:g}"
        why = f"this command has cost ${budget.cost:.4f}, and one request more could exceed {limit}"
        return Unfinished(why, remedy=f"Give this command again with a higher --max-cost: {kept}")
    return Unfinished(halted.why, remedy=f"To go on, give this command again: {kept}")


@contextlib.contextmanager
def _landing_at_ctrl_c(served: Sequence[FacadeModel], budget: Budget) -> Iterator[None]:
    """At the first Ctrl-C send nothing more, and do what would have been done; every further one does nothing."""
    before = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        budget.end()
        for model in served:
            model.let_land()
        assert callable(before)
        before(number, frame)

    changed = False
    if callable(before):
        with contextlib.suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGINT, interrupt)
            changed = True
    try:
        yield
    finally:
        if changed:
            signal.signal(signal.SIGINT, before)


def _roles(names: Mapping[str, str], name: str) -> str:
    return "/".join(role for role, given in names.items() if given == name)


def _traffic(backend: Backend | None, concurrency: int | None, budget: Budget) -> Traffic:
    """What the command says, and where it says nothing what `pmbench.toml` says."""
    served = backend is not None and backend.endpoint is not None
    own = settings().rates(backend.name, backend.spec.target) if backend is not None and served else Rates()
    rates = Rates(own.requests_per_minute, own.tokens_per_minute)
    return Traffic(concurrency or own.concurrency, rates, budget)


def _embedder(
    name: str | None, backend: Backend | None, store: CompletionStore, traffic: Traffic, dry_run: bool
) -> LocalEmbedder | ModelEmbedder | None:
    if name is None:
        return None
    if backend is None:
        return open_embedder(name)
    check = not (dry_run and backend.endpoint is not None)
    model = open_backend(name, backend, store=store, traffic=traffic, check=check)
    check_needs("embedder", frozenset({"embed"}), model)
    return ModelEmbedder(model)


def _identities(
    names: Mapping[str, str],
    models: Mapping[str, FacadeModel],
    embedder: LocalEmbedder | ModelEmbedder | None,
) -> dict[str, Mapping[str, str]]:
    found: dict[str, Mapping[str, str]] = {}
    for role, name in names.items():
        # What a file is called and where it lies decides nothing; what is in it does.
        identity = models[name].identity()
        if len(identity) > 1:
            del identity["spec"]
        found[role] = {"name": name, "backend": models[name].backend.name, **identity}
    if embedder is not None:
        found["embedder"] = {"name": embedder.name, **embedder.identity()}
    return found


def _check_numbers(
    seed: int, concurrency: int | None, max_requests: int | None, max_cost: float | None
) -> None:
    bounds = {"--concurrency": concurrency, "--max-requests": max_requests, "--max-cost": max_cost}
    for option, value in bounds.items():
        if value is not None and not math.isfinite(value):
            raise ConfigError("it must be a finite number", where=option)
        if value is not None and value <= 0:
            raise ConfigError("it must be above 0", where=option)
    if not 0 <= seed < 2**31:
        raise ConfigError("it must be from 0 to 2147483647", where="--seed")


def _check_recorded(parts: Iterable[Part]) -> None:
    for part in parts:
        if part.backend.by_instance:
            raise ConfigError(
                "has answers for the instances of a run, and there is no run here",
                where=f"{part.role} {part.name}",
                remedy="Choose another model; see: pmbench models",
            )


def _check_prices(parts: Iterable[Part], max_cost: float | None) -> None:
    """Raises ConfigError where a sum is to be kept to and a model's price is not known."""
    if max_cost is None:
        return
    from pmbench.models.cost.prices import dollars

    for part in parts:
        price = part.backend.price
        if not part.backend.local and (price is None or dollars(price, Usage(1, 1)) is None):
            raise ConfigError(
                f"the price of {part.name} is not known",
                where="--max-cost",
                remedy=f'Set it under [prices."{part.backend.name}:{part.backend.spec.target}"] in pmbench.toml,'
                " or bound the work by --max-requests",
            )
