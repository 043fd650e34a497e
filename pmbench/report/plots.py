"""How the primary metric is spread over the instances, drawn by matplotlib as SVG that a strict page may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from pmbench.core.metric import Metric
from pmbench.pages.drawing import inline
from pmbench.pages.figures import can_draw, figure
from pmbench.pages.visible import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = 20
_FEW = 12
"""Different values up to which each has a column of its own."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How many instances have which value.

    Attributes:
        rows: for each column its value or range, and how many instances there are.
        picture: SVG; empty where it cannot be drawn.
    """

    rows: tuple[tuple[str, int], ...]
    picture: Markup


def spread(metric: Metric, values: Sequence[float], whole: float | None) -> Spread:
    """Columns of values, and their picture.

    Args:
        metric: what the values are of.
        values: of single instances, finite.
        whole: of the run, drawn as a line.
    """
    centres, widths, counts, labels = _columns(metric, np.asarray(values, dtype=float))
    # Few values far enough apart are named one by one.
    named = 1 < len(centres) <= _FEW and np.diff(centres).min() > np.ptp(centres) / 14
    picture = Markup()
    if can_draw() and len(values):

        def draw(axes: Axes) -> None:
            from matplotlib.ticker import MaxNLocator

            axes.bar(centres, counts, width=widths, color="#0b62a4", linewidth=0)
            if whole is not None:
                axes.axvline(whole, color="#000000", linestyle="--", linewidth=1.2)
                axes.annotate(
                    f"whole run: {metric.shown(whole)}",
                    (whole, 1.02),
                    xycoords=("data", "axes fraction"),
                    ha="center",
                    parse_math=False,
                )
            axes.set_xlabel(f"{visible(metric.title)} of one instance", parse_math=False)
            axes.set_ylabel("instances")
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
            if named:
                axes.set_xticks(centres, labels)
            elif metric.unit == "%":
                axes.xaxis.set_major_formatter(lambda number, _: f"{100 * number:g}%")
            axes.spines[["top", "right"]].set_visible(False)

        picture = inline(figure(draw, (7.2, 2.6)), "spread")
    return Spread(tuple(zip(labels, counts.tolist(), strict=True)), picture)


def _columns(metric: Metric, values: Any) -> tuple[Any, Any, Any, list[str]]:
    """Centres, widths and heights of the columns, and what each stands for."""
    different, counts = np.unique(np.round(values, 12), return_counts=True)
    if len(different) <= _FEW:
        # As wide as the nearest two allow, yet wide enough to be seen.
        gap = float(max(np.diff(different).min(), np.ptp(different) / 60)) if len(different) > 1 else 0.1
        return different, np.full(len(different), 0.6 * gap), counts, [metric.shown(one) for one in different]
    limits = metric.limits
    within = limits is not None and limits[0] <= values.min() and values.max() <= limits[1]
    counts, edges = np.histogram(values, bins=_BINS, range=limits if within else None)
    labels = [f"{metric.shown(low)} to {metric.shown(high)}" for low, high in pairwise(edges)]
    return (edges[:-1] + edges[1:]) / 2, np.diff(edges) * 0.9, counts, labels
