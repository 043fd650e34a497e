"""Figures as SVG, in the manner of the paper's Figs. 3 to 8. matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pmbench import MissingExtra
from pmbench_tasks.notes.evaluation.evaluate import Comparison, Evaluation
from pmbench_tasks.notes.evaluation.intervals import Estimate
from pmbench_tasks.notes.evaluation.measures import perturbations

if TYPE_CHECKING:
    from pmbench_tasks.notes.selection import AlphaCurve, ObjectiveCurve

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Okabe and Ito's, which can be told apart without seeing red or green."""

DASHES = ("-", "--", "-.", ":")


def alpha_plot(curves: dict[str, AlphaCurve], chosen: float = 0.5) -> str:
    """Coverage and diversity of what is selected, over alpha (Fig. 5).

    Args:
        curves: by checklist, or by set of candidates.
        chosen: the alpha that is used, a vertical line.
    """
    figure, axes = _figure("Weight of coverage (α)", "Coverage, diversity")
    for place, (name, curve) in enumerate(curves.items()):
        colour = _colour(place)
        axes.plot(curve.alpha, curve.coverage, "o-", color=colour, label=f"{name}: coverage")
        axes.plot(curve.alpha, curve.diversity, "s--", color=colour, label=f"{name}: diversity")
    axes.axvline(chosen, color="0.6", linewidth=1)
    axes.legend(frameon=False)
    return _svg(figure)


def length_plot(curves: dict[str, ObjectiveCurve]) -> str:
    """Objective, coverage and diversity over the number of questions (Fig. 6); a ring at the greatest objective."""
    figure, axes = _figure("Questions", "Objective, coverage, diversity")
    for place, (name, curve) in enumerate(curves.items()):
        colour = _colour(place)
        parts = (("objective", curve.objective), ("coverage", curve.coverage), ("diversity", curve.diversity))
        for dash, (what, values) in zip(DASHES, parts, strict=False):
            axes.plot(curve.size, values, dash, color=colour, label=f"{name}: {what}")
        best = int(curve.objective.argmax())
        axes.plot(curve.size[best], curve.objective[best], "o", color=colour, fillstyle="none", markersize=10)
    axes.legend(frameon=False)
    return _svg(figure)


def enforceability_plot(comparison: Comparison, threshold: float = 0.7) -> str:
    """Enforceability of every question with its interval (Fig. 7), in rising order, the threshold as a line.

    Raises:
        ValueError: no checklist has it.
    """
    there = [one for one in comparison.evaluations if one.enforceability]
    if not there:
        raise ValueError("no checklist has unit tests")
    figure, axes = _figure("Enforceability", "", height=0.6 + 0.22 * sum(len(one.questions) for one in there))
    names: list[str] = []
    for place, one in enumerate(there):
        rates = [rate for rate in one.enforceability.questions if rate.answered] if one.enforceability else []
        rates.sort(key=lambda rate: rate.rate.value)
        spots = range(len(names), len(names) + len(rates))
        _bars(axes, spots, [rate.rate for rate in rates], _colour(place), one.name, sideways=True)
        names += [rate.question for rate in rates]
    axes.set_yticks(range(len(names)), names)
    axes.axvline(threshold, color="0.4", linestyle="--", linewidth=1)
    axes.set_xlim(0, 1)
    figure.legend(frameon=False, loc="outside upper center", ncols=len(there))
    return _svg(figure)


def reference_plot(comparison: Comparison) -> str:
    """Mean score of reference notes with its interval (Fig. 8).

    Raises:
        ValueError: no checklist has it.
    """
    there = [(one.name, one.reference) for one in comparison.evaluations if one.reference]
    if not there:
        raise ValueError("no checklist has answers about reference notes")
    figure, axes = _figure("", "Score of reference notes (points)")
    for place, (name, found) in enumerate(there):
        _bars(axes, [place], [found], _colour(place), name)
    axes.set_xticks(range(len(there)), [name for name, _ in there])
    axes.set_ylim(0, 100)
    return _svg(figure)


