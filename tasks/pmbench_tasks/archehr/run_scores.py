"""The scores of runs, read from their folders as `docs/formats.md` describes these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pmbench import DataError, Metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class _Asked(msgspec.Struct):
    task: str
    fingerprint: str
    strategy: str


class _Run(msgspec.Struct):
    asked: _Asked
    model: str = ""
    round: int = 0


class _Counts(msgspec.Struct):
    scored: int = 0


class _Results(msgspec.Struct):
    round: int = 0
    counts: _Counts = msgspec.field(default_factory=_Counts)


class _Score(msgspec.Struct):
    id: str
    sample: int = 0
    round: int = 0
    status: str = "ok"
    stats: dict[str, float] = {}


Read = TypeVar("Read", _Run, _Results)


@dataclass(frozen=True)
class RunScores:
    """The statistics of a run's scores.

    Attributes:
        folder: of the run.
        task, model, strategy, fingerprint: as `run.json` has them.
        cases: the instance of each score.
        stats: values of each statistic, shape (scores,), NaN where a score has none.
    """

    folder: Path
    task: str
    model: str
    strategy: str
    fingerprint: str
    cases: list[str]
    stats: Mapping[str, Floats]

    def values(self, metric: Metric) -> dict[str, float]:
        """The metric of each case alone, the mean over its samples; cases without its statistics are left out."""
        import numpy as np

        if not all(name in self.stats for name in names_in(metric)):
            return {}
        alone = np.asarray(metric.value(metric.columns(self.stats)), dtype=np.float64)
        there = metric.present(self.stats) & ~np.isnan(alone)
        found: dict[str, list[float]] = {}
        for case, value, present in zip(self.cases, alone.tolist(), there.tolist(), strict=True):
            if present:
                found.setdefault(case, []).append(value)
        return {case: sum(values) / len(values) for case, values in found.items()}


def names_in(metric: Metric) -> set[str]:
    """The statistics that a metric's formula names."""
    signs = str.maketrans("+-", "  ")
    words = (word for one in metric.expressions for word in one.translate(signs).split())
    return {word for word in words if not word[0].isdigit()}


def read_scores(name: str, runs: Path) -> RunScores:
    """The scores of a run, of the scoring with the most of them, the newest of several such.

    Args:
        name: its folder, or the beginning of its digest below the runs folder.
        runs: the runs folder.

    Raises:
        DataError: there is no such run, or more than one; it is not scored, or cannot be read.
    """
    import numpy as np

    folder = _find(name, runs)
    run = _json(folder / "run.json", _Run)
    scorings = sorted(folder.glob("scores/*/results.json"), key=lambda path: path.stat().st_mtime)
    if not scorings:
        raise DataError(
            "is not scored yet", where=str(folder), remedy="Give the command that made it once more"
        )
    read = [(path.parent, _json(path, _Results)) for path in scorings]
    best = max(reversed(read), key=lambda one: (one[1].round, one[1].counts.scored))[0]
    scores = [one for one in _lines(best / "scores.jsonl", run.round).values() if one.status == "ok"]
    names = dict.fromkeys(stat for score in scores for stat in score.stats)
    return RunScores(
        folder=folder,
        task=run.asked.task,
        model=run.model,
        strategy=run.asked.strategy,
        fingerprint=run.asked.fingerprint,
        cases=[score.id for score in scores],
        stats={stat: np.array([score.stats.get(stat, np.nan) for score in scores]) for stat in names},
    )


def _find(name: str, runs: Path) -> Path:
    if Path(name, "run.json").is_file():
        return Path(name)
    digests = {path.parent: path.parent.name.rpartition("-")[2] for path in runs.glob("*/*/*/run.json")}
    found = [folder for folder, digest in digests.items() if name and digest.startswith(name.lower())]
    if len(found) != 1:
        what = f"{len(found)} runs begin with {name[:80]!r}" if found else f"no run {name[:80]!r}"
        raise DataError(what, where=str(runs), remedy="Give a run's folder; see: pmbench runs")
    return found[0]


def _lines(path: Path, current: int) -> dict[tuple[str, int], _Score]:
    """The scores of the run's round, the last of each instance and sample; a torn last line is no score."""
    found: dict[tuple[str, int], _Score] = {}
    lines = _content(path).split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            score = msgspec.json.decode(line, type=_Score)
        except msgspec.MsgspecError:
            if number == len(lines):
                break
            raise DataError(
                "is no score", where=f"{path}, line {number}", remedy="Score the run again"
            ) from None
        if score.round == current:
            found[score.id, score.sample] = score
    return found


def _json(path: Path, kind: type[Read]) -> Read:
    try:
        return msgspec.json.decode(_content(path), type=kind)
    except msgspec.MsgspecError:
        raise DataError("is not what a run has", where=str(path), remedy="Carry the run out again") from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=str(path)) from None
