"""Made-up statistics for the tests of this room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pmbench.core.metric import F1, Mean

Floats = NDArray[np.float64]

MEAN = Mean("y")
COUNTS_F1 = F1("tp", "fp", "fn")


def mean_columns(values: list[float] | Floats) -> Floats:
    """Columns of `MEAN`; NaN is an instance without the statistic."""
    return MEAN.columns({"y": np.asarray(values, dtype=float)})


def f1_columns(rows: list[list[int]] | NDArray[np.int64]) -> Floats:
    """Columns of `COUNTS_F1` from rows (tp, fp, fn)."""
    table = np.asarray(rows, dtype=float).reshape(-1, 3)
    return COUNTS_F1.columns({"tp": table[:, 0], "fp": table[:, 1], "fn": table[:, 2]})
