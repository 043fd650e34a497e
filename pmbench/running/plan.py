"""The plan of a run: everything read, resolved and checked before the first request."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.dataset import Sensitivity
from pmbench.core.digest import digest
from pmbench.core.errors import ConfigError, DoesNotOffer, UnknownName, UserError
from pmbench.core.instance import Instance
from pmbench.core.options import Options, decisive, of_responses, of_scores, plain
from pmbench.core.registry import PluginError, load_task
from pmbench.core.task import EMBEDDED, Judge, JudgeParts, Strategy, Task
from pmbench.data.loading import Dataset, load
from pmbench.models.backends.none import NO_MODEL
from pmbench.models.facade import FacadeModel
from pmbench.models.serving.jobs import JobFolder
from pmbench.models.store import CompletionStore
from pmbench.models.traffic.budget import Budget
from pmbench.running.checks import check_request, coverage
from pmbench.running.faults import fault
from pmbench.running.folder import RunFolder, folder_for, make_folder
from pmbench.running.judges import JudgeChoice, check_judges, choose_judge
from pmbench.running.parts import AnyEmbedder, open_parts
from pmbench.running.recorded import RECORDED
from pmbench.running.records import Asked, Scoring
from pmbench.text.sentences import SPLITTER

STORE = "completions.sqlite"


@dataclass(frozen=True)
class RunRequest:
    """What the user asked for; each field is an option of `pmbench run`."""

    task: str
    model: str
    runs: Path
    data: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    sensitivity: Sensitivity | None = None
    revision: str | None = None
    split: str | None = None
    strategy: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)
    embedder: str = EMBEDDED
    limit: int | None = None
    samples: int = 1
    seed: int = 0
    max_tokens: int | None = None
    temperature: float | None = None
    max_missing: float = 0.01
    fresh: bool = False
    retry_failed: bool = False
    allow_remote: bool = False
    concurrency: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_requests: int | None = None
    max_cost: float | None = None
    batch_api: bool = False
    dry_run: bool = False
    label: str | None = None
    if_offered: bool = False
    command: tuple[str, ...] = ()


@dataclass
class Plan:
    """A run that can be carried out.

    Attributes:
        request: what the user asked for.
        dataset: all instances; chosen: those of this run.
        model, judge_models, embedder: opened lazily, at their first request.
        judges: by role; judge_choices: what they were chosen by; judge_models: those that are models, one
            model for all roles in which it has the same name.
        budget: what the run may cost, shared by all its models.
        remote: the parts that send text of the data elsewhere, in words.
        notes: lines for the user on data and model.
        asked, scoring: what decides responses and scores; run_digest, scoring_digest: their SHA-256.
    """

    request: RunRequest
    task: Task
    dataset: Dataset
    chosen: list[Instance]
    strategy_name: str
    strategy: Strategy
    model: FacadeModel
    judges: dict[str, Judge]
    judge_choices: dict[str, JudgeChoice]
    judge_models: dict[str, FacadeModel]
    embedder: AnyEmbedder | None
    asked: Asked
    scoring: Scoring
    folder: RunFolder
    store: CompletionStore
    budget: Budget
    remote: list[str]
    notes: list[str]
    round: int = 0

    @functools.cached_property
    def items(self) -> list[tuple[tuple[str, int], Instance]]:
        """What is to be answered, in order: id and number of a sample, and the instance.

        All that is kept by them is kept by these very keys: a run has tens of thousands.
        """
        return [((one.id, k), one) for one in self.chosen for k in range(self.request.samples)]

    @property
    def system(self) -> str:
        """What the system is called: the label, or the model's name."""
        return self.request.label or self.request.model

    @property
    def options(self) -> dict[str, Any]:
        """The task's options, those that only scoring reads among them."""
        return plain(self.task.option)

    @property
    def judge_names(self) -> dict[str, str]:
        """What the judge of each role is called."""
        return {role: choice.shown for role, choice in self.judge_choices.items()}

    @property
    def models(self) -> list[FacadeModel]:
        """The model and the judges that are models, each once."""
        return list(dict.fromkeys((self.model, *self.judge_models.values())))

    @property
    def run_digest(self) -> str:
        """SHA-256 of what decides the responses."""
        return digest(self.asked)

    @property
    def scoring_digest(self) -> str:
        """SHA-256 of what decides the scores."""
        return digest(self.scoring)

    @property
    def instances_digest(self) -> str:
        """SHA-256 of the sorted ids of this run's instances."""
        return digest(sorted(instance.id for instance in self.chosen))

    def begin_round(self, number: int) -> None:
        """Ask anew what an earlier round has stored; see `--fresh`."""
        self.round = number
        for model in self.models:
            model.round = number

    async def close(self) -> None:
        """Let go of models, embedder and store."""
        for model in self.models:
            await model.close()
        if self.embedder is not None:
            await self.embedder.close()
        self.store.close()


