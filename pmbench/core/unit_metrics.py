"""Metrics of instances that are made of units: pairs that share items, and lists that were put in order.

The units of a score are ids; what several instances share, or what one instance is a list of, is resampled, not
the instances: two pairs with one message in common do not tell of two independent things.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pmbench.core.metric import Mean, Scheme

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Draws = NDArray[np.intp]
    Floats = NDArray[np.float64]


class PairMean(Mean):
    """Mean of one statistic over pairs. The units of a score are the pair's two items, in any order.

    `limits` are the least and the greatest value that a pair can have: intervals are made between them.
    """

    scheme: Scheme = "dyadic"

    def __init__(
        self, stat: str, name: str = "", *, limits: tuple[float, float] = (0.0, 1.0), **shown: Any
    ) -> None:
        super().__init__(stat, name, limits=limits, **shown)

    @property
    def formula(self) -> str:
        """`mean over pairs of stat`."""
        return f"mean over pairs of {self.stat}"


class RankingMetric(Mean):
    """Mean over lists of one statistic of each list. The units of a score are the list's items.

    Subclasses say what the statistic is when items are drawn again, from the `arrays` that a score keeps. The order
    is made anew for every drawing; nothing is asked.

    """

    scheme: Scheme = "ranking"

    @property
    def formula(self) -> str:
        """`mean over lists of stat`."""
        return f"mean over lists of {self.stat}"

    def strata(self, arrays: Mapping[str, Any]) -> Sequence[Hashable]:
        """The stratum of each item, where the list was put together so many from each; empty: it was not."""
        return ()

    def ends(self, arrays: Mapping[str, Any]) -> tuple[float, float]:
        """The least and the most that the statistic of a list can be; intervals stay inside."""
        return float("-inf"), float("inf")

    def kind(self, arrays: Mapping[str, Any]) -> str:
        """What the number of a list is, where there are several kinds that cannot be compared."""
        return ""

    @abstractmethod
    def resample(self, arrays: Mapping[str, Any], draws: Draws) -> Floats:
        """The statistic of drawn lists.

        Args:
            arrays: of one score.
            draws: places of the items drawn, shape (B, m), from 0; one may be drawn several times, and m need not
                be the length of the list.

        Returns:
            Shape (B,); NaN where a drawing has no value.
        """
