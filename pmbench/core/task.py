"""What a benchmark is made of: Task, Strategy, JudgeRole and their options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from pmbench.core.dataset import DatasetSpec, Row
from pmbench.core.errors import UnknownName
from pmbench.core.instance import Instance, Response, Score
from pmbench.core.metric import Metric
from pmbench.core.model import Embedder, Model
from pmbench.core.options import Options, typed_options
from pmbench.core.view import ViewBlock


@dataclass(frozen=True, slots=True)
class StrategyContext:
    """What a strategy may use besides the model.

    Attributes:
        options: the task's options.
        embedder: the run's embedder; None where the strategy does not need `embed`.
        seed: the run's seed.
    """

    options: Options
    embedder: Embedder | None = None
    seed: int = 0


class Strategy(Protocol):
    """How a model is used to answer one instance.

    Attributes:
        needs: what the model must offer (`chat`, `choose`, `reward`) and whether the embedder is used
            (`embed`); checked when the run is planned. Empty, or `embed` alone: no model is asked.
    """

    @property
    def needs(self) -> frozenset[str]:
        """What the model must offer."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What decides its requests: the digest of each prompt, its parameters. Part of a run's digest."""
        ...

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """Fewest and most requests for one instance, given the task's options."""
        ...

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """Answer one instance.

        Raises:
            RequestFailed: the model could not answer; the instance is counted as failed.
        """
        ...


class Judge(Protocol):
    """A model or method in a scoring role. What else it can do is between the task and its judges."""

    def describe(self) -> Mapping[str, Any]:
        """What decides its answers (method, version, thresholds, prompts); part of a score's digest."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeParts:
    """What a judge is built from.

    Attributes:
        model: the model named by `--judge role=MODEL`; None for the role's own deterministic method.
        embedder: the run's embedder; None where `model` is given.
        options: the task's options.
        settings: the role's own options, as in `--judge role=NAME?option=value`.
    """

    model: Model | None
    embedder: Embedder | None
    options: Options
    settings: Options = field(default_factory=Options)


EMBEDDED = "embedded"
"""The name of a role's own deterministic method, as in `--judge content=embedded`."""


@dataclass(frozen=True, slots=True)
class JudgeRole:
    """A scoring role of a task and how its judge is built.

    Attributes:
        build: makes the judge.
        help: what the role decides.
        default: `embedded`, or the name of a model.
        caution: what its own deterministic method is known not to see; stands under every result made with it.
        needs: what a model must offer to take the role.
        requests: fewest and most requests to a model for one instance, given the role's options; for estimates.
        options: typed options of the role (`--judge role=NAME?option=value`), part of a score's digest.
        embeds: whether its own deterministic method uses the run's embedder.
    """

    build: Callable[[JudgeParts], Judge]
    help: str
    default: str = EMBEDDED
    caution: str = ""
    needs: frozenset[str] = frozenset({"chat"})
    requests: Callable[[Instance, Any], tuple[int, int]] = field(default=lambda _instance, _settings: (1, 1))
    options: type[Options] = Options
    embeds: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """One instance with what was answered and scored, for exporters and views."""

    instance: Instance
    response: Response | None
    score: Score | None


Exporter = Callable[[Iterable[Record]], str]
"""Writes the records of a run in another file format."""

View = Callable[[Record], str | Sequence[ViewBlock]]
"""Shows one record: as Markdown, or as blocks of marked lines."""


