"""Which split of a dataset is taken, where its rows say which split they are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pmbench.core.dataset import Row
from pmbench.core.errors import ConfigError

SPLIT = "split"
"""The value of a row that says which split it is of."""


def of_split(rows: Sequence[Row], asked: str | None, usual: str, where: str) -> tuple[list[Row], list[str]]:
    """The rows of a split, and a note on what was left out.

    Splits are never joined unasked: what was chosen on one of them says nothing about the others.

    Args:
        rows: with their split as the value `split`, where there is one.
        asked: `--split`; several are joined by `+`.
        usual: the split that is taken where none is asked for and there are several.
        where: what is shown of the place that they come from.

    Raises:
        ConfigError: no row is of the split, or there are several, none is asked for and none of them is usual.
    """
    counts = Counter(row.text(SPLIT) for row in rows)
    unsaid = counts.pop("", 0)
    there = ", ".join(f"{name} ({number})" for name, number in counts.items())
    if unsaid and there:
        there += f", and {unsaid} of no split"
    if asked is None and len(counts) + bool(unsaid) < 2:
        return list(rows), []
    if asked is None and usual not in counts:
        raise ConfigError(
            f"there are several splits: {there}", where=f"--data {where}", remedy="Name one: --split NAME"
        )
    wanted = (asked or usual).split("+")
    for name in wanted:
        if name not in counts:
            raise ConfigError(
                f"there is no split {name!r}" + (f", but {there}" if there else ": the data have no splits"),
                where=f"--data {where}",
                remedy="Take one of them" if there else "Leave out --split",
            )
    chosen = [row for row in rows if row.text(SPLIT) in wanted]
    if len(chosen) == len(rows):
        return chosen, []
    told = f"split {'+'.join(wanted)}: {len(chosen)} of {len(rows)} (--split decides; there are {there})"
    return chosen, [told]
