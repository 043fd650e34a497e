"""Which subgroups of a dataset may be used: those with few, short labels, as labels are.

Results name every subgroup by its label, and results are shown and shared. A column of free text that is taken
for a column of labels would put what patients wrote there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pmbench.core.instance import Instance
from pmbench.core.names import name_shown

MOST_LABELS = 50
"""Different labels of one slice."""
FEW_LABELS = 10
"""Up to so many labels it does not matter how few instances share one."""
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
    notes = [f"{_called(name, columns)}: {why}" for name, why in refused.items()]
    notes += [
        f"slice {name_shown(name)}: {len(instances) - given} of {len(instances)} instances have no label and"
        " are in none of its subgroups"
        for name, found in labels.items()
        if name not in refused and 0 < (given := sum(map(bool, map(str.strip, found)))) < len(instances)
    ]
    return [_without(instance, refused) for instance in instances], notes


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
