"""Numbers with 95% intervals: whole units are drawn again, with all that belongs to them.

Nearly everything here is a formula over sums, so a bootstrap is a matrix product: with W (B, C) counting how often
each of C units was drawn and S (C, c) the units' sums, W·S are the sums of all B resamples (Efron & Tibshirani, An
Introduction to the Bootstrap, 1993, chapter 13).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Formula = Callable[[Floats], Floats]
"""From sums, shape (..., c), to values, shape (...); NaN where one is undefined."""

RESAMPLES = 2_000
"""Drawings of an interval, unless said otherwise."""

FEW = 50
"""Below so many units percentile intervals are too narrow (for 8 units a nominal 95% is more like 87%)."""

_CELLS = 2_000_000
NAN = float("nan")


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A number with its 95% interval, and what is missing behind it.

    Attributes:
        value: NaN where it is undefined.
        low, high: of the interval; NaN with fewer than two units, or where no resample has a value.
        unit: what was drawn again, in the singular (`note`, `visit`, `feedback item`, `split`).
        units: how many of them there were.
        resamples: drawings; 0 where the interval is from a formula.
        undefined: drawings without a value, which are left out.
        missing: answers that are missing; they are in neither `value` nor the interval.
        least, most: what `value` would be with every missing answer read the one way and the other; NaN where
            nothing is missing, or where it has no such ends.
        note: what is special about it; why it is undefined.
    """

    value: float
    low: float
    high: float
    unit: str
    units: int
    resamples: int = 0
    undefined: int = 0
    missing: int = 0
    least: float = NAN
    most: float = NAN
    note: str = ""

    @property
    def few(self) -> bool:
        """Whether a bootstrap interval over so few units is too narrow."""
        return self.resamples > 0 and self.units < FEW


def nothing(unit: str, note: str, *, missing: int = 0, units: int = 0) -> Estimate:
    """An undefined number, and why."""
    return Estimate(value=NAN, low=NAN, high=NAN, unit=unit, units=units, missing=missing, note=note)


def with_missing(found: Estimate, missing: int, least: float, most: float) -> Estimate:
    """The number with its missing answers; without ends where none is missing."""
    ends = (least, most) if missing else (NAN, NAN)
    return msgspec.structs.replace(found, missing=missing, least=ends[0], most=ends[1])


