"""The legend under a leaderboard in a terminal: what its words mean, of those alone that stand there."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pmbench.leaderboard.table import Leaderboard, Table

TITLES = {
    "letters": "letters",
    "rank": "rank [places]",
    "best": "best in",
    "difference": "minus the best",
    "scored": "scored",
    "lost": "lost or odd",
}
"""What stands over columns in a terminal, by their names; over others the title that they have everywhere."""


def legend(board: Leaderboard, table: Table, names: Collection[str], heads: Collection[str]) -> list[str]:
    """Lines for under a table of systems.

    Args:
        board: of the table; names: of the columns that are shown, as of `columns.FIXED`, and names of metrics.
        heads: what stands over them.
    """
    tests = {
        "letters": "letters: systems that have one in common cannot be told apart",
        "rank": "places: what the tests leave open",
        "best": "best in: share of data sets drawn again from this one in which it leads these systems, no proof",
        "difference": "minus the best: difference to row 1 on the instances that both have scored",
        "p": "p: of that difference, adjusted for all pairs of systems",
    }
    told = [text for name, text in tests.items() if name in names and _has(name, table)]
    if "p" in names and _has("p", table) and "difference" not in names:
        told[-1] = "p: of the difference to row 1, adjusted for all pairs of systems"
    other = []
    if board.metrics[0].scheme == "cluster":
        alone = "; here each instance is one of its own" if table.clusters == table.instances else ""
        other.append(f"cluster: instances that belong together, as messages of one patient{alone}")
    if any("micro" in head.lower() for head in heads):
        other.append(
            "micro: counts are summed over all instances before the ratio, so that long ones weigh more"
        )
    if "lost" in names:
        other.append("lost or odd: failed or without a score; empty, refused or cut off")
    return [f"  {'; '.join(part)}." for part in (told, other) if part]


def _has(name: str, table: Table) -> bool:
    """Whether a column of tests has anything in it to be explained."""
    standings = [row.standing for row in table.rows]
    if name == "best":
        return any(one.best is not None for one in standings)
    if name == "rank":
        return any(one.low is not None for one in standings)
    if name == "letters":
        return any(one.letters for one in standings)
    return any(row.against is not None for row in table.rows)