def make_plan(request: RunRequest) -> Plan:
    """Read, resolve and check everything.

    Raises:
        UserError: whatever the user has to mend first.
    """
    check_request(request)
    task_class = load_task(request.task)
    task = task_class(task_class.parse_options(request.options))
    check_judges(task, request.judges)
    if request.strategy != RECORDED:
        request = _with_model(request, *task.strategy(request.strategy))
    dataset = _load(task, request)
    make_folder(request.runs)
    store = CompletionStore(request.runs / STORE)
    try:
        return _resolve(request, task, dataset, store)
    except BaseException:
        store.close()
        raise


def _with_model(request: RunRequest, name: str, strategy: Strategy) -> RunRequest:
    """The request, its model `none` where the strategy asks none; recorded answers have no strategy.

    Raises:
        ConfigError: there is no model, and the strategy asks one.
    """
    asks = strategy.needs - {"embed"}
    if request.strategy is not None and not asks and not request.model.startswith("replay:"):
        return replace(request, model=NO_MODEL)
    if request.model == NO_MODEL:
        raise DoesNotOffer(
            f"the strategy {name!r} asks a model",
            where="--model",
            remedy="Give one: --model NAME. See: pmbench models",
        )
    return request


def _load(task: Task, request: RunRequest) -> Dataset:
    """The dataset; a task's own fault in making instances is an error of one line, without its message."""
    try:
        return load(
            task,
            request.data,
            columns=request.columns,
            sensitivity=request.sensitivity,
            revision=request.revision,
            split=request.split,
        )
    except BaseException as error:
        if isinstance(error, UserError | KeyboardInterrupt | MemoryError):
            raise
        raise PluginError(
            f"the task {task.name!r} failed while it read the data ({fault(error)})",
            remedy="This is a fault of the task's package",
        ) from None


def _remarks(task: Task, dataset: Dataset) -> list[str]:
    """What the task has to say of the data; its own fault in it is an error of one line, without its message."""
    try:
        return [str(remark) for remark in task.remarks(dataset.instances)]
    except BaseException as error:
        if isinstance(error, UserError | KeyboardInterrupt | MemoryError):
            raise
        raise PluginError(
            f"the task {task.name!r} failed while it looked at the data ({fault(error)})",
            remedy="This is a fault of the task's package",
        ) from None


