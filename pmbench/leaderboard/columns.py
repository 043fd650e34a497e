"""Columns of a leaderboard by name: which there are, what a cell shows, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pmbench.core.errors import ConfigError
from pmbench.core.names import name_shown, nearest_names
from pmbench.leaderboard.table import ENDING, Leaderboard, MetricHead, SystemRow
from pmbench.leaderboard.tested import CORRECTIONS, Correction
from pmbench.leaderboard.wording import DASH, judges_text

Value = str | float | int | None

Cell = tuple[str, str]
"""What a cell shows: a number or words, and the interval below it or nothing."""


@dataclass(frozen=True)
class Column:
    """A column beside row, system and strategy.

    Attributes:
        name: by which it is chosen; title: what stands over it.
        is_words: whether it is set to the left.
        cell: of a system's row.
        values: the numbers or words behind the cell, by name; in full precision.
        is_metric: whether it is the column of the metric of this name.
    """

    name: str
    title: str
    is_words: bool
    cell: Callable[[SystemRow], Cell]
    values: Callable[[SystemRow], dict[str, Value]]
    is_metric: bool = False


def _difference(row: SystemRow) -> Cell:
    return (row.against.number, row.against.interval) if row.against else (DASH, "")


def _difference_values(row: SystemRow) -> dict[str, Value]:
    pair = row.against
    return {
        "difference": pair.difference if pair else None,
        "difference_low": pair.low if pair else None,
        "difference_high": pair.high if pair else None,
    }


def p_heading(correction: Correction) -> str:
    """What stands over adjusted p-values: `p (Holm)`."""
    return f"p ({CORRECTIONS[correction]})"


def _p_column(correction: Correction) -> Column:
    """The column of p-values, those adjusted by this correction under its name."""

    def values(row: SystemRow) -> dict[str, Value]:
        pair = row.against
        adjusted = f"p_{correction.replace('-', '_')}"
        return {"p": pair.p if pair else None, adjusted: pair.p_adjusted if pair else None}

    return Column(
        "p",
        p_heading(correction),
        False,
        lambda row: (row.against.p_text if row.against else DASH, ""),
        values,
    )


def _rank_values(row: SystemRow) -> dict[str, Value]:
    return {"rank": row.standing.rank, "rank_low": row.standing.low, "rank_high": row.standing.high}


def _scored_values(row: SystemRow) -> dict[str, Value]:
    return {"scored": row.counts.scored, "samples": row.counts.samples}


def _lost_values(row: SystemRow) -> dict[str, Value]:
    names = ("failed", "missing", "pending", "refused", "truncated", "empty")
    return {name: getattr(row.counts, name) for name in names}


FIXED: dict[str, Column] = {
    one.name: one
    for one in (
        Column("difference", "Difference to the best", False, _difference, _difference_values),
        _p_column("holm"),
        Column(
            "letters",
            "Letters",
            True,
            lambda row: (row.standing.letters or DASH, ""),
            lambda row: {"letters": row.standing.letters},
        ),
        Column(
            "rank",
            "Rank",
            False,
            lambda row: (row.standing.rank_text, row.standing.places_text),
            _rank_values,
        ),
        Column(
            "best",
            "Chance of being best",
            False,
            lambda row: (row.standing.best_text, ""),
            lambda row: {"chance_of_best": row.standing.best},
        ),
        Column(
            "scored",
            "Scored",
            False,
            lambda row: (f"{row.counts.scored}/{row.counts.samples}", ""),
            _scored_values,
        ),
        Column("lost", "Lost or odd", True, lambda row: (row.failures, ""), _lost_values),
        Column(
            "judges",
            "Judges",
            True,
            lambda row: (judges_text(row.judges) or DASH, ""),
            lambda row: {"judges": judges_text(row.judges)},
        ),
        Column(
            "cost",
            "Cost ($ per 1,000 instances)",
            False,
            lambda row: (row.took.cost.text, ""),
            lambda row: {"cost_per_1000": row.took.cost.dollars},
        ),
        Column(
            "judges-cost",
            "Cost of judges ($ per 1,000 instances)",
            False,
            lambda row: (row.took.judges.text, ""),
            lambda row: {"judges_cost_per_1000": row.took.judges.dollars},
        ),
        Column(
            "seconds",
            "Seconds per response, median",
            False,
            lambda row: (row.took.median_text, ""),
            lambda row: {"seconds_median": row.took.median},
        ),
        Column(
            "seconds-p95",
            "Seconds per response, 95th percentile",
            False,
            lambda row: (row.took.p95_text, ""),
            lambda row: {"seconds_p95": row.took.p95},
        ),
        Column("run", "Run", True, lambda row: (row.run[:12], ""), lambda row: {"run": row.run}),
    )
}
"""Columns that every task has. A metric of one of these names is chosen as `metric:NAME`."""


_SHOWN = 8


def parse(text: str, metrics: Sequence[str]) -> list[str]:
    """The columns that a list names: metrics, and those of `FIXED`.

    Args:
        text: names with commas between them.
        metrics: names of the task's metrics, the primary one first. `corrected` is what labels make of that, and
            `NAME_corrected` of another.

    Raises:
        ConfigError: a name is none, or there is no name; the nearest names are told.
    """
    known = [*(f"metric:{name}" if name in FIXED else name for name in metrics), "corrected", *FIXED]
    beside = [f"{name}{ENDING}" for name in metrics]
    asked = list(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    unknown = [name for name in asked if name not in (*known, *beside)]
    if unknown or not asked:
        what = f"there is no column called {name_shown(unknown[0])}" if unknown else "no column is named"
        raise ConfigError(what, where="--columns", remedy=_remedy(unknown[0] if unknown else "", known))
    return [beside[0] if name == "corrected" and name not in metrics else name for name in asked]


def _remedy(name: str, known: Sequence[str]) -> str:
    """The nearest names, or where none is near the first metrics; those that every task has, and where all are."""
    near = nearest_names(name, known)
    own = [one for one in known if one not in (*FIXED, "corrected")]
    more = f", and {len(own) - _SHOWN} more" if len(own) > _SHOWN else ""
    metrics = "" if near else f"Of metrics there are {', '.join(own[:_SHOWN])}{more}. "
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}{metrics}Beside metrics: {', '.join(FIXED)}. All names head the columns of --format csv"


TESTS = ("letters", "rank", "best", "difference", "p")
"""Those that say what tests of the primary metric came to, in the order in which they stand beside it."""


def columns(
    board: Leaderboard, names: Sequence[str] | None = None, correction: Correction = "holm"
) -> list[Column]:
    """The columns of a board's tables, in the order asked for.

    Args:
        board: whose metrics have columns.
        correction: of the table that they are of.
        names: as `parse` returns them; None: the primary metric, the tests, all other metrics, counts and costs.

    Raises:
        ConfigError: a column is of a metric that no system here has.
    """
    heads = {f"metric:{head.name}" if head.name in FIXED else head.name: head for head in board.metrics}
    if names is None:
        first = [name for name, head in heads.items() if board.metrics[0].name in (head.name, head.corrects)]
        others = [name for name in heads if name not in first]
        names = [*first, *TESTS, *others, *(name for name in FIXED if name not in TESTS)]
    absent = [name for name in names if name not in heads and name not in FIXED]
    if absent and absent[0].endswith(ENDING):
        raise ConfigError(
            f"no system here has {absent[0]!r}",
            where="--columns",
            remedy="Give people's labels of its statistics with --labels",
        )
    if absent:
        raise ConfigError(
            f"no system here has {absent[0]!r}",
            where="--columns",
            remedy=_remedy(absent[0], [*heads, *FIXED]),
        )
    fixed = FIXED | {"p": _p_column(correction)}
    return [fixed[name] if name in fixed else _of_metric(heads[name]) for name in names]


def _of_metric(head: MetricHead) -> Column:
    name = head.name

    def cell(row: SystemRow) -> Cell:
        return row.measures[name].number, row.measures[name].interval

    def values(row: SystemRow) -> dict[str, Value]:
        measure = row.measures[name]
        found: dict[str, Value] = {name: measure.value}
        found |= {f"{name}_low": measure.low, f"{name}_high": measure.high}
        if head.corrects:
            own = row.corrected.get(head.corrects)
            found[f"{name}_weight"] = own.weight if own else None
            found[f"{name}_labelled"] = own.labelled if own else None
        return found

    title = " ".join(filter(None, [head.full_heading, head.arrow]))
    return Column(name, title, False, cell, values, is_metric=True)
