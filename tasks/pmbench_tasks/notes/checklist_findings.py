"""What somebody should know of scores by a checklist beside the metrics: what is missing and why, what is weak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pmbench import Score, id_shown
from pmbench_tasks.notes.answers import REASONS
from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.scoring import stat_names

_SHOWN = 5

_WORDS = {
    "unparsed": "could not be read",
    "absent": "not answered beside others",
    "neither": "neither yes nor no, nor a grade",
    "twice": "answered twice, differently",
    "refused": "refused",
    "cut-off": "cut off by the token limit",
    "failed": "the request failed",
}


def findings_of(scores: Mapping[str, Score], checklist: Checklist, what: str) -> Iterator[str]:
    """Lines for the end of a run's results; counts and ids.

    Args:
        scores: of each instance that has one.
        checklist: what was asked.
        what: what an instance is, in the plural (`notes`).
    """
    yield from _missing(scores, what)
    if none := [name for name, one in scores.items() if one.stats.get("empty")]:
        yield f"nothing was written, which the judge was told, in {len(none)} of {len(scores)} {what}: {_few(none)}"
    yield from _lowest(scores, checklist, what)


def _missing(scores: Mapping[str, Score], what: str) -> Iterator[str]:
    asked = _sum(scores, "asked")
    missing = _sum(scores, "missing")
    if not missing:
        return
    reasons = {why: _sum(scores, f"missing_{why.replace('-', '_')}") for why in REASONS}
    told = ", ".join(f"{_WORDS[why]}: {count}" for why, count in reasons.items() if count)
    where = [name for name, one in scores.items() if one.stats.get("missing")]
    yield (
        f"{missing} of {asked} answers are missing, in {len(where)} of {len(scores)} {what} ({told}): {_few(where)}."
        " They count neither as yes nor as no"
    )
    if reasons["failed"]:
        yield (
            "answers whose request failed are asked for again by the same command with --retry-failed; all others"
            " come from the store"
        )


def _lowest(scores: Mapping[str, Score], checklist: Checklist, what: str) -> Iterator[str]:
    """The questions that are met least, where questions are what is asked."""
    if checklist.scale != "yes-no" or not scores:
        return
    rates: list[tuple[float, str, str]] = []
    for item, name in zip(checklist.items, stat_names(one.id for one in checklist.items), strict=True):
        there = [one.stats[f"yes_{name}"] for one in scores.values() if f"yes_{name}" in one.stats]
        if there and sum(there) < len(there):
            rates.append((sum(there) / len(there), item.id, f"{item.id} {sum(there):.0f} of {len(there)}"))
    lowest = [told for _, _, told in sorted(rates)[:_SHOWN]]
    if lowest:
        yield f"questions that fewest {what} meet: {', '.join(lowest)}"


def _sum(scores: Mapping[str, Score], stat: str) -> int:
    return round(sum(one.stats.get(stat, 0.0) for one in scores.values()))


def _few(names: Sequence[str]) -> str:
    return ", ".join(map(id_shown, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