def _resolve(request: RunRequest, task: Task, dataset: Dataset, store: CompletionStore) -> Plan:
    choices = {role: choose_judge(task, role, request.judges.get(role)) for role in task.judges}
    parts = open_parts(request, task, choices, dataset, store)
    model, judge_models, embedder = parts.model, parts.judge_models, parts.embedder
    notes = coverage(model, [instance.id for instance in dataset.instances])
    judges = {
        role: _judge(task, role, choice, judge_models.get(role), embedder) for role, choice in choices.items()
    }
    asked = Asked(
        task=task.name,
        task_version=task.version,
        options=of_responses(task.option),
        strategy=parts.strategy_name,
        strategy_about=_plain(parts.strategy.describe()),
        model=_model_about(model),
        fingerprint=dataset.fingerprint,
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        seed=request.seed,
        samples=request.samples,
        embedder=dict(embedder.identity()) if embedder and parts.embeds else {},
    )
    scoring = Scoring(
        scoring_version=task.scoring_version,
        judges={
            role: _judge_about(judges[role], judge_models.get(role), choices[role].settings)
            for role in judges
        },
        embedder=dict(embedder.identity()) if embedder and parts.judged_by_embedding else {},
        splitter=SPLITTER,
        seed=request.seed if judge_models else 0,
        options=of_scores(task.option) or msgspec.UNSET,
    )
    named = request.label or request.model
    folder = folder_for(request.runs, task.name, named, parts.strategy_name, digest(asked))
    jobs = JobFolder(folder.path / "jobs")
    if not request.batch_api and not request.dry_run and (waiting := jobs.under_way()):
        raise ConfigError(
            f"{waiting} of this run's requests are under way as batch jobs",
            where=str(folder.path),
            remedy=f"Add --batch-api to collect them; to ask now instead, and pay twice, move {jobs.path} away",
        )
    if request.batch_api:
        for one in dict.fromkeys((model, *judge_models.values())):
            one.submit_to(jobs, again=request.retry_failed)
    # Recorded answers have been read; nothing else looks at the rows, which are as large as the instances.
    dataset.rows.clear()
    return Plan(
        request=request,
        task=task,
        dataset=dataset,
        chosen=dataset.instances[: request.limit],
        strategy_name=parts.strategy_name,
        strategy=parts.strategy,
        model=model,
        judges=judges,
        judge_choices=choices,
        judge_models=judge_models,
        embedder=embedder,
        asked=asked,
        scoring=scoring,
        folder=folder,
        store=store,
        budget=parts.budget,
        remote=parts.remote,
        notes=[*dataset.notes, *_remarks(task, dataset), *notes, *parts.notes],
    )


def strategies_of(task: type[Task], names: tuple[str, ...]) -> list[str | None]:
    """What `--strategy` means: names as given, `all` for each of the task's, None for the default.

    Raises:
        UnknownName: a strategy that the task does not have.
    """
    if not names:
        return [None]
    if "all" in names:
        return list(task.strategies)
    for name in names:
        if name not in task.strategies and name != RECORDED:
            raise UnknownName(f"strategy of {task.name}", name, [*task.strategies, "all"])
    return list(dict.fromkeys(names))


def _judge(
    task: Task, role: str, choice: JudgeChoice, model: FacadeModel | None, embedder: AnyEmbedder | None
) -> Judge:
    parts = JudgeParts(model, None if model else embedder, task.option, choice.settings)
    return task.judges[role].build(parts)


def _model_about(model: FacadeModel) -> dict[str, str]:
    """Backend and identity. Not the specification: where a file lies decides nothing, what is in it does."""
    identity = model.identity()
    if len(identity) > 1:
        del identity["spec"]
    # The store keeps choices in words apart by their kind; a run has to be told that its choices are such.
    words = {"choices": "in words"} if model.chooses_in_words and not model.backend.by_instance else {}
    return {"backend": model.backend.name, **identity, **words}


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    """As it will be read back from JSON, so that its digest is the same then."""
    plain: dict[str, Any] = msgspec.to_builtins(dict(about), str_keys=True)
    return plain


def _judge_about(judge: Judge, model: FacadeModel | None, settings: Options) -> dict[str, Any]:
    about = _plain(judge.describe())
    if options := decisive(settings):
        about["options"] = options
    return {**about, "model": _model_about(model)} if model else about


def runs_folder(given: str | None) -> Path:
    """The runs folder: as given, else PMBENCH_RUNS, else `runs`."""
    return Path(given or os.environ.get("PMBENCH_RUNS") or "runs")
