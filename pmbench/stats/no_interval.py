"""Why a value by cluster has no interval, or a metric no value: a dash without a word tells a reader nothing."""

from __future__ import annotations

import math

import msgspec

from pmbench.stats.bootstrap import Interval

NOTHING_COUNTS = "no value, for nothing that was scored counts for it"
NO_CLUSTER = "no interval, for no cluster adds anything to it"
ONE_CLUSTER = "no interval, for only one cluster has anything that counts for it"
HANGS_ON_ONE = "no interval, for without one of the clusters it would have no value"


def reasoned(found: Interval) -> Interval:
    """The interval; where it lacks its bounds or its value without a note, with one that says why.

    Args:
        found: of a metric that is resampled by cluster: others bring notes of their own.
    """
    if found.note or not (math.isnan(found.value) or math.isnan(found.low) or math.isnan(found.high)):
        return found
    note = HANGS_ON_ONE if found.clusters > 1 else ONE_CLUSTER if found.clusters else NO_CLUSTER
    if math.isnan(found.value):
        note = NOTHING_COUNTS
    return msgspec.structs.replace(found, note=note)
