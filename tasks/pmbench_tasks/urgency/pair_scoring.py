"""The score of one pair: which message was held more urgent, and how steadily."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmbench import Response, Score, Unscored
from pmbench_tasks.urgency.messages import LEAST_URGENT, MOST_URGENT
from pmbench_tasks.urgency.pair_rows import FIRST, SECOND

FIRST_WINS, TIE, SECOND_WINS = 0.0, 0.5, 1.0
TIES = frozenset({"tie", "equal", "both", "neither"})

Asked = Sequence[float | None]
"""The comparator's value for (first, second) and for (second, first); None: not asked."""


def held(response: Response) -> tuple[float, Asked]:
    """Whether the second message was held more urgent (1), the first (0), or neither (½), and what was asked.

    Whichever order has the larger value for its second message wins (section 3.4 of arXiv 2601.13178); of one order
    alone, a probability above ½. Levels: the lower one is more urgent. Recorded answers may be text, `first`,
    `second` or `tie`.

    Raises:
        Unscored: `unparsed` where the response says none of this.
    """
    data = response.data
    if "p" in data:
        values = _two(data["p"])
        if data.get("scale", "probability") != "reward" and not all(
            0 <= p <= 1 for p in values if p is not None
        ):
            raise Unscored("out-of-range", "a value is no probability")
        return _by_values(values)
    if "levels" in data:
        first, second = _two(data["levels"])
        if first is None or second is None:
            raise Unscored("unparsed", "a level is missing")
        if not all(MOST_URGENT <= level <= LEAST_URGENT for level in (first, second)):
            raise Unscored("out-of-range", "a level is not from 1 to 6")
        return _compared(second, first), (None, None)
    word = response.text.strip().casefold().rstrip(".!")
    if word in FIRST or word in SECOND or word in TIES:
        return (TIE if word in TIES else SECOND_WINS if word in SECOND else FIRST_WINS), (None, None)
    raise Unscored("unparsed", "the response does not say which message is more urgent")


def score_of(response: Response, target: Mapping[str, Any], ids: tuple[str, str], difficulty: str) -> Score:
    """Count one pair.

    Args:
        response: of a strategy.
        target: `second_more_urgent`.
        ids: of the two messages.
        difficulty: `easy`, `medium`, `hard`, or empty.

    Raises:
        Unscored: as `held`.
    """
    second, asked = held(response)
    correct = second if target["second_more_urgent"] else 1.0 - second
    stats = {"correct": correct, "tie": float(second == TIE)}
    if difficulty:
        stats[f"correct_{difficulty}"] = correct
    if response.data.get("scale", "probability") == "probability":
        stats |= _positions(asked)
    arrays: dict[str, Any] = {"p": list(asked)} if any(p is not None for p in asked) else {}
    if "levels" in response.data and "p" not in response.data:
        arrays["levels"] = list(response.data["levels"])
    named = {FIRST_WINS: "first", TIE: "neither", SECOND_WINS: "second"}[second]
    return Score(stats, units=ids, arrays=arrays, evidence={"held_more_urgent": named})


def _by_values(values: tuple[float | None, float | None]) -> tuple[float, Asked]:
    shown, reversed_ = values
    if shown is not None and reversed_ is not None:
        return _compared(reversed_, shown), values
    if shown is not None:
        return _compared(TIE, shown), values
    if reversed_ is not None:
        return _compared(reversed_, TIE), values
    raise Unscored("unparsed", "nothing was asked about the pair")


def _positions(asked: Asked) -> dict[str, float]:
    """Share of answers that name the message shown first; and with both orders whether they agree."""
    answers = [p for p in asked if p is not None]
    if not answers:
        return {}
    found = {"first": sum(1.0 - _compared(TIE, p) for p in answers) / len(answers)}
    if len(answers) == 2:
        one, other = (_compared(TIE, p) for p in answers)
        found["consistent"] = float(one != TIE and one + other == 1.0)
    return found


def _compared(first: float, second: float) -> float:
    return TIE if first == second else float(second > first)


def _two(values: Any) -> tuple[float | None, float | None]:
    """Two numbers or nulls.

    Raises:
        Unscored: it is something else.
    """
    if not isinstance(values, list | tuple) or len(values) != 2:
        raise Unscored("unparsed", "two values are expected")
    for value in values:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise Unscored("unparsed", "a value is no number")
        if value is not None and value != value:
            raise Unscored("not-a-number", "a value is not a number")
    return values[0], values[1]
