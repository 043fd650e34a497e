"""What a benchmark asks and what it gets back: Instance, Response, Score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Instance:
    """One item to answer.

    `inputs` is all that a strategy is ever handed and `target` all that only scoring sees, so that a
    reference answer cannot leak into a prompt.

    Attributes:
        id: unique and stable within the dataset.
        inputs: what strategies see.
        target: what only scoring sees.
        cluster: instances that share it are not independent: the unit of resampling (None: its own).
        slices: subgroup labels (specialty, sex, age band, difficulty…).
    """

    id: str
    inputs: Mapping[str, Any]
    target: Mapping[str, Any]
    cluster: str | None = None
    slices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """What a strategy returned for one instance: text, structured data, or both."""

    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Score:
    """The result for one instance.

    Attributes:
        stats: plain numbers that can be summed over instances. No text.
        units: ids of what the instance is made of (the messages of a pair), where sums are not enough.
        arrays: small arrays over `units` (levels, comparisons), or whatever a metric resamples by itself.
        evidence: JSON that explains the numbers (matched spans, cited sentences). Holds text; never exported.
    """

    stats: Mapping[str, float]
    units: Sequence[str] = ()
    arrays: Mapping[str, Any] = field(default_factory=dict)
    evidence: Any = None
