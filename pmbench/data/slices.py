"""Which subgroups of a dataset may be used: those with few, short labels, as labels are.

Results name every subgroup by its label, and results are shown and shared. A column of free text that is taken
for a column of labels would put what patients wrote there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pmbench.core.instance import Instance
from pmbench.core.names import name_shown

MOST_LABELS = 50
"""Different labels of one slice."""
FEW_LABELS = 10
"""Up to so many labels it does not matter how few instances share one."""
MOST_NAMED = 5
"""Slices that a note names; of more it says how many."""
LONGEST_LABEL, MOST_WORDS = 40, 5
"""Letters and words of a label."""


def usable_slices(
    instances: Sequence[Instance], columns: Mapping[str, str]
) -> tuple[list[Instance], list[str]]:
    """The instances without slices that are none, and what to print of them; labels are never shown.

    A slice is left out of all instances where one of its labels (or its name) is as long as text, where it has
    more labels than subgroups make sense, or where hardly two instances share one.

    Args:
        instances: of the whole dataset, so that the outcome does not depend on how many are run.
        columns: the file's column of each of the task's columns, for the notes.
    """
    labels: dict[str, list[str]] = {}
    for instance in instances:
        for name, label in instance.slices.items():
            labels.setdefault(name, []).append(label)
    refused = {name: why for name, found in labels.items() if (why := _no_slice(name, found))}
    lacking = {
        name: len(instances) - given
        for name, found in labels.items()
        if name not in refused and 0 < (given := sum(map(bool, map(str.strip, found)))) < len(instances)
    }
    notes = [*_on_refused(refused, columns), *_on_lacking(lacking, len(instances))]
    return [_without(instance, refused) for instance in instances], notes


def _on_refused(refused: Mapping[str, str], columns: Mapping[str, str]) -> Iterator[str]:
    """One line, however many slices are not used."""
    if len(refused) == 1:
        [(name, why)] = refused.items()
        yield f"{_called(name, columns)}: {why}"
    elif refused:
        told = [f"{_shown(name)} ({why})" for name, why in refused.items()]
        yield f"{len(refused)} slices are not used: {_first_of(told)}"


def _on_lacking(lacking: Mapping[str, int], instances: int) -> Iterator[str]:
    """One line, however many slices some instances have no label of."""
    if len(lacking) == 1:
        [(name, many)] = lacking.items()
        yield (
            f"slice {name_shown(name)}: {many} of {instances} instances have no label and are in none of its"
            " subgroups"
        )
    elif lacking:
        told = [f"{name_shown(name)} ({many})" for name, many in lacking.items()]
        yield (
            f"instances of {instances} without a label are in none of the subgroups of these slices:"
            f" {_first_of(told)}"
        )


def _first_of(told: Sequence[str]) -> str:
    more = len(told) - MOST_NAMED
    return ", ".join(told[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _shown(name: str) -> str:
    return f"(a name of {len(name)} characters)" if _is_text(name) else name_shown(name)


def _no_slice(name: str, found: Sequence[str]) -> str:
    """Why these labels make no slice; `""`: they do."""
    if _is_text(name):
        return "its name looks like text"
    given = [label for label in found if label.strip()]
    different = len(set(given))
    if any(map(_is_text, given)):
        return "labels that look like text"
    if different > MOST_LABELS:
        return f"{different} different labels"
    if different > FEW_LABELS and 2 * different > len(given):
        return f"{different} different labels in {len(given)} instances"
    return ""


def _is_text(label: str) -> bool:
    return (
        len(label) > LONGEST_LABEL or len(label.split()) > MOST_WORDS or len(label.strip().splitlines()) > 1
    )


def _called(name: str, columns: Mapping[str, str]) -> str:
    if _is_text(name):
        return f"a slice with a name of {len(name)} characters is not used"
    shown, column = name_shown(name), columns.get(name)
    if column is None or column == name:
        return f"{shown} is not used as a slice"
    return f"column {name_shown(column)} is not used as slice {shown}"


def _without(instance: Instance, refused: Mapping[str, str]) -> Instance:
    if not any(name in refused for name in instance.slices):
        return instance
    return replace(
        instance, slices={name: label for name, label in instance.slices.items() if name not in refused}
    )
