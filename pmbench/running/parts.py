"""The models of a plan, each checked before it is opened: may text be sent there, does it offer what is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pmbench.core.errors import ConfigError
from pmbench.core.task import EMBEDDED, Strategy, Task
from pmbench.data.loading import Dataset
from pmbench.models.backend import Backend
from pmbench.models.backends.none import NO_MODEL, NoModel
from pmbench.models.catalogue import backend_for, is_embedded, open_backend
from pmbench.models.embedder import LocalEmbedder, open_embedder
from pmbench.models.facade import FacadeModel, Sampling, Traffic
from pmbench.models.model_embedder import ModelEmbedder
from pmbench.models.serving.policy import Part, check_policy
from pmbench.models.settings import Rates, settings
from pmbench.models.store import CompletionStore
from pmbench.models.traffic.budget import Budget
from pmbench.running.checks import check_needs
from pmbench.running.judges import JudgeChoice
from pmbench.running.recorded import RECORDED, Recorded, responses_of

if TYPE_CHECKING:
    from pmbench.running.plan import RunRequest

AnyEmbedder = LocalEmbedder | ModelEmbedder


@dataclass
class Parts:
    """What a plan asks.

    Attributes:
        strategy_name, strategy: how the model is used.
        model: the model.
        judge_models: the judges that are models, by role; one object for roles that name the same model.
        embedder: where something embeds; embeds, judged_by_embedding: whether the strategy and a judge do.
        budget: shared by all of them.
        remote: the parts that send text elsewhere, in words.
        notes: for the user.
    """

    strategy_name: str
    strategy: Strategy
    model: FacadeModel
    judge_models: dict[str, FacadeModel]
    embedder: AnyEmbedder | None
    embeds: bool
    judged_by_embedding: bool
    budget: Budget
    remote: list[str]
    notes: list[str] = field(default_factory=list)


def open_parts(
    request: RunRequest,
    task: Task,
    choices: Mapping[str, JudgeChoice],
    dataset: Dataset,
    store: CompletionStore,
) -> Parts:
    """Make every backend, check the policy over all of them, then open them.

    Raises:
        PolicyError: text would be sent where it must not go.
        UserError: a name is wrong, something is missing, a model does not offer what is needed.
    """
    backend = (
        NoModel()
        if request.model == NO_MODEL
        else backend_for(request.model, dataset.column, responses_of(task))
    )
    strategy_name, strategy = _strategy(task, request, backend)
    judging = {
        choice.model: backend_for(choice.model) for choice in choices.values() if choice.model != EMBEDDED
    }
    judged_by_embedding = any(
        choice.model == EMBEDDED and task.judges[role].embeds for role, choice in choices.items()
    )
    embeds = "embed" in strategy.needs
    needed = embeds or judged_by_embedding
    embedding = backend_for(request.embedder) if needed and not is_embedded(request.embedder) else None
    roles = {name: "/".join(r for r, c in choices.items() if c.model == name) for name in judging}
    parts = [
        Part("model", request.model, backend),
        *(Part(f"judge {roles[name]}", name, judge) for name, judge in judging.items()),
        *([Part("embedder", request.embedder, embedding)] if embedding is not None else []),
    ]
    remote = check_policy(parts, dataset.sensitivity, allow_remote=request.allow_remote)

    budget = Budget(request.max_requests, request.max_cost)
    _check_prices(parts, request)
    _check_jobs(parts, request)

    def opened(name: str, backend: Backend, sampling: Sampling) -> FacadeModel:
        traffic = _traffic(request, backend, budget)
        check = not (request.dry_run and backend.endpoint is not None)
        return open_backend(name, backend, store=store, sampling=sampling, traffic=traffic, check=check)

    model = opened(request.model, backend, Sampling(request.max_tokens, request.temperature, request.seed))
    check_needs(f"strategy {strategy_name}", strategy.needs - {"embed"}, model)
    notes = _check_sampling(request, model)
    judges = {name: opened(name, judge, Sampling(seed=request.seed)) for name, judge in judging.items()}
    by_role = {role: judges[choice.model] for role, choice in choices.items() if choice.model in judges}
    for role, judge_model in by_role.items():
        check_needs(f"judge role {role}", task.judges[role].needs, judge_model)
    notes += [note for judge_model in judges.values() for note in _unsaid(judge_model, request.seed)]
    embedder: AnyEmbedder | None = None
    if embedding is not None:
        embedding_model = opened(request.embedder, embedding, Sampling())
        check_needs("embedder", frozenset({"embed"}), embedding_model)
        embedder = ModelEmbedder(embedding_model)
    elif needed:
        embedder = open_embedder(request.embedder)
    return Parts(
        strategy_name,
        strategy,
        model,
        by_role,
        embedder,
        embeds,
        judged_by_embedding,
        budget,
        remote,
        [*(f"sends {dataset.sensitivity} text of the data to {part}" for part in remote), *notes],
    )


def _traffic(request: RunRequest, backend: Backend, budget: Budget) -> Traffic:
    """What the command says, and where it says nothing what `pmbench.toml` says."""
    own = settings().rates(backend.name, backend.spec.target) if backend.endpoint is not None else Rates()
    rates = Rates(
        request.requests_per_minute or own.requests_per_minute,
        request.tokens_per_minute or own.tokens_per_minute,
    )
    return Traffic(request.concurrency or own.concurrency, rates, budget)


def _check_prices(parts: Iterable[Part], request: RunRequest) -> None:
    """Raises ConfigError where a sum is to be kept to and a model's price is not known."""
    if request.max_cost is None:
        return
    from pmbench.core.model import Usage
    from pmbench.models.cost.prices import dollars

    for part in parts:
        price = part.backend.price
        if part.backend.local:
            continue  # the machine is the user's own
        if price is None or dollars(price, Usage(1, 1)) is None:
            raise ConfigError(
                f"the price of {part.name} is not known",
                where="--max-cost",
                remedy=f'Set it under [prices."{part.backend.name}:{part.backend.spec.target}"] in pmbench.toml,'
                " or bound the run by --max-requests",
            )


