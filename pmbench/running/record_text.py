"""That a record holds no text: what is taken out of it while it is made, and a search through it afterwards."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from pmbench.core.digest import digest
from pmbench.core.errors import ConfigError
from pmbench.running.record import RecordLine
from pmbench.running.record_names import Names

Plain = TypeVar("Plain")

LONGEST_LABEL = 40
MOST_LABELS = 60
"""A subgroup's label is short, and there are few of them: what is longer or more may be text."""

LONGEST_SETTING = 160

_SUFFIX = r"\.(?:jsonl?|ndjson|csv|tsv|txt|parquet|gguf|safetensors|onnx|sqlite|md|pdf)"
_PATH = re.compile(
    r"(?:(?<![\w/.<-])(?:~|\.{1,2})?/|(?<![\w/])[A-Za-z]:[\\/])(?:[^\\/\s?&,=]+[\\/])*([^\\/\s?&,=]*)"
    rf"|(?<![\w/])(?:[^\\/\s?&,=:]+[\\/])+([^\\/\s?&,=]+{_SUFFIX})\b"
)
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+]*://[^\s,&?#;)'\"]+", re.IGNORECASE)
_FEW_WORDS = 3
_LABEL_WORDS = 4
_SHORT = 20


def without_places(text: str) -> str:
    """A text without folders and addresses: of a path the last part stays, of an address nothing."""
    text = _ADDRESS.sub("(an address)", text)
    return _PATH.sub(lambda found: found[1] or found[2] or "(a path)", text)


def setting(value: Plain, dropped: list[str], where: str) -> Plain:
    """Plain data without paths and addresses, and with what is as long as text replaced by its digest.

    Args:
        value: strings, numbers, lists and mappings.
        dropped: takes the names of the places where something was replaced.
        where: what the value is called there.
    """
    found: Any = value
    if isinstance(value, str):
        found = without_places(value)
        if len(found) > LONGEST_SETTING or "\n" in found:
            found = f"sha256:{digest(value)}"
        if found != value:
            dropped.append(where)
    elif isinstance(value, Mapping):
        found = {
            setting(name, dropped, where): setting(inner, dropped, f"{where}.{_short(name)}")
            for name, inner in value.items()
        }
    elif isinstance(value, list | tuple):
        found = [setting(inner, dropped, where) for inner in value]
    return found  # type: ignore[no-any-return]


def labels_kept(slices: Iterable[Mapping[str, str]], dropped: list[str]) -> set[str]:
    """Names of the subgroups whose labels are short and few; the others are named in `dropped`."""
    labels: dict[str, set[str]] = {}
    for one in slices:
        for name, label in one.items():
            labels.setdefault(name, set()).add(label)
    kept = {
        name
        for name, found in labels.items()
        if len(name) <= LONGEST_LABEL
        and len(found) <= MOST_LABELS
        and all(len(label) <= LONGEST_LABEL and "\n" not in label for label in found)
    }
    dropped += [f"slices.{_short(name)}" for name in sorted(labels.keys() - kept)]
    return kept


def array(value: Any, names: Names, where: str) -> Any:
    """Small arrays with their numbers, their short labels and the names of the data.

    Raises:
        ConfigError: a string that may be text.
    """
    if isinstance(value, str):
        if not names.knows(value) and (len(value) > LONGEST_LABEL or len(value.split()) > _FEW_WORDS):
            raise ConfigError(
                "an array of this score holds what may be text, and a record holds none",
                where=where,
                remedy="Tell the author of the task: text belongs into the evidence",
            )
        return names(value)
    if isinstance(value, Mapping):
        return {array(name, names, where): array(inner, names, where) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [array(inner, names, where) for inner in value]
    return value


def search(parts: Mapping[str, Any], lines: Sequence[RecordLine], texts: Iterable[str], names: Names) -> int:
    """Look for every text in a record, and for every longer string of the record in the texts.

    Texts of one or two words are no evidence of anything (a level, a label) and are not looked for; a subgroup's
    label of few words may well be words of a text too, as the name of a specialty.

    Args:
        parts: of `record.json`, by name, as plain data.
        lines: of `instances.jsonl`.
        texts: of the run and of the data.
        names: of the record; ids are looked for in no text.

    Returns:
        How many texts were looked for.

    Raises:
        ConfigError: one of them stands in the record; it says where, not what.
    """
    held: dict[str, str] = {}
    for where, text in _strings(parts, ""):
        held.setdefault(_folded(text), where)
    for number, line in enumerate(lines, start=1):
        told = (line.slices, line.failure, line.finish, line.arrays)
        for _, text in _strings(msgspec.to_builtins(told), ""):
            if not names.knows(text):
                held.setdefault(_folded(text), f"line {number} of the instances")
    labels = {_folded(label) for line in lines for label in line.slices.values()}
    long = {
        text: where
        for text, where in held.items()
        if _is_text(text) and (text not in labels or len(text.split()) > _LABEL_WORDS)
    }
    looked = {folded for text in texts if _is_text(folded := _folded(text))}
    for text in looked:
        for string, where in long.items():
            if text in string or string in text:
                raise ConfigError(
                    "this would hold text of the run or of its data, and nothing was written",
                    where=f"record: {where}",
                    remedy="Tell the author of the task, or leave subgroups out with --no-slices",
                )
    return len(looked)


def strings_of(value: Any) -> Iterator[str]:
    """Every string in plain data, those that name something too."""
    return (text for _, text in _strings(value, ""))


def smallest(lines: Sequence[RecordLine], below: int) -> Counter[str]:
    """By name of the slice, how many of its subgroups have fewer instances than `below`."""
    members: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        for pair in line.slices.items():
            members.setdefault(pair, set()).add(line.id)
    return Counter(name for (name, _), ids in members.items() if len(ids) < below)


def _strings(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            inside = f"{where}.{_short(name)}" if where else _short(name)
            yield from _strings(name, inside)
            yield from _strings(inner, inside)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner, where)


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= LONGEST_LABEL else "(a long name)"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _is_text(folded: str) -> bool:
    return folded.count(" ") >= _FEW_WORDS - 1 or (len(folded) >= _SHORT and " " in folded)
