"""Figures of a table: intervals side by side (forest plot) and cost against quality; in a page and as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from pmbench.core.errors import MissingExtra, StorageError
from pmbench.core.metric import Metric
from pmbench.leaderboard.table import Leaderboard, SystemRow, Table
from pmbench.leaderboard.took import PER
from pmbench.leaderboard.wording import rows_text
from pmbench.pages.drawing import inline
from pmbench.pages.figures import MISSING, Draw, can_draw, figure
from pmbench.pages.visible import visible
from pmbench.running import places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMS = ("png", "svg", "pdf")

_MARK, _INK = "#0b62a4", "#000000"
_MADE_BY = "pmbench leaderboard"
"""The title in the metadata of every file, by which an earlier one is known."""

_LONGEST = 40
"""Characters of a name beside a figure."""

_WIDE = 20.0
"""Beyond this ratio of the dearest to the cheapest, costs are drawn on a logarithmic scale."""


def cost_quality_inline(table: Table, primary: Metric, name: str) -> tuple[Markup, str]:
    """The figure for a page, with the sentence below it; no figure, and why, where none can be drawn.

    Args:
        table: of systems, which the figure calls by the numbers of their rows.
        primary: the metric on the upright axis.
        name: of the figure in the page.
    """
    points, axis, of = _spent(table, primary)
    if not points:
        return Markup(), "No cost and no time is known of a system here."
    told = f"{visible(primary.title)} against {of}; the numbers are those of the rows, upright lines the intervals."
    missing = [row.number for row in table.rows if row.number not in {row.number for row, _ in points}]
    if missing:
        told += f" Of {rows_text(missing).lower()} that is not known."
    if not can_draw():
        return Markup(), MISSING
    return inline(figure(_cost_quality(points, primary, axis), (7.2, 3.6)), name), told


def write_plots(board: Leaderboard, primary: Metric, folder: Path) -> list[Path]:
    """Write each table's figures as PNG, SVG and PDF.

    Args:
        board: the leaderboard; primary: its first metric as the task has it.
        folder: for the files, made where it is not there.

    Returns:
        The files, `<task>-<table>-forest.png` and so on.

    Raises:
        MissingExtra: matplotlib is not installed.
        StorageError: a file cannot be written, or another one lies in its place.
    """
    require_matplotlib()
    written = []
    for stem, draw, size in _figures(board, primary):
        for form in FORMS:
            path = folder / f"{stem}.{form}"
            _write(path, figure(draw, size, form, title=_MADE_BY, clear=False))
            written.append(path)
    return written


def require_matplotlib() -> None:
    """Refuse plots where they cannot be drawn.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    if not can_draw():
        raise MissingExtra("--plots", "plots", "matplotlib")


def _figures(board: Leaderboard, primary: Metric) -> Iterator[tuple[str, Draw, tuple[float, float]]]:
    """Each figure with the name of its files and its size in inches."""
    for number, table in enumerate(board.tables, start=1):
        valued = [row for row in table.rows if row.measures[primary.name].value is not None]
        if valued:
            forest = _labelled(_forest(valued, primary), table)
            yield f"{board.task}-{number}-forest", forest, (6.5, 1.0 + 0.28 * len(valued))
        points, axis, _ = _spent(table, primary)
        if points:
            draw = _labelled(_cost_quality(points, primary, axis, named=True), table)
            yield f"{board.task}-{number}-cost", draw, (7.5, max(4.0, 0.7 + 0.2 * len(points)))


def _labelled(draw: Draw, table: Table) -> Draw:
    """The same, with words above it where the data are made up: a figure is handed on without its page."""

    def labelled(axes: Axes) -> None:
        draw(axes)
        if table.kind == "demo":
            axes.set_title("Demo data, made up", fontsize="medium", loc="left")

    return labelled


