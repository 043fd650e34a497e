"""How long a leaderboard of many runs takes: the whole in a process of its own, and the share of each step.

The runs are made up, in a temporary folder:

    python benchmarks/leaderboard_scale.py [--runs 20] [--instances 300]

Times of different machines are not comparable; the ratio to `python -c "import numpy"` nearly is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pmbench.core.digest import digest
from pmbench.core.task import Task
from pmbench.running.aggregating import measure
from pmbench.running.folder import Appender, folder_for, write_json
from pmbench.running.records import Asked, DataRecord, RunRecord, ScoreRecord, Scoring
from pmbench.running.results import Counts, Results
from pmbench_tasks.drafting.metrics import METRICS
from pmbench_tasks.drafting.themes import THEMES


class Scale(Task):
    """A task with the metrics of the drafting tasks, those by theme among them."""

    name = "scale"
    title = "Scale"
    metrics = METRICS


def main() -> None:
    """Make the runs, time the command, print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--instances", type=int, default=300)
    options.add_argument("--only", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.only:
        steps(Path(asked.only))
        return
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.runs):
            make_run(Path(folder), number, asked.instances)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        bare = min(timed(lambda: python("-c", "import numpy")) for _ in range(3))
        print(
            f"{asked.runs} runs x {asked.instances} instances x {len(METRICS)} metrics, {size / 1e6:.1f} MB;"
            f" import numpy {bare:.2f} s"
        )
        whole = timed(lambda: python(__file__, "--only", folder))
        print(f"whole process: {whole:.2f} s = {whole / bare:.1f} x import numpy")


def steps(runs: Path) -> None:
    """Time each step of a leaderboard in this process."""
    from pmbench.leaderboard import board as room
    from pmbench.leaderboard.collect import collect
    from pmbench.leaderboard.markdown import render_markdown

    reading = timed(lambda: collect("scale", runs))
    found: list[Any] = []
    everything = timed(lambda: found.append(room.leaderboard(Scale, runs)))
    rendering = timed(lambda: render_markdown(found[0], Scale))
    total = everything + rendering
    for name, seconds in (
        ("read the run folders", reading),
        ("intervals and tests", everything - reading),
        ("render Markdown", rendering),
    ):
        print(f"  {name:<22} {seconds:6.3f} s  {seconds / total:4.0%}")


def make_run(runs: Path, number: int, instances: int) -> None:
    """Write one run folder with counts that look like edits of drafts, and evidence of a usual size."""
    generator = np.random.default_rng(number)
    records = [_score(generator, index, 0.3 + number / 50) for index in range(instances)]
    model = f"model-{number}"
    asked = Asked("scale", 1, {}, "zero-shot", {}, {"spec": model}, "f" * 64, None, None, 0, 1)
    scoring = Scoring(1, {"content": {"threshold": 0.6}})
    folder = folder_for(runs, "scale", model, "zero-shot", digest(asked))
    data = DataRecord(
        given=None,
        split=None,
        asked_columns={},
        kind="demo",
        location="demo",
        revision="",
        files={},
        columns={},
        sensitivity="public",
        instances=instances,
    )
    folder.write_record(RunRecord(digest=digest(asked), asked=asked, model=model, data=data))
    below = folder.scores(digest(scoring))
    with Appender(below / "scores.jsonl") as lines:
        for record in records:
            lines.append(record)
    write_json(below / "scoring.json", scoring)
    counts = Counts(dataset=instances, instances=instances, samples=instances, scored=instances)
    write_json(
        below / "results.json",
        Results(
            status="complete",
            task="scale",
            task_version=1,
            strategy="zero-shot",
            model=model,
            judges={"content": "embedded"},
            run=digest(asked),
            scoring=digest(scoring),
            fingerprint="f" * 64,
            instances_digest=digest(sorted(record.id for record in records)),
            primary=METRICS[0].name,
            metrics=measure(METRICS, records)[0],
            counts=counts,
        ),
    )


def _score(generator: np.random.Generator, index: int, skill: float) -> ScoreRecord:
    """Counts of one draft; those of the reply are the same in every run."""
    matches = int(generator.binomial(8, skill))
    stats = {
        "matches": matches,
        "additions": 8 - matches,
        "deletions": int(generator.poisson(4)),
        "nonverbatim": int(generator.binomial(matches, 0.5)),
        "words_to_delete": int(generator.poisson(60)),
        "words_to_add": int(generator.poisson(40)),
        "usable": int(generator.random() < 0.1),
        "draft_words": int(generator.poisson(150)),
        "reply_words": int(generator.poisson(90)),
        **_themes(generator, np.random.default_rng([index, 1]), skill),
    }
    sentence = {"sentence": "x" * 90, "span": "y" * 80, "similarity": 0.71, "match": True}
    return ScoreRecord(
        id=f"m{index}",
        cluster=f"c{index // 2}",
        stats={name: float(value) for name, value in stats.items()},
        evidence={"answers": [sentence] * 12},
    )


def _themes(generator: np.random.Generator, reply: np.random.Generator, skill: float) -> dict[str, int]:
    """Which themes a reply and its draft have, and how many of the reply's sentences the draft has."""
    stats = {"theme_matches": 0, "theme_additions": 0, "theme_deletions": 0}
    for place, theme in enumerate(THEMES):
        has = int(reply.random() < 0.9 - place / 10)
        draft = int(generator.random() < (0.8 if has else 0.3))
        sentences = has * int(reply.integers(1, 4))
        stats |= {
            f"reply_has_{theme}": has,
            f"draft_has_{theme}": draft,
            f"both_have_{theme}": has * draft,
            f"sentences_{theme}": sentences,
            f"matched_{theme}": int(generator.binomial(sentences, skill)),
        }
        stats["theme_matches"] += has * draft
        stats["theme_additions"] += has - has * draft
        stats["theme_deletions"] += draft - has * draft
    return stats


def python(*arguments: str) -> None:
    """Run Python with the arguments; what it prints goes through."""
    subprocess.run([sys.executable, *arguments], check=True)


def timed(work: Callable[[], object]) -> float:
    """Wall time in seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
