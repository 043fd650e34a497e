"""Where the variation of a score comes from: instances, samples of one instance, judges.

A score of instance i, its sample s and judge j is μ + instance_i + sample_s(i) + judge_j + (instance × judge)_ij +
rest: samples within instances, all judges on all samples, everything drawn at random. Mean squares are set equal to
what is expected of them and solved for the variances (method of moments; Searle, Casella & McCulloch, Variance
Components, 1992, chapter 4). With K samples and J judges of n instances:

    E(instances) = rest + K·ij + J·sample + K·J·instance      E(judges) = rest + K·ij + n·K·judge
    E(samples within instances) = rest + J·sample             E(instances × judges) = rest + K·ij

With one judge the rest is part of `sample`; with one sample it is part of `instance_judge`, and what samples add is
part of `instance`.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from pmbench.stats.checks import UnusableNumbers


class VarianceParts(msgspec.Struct, frozen=True):
    """Variances, in the square of the score's unit; NaN: cannot be told apart from another, see the module.

    Attributes:
        instance: between instances.
        sample: between samples of one instance.
        judge: between judges, over all instances.
        instance_judge: between judges, on one instance.
        rest: what is left.
        mean: the mean score.
        se: of the mean, over other instances, samples and judges.
        instances, samples, judges: n, K, J.
        left_out: instances with a score missing, which are not in these numbers.
        below_zero: names of estimates that came out below 0 and stand as 0.
    """

    instance: float
    sample: float
    judge: float
    instance_judge: float
    rest: float
    mean: float
    se: float
    instances: int
    samples: int
    judges: int
    left_out: int = 0
    below_zero: tuple[str, ...] = ()

    def shares(self) -> dict[str, float]:
        """Each known part of the variance of one score, as a share of their sum."""
        parts = {
            "instance": self.instance,
            "sample": self.sample,
            "judge": self.judge,
            "instance_judge": self.instance_judge,
            "rest": self.rest,
        }
        known = {name: value for name, value in parts.items() if value == value}
        total = sum(known.values())
        return {name: value / total if total else math.nan for name, value in known.items()}


def variance_parts(scores: ArrayLike) -> VarianceParts:
    """Split the variance of scores.

    Args:
        scores: shape (n, K) of samples of instances, or (n, K, J) of judges' scores of them. An instance with NaN
            is left out and counted.

    Raises:
        UnusableNumbers: another shape, or fewer than two instances that are complete.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim == 2:
        table = table[:, :, None]
    if table.ndim != 3 or 0 in table.shape[1:]:
        raise UnusableNumbers(f"scores of shape {table.shape}, not (instances, samples) or with judges last")
    complete = np.isfinite(table).all(axis=(1, 2))
    left_out = int((~complete).sum())
    table = table[complete]
    n, samples, judges = table.shape
    if n < 2:
        raise UnusableNumbers(f"{n} instances with all of their scores: two are needed")
    squares = _mean_squares(table)
    rest = squares["rest"]
    crossed = _part(squares["crossed"] - rest, samples) if samples > 1 else squares["crossed"]
    within = _part(squares["samples"] - rest, judges) if judges > 1 else squares["samples"]
    of_judges = squares["crossed"] if judges > 1 else 0.0
    raw = {
        "sample": within if samples > 1 else math.nan,
        "judge": _part(squares["judges"] - of_judges, n * samples) if judges > 1 else math.nan,
        "instance_judge": crossed if judges > 1 else math.nan,
        "rest": rest if samples > 1 and judges > 1 else math.nan,
        "instance": _instance(squares, samples, judges),
    }
    below = tuple(sorted(name for name, value in raw.items() if value < 0))
    parts = {name: max(0.0, value) if value == value else value for name, value in raw.items()}
    known = {name: 0.0 if value != value else value for name, value in parts.items()}
    variance = known["instance"] / n + known["sample"] / (n * samples) + known["judge"] / judges
    variance += known["instance_judge"] / (n * judges) + known["rest"] / (n * samples * judges)
    mean, se = float(table.mean()), math.sqrt(variance)
    return VarianceParts(
        **parts,
        mean=mean,
        se=se,
        instances=n,
        samples=samples,
        judges=judges,
        left_out=left_out,
        below_zero=below,
    )


def _mean_squares(table: np.ndarray) -> dict[str, float]:
    """Mean squares of a complete table (n, K, J); 0 where there are no degrees of freedom."""
    n, samples, judges = table.shape
    mean = table.mean()
    by_instance, by_sample = table.mean(axis=(1, 2)), table.mean(axis=2)
    by_judge, crossed = table.mean(axis=(0, 1)), table.mean(axis=1)
    left = crossed - by_instance[:, None] - by_judge[None, :] + mean
    rest = table - by_sample[:, :, None] - crossed[:, None, :] + by_instance[:, None, None]
    sums = {
        "instances": (samples * judges * ((by_instance - mean) ** 2).sum(), n - 1),
        "samples": (judges * ((by_sample - by_instance[:, None]) ** 2).sum(), n * (samples - 1)),
        "judges": (n * samples * ((by_judge - mean) ** 2).sum(), judges - 1),
        "crossed": (samples * (left**2).sum(), (n - 1) * (judges - 1)),
        "rest": ((rest**2).sum(), n * (samples - 1) * (judges - 1)),
    }
    return {name: float(total) / freedom if freedom else 0.0 for name, (total, freedom) in sums.items()}


def _instance(squares: dict[str, float], samples: int, judges: int) -> float:
    """Variance between instances: what is left of their mean square without samples, judges and rest."""
    others = squares["samples"] + squares["crossed"] - squares["rest"]
    return _part(squares["instances"] - others, samples * judges)


def _part(excess: float, each: int) -> float:
    return excess / each