def _forest(rows: Sequence[SystemRow], primary: Metric) -> Draw:
    """Each system's interval on one scale, the best at the top, its value as a line through all."""

    def draw(axes: Axes) -> None:
        for place, row in enumerate(rows):
            one = row.measures[primary.name]
            if one.low is not None and one.high is not None:
                axes.plot(
                    [one.low, one.high], [place, place], color=_MARK, linewidth=1.6, solid_capstyle="butt"
                )
            axes.plot([one.value or 0.0], [place], "o", color=_MARK, markersize=5)
            letters = row.standing.letters
            axes.annotate(
                letters if len(letters) <= 12 else f"{letters[:12]}…",
                (1.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                parse_math=False,
            )
        axes.axvline(
            rows[0].measures[primary.name].value or 0.0, color=_INK, linestyle=":", linewidth=0.8, zorder=0
        )
        axes.set_yticks(range(len(rows)), [_called(row) for row in rows], parse_math=False)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(_titled(primary), parse_math=False)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        _per_cent(axes, primary, "x")

    return draw


def _cost_quality(
    points: Sequence[tuple[SystemRow, float]], primary: Metric, axis: str, *, named: bool = False
) -> Draw:
    """Systems by what they cost and how good they are, called by the numbers of their rows; with a list of names."""

    def draw(axes: Axes) -> None:
        for row, spent in points:
            one = row.measures[primary.name]
            assert one.value is not None
            if one.low is not None and one.high is not None:
                axes.plot([spent, spent], [one.low, one.high], color=_MARK, linewidth=1.0, alpha=0.6)
            axes.plot([spent], [one.value], "o", color=_MARK, markersize=6)
            axes.annotate(str(row.number), (spent, one.value), xytext=(6, 4), textcoords="offset points")
        if named:
            names = "\n".join(f"{row.number}  {_called(row)}" for row, _ in points)
            axes.annotate(names, (1.02, 1.0), xycoords="axes fraction", va="top", parse_math=False)
        axes.margins(x=0.12, y=0.12)
        costs = [spent for _, spent in points]
        if min(costs) > 0 and max(costs) / min(costs) > _WIDE:
            axes.set_xscale("log")
        elif min(costs) >= 0:
            axes.set_xlim(left=0)
        axes.set_xlabel(axis, parse_math=False)
        axes.set_ylabel(_titled(primary), parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        _per_cent(axes, primary, "y")

    return draw


def _spent(table: Table, primary: Metric) -> tuple[list[tuple[SystemRow, float]], str, str]:
    """What each system cost, or where no price is known how long it took; the axis; the same in a sentence."""
    valued = [row for row in table.rows if row.measures[primary.name].value is not None]
    costs = [(row, row.took.cost.dollars) for row in valued]
    priced = [(row, cost) for row, cost in costs if cost is not None]
    if priced:
        axis = f"US dollars for {PER:,} instances"
        return priced, axis, f"the cost of {PER:,} instances in US dollars, judges not counted"
    times = [(row, row.took.median) for row in valued]
    timed = [(row, time) for row, time in times if time is not None]
    return (
        timed,
        "seconds per response (median)",
        "the median time of a response in seconds, as no price is known",
    )


def _called(row: SystemRow) -> str:
    """The system's name with its strategy, cut short."""
    name = visible(f"{row.model}, {row.strategy}" + (f" ({row.settings})" if row.settings else ""))
    name = " ".join(name.split())
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}… ({row.number})"


def _titled(primary: Metric) -> str:
    better = {True: " (more is better)", False: " (less is better)", None: ""}[primary.higher_is_better]
    unit = f", {primary.unit}" if primary.unit and primary.unit != "%" else ""
    return visible(f"{primary.title}{unit}{better}")


def _per_cent(axes: Axes, primary: Metric, which: str) -> None:
    if primary.unit == "%":
        axis = axes.xaxis if which == "x" else axes.yaxis
        axis.set_major_formatter(lambda number, _: f"{100 * number:g}%")


def _write(path: Path, content: bytes) -> None:
    try:
        if path.exists() and (path.is_dir() or _MADE_BY.encode() not in places.content(path)):
            raise StorageError(
                "this is no figure of a leaderboard, and would be overwritten",
                where=str(path),
                remedy="Name another folder with --plots",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise StorageError(
            f"the figure cannot be written ({why})",
            where=str(path),
            remedy="Name another folder with --plots",
        ) from None
