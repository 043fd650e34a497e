"""Precision, recall and F1 of counts, micro and macro, on the official scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pmbench import F1, Macro, Metric, MetricGroup
from pmbench_tasks.archehr.percent import Percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Of = Literal["precision", "recall"]

_SHARE = (0.0, 1.0)
_TITLES = {"precision": "precision", "recall": "recall", "f1": "F1"}


class Share(Metric):
    """Precision or recall over summed counts: what was right, of what was picked or of what was to be found.

    Args:
        of: `precision` or `recall`.
        tp, fp, fn: statistics.
        empty: the value where nothing was picked and nothing was to be found; where only what is divided by is
            nothing, the value is 0.
        **shown: as of every metric.
    """

    bounds = (0.0, 1.0)

    def __init__(self, of: Of, tp: str, fp: str, fn: str, *, empty: float = 0.0, **shown: Any) -> None:
        super().__init__(of, **shown)
        self.tp, self.empty = tp, empty
        self.wrong, self.other = (fp, fn) if of == "precision" else (fn, fp)

    @property
    def expressions(self) -> tuple[str, ...]:
        """All three counts."""
        return self.tp, self.wrong, self.other

    def columns(self, stats: Mapping[str, Floats]) -> Floats:
        """The three counts per instance, zeros where one is absent."""
        import numpy as np

        table = np.stack([stats[name] for name in self.expressions], axis=-1)
        return np.where(self.present(stats)[:, None], table, 0.0)

    def value(self, sums: Floats) -> Floats:
        """The share of the sums."""
        import numpy as np

        right, wrong, other = sums[..., 0], sums[..., 1], sums[..., 2]
        picked = right + wrong
        nothing = np.where(picked + other == 0, self.empty, 0.0)
        return np.where(picked == 0, nothing, right / np.where(picked == 0, 1.0, picked))

    @property
    def formula(self) -> str:
        """`Σtp / Σ(tp+fp)`, or with fn; what nothing of nothing is worth, where it is not 0."""
        worth = f"; {self.empty:g} where all counts are 0" if self.empty else ""
        return f"Σ{self.tp} / Σ({self.tp}+{self.wrong}){worth}"


def factuality_metrics(
    prefix: str,
    stats: str,
    *,
    group: MetricGroup | None = None,
    empty: float = 0.0,
    optional: bool = False,
    leave_out: str = "",
) -> tuple[Metric, ...]:
    """Macro and micro precision, recall and F1, named as the official scorer names them.

    Macro F1 is the mean of the cases' F1, not the harmonic mean of macro precision and recall.

    Args:
        prefix: of the names, such as `strict_`.
        stats: prefix of the statistics `tp`, `fp` and `fn`.
        group: table they stand in.
        empty: what a case, or all of them together, is worth where nothing was picked and nothing was to be found.
        optional: whether tables leave them out where nothing has the statistics.
        leave_out: the name of one that is not wanted.
    """
    tp, fp, fn = (f"{stats}{part}" for part in ("tp", "fp", "fn"))
    found: list[Metric] = []
    for average in ("macro", "micro"):
        inner: Mapping[str, Metric] = {
            "precision": Share("precision", tp, fp, fn, empty=empty),
            "recall": Share("recall", tp, fp, fn, empty=empty),
            "f1": F1(tp, fp, fn, zero=empty),
        }
        for part, metric in inner.items():
            name = f"{prefix}{average}_{part}"
            mode = next((f"{mode} " for mode in ("strict", "lenient") if mode in prefix), "")
            title = f"{mode}{average} {_TITLES[part]}"
            averaged = Macro(metric, limits=_SHARE) if average == "macro" else metric
            found.append(
                Percent(averaged, name, title=title[0].upper() + title[1:], group=group, optional=optional)
            )
    return tuple(metric for metric in found if metric.name != leave_out)