def delta_plot(comparison: Comparison) -> str:
    """Δ of every perturbation with its interval, checklists side by side (Fig. 3).

    Raises:
        ValueError: no checklist has it.
    """
    names = perturbations(comparison)
    if not names:
        raise ValueError("no checklist has perturbed notes")
    there = [one for one in comparison.evaluations if one.robustness]
    figure, axes = _figure("", "Δ (points)", width=max(6.0, 0.9 * len(names) + 2))
    step = 0.8 / len(there)
    for place, one in enumerate(there):
        found = (
            {delta.perturbation: delta.test.mean for delta in one.robustness.deltas} if one.robustness else {}
        )
        spots = [spot - 0.4 + step * (place + 0.5) for spot, name in enumerate(names) if name in found]
        _bars(
            axes,
            spots,
            [found[name] for name in names if name in found],
            _colour(place),
            one.name,
            width=step,
        )
    axes.axhline(0, color="0.3", linewidth=1)
    axes.set_xticks(range(len(names)), [_marked(name, there) for name in names], rotation=35, ha="right")
    axes.legend(frameon=False)
    return _svg(figure)


def preference_plot(comparison: Comparison) -> str:
    """Mean scores of preferred and other notes with their intervals (Fig. 4).

    Raises:
        ValueError: no checklist has it.
    """
    there = [(one.name, one.preference) for one in comparison.evaluations if one.preference]
    if not there:
        raise ValueError("no checklist has preferences")
    figure, axes = _figure("", "Score (points)")
    for side, what in enumerate(("preferred", "other")):
        spots = [place - 0.2 + 0.4 * side for place in range(len(there))]
        values = [found.preferred if what == "preferred" else found.other for _, found in there]
        _bars(axes, spots, values, _colour(side), what, width=0.38)
    axes.set_xticks(range(len(there)), [name for name, _ in there])
    axes.set_ylim(0, 100)
    axes.legend(frameon=False)
    return _svg(figure)


def figures(comparison: Comparison) -> dict[str, str]:
    """Every figure that a comparison has something for: file name -> SVG."""
    drawn = {}
    for name, draw in (
        ("deltas.svg", delta_plot),
        ("enforceability.svg", enforceability_plot),
        ("preferences.svg", preference_plot),
        ("reference.svg", reference_plot),
    ):
        try:
            drawn[name] = draw(comparison)
        except ValueError:
            continue
    return drawn


def _marked(name: str, there: Sequence[Evaluation]) -> str:
    deltas = [delta for one in there if one.robustness for delta in one.robustness.deltas]
    return (
        f"{name} (control)" if any(delta.perturbation == name and delta.control for delta in deltas) else name
    )


def _bars(
    axes: Any,
    spots: Sequence[float],
    found: Sequence[Estimate],
    colour: str,
    label: str,
    *,
    width: float = 0.7,
    sideways: bool = False,
) -> None:
    values = [one.value if one.value == one.value else 0.0 for one in found]
    reach: list[list[float]] = [[], []]
    for one, value in zip(found, values, strict=True):
        known = one.low == one.low and one.value == one.value
        reach[0].append(max(0.0, value - one.low) if known else 0.0)
        reach[1].append(max(0.0, one.high - value) if known else 0.0)
    style = {"color": colour, "label": label, "ecolor": "0.2", "capsize": 2}
    if sideways:
        axes.barh(list(spots), values, height=width, xerr=reach, **style)
    else:
        axes.bar(list(spots), values, width=width, yerr=reach, **style)


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _figure(x: str, y: str, *, width: float = 6.0, height: float = 4.0) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("a figure", "checklist", "matplotlib") from None
    figure = Figure(figsize=(width, max(2.0, height)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _svg(figure: Any) -> str:
    """The figure with its words as text, the same each time."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "pmbench", "svg.fonttype": "none"}):
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()
