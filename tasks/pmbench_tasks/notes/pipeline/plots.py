"""The objective against the number of questions (the paper's Fig. 6), and the choice over alpha (its Fig. 5)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from pmbench_tasks.notes.selection import AlphaCurve, ObjectiveCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"objective": "#1b4965", "coverage": "#2a9d8f", "diversity": "#e76f51", "size": "#6c757d"}
_STYLE: Any = {"svg.hashsalt": "pmbench", "svg.fonttype": "none", "font.size": 9}
"""The same numbers make the same file, and text in it stays text."""

_INSTALL = 'Run: pip install "pmbench[checklist]"'


def missing() -> str:
    """Why no plots can be drawn, `""` where they can."""
    import importlib.util

    return "" if importlib.util.find_spec("matplotlib") else f"plots need matplotlib. {_INSTALL}"


def size_plot(curve: ObjectiveCurve, chosen: int) -> bytes:
    """Objective, coverage and diversity of the best questions of each number, with the number chosen, as SVG."""

    def draw(axes: Axes) -> None:
        for name in ("objective", "coverage", "diversity"):
            axes.plot(curve.size, getattr(curve, name), color=_COLOURS[name], label=name, marker=".")
        axes.axvline(chosen, color=_COLOURS["size"], linestyle=":", label=f"chosen: {chosen}")
        axes.set_xlabel("questions")
        axes.set_ylabel("value of the best subset")
        axes.set_ylim(0, 1.02)
        axes.legend(frameon=False)

    return _svg(draw, "Objective against the number of questions")


def alpha_plot(curve: AlphaCurve, alpha: float) -> bytes:
    """Coverage, diversity and size of what is chosen for each weight of coverage, as SVG."""

    def draw(axes: Axes) -> None:
        for name in ("coverage", "diversity"):
            axes.plot(curve.alpha, getattr(curve, name), color=_COLOURS[name], label=name, marker=".")
        axes.axvline(alpha, color=_COLOURS["size"], linestyle=":", label=f"used: {alpha:g}")
        axes.set_xlabel("alpha, the weight of coverage")
        axes.set_ylabel("coverage, diversity")
        axes.set_ylim(0, 1.02)
        other = axes.twinx()
        other.plot(curve.alpha, curve.size, color=_COLOURS["size"], label="questions", marker="x")
        other.set_ylabel("questions chosen")
        other.set_ylim(0, max(curve.size.tolist()) + 1)
        lines = [*axes.get_lines(), *other.get_lines()]
        axes.legend(lines, [str(line.get_label()) for line in lines], frameon=False)

    return _svg(draw, "What is chosen over alpha")


def _svg(draw: Any, title: str) -> bytes:
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure: Figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        axes.set_title(title)
        axes.grid(visible=True, alpha=0.3)
        draw(axes)
        written = io.BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": "pmbench", "Title": title})
    return written.getvalue()
