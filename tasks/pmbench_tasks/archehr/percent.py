"""Metrics built of metrics: the official scale of 0 to 100, and the mean of several."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pmbench import Metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_STATISTIC = re.compile(r"[A-Za-z_]\w*")


class Percent(Metric):
    """Another metric × 100, as the official scorer prints it.

    Args:
        inner: a metric whose value is a share, resampled by cluster.
        name: of this one.
        **shown: as of every metric; one decimal, the inner metric's direction and title unless said otherwise.
    """

    scale = "of 100"

    def __init__(self, inner: Metric, name: str = "", **shown: Any) -> None:
        settings = {"digits": 1, "higher_is_better": inner.higher_is_better, "title": inner.title, **shown}
        super().__init__(name or inner.name, **settings)
        if inner.scheme != "cluster":
            raise ValueError(f"{self.name}: not a formula over sums")
        self.inner = inner
        if inner.limits is not None:
            self.limits = (100 * inner.limits[0], 100 * inner.limits[1])
        if inner.bounds is not None and "bounds" not in shown:
            self.bounds = (100 * inner.bounds[0], 100 * inner.bounds[1])

    @property
    def expressions(self) -> tuple[str, ...]:
        """Those of the inner metric."""
        return self.inner.expressions

    def present(self, stats: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """Which instances the inner metric has, shape (n,)."""
        return self.inner.present(stats)

    def computable(self, stats: Mapping[str, float]) -> bool:
        """Whether the inner metric can be computed."""
        return self.inner.computable(stats)

    def columns(self, stats: Mapping[str, Floats]) -> Floats:
        """Those of the inner metric."""
        return self.inner.columns(stats)

    def value(self, sums: Floats) -> Floats:
        """A hundred times the inner metric's value."""
        return 100 * self.inner.value(sums)

    @property
    def formula(self) -> str:
        """`100 × inner formula`."""
        return f"100 × ({self.inner.formula})"


class MeanOf(Metric):
    """Plain mean of several metrics over the same instances: those that have all of them.

    Args:
        metrics: each a formula over summed columns, on one scale, resampled by cluster.
        name: of this one.
        **shown: as of every metric.
    """

    def __init__(self, metrics: Sequence[Metric], name: str, **shown: Any) -> None:
        super().__init__(name, **shown)
        if not metrics or any(metric.scheme != "cluster" for metric in metrics):
            raise ValueError(f"{name}: a mean of no metrics, or of some that are not resampled by cluster")
        self.metrics = tuple(metrics)
        limits = [metric.limits for metric in metrics if metric.limits is not None]
        if len(limits) == len(self.metrics):  # only then is it a mean over instances whose ends are known
            low, high = (sum(ends) / len(limits) for ends in zip(*limits, strict=True))
            self.limits = (low, high)

    @property
    def expressions(self) -> tuple[str, ...]:
        """Those of all of them."""
        return tuple(dict.fromkeys(one for metric in self.metrics for one in metric.expressions))

    def present(self, stats: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """Which instances have every one of them, shape (n,)."""
        import numpy as np

        together: NDArray[np.bool_] = np.logical_and.reduce([one.present(stats) for one in self.metrics])
        return together

    def computable(self, stats: Mapping[str, float]) -> bool:
        """Whether every one of them can be computed."""
        return all(metric.computable(stats) for metric in self.metrics)

    def columns(self, stats: Mapping[str, Floats]) -> Floats:
        """The columns of each, side by side; zeros where an instance lacks any of them."""
        import numpy as np

        table = np.concatenate([metric.columns(stats) for metric in self.metrics], axis=1)
        return np.where(self.present(stats)[:, None], table, 0.0)

    def value(self, sums: Floats) -> Floats:
        """Mean of the values; NaN where one is undefined."""
        import numpy as np

        parts = np.split(sums, self._ends, axis=-1)
        values = [metric.value(part) for metric, part in zip(self.metrics, parts, strict=True)]
        mean: Floats = np.mean(values, axis=0)
        return mean

    @property
    def formula(self) -> str:
        """`mean of the metrics' names`."""
        return f"mean of {', '.join(metric.name for metric in self.metrics)}"

    @cached_property
    def _ends(self) -> list[int]:
        """The column after each metric's last one, but for the last metric."""
        import numpy as np

        names = {name for one in self.expressions for name in _STATISTIC.findall(one)}
        nothing = {name: np.zeros(1) for name in names}
        widths = [metric.columns(nothing).shape[1] for metric in self.metrics]
        return [int(end) for end in np.cumsum(widths)[:-1]]
