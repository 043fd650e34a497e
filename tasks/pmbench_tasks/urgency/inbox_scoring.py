"""The score of one inbox: its numbers, what they are resampled from, and the order in which the messages stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmbench import Response, Score, Unscored
from pmbench_tasks.urgency.inbox_metrics import inbox_arrays, inbox_stats
from pmbench_tasks.urgency.options import InboxOptions
from pmbench_tasks.urgency.ranking import tied_places

BESIDE = ("left_out", "repeated", "compared")
"""Counts that a strategy gives of its own work, kept as they are."""


def score_of(
    response: Response,
    ids: Sequence[str],
    levels: Sequence[float],
    strata: Sequence[float],
    options: InboxOptions,
) -> Score:
    """Score the order of one inbox.

    Args:
        response: of a strategy, or recorded; see `order_data`.
        ids, levels: of the messages, in the order of the inbox.
        strata: of each message, where the inbox was put together so many from each.
        options: of the task.

    Raises:
        Unscored: the response holds no order of these messages.
        ConfigError: ranx is asked for and not installed.
    """
    data = order_data(response.data, ids)
    told: dict[str, Any] = {"orders": options.orders, "per_hour": options.reading_rate}
    stats = inbox_stats(levels, data, ndcg=options.ndcg, **told)
    stats |= {name: float(data[name]) for name in BESIDE if name in data}
    arrays = inbox_arrays(levels, data, strata=strata, **told)
    order = ordered(ids, levels, arrays["scores"])
    return Score(stats, units=tuple(ids), arrays=arrays, evidence={"order": order})


def order_data(data: Mapping[str, Any], ids: Sequence[str]) -> Mapping[str, Any]:
    """What a response says of the order, in the order of the inbox.

    Beside what strategies return, a recorded answer may be `ranking`: ids, the most urgent first; messages that it
    leaves out share the last place.

    Raises:
        Unscored: `other-messages` where it is about others; `unparsed` where it is no such list.
    """
    if "ranking" in data:
        ranking = data["ranking"]
        if not isinstance(ranking, list) or not ranking or not all(isinstance(one, str) for one in ranking):
            raise Unscored("unparsed", "a ranking is a list of ids")
        places = {ident: place for place, ident in reversed(list(enumerate(ranking)))}
        if len(places) < len(ranking) or not places.keys() <= set(ids):
            raise Unscored("other-messages", "the ranking names messages twice, or others")
        n = len(ids)
        return {
            "scores": [float(n - places[one]) if one in places else 0.0 for one in ids],
            "left_out": n - len(places),
        }
    if "ids" in data and list(data["ids"] or ()) != list(ids):
        raise Unscored("other-messages", "the response is about other messages, or in another order")
    return data


def ordered(ids: Sequence[str], levels: Sequence[float], scores: Sequence[float]) -> list[dict[str, Any]]:
    """The messages as they were sorted: id, level, score, and the places from … to that those tied share."""
    order, start, end = (found[0].tolist() for found in tied_places(np.asarray([scores], dtype=float)))
    return [
        {
            "id": ids[index],
            "level": levels[index],
            "score": scores[index],
            "place": first + 1,
            "to": past,
        }
        for index, first, past in zip(order, start, end, strict=True)
    ]
