"""Of several copies of one run, the one that stands in a table: each run counts once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pmbench.leaderboard.entry import Entry, LeftOut

_Key = tuple[str, str]


def once_each(entries: Sequence[Entry], left: list[LeftOut]) -> list[Entry]:
    """The entries, one of each run and scoring.

    The one of most scores stays: a look at a few instances does not take the place of a whole run. Of as many, the
    one whose ids are those of most other runs, since ids that were hashed with another salt pair with nothing; then
    the run's own folder, then the one with more subgroups, then the newer.

    Args:
        entries: in order of the folders; left: takes the copies that do not stay, with the reason.
    """
    partners: dict[tuple[Any, ...], set[_Key]] = {}
    copies: dict[_Key, list[Entry]] = {}
    for entry in entries:
        key = _key(entry)
        partners.setdefault(_ids(entry), set()).add(key)
        copies.setdefault(key, []).append(entry)
    kept = []
    for alike in copies.values():
        best = max(reversed(alike), key=lambda one: _worth(one, len(partners[_ids(one)])))
        kept.append(best)
        others = len(partners[_ids(best)]) - 1
        left += [LeftOut(one.where, _told(one, best, others)) for one in alike if one is not best]
    return kept


def _key(entry: Entry) -> _Key:
    return entry.results.run, entry.results.scoring


def _ids(entry: Entry) -> tuple[Any, ...]:
    """What runs have in common whose instances can be laid side by side; hashed ids have a digest of their own."""
    results = entry.results
    return entry.record.asked.fingerprint, results.instances_digest, results.scoring


def _worth(entry: Entry, partners: int) -> tuple[Any, ...]:
    results = entry.results
    return (
        results.counts.scored,
        partners,
        not entry.ids,
        sum(len(labels) for labels in results.slices.values()),
        results.finished_at,
    )


def _told(other: Entry, best: Entry, partners: int) -> str:
    told = f"a copy of the run in {best.where}"
    if other.results.instances_digest == best.results.instances_digest:
        return told
    if other.results.counts.scored < best.results.counts.scored:
        return f"{told}, which has more scores"
    runs = f"{partners} other run{'' if partners == 1 else 's'}"
    return f"{told}, whose ids are those of {runs}: ids that were hashed with another salt, or not, pair with none"
