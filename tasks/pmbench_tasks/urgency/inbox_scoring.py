"""The score of one inbox: its numbers, what they are resampled from, and the order in which the messages stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmbench import Response, Score, Unscored
from pmbench_tasks.urgency.inbox_metrics import inbox_arrays, inbox_stats
from pmbench_tasks.urgency.messages import LEAST_URGENT, MOST_URGENT
from pmbench_tasks.urgency.options import InboxOptions
from pmbench_tasks.urgency.ranking import tied_places

MOST_COUNT, MOST_VALUE = 1e12, 1e100

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
    data = checked(order_data(response.data, ids), len(ids))
    told: dict[str, Any] = {"orders": options.orders, "per_hour": options.reading_rate}
    stats = inbox_stats(levels, data, ndcg=options.ndcg, **told)
    stats |= {name: float(data[name]) for name in BESIDE if name in data}
    arrays = inbox_arrays(levels, data, ndcg=options.ndcg, strata=strata, **told)
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
    if "ids" in data and data["ids"] != list(ids):
        raise Unscored("other-messages", "the response is about other messages, or in another order")
    return data


def checked(data: Mapping[str, Any], n: int) -> Mapping[str, Any]:
    """The same, if all numbers in it are such as they can be; a recording may hold anything.

    Raises:
        Unscored: `unparsed`, `out-of-range`, or `no-answer` where nothing in it says anything of the order.
    """
    for name in ("asked", "missing", "unanswered", *BESIDE):
        count = data.get(name, 0)
        if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count <= MOST_COUNT:
            raise Unscored("unparsed", f"`{name}` is no count")
    levels = _numbers(data["levels"], n) if data.get("levels") is not None else []
    if not all(MOST_URGENT <= level <= LEAST_URGENT for level in levels if level is not None):
        raise Unscored("out-of-range", "a level is not from 1 to 6")
    rows = data.get("comparisons")
    scale = data.get("scale", "probability")
    if rows is not None and (there := _compared(rows, n)):
        if scale != "reward" and not all(0.0 <= value <= 1.0 for value in there):
            raise Unscored("out-of-range", "a comparison is no probability")
        return data
    scores = _numbers(data["scores"], n) if data.get("scores") is not None else []
    told = data.keys() & {"scores", "levels", "comparisons"}
    if rows is not None:  # nothing is known of any pair: scores and levels decide, not a tie of all messages
        data = {name: value for name, value in data.items() if name != "comparisons"}
    if all(score is None for score in scores) and any(level is not None for level in levels):
        return {**data, "scores": [None if level is None else LEAST_URGENT - level for level in levels]}
    if all(score is None for score in scores):
        raise Unscored("no-answer" if told else "unparsed", "nothing in it says anything of the order")
    return data


def _compared(rows: Any, n: int) -> list[float]:
    """The comparisons that are there; the diagonal is not looked at."""
    if not isinstance(rows, list) or len(rows) != n:
        raise Unscored("unparsed", "`comparisons` has not a row for each message")
    table = [_numbers(row, n) for row in rows]
    return [
        value for i, row in enumerate(table) for j, value in enumerate(row) if i != j and value is not None
    ]


def _numbers(values: Any, n: int) -> list[float | None]:
    if not isinstance(values, list) or len(values) != n:
        raise Unscored("unparsed", "a list has not a number for each message")
    for value in values:
        plain = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        if not plain or (value is not None and not -MOST_VALUE <= value <= MOST_VALUE):
            raise Unscored("unparsed", "a value is no number")
    return values


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
