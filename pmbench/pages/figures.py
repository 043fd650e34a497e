"""Figures by matplotlib: as SVG that a strict page may hold, and as files."""

from __future__ import annotations

import importlib.util
import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MISSING = 'There are no plots: they need matplotlib. Run: pip install "pmbench[plots]"'

_STYLE: Any = {"svg.hashsalt": "pmbench", "svg.fonttype": "none", "font.size": 10, "pdf.fonttype": 42}
"""The same numbers make the same picture, and text in it stays text."""

_NO_DATE: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}

Draw = Callable[["Axes"], None]


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def figure(
    draw: Draw, size: tuple[float, float], form: str = "svg", *, title: str = "", clear: bool = True
) -> bytes:
    """A figure of one pair of axes, without a date: the same numbers give the same bytes.

    Args:
        draw: what draws it.
        size: in inches.
        form: `svg`, `png` or `pdf`.
        title: kept in the file's metadata, if any.
        clear: whether there is nothing behind it, not even white.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # A letter that matplotlib's own font lacks is no matter in a page: the text is set in the page's.
        warnings.simplefilter("ignore", UserWarning)
        made = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(made)
        axes = made.subplots()
        if clear:
            made.patch.set_alpha(0.0)
            axes.patch.set_alpha(0.0)
        draw(axes)
        written = io.BytesIO()
        metadata = _NO_DATE[form] | ({"Title": title} if title else {})
        made.savefig(written, format=form, metadata=metadata, dpi=200)
    return written.getvalue()
