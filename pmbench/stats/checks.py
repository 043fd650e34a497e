"""What may not be among the numbers that a test or an interval is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pmbench.core.errors import DataError
from pmbench.stats.clusters import Floats


class UnusableNumbers(DataError, ValueError):
    """Numbers that no test or interval can be made of: a `UserError`, and for callers a `ValueError`."""


def finite_table(name: str, values: ArrayLike) -> Floats:
    """The values as an array (n, k) of finite numbers; (n,) is taken for one column.

    Args:
        name: what the message calls them.
        values: shape (n, k) or (n,).

    Raises:
        UnusableNumbers: another shape, NaN or an infinity; the message names the first row, from 0.
    """
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UnusableNumbers("not a table of numbers", where=name) from error
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise UnusableNumbers(f"an array of shape {table.shape}, not (rows, statistics)", where=name)
    unfit = ~np.isfinite(table)
    if unfit.any():
        row, column = np.argwhere(unfit)[0].tolist()
        what = "NaN" if np.isnan(table[row, column]) else "an infinite number"
        raise UnusableNumbers(
            f"{what} in row {row}, column {column}",
            where=name,
            remedy="Leave the row out of both systems, or mend what computed it",
        )
    return table


def finite_row(name: str, values: ArrayLike) -> Floats:
    """The values as an array (n,) of finite numbers.

    Raises:
        UnusableNumbers: another shape, NaN or an infinity.
    """
    table = finite_table(name, values)
    if table.shape[1] != 1:
        raise UnusableNumbers(f"{table.shape[1]} columns where one is wanted", where=name)
    return table[:, 0]


def require_level(level: float) -> float:
    """What lies beyond each of two bounds that hold `level` between them.

    Raises:
        UnusableNumbers: not between 0 and 1.
    """
    if not 0 < level < 1:
        raise UnusableNumbers(f"a level of {level}, which is not between 0 and 1")
    return (1 - level) / 2
