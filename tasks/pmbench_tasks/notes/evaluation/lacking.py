"""What is not there: parts of an evaluation that not one answer was had for, and numbers that cannot be computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pmbench_tasks.notes.evaluation.evaluate import Comparison
from pmbench_tasks.notes.evaluation.gathering_answers import PREPARED, Gathered
from pmbench_tasks.notes.evaluation.measures import measures
from pmbench_tasks.notes.evaluation.perturbing import Made, counts_of
from pmbench_tasks.notes.pipeline.failing import AGAIN, Unanswered, longer, requests_failed, told
from pmbench_tasks.notes.pipeline.filtering import Filtered
from pmbench_tasks.notes.pipeline.records import by_kind, counted


class Silence(NamedTuple):
    """A part of an evaluation in which there was something to ask and not one usable answer.

    Attributes:
        what: the part, in words.
        why: missing answers by reason.
    """

    what: str
    why: dict[str, int]

    @property
    def line(self) -> str:
        """It in one line."""
        reasons = f" ({told(self.why)})" if self.why else ""
        return f"{self.what}: not one usable answer{reasons}"

    @property
    def failed(self) -> bool:
        """Whether requests failed, so that the same command may get answers."""
        return bool(requests_failed(self.why))


def silences(gathered: Sequence[Gathered], filtered: Filtered | None, made: Sequence[Made]) -> list[Silence]:
    """The parts without one usable answer."""
    return [*_of_all(filtered, made), *(one for each in gathered for one in _of_checklist(each))]


def refuse_silence(found: Sequence[Silence], folder: Path) -> None:
    """Do nothing where every part has an answer.

    Raises:
        Unanswered: there are parts without one; what could be measured is written all the same.
    """
    if not found:
        return
    failed = any(one.failed for one in found)
    remedy = AGAIN if failed else longer(kind for one in found for kind in one.why)
    raise Unanswered(
        "; ".join(one.line for one in found),
        where=str(folder),
        remedy=remedy or "Choose a model that answers; the table says what is missing",
    )


def _of_all(filtered: Filtered | None, made: Sequence[Made]) -> Iterator[Silence]:
    if filtered is not None and filtered.failures and filtered.answered == 0:
        yield Silence("what feedback is about", by_kind(filtered.failures))
    for kind, found in counts_of(made).items():
        if found.failed and not found.changed + found.unchanged:
            yield Silence(f"rewriting notes, {kind}", found.failed)


def _of_checklist(one: Gathered) -> Iterator[Silence]:
    name = one.material.name
    covering = one.covering
    if covering is not None and covering.items and not covering.known.any():
        yield Silence(f"{name}, feedback", by_kind(covering.failures))
    why: dict[str, int] = {}
    for part in one.told:
        for reason, count in part.why.items():
            why[reason] = why.get(reason, 0) + count
    asked = [part for part in one.told if part.asked]
    if asked and not any(part.yes + part.no for part in asked):
        yield Silence(f"{name}, the judge", dict(sorted(why.items())))
        return
    for part in asked:
        if part.part != PREPARED and not part.yes + part.no:
            yield Silence(f"{name}, {part.part}", part.why)


def not_computed(comparison: Comparison) -> Iterator[str]:
    """A line for each checklist and reason: the measures that were asked for and have no number."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in measures(comparison):
        for which, estimate in zip(comparison.evaluations, one.estimates, strict=True):
            if estimate is None or estimate.value == estimate.value or one.title.startswith("…"):
                continue
            lost = f", {counted(estimate.missing, 'answer')} missing" if estimate.missing else ""
            found.setdefault((which.name, f"{estimate.note or 'undefined'}{lost}"), []).append(one.title)
    for (name, why), titles in found.items():
        yield f"{'; '.join(titles)} of {name}: {why}"


def not_changed(made: Sequence[Made]) -> Iterator[str]:
    """A line for each perturbation that changed no note, so that there is no Δ of it."""
    for kind, found in counts_of(made).items():
        if not found.changed:
            failed = f", not made: {told(found.failed)}" if found.failed else ""
            yield f"Δ {kind}: no note was changed ({found.unchanged} left as they were{failed})"