def _check_jobs(parts: Iterable[Part], request: RunRequest) -> None:
    """Raises ConfigError where jobs are asked for and no part has a batch API."""
    if request.batch_api and not any(part.backend.jobs is not None for part in parts):
        raise ConfigError(
            f"{request.model} has no batch API",
            where="--batch-api",
            remedy="OpenAI's and Anthropic's own models have one; a compatible server that has one: ?batches=on",
        )


def _check_sampling(request: RunRequest, model: FacadeModel) -> list[str]:
    """Notes on what the model cannot be told.

    Raises:
        ConfigError: the user asked for it.
    """
    features, replayed = model.backend.features, model.backend.by_instance
    if not model.offers:
        return []  # what is drawn without a model is drawn by the strategy
    asked = {"seed": request.seed != 0, "temperature": request.temperature is not None}
    for feature, wanted in asked.items():
        if wanted and feature not in features:
            why = "has recorded answers" if replayed else f"takes no {feature}"
            raise ConfigError(f"{model.name} {why}", where=f"--{feature}", remedy="Leave it out")
    return [] if replayed else _unsaid(model, 0)


def _unsaid(model: FacadeModel, seed: int) -> list[str]:
    features = model.backend.features
    notes = []
    if "temperature" not in features and "chat" in model.offers:
        notes.append(f"{model.name} takes no temperature: it samples as its maker set it")
    if seed and "seed" not in features and "chat" in model.offers:
        notes.append(f"{model.name} takes no seed")
    return notes


def _strategy(task: Task, request: RunRequest, backend: Backend) -> tuple[str, Strategy]:
    """Recorded answers have no strategy of the task's: nobody was prompted."""
    name = request.strategy
    if backend.by_instance and name not in (None, RECORDED):
        raise ConfigError(
            f"{request.model} has recorded answers, so the strategy {name!r} would not be used",
            where="--strategy",
            remedy="Leave --strategy out",
        )
    if name == RECORDED and not backend.by_instance:
        raise ConfigError("the strategy 'recorded' is for replay: models", where="--strategy")
    return (RECORDED, Recorded()) if backend.by_instance else task.strategy(name)