class Task:
    """A benchmark: subclass, set the attributes and override `instances` and `score`.

    Attributes:
        name: as in `--task`; version: raised whenever equal inputs could give other numbers.
        scoring_version: raised when only scoring changed: scores are made again, no model is asked.
        dataset: where rows come from.
        strategies: by name; the first is the default.
        judges: scoring roles by name.
        metrics: the first is the primary metric. An instance may have more, by its options, in its `__dict__`.
        options: typed options (`-o name=value`).
        exporters, views: other file formats of a run; how one instance is shown.
        card, reported: resources of the task's package, `package:path`: CARD.md and reported.toml.
        stat_words: by name of a statistic, what whoever labels a response is to count (`pmbench labels`).
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    scoring_version: ClassVar[int] = 1
    title: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    dataset: ClassVar[DatasetSpec]
    strategies: ClassVar[Mapping[str, Strategy]]
    judges: ClassVar[Mapping[str, JudgeRole]] = {}
    metrics: ClassVar[tuple[Metric, ...]]
    options: ClassVar[type[Options]] = Options
    exporters: ClassVar[Mapping[str, Exporter]] = {}
    views: ClassVar[Mapping[str, View]] = {}
    card: ClassVar[str] = ""
    reported: ClassVar[str] = ""
    stat_words: ClassVar[Mapping[str, str]] = {}

    def __init__(self, options: Options | None = None) -> None:
        self.option = options if options is not None else self.options()

    @classmethod
    def parse_options(cls, pairs: Mapping[str, str]) -> Options:
        """Turn `name=value` pairs into this task's options.

        Raises:
            ConfigError: an unknown name or a value of the wrong type.
        """
        return typed_options(cls.options, pairs, of=cls.name, remedy=f"See: pmbench tasks {cls.name}")

    @classmethod
    def cautions(cls, judges: Mapping[str, str]) -> list[str]:
        """What a reader of results has to know of the judges that made them, by role and name."""
        told = []
        for role, name in judges.items():
            if name.partition("?")[0] != EMBEDDED:
                told.append(f"How well {name} agrees with people as judge of {role} was not measured here.")
            elif role in cls.judges and cls.judges[role].caution:
                told.append(cls.judges[role].caution)
        return told

    def strategy(self, name: str | None = None) -> tuple[str, Strategy]:
        """The strategy of that name, or the default one, with its name."""
        chosen = name or next(iter(self.strategies))
        if chosen not in self.strategies:
            raise UnknownName(f"strategy of {self.name}", chosen, self.strategies)
        return chosen, self.strategies[chosen]

    def read(self, path: Path) -> Iterable[Row] | None:
        """Read a file or folder in a shape of the task's own; None: it is not in that shape.

        Raises:
            DataError: it is in that shape, but broken.
        """
        return None

    def read_responses(self, path: Path) -> Mapping[str, Response | None] | None:
        """Read a file of recorded responses in a shape of the task's own; None: it is not in that shape.

        Returns:
            The response of each instance by its id; None where the file says that there is none. Lines for the user
            may be in an attribute `notes` of the mapping.

        Raises:
            DataError: it is in that shape, but broken.
        """
        return None

    def instances(self, rows: Iterable[Row]) -> Iterable[Instance]:
        """Turn validated rows into instances.

        Raises:
            DataError: a row that cannot be one; use `row.where(column)` for the place.
        """
        raise NotImplementedError

    def remarks(self, instances: Sequence[Instance]) -> Iterable[str]:
        """What somebody should know of the data before anything is asked; counts and ids, never text."""
        return ()

    def findings(self, scores: Mapping[str, Score]) -> Iterable[str]:
        """What somebody should know of the scores beside the metrics; counts and ids, never text.

        Args:
            scores: of each instance that has one, by its id.
        """
        return ()

    def to_label(self, instance: Instance, response: Response) -> Sequence[ViewBlock]:
        """What people read who label a response: all texts that its statistics rest on, and nothing of a score.

        Returns:
            Empty: what the task's view shows without a score, then all other inputs and what is expected.
        """
        return ()

    @classmethod
    def label_doubts(
        cls,
        given: Mapping[str, float],  # noqa: ARG003 - of tasks that look at them
        judged: Mapping[str, float],  # noqa: ARG003
    ) -> Iterable[str]:
        """What in people's numbers of one response looks like a slip; counts and names, never text.

        Args:
            given: statistics that people have filled in; judged: of the same response's score.
        """
        return ()

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Score one response. `judges` holds the judge of each role.

        Raises:
            RequestFailed, Unscored: no honest number exists; the score is counted as missing.
        """
        raise NotImplementedError
