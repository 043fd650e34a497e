"""Records of runs as entries of a leaderboard. Hashed names are put into the order of the plain ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

from pmbench.core.errors import StorageError
from pmbench.leaderboard.collect import Entry, Found, ScoreLine, Unusable
from pmbench.running.agreement import of_statistics
from pmbench.running.places import Unread, reading
from pmbench.running.record import RecordLine, RunInRecord
from pmbench.running.record_files import DamagedRecord, ForeignRecord, read_record, record_folders

_WIDTH = 8

Ranks = Mapping[str, int]


def records_below(folder: Path, task: str) -> list[Found]:
    """Every record of a task at or below a folder, or why it cannot be used.

    Raises:
        StorageError: there is no such folder, or a record is of a newer version.
    """
    with reading(folder, "Name a folder of records with --records"):
        if not folder.is_dir():
            raise StorageError(
                "there is no such folder of records", where=str(folder), remedy="Name one with --records"
            )
    unread: list[Unread] = []

    def where(place: Path) -> str:
        return str(place.relative_to(folder)) if place != folder else place.name

    found: list[tuple[str, tuple[RunInRecord, list[RecordLine]] | Unusable]] = []
    for place in record_folders(folder, unread):
        try:
            read = read_record(place, task)
        except DamagedRecord as error:
            found.append((where(place), Unusable(f"a damaged record: {error}; take another copy of it")))
        except ForeignRecord as error:
            found.append((where(place), Unusable(str(error), damaged=error.unknown)))
        else:
            found += [(where(place), read)] if read is not None else []
    found += [(where(one.path), Unusable(one.why)) for one in unread]
    ranks = _ranks([one[0] for _, one in found if not isinstance(one, Unusable)])
    return [
        (where, one if isinstance(one, Unusable) else _entry(where, *one, ranks.get(one[0].salt, {})))
        for where, one in found
    ]


def _entry(where: str, record: RunInRecord, lines: Sequence[RecordLine], ranks: Ranks) -> Entry | Unusable:
    """A record as what a leaderboard reads from a run's folder."""
    results = record.results
    try:
        scores = [_score(line, record.stats, ranks) for line in lines if line.status == "scored"]
    except ValueError:
        return Unusable("a damaged record: a line has more or fewer numbers than there are names of them")
    apart = of_statistics(scores)
    if apart is not None:
        return Unusable(f"a damaged record: {apart.why}")
    if not scores:
        return Unusable("it has no score", damaged=False)
    return Entry(where, record.run_record(), results, record.scoring, scores, record.ids)


def _score(line: RecordLine, stats: Sequence[str], ranks: Ranks) -> ScoreLine:
    """The score of a line; hashed names with their place before them, to be sorted as the plain ones are."""

    def placed(name: str) -> str:
        return f"{ranks[name]:0{_WIDTH}d}-{name}" if name in ranks else name

    score = line.score(stats)
    fields = {name: getattr(score, name) for name in score.__struct_fields__ if name != "evidence"}
    if ranks:
        fields |= {
            "id": placed(score.id),
            "cluster": placed(score.cluster),
            "units": [placed(unit) for unit in score.units],
        }
    return ScoreLine(**fields)


def _ranks(records: Sequence[RunInRecord]) -> dict[str, Ranks]:
    """By salt, the place of each hashed name in the order of the plain ones.

    Each record tells the order of its own names; a run that lacks some has the others in the same order, so that
    all of them together are put into one order that agrees with each.
    """
    orders: dict[str, list[list[str]]] = {}
    for record in records:
        if record.order and record.order not in orders.setdefault(record.salt, []):
            orders[record.salt].append(record.order)
    return {salt: _merged(found) for salt, found in orders.items()}


def _merged(orders: Sequence[Sequence[str]]) -> Ranks:
    if len(orders) == 1:
        return {name: place for place, name in enumerate(orders[0])}
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for order in sorted(orders, key=list):
        for earlier, later in pairwise(order):
            sorter.add(later, earlier)
        sorter.add(order[0])
    names: list[str] = []
    try:
        sorter.prepare()
        while sorter.is_active():
            ready = sorted(sorter.get_ready())
            names += ready
            sorter.done(*ready)
    except CycleError:  # Orders that contradict each other: as good as none.
        names = sorted({name for order in orders for name in order})
    return {name: place for place, name in enumerate(names)}
