"""Run folders as `pmbench run` leaves them, made without asking a model, for the tests of this room."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from markdown_it import MarkdownIt

from pmbench.core.dataset import DatasetSpec
from pmbench.core.digest import digest
from pmbench.core.metric import F1, Macro, Mean, Metric, MetricGroup, Ratio
from pmbench.core.task import Task
from pmbench.running.aggregating import measure
from pmbench.running.folder import Appender, RunFolder, folder_for, write_json
from pmbench.running.records import Asked, DataRecord, ResponseRecord, RunRecord, ScoreRecord, Scoring
from pmbench.running.results import Counts, Results


class Toy(Task):
    """A task with a rate, a mean per instance, and a mean of words."""

    name = "toy"
    title = "Toy drafting"
    dataset = DatasetSpec(())
    metrics: tuple[Metric, ...] = (
        Macro(F1("tp", "fp", "fn"), "f1", title="Edit-F1", limits=(0, 1)),
        Mean("right", title="Right", digits=1, unit="%"),
        Mean("words", title="Words to delete", higher_is_better=False, digits=1, unit="words"),
    )


RECALL = MetricGroup("Recall by theme", "Of the sentences with each theme.")
SHARES = MetricGroup("Shares", "How often a theme is there.", reference="people's replies")


class Themed(Toy):
    """The same task later: it has come to have a headline metric and two groups, one with a reference."""

    metrics: tuple[Metric, ...] = (
        *Toy.metrics,
        Mean("calm", title="Calm", headline=True),
        Ratio("found_a", "all_a", "recall_a", title="Alpha", group=RECALL, digits=2),
        Ratio("found_b", "all_b", "recall_b", title="Beta", group=RECALL, digits=2),
        Mean("draft_a", "draft_share_a", title="Alpha", group=SHARES, reference="reply_share_a", digits=2),
        Mean("draft_b", "draft_share_b", title="Beta", group=SHARES, reference="reply_share_b", digits=2),
        Mean("reply_a", "reply_share_a", title="Alpha", group=SHARES),
        Mean("reply_b", "reply_share_b", title="Beta", group=SHARES),
    )


def themed(drafts_a: int, drafts_b: int, *, recall: float = 0.5) -> Callable[[int], dict[str, float]]:
    """Statistics of `Themed`: replies have alpha in 12 of 24 instances and beta in 6, no sentence is of beta.

    Args:
        drafts_a, drafts_b: in how many of the first instances the draft has the theme.
        recall: of sentences of alpha.
    """

    def of(index: int) -> dict[str, float]:
        return {
            "calm": float(index % 2),
            "found_a": 2 * recall,
            "all_a": 2.0,
            "found_b": 0.0,
            "all_b": 0.0,
            "draft_a": float(index < drafts_a),
            "draft_b": float(index < drafts_b),
            "reply_a": float(index < 12),
            "reply_b": float(index < 6),
        }

    return of


SENTINEL = "Dear Mrs Sample, your potassium is fine."  # text of a dataset, which may show up nowhere


@dataclass(frozen=True)
class Made:
    """What one made-up run is like."""

    model: str = "smollm2-135m"
    strategy: str = "zero-shot"
    skill: float = 0.5
    seed: int = 0
    instances: int = 24
    dataset: int = 24
    clusters: int = 24
    samples: int = 1
    temperature: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    fingerprint: str = "f" * 64
    location: str = "/home/someone/private/messages.jsonl"
    kind: str = "file"
    judges: Mapping[str, str] = field(default_factory=lambda: {"content": "embedded"})
    judge_about: Mapping[str, Any] = field(default_factory=lambda: {"threshold": 0.6})
    failed: frozenset[int] = frozenset()
    missing: frozenset[int] = frozenset()
    pending: int = 0
    more: Callable[[int], Mapping[str, float]] | None = (
        None  # further statistics of an instance, by its number
    )
    finished_at: str = "2026-01-01T00:00:00+00:00"


def scores(made: Made) -> list[ScoreRecord]:
    """Scores of a run, shuffled as they might arrive."""
    generator = np.random.default_rng([made.seed, 7])
    records = []
    for index in range(made.instances):
        for sample in range(made.samples):
            difficulty = (index * 37 % 10) / 20
            draws = generator.random(8) < made.skill + 0.25 - difficulty
            tp = int(draws.sum())
            if index in made.failed:
                continue
            missing = index in made.missing
            records.append(
                ScoreRecord(
                    id=f"m{index}",
                    sample=sample,
                    cluster=f"c{index % made.clusters}",
                    status="missing" if missing else "ok",
                    failure="unparsed" if missing else "",
                    stats={}
                    if missing
                    else {
                        "tp": tp,
                        "fp": 8 - tp,
                        "fn": float(generator.integers(0, 5)),
                        "right": float(tp > 4),
                        "words": float(generator.integers(0, 60)),
                        **(made.more(index) if made.more else {}),
                    },
                    evidence={"spans": [SENTINEL]},
                )
            )
    records = records[: len(records) - made.pending]
    return [records[place] for place in generator.permutation(len(records))]


def write(runs: Path, made: Made, task: type[Task] = Toy) -> RunFolder:
    """Write the folder of a run."""
    asked = Asked(
        task=task.name,
        task_version=made.version,
        options=dict(made.options),
        strategy=made.strategy,
        strategy_about={"prompt": digest(made.strategy)},
        model={"spec": made.model, "engine": "1.0"},
        fingerprint=made.fingerprint,
        max_tokens=None,
        temperature=made.temperature,
        seed=made.seed,
        samples=made.samples,
    )
    scoring = Scoring(1, {role: {"method": name, **made.judge_about} for role, name in made.judges.items()})
    folder = folder_for(runs, task.name, made.model, made.strategy, digest(asked))
    records = scores(made)
    folder.write_record(
        RunRecord(
            digest=digest(asked),
            asked=asked,
            model=made.model,
            data=_data(made),
        )
    )
    below = folder.scores(digest(scoring))
    with Appender(below / "scores.jsonl") as lines:
        for record in records:
            lines.append(record)
    if made.failed:
        with Appender(folder.responses) as lines:
            for index in sorted(made.failed):
                for sample in range(made.samples):
                    lines.append(
                        ResponseRecord(id=f"m{index}", sample=sample, status="failed", failure="timeout")
                    )
    write_json(below / "scoring.json", scoring)
    write_json(below / "results.json", results(made, task, digest(asked), digest(scoring), records))
    return folder


def results(made: Made, task: type[Task], run: str, scoring: str, records: list[ScoreRecord]) -> Results:
    """Results as the running room works them out."""
    good = [record for record in records if record.status == "ok"]
    lost = len(made.failed | made.missing)
    gone = {f"m{place}": made.samples for place in made.failed}
    metrics, _ = measure(task.metrics, good, gone | Counter(record.id for record in records))
    kinds = {"timeout": len(made.failed), "unparsed": len(made.missing)}
    counts = Counts(
        dataset=made.dataset,
        instances=made.instances,
        samples=made.instances * made.samples,
        responded=len(records),
        scored=len(good),
        failed=len(made.failed) * made.samples,
        missing=len(made.missing) * made.samples,
        pending=made.pending,
        failures={kind: number for kind, number in kinds.items() if number},
    )
    state = "incomplete" if made.pending else "complete-with-missing" if lost else "complete"
    return Results(
        status=state,  # type: ignore[arg-type]
        reason=f"work is left: {made.pending} not done" if made.pending else f"{lost} lost" if lost else "",
        task=task.name,
        task_version=made.version,
        strategy=made.strategy,
        model=made.model,
        judges=dict(made.judges),
        run=run,
        scoring=scoring,
        fingerprint=made.fingerprint,
        instances_digest=digest(sorted(f"m{index}" for index in range(made.instances))),
        primary=task.metrics[0].name,
        metrics=metrics,
        counts=counts,
        finished_at=made.finished_at,
    )


def _data(made: Made) -> DataRecord:
    """Where the rows came from, whatever else the record has come to hold with a default."""
    return DataRecord(
        given="/home/someone/private/messages.jsonl",
        split=None,
        asked_columns={},
        kind=made.kind,
        location=made.location,
        revision="",
        files={},
        columns={},
        sensitivity="phi",
        instances=made.dataset,
    )


_BLANK = "\N{NO-BREAK SPACE}"
UNBROKEN = re.compile(rf"(?<=,){_BLANK}(?=-?\d)|{_BLANK}(?=[↑↓])|(?<=±){_BLANK}|(?<=Table){_BLANK}(?=\d)")


class Page(HTMLParser):
    """The tables of a page as text (bold with its asterisks, a line break as a blank), and what else it holds."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.headings: list[str] = []
        self.items: list[str] = []
        self.paragraphs: list[str] = []
        self.tags: set[str] = set()
        self._into: list[str] | None = None
        self.feed(MarkdownIt("gfm-like").render(markdown))
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._into = self.tables[-1][-1]
        elif tag in ("h1", "h2", "h3", "li", "p"):
            self._into = {"li": self.items, "p": self.paragraphs}.get(tag, self.headings)
            self._into.append("")
        elif self._into is not None and tag in ("br", "strong"):
            self._into[-1] += " " if tag == "br" else "**"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "h1", "h2", "h3", "li", "p"):
            self._into = None
        elif self._into is not None and tag == "strong":
            self._into[-1] += "**"

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into[-1] += UNBROKEN.sub(" ", data)


__all__ = ["SENTINEL", "Made", "Page", "Themed", "Toy", "scores", "themed", "write"]