def drawn_counts(units: int, resamples: int, seed: int, *, width: int = 1) -> Iterator[Floats]:
    """How often each unit is drawn in each resample, in blocks of shape (b, units); rows sum to `units`.

    The draws do not depend on where a block ends.

    Args:
        units, resamples, seed: as their names say.
        width: numbers needed for each unit and resample, which decides how large a block is.
    """
    if units < 1:
        return
    generator = np.random.default_rng(seed)
    chances = np.full(units, 1 / units)
    step = max(1, _CELLS // max(1, units * width))
    for start in range(0, resamples, step):
        counts = generator.multinomial(units, chances, size=min(step, resamples - start))
        yield counts.astype(np.float64)


def bounded(
    value: float,
    drawn: Floats,
    units: int,
    *,
    unit: str,
    limits: tuple[float, float] | None = None,
    note: str = "",
) -> Estimate:
    """A number with the percentile interval of its resamples.

    Args:
        value: of all that is there.
        drawn: of each resample, (B,), NaN where undefined.
        units, unit: what was drawn, and how many there were.
        limits: the least and the greatest possible value. Where all resamples are at one of them no resample shows
            any spread, and the interval is that of a share of 0 or n among n units (Clopper & Pearson 1934).
        note: as in `Estimate`.
    """
    there = drawn[~np.isnan(drawn)]
    missed = len(drawn) - len(there)
    low = high = NAN
    if units >= 2 and len(there) and value == value:
        low, high = (float(end) for end in np.quantile(there, (0.025, 0.975)))
        if limits is not None and low == high == value and value in limits:
            reach = (limits[1] - limits[0]) * (1 - 0.025 ** (1 / units))
            low, high = (value, value + reach) if value == limits[0] else (value - reach, value)
    return Estimate(
        value=float(value),
        low=low,
        high=high,
        unit=unit,
        units=units,
        resamples=len(drawn),
        undefined=missed,
        note=note,
    )


def unit_sums(columns: Floats, clusters: Sequence[Hashable] | None) -> Floats:
    """Sums of the rows of each cluster, in order of first appearance; the rows themselves without clusters.

    Args:
        columns: (n, ...).
        clusters: of each row, length n.

    Raises:
        ValueError: lengths that differ.
    """
    if clusters is None:
        return columns
    if len(clusters) != len(columns):
        raise ValueError(f"{len(columns)} rows and {len(clusters)} clusters")
    places: dict[Hashable, int] = {}
    codes = [places.setdefault(one, len(places)) for one in clusters]
    sums = np.zeros((len(places), *columns.shape[1:]))
    np.add.at(sums, codes, columns)
    return sums


def estimates(
    formula: Formula,
    columns: Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    unit: str,
    limits: tuple[float, float] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """Several numbers of one formula, from one drawing.

    Args:
        formula: over sums.
        columns: what is summed, shape (n, m, c): rows, numbers, columns of the formula.
        clusters: the unit of each row; without, each row is one.
        unit: what a unit is called.
        limits: as in `bounded`.
        resamples, seed: of the drawing.

    Returns:
        m numbers; undefined, with the reason, where there is no row at all.

    Raises:
        ValueError: columns of another shape, or clusters of another length.
    """
    if columns.ndim != 3:
        raise ValueError(f"columns of shape {columns.shape}, not (rows, numbers, columns of the formula)")
    sums = unit_sums(columns, clusters)
    if not len(sums):
        return [nothing(unit, f"there is no {unit}")] * sums.shape[1]
    units, many, width = sums.shape
    values = formula(sums.sum(axis=0))
    flat = sums.reshape(units, many * width)
    drawn = [
        formula((counts @ flat).reshape(len(counts), many, width))
        for counts in drawn_counts(units, resamples, seed, width=max(1, many * width // max(units, 1)))
    ]
    table = np.concatenate(drawn) if drawn else np.full((0, many), NAN)
    return [
        bounded(float(values[one]), table[:, one], units, unit=unit, limits=limits) for one in range(many)
    ]


def ratio(sums: Floats) -> Floats:
    """The first of two sums over the second; NaN where that is 0."""
    top, bottom = sums[..., 0], sums[..., 1]
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), NAN)


def means(
    values: Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    unit: str,
    limits: tuple[float, float] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """The mean of each column, of what is there.

    Args:
        values: (n, m), NaN where missing. Without any row they are taken for one column where they have no width,
            as an array made of an empty list.
        clusters, unit, limits, resamples, seed: as in `estimates`. Rows that have nothing in any column are no
            units.

    Returns:
        m numbers; undefined, with the reason, where there is no row or nothing is there.

    Raises:
        ValueError: values of another shape, or clusters of another length.
    """
    if values.shape == (0,):
        values = values.reshape(0, 1)
    if values.ndim != 2:
        raise ValueError(f"values of shape {values.shape}, not (rows, numbers)")
    if not len(values):
        return [nothing(unit, f"there is no {unit}")] * values.shape[1]
    there = ~np.isnan(values)
    rows: NDArray[np.bool_] = np.asarray(there.any(axis=1))
    if not rows.any():
        return [nothing(unit, "no answers")] * values.shape[1]
    columns = np.stack([np.where(there, values, 0.0), there.astype(np.float64)], axis=-1)[rows]
    kept = None if clusters is None else [one for one, has in zip(clusters, rows, strict=True) if has]
    return estimates(ratio, columns, kept, unit=unit, limits=limits, resamples=resamples, seed=seed)
