"""What is said of a record that was written: what is in it, what is not, and what its owner has to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pmbench.core.digest import SHORT
from pmbench.data.fingerprint import id_shown
from pmbench.running.record import RunInRecord
from pmbench.running.record_making import Made
from pmbench.running.record_text import smallest

SMALL = 5
"""A subgroup of fewer instances may point at somebody."""


def told(made: Made, record: RunInRecord, *, has_slices: bool, others: Sequence[str] = ()) -> Iterator[str]:
    """Lines for who is about to publish a record.

    Args:
        made: the record and what was looked for; record: as it was written.
        has_slices: whether subgroup labels were kept.
        others: names of scorings of the run that are not in the record.
    """
    asked, results = record.asked, record.results
    judges = ", ".join(f"{role}={name}" for role, name in results.judges.items()) or "none"
    yield (
        f"in it: {asked.task} version {asked.task_version}, {record.model} by {asked.strategy}, judges {judges},"
        f" options and versions; data {record.data.name} ({record.data.sensitivity}), fingerprint"
        f" {asked.fingerprint[:SHORT]}"
    )
    counts = Counter(line.status for line in made.lines)
    status = ", ".join(f"{number} {name}" for name, number in counts.items())
    yield (
        f"in it: a line for each of {len(made.lines)} responses ({status}): id, cluster, subgroup labels, status,"
        " kind of failure, numbers of the score, units and arrays, tokens, seconds, cost; and the results"
    )
    yield (
        "not in it: messages, charts, references, prompts, answers, thinking, evidence; digests of answers; paths,"
        " addresses, commands, and the machine"
    )
    yield from _on_ids(made, record)
    yield from _on_slices(made, has_slices=has_slices)
    if record.dropped:
        yield (
            f"changed or left out, for it might be text or a place: {', '.join(record.dropped)} (of a path its last"
            " part stays, of an address nothing, of long text its digest)"
        )
    if others:
        yield f"note: the run has other scorings, each a record of its own: --scoring {' or '.join(others)}"
    if results.status == "incomplete":
        yield "note: the run is incomplete; leaderboards leave it out unless asked for"
    if record.pmbench != record.made_with:
        yield f"note: the run was made with pmbench {record.made_with or 'of an unknown version'}"
    of = "of the run and of its data" if made.data_read else "of the run"
    yield f"checked: {made.looked} texts {of} were looked for in it, and none is there"
    if not made.data_read:
        yield f"not checked: the texts of the data ({made.why_not})"
    yield "Look through both files before you publish them: labels and ids are what your data hold."


def _on_ids(made: Made, record: RunInRecord) -> Iterator[str]:
    if record.ids == "hashed":
        yield (
            f"ids: hashed (salt {record.salt}), rows in the order of the ids; records of the same salt can be laid"
            " side by side. Keep the salt secret: who has it can try ids until their hashes fit"
        )
        return
    example = f", such as {id_shown(made.lines[0].id)}" if made.lines else ""
    public = record.data.sensitivity == "public"
    advice = "" if public else "; if they could name anybody, write it again with --hash-ids"
    yield f"{'' if public else 'warning: '}ids: as they are in the data{example}{advice}"


def _on_slices(made: Made, *, has_slices: bool) -> Iterator[str]:
    if not has_slices:
        yield "subgroups: none (--no-slices)"
        return
    names = dict.fromkeys(name for line in made.lines for name in line.slices)
    if not names:
        yield "subgroups: none"
        return
    yield f"subgroups: {', '.join(names)}"
    small = smallest(made.lines, SMALL)
    if small:
        of = ", ".join(f"{number} of {name}" for name, number in small.items())
        yield (
            f"warning: some labels stand at fewer than {SMALL} instances ({of}), and together they may point at"
            " somebody; --no-slices leaves them out"
        )
