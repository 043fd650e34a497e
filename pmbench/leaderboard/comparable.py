"""Which runs may stand side by side: same task version and options, data, instances and judges."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pmbench.core.digest import SHORT, digest
from pmbench.core.options import Options, named
from pmbench.leaderboard.collect import Entry

_HEX = re.compile(r"[0-9a-f]{40,}")


@dataclass(frozen=True)
class Group:
    """Runs that may be compared.

    Attributes:
        entries: the runs.
        differs: in words, what distinguishes this group from the others; empty where there is one group.
        options: the task's, the same for all of them.
    """

    entries: list[Entry]
    differs: list[str]
    options: dict[str, Any]


def options_of(entry: Entry, kind: type[Options]) -> dict[str, Any]:
    """The task's options, those of the scoring among them, as others may read them: paths without their folders."""
    return named(kind, {**entry.results.options, **entry.record.asked.options})


def comparable(entries: Sequence[Entry], version: int, kind: type[Options] = Options) -> list[Group]:
    """Sort runs into groups.

    Args:
        entries: runs of one task.
        version: the task's version of today; groups of other versions come last.
        kind: of the task's options.

    Returns:
        The groups, the one with most instances first, then with most systems.
    """
    found: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        found.setdefault(_key(entry), []).append(entry)
    groups = sorted(found.values(), key=lambda group: _order(group, version))
    heads = [group[0] for group in groups]
    return [Group(group, _differences(group[0], heads, kind), options_of(group[0], kind)) for group in groups]


def flattened(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, keys joined with dots."""
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            flat.update(flattened(inner, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = inner
    return flat


def worded(value: Any) -> str:
    """A setting as words: long digests shortened, absent ones named."""
    if value is None or value == "":
        return "none"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return _HEX.sub(lambda match: match[0][:SHORT], text)


def distinguishing(settings: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Of several settings, those that are not the same everywhere, in words."""
    flat = [flattened(one) for one in settings]
    keys = dict.fromkeys(key for one in flat for key in one)
    varying = [key for key in keys if len({digest(one.get(key)) for one in flat}) > 1]
    return [{key: worded(one.get(key)) for key in varying} for one in flat]


def _key(entry: Entry) -> tuple[Any, ...]:
    asked, results = entry.record.asked, entry.results
    return (
        asked.task_version,
        digest(asked.options),
        asked.fingerprint,
        results.instances_digest,
        results.scoring,
    )


def _order(group: Sequence[Entry], version: int) -> tuple[Any, ...]:
    head = group[0]
    return (
        head.record.asked.task_version != version,
        -head.results.counts.instances,
        -len(group),
        _key(head),
    )


def _differences(own: Entry, heads: Sequence[Entry], kind: type[Options]) -> list[str]:
    """One line for each thing in which the groups are not all alike, as it is in this group."""
    facets: dict[str, Callable[[Entry], str]] = {
        "task version": lambda one: str(one.record.asked.task_version),
        "data": _data,
        "instances": lambda one: _instances(one, heads),
        "judges": lambda one: ", ".join(f"{role}={name}" for role, name in one.results.judges.items()),
    }
    lines = []
    for name, facet in facets.items():
        words = [facet(one) for one in heads]
        if len(set(words)) > 1:
            lines.append(f"{name}: {facet(own) or 'none'}")
    lines += _settings("options", own, heads, lambda one: options_of(one, kind))
    # Judges of other names differ in all that they are made of: only those of one name are told apart by it.
    named_alike = [one for one in heads if one.results.judges == own.results.judges]
    lines += _settings("scoring", own, named_alike, lambda one: msgspec.to_builtins(one.scoring))
    return lines


def _settings(
    title: str, own: Entry, among: Sequence[Entry], of: Callable[[Entry], Mapping[str, Any]]
) -> list[str]:
    found = distinguishing([of(one) for one in among])[[one is own for one in among].index(True)]
    words = ", ".join(f"{key.removeprefix('judges.')}={value}" for key, value in found.items())
    return [f"{title}: {words}"] if words else []


def data_name(entry: Entry) -> str:
    """The data's location without the folders of the machine that it lay on."""
    data = entry.record.data
    if data.kind in ("file", "folder", "datasets"):
        return re.split(r"[/\\]", data.location.rstrip("/\\"))[-1] or data.location
    return f"{data.location}@{data.revision[:SHORT]}" if data.revision else data.location


def _data(entry: Entry) -> str:
    return f"{data_name(entry)} (fingerprint {entry.record.asked.fingerprint[:SHORT]})"


def _instances(entry: Entry, heads: Sequence[Entry]) -> str:
    """`12 of 24`, with the digest of their ids where another group has as many of the same data."""
    counts = entry.results.counts
    words = f"{counts.instances} of {counts.dataset}"
    alike = {
        one.results.instances_digest
        for one in heads
        if one.record.asked.fingerprint == entry.record.asked.fingerprint
        and one.results.counts.instances == counts.instances
    }
    return f"{words} (ids {entry.results.instances_digest[:SHORT]})" if len(alike) > 1 else words
