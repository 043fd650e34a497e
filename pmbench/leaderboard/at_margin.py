"""Whether two runs are the same for all that matters: their difference against a margin."""

from __future__ import annotations

from pmbench.core.errors import ConfigError
from pmbench.core.metric import Metric
from pmbench.stats.dyadic import t_quantile
from pmbench.stats.equivalence import Equivalence, equivalence, of_difference
from pmbench.stats.limits import natural_limits
from pmbench.stats.randomisation import PairedTest
from pmbench.stats.schemes import Rows


def standard_error(test: PairedTest, level: float) -> float:
    """Standard error of a difference whose interval is difference ± t · se, cut where a difference cannot go.

    Args:
        test: of the scheme `dyadic` or `ranking`, with as many degrees of freedom as messages less one.
        level: of its interval.
    """
    reach = max(test.high - test.difference, test.difference - test.low)
    return reach / t_quantile(test.clusters - 1, 1 - (1 - level) / 2)


def against_margin(
    metric: Metric, rows: tuple[Rows, Rows], test: PairedTest, margin: float, level: float
) -> Equivalence:
    """Equivalence, and non-inferiority of the first, at a margin.

    Args:
        metric: of any scheme; rows: of both runs, the same instances in the same order.
        test: their comparison; level: of its interval.
        margin: the smallest difference that matters, in the metric's own unit.

    Raises:
        ConfigError: a margin that is not above 0.
    """
    if not 0 < margin < float("inf"):
        raise ConfigError(
            "it must be above 0", where="--margin", remedy="Give the smallest difference that matters"
        )
    limits = [natural_limits(metric, one.columns) for one in rows]
    ends = [one for one in limits if one is not None]
    if len(ends) == len(rows) and margin >= (
        wide := max(high for _, high in ends) - min(low for low, _ in ends)
    ):
        raise ConfigError(
            f"no two values of {metric.title} are further apart than {wide:g}, so that any difference is smaller",
            where=f"--margin {margin:g}",
            remedy="Give the smallest difference that matters",
        )
    alpha = 1 - level
    if metric.scheme == "cluster":
        first, second = rows
        return equivalence(metric, first.columns, second.columns, first.clusters, margin, alpha=alpha)
    known = test.low == test.low and test.clusters > 1
    return of_difference(
        test.difference,
        standard_error(test, level) if known else float("nan"),
        test.clusters - 1,
        margin,
        alpha=alpha,
        higher_is_better=metric.higher_is_better is not False,
    )
