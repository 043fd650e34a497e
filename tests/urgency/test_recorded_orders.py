"""Orders of an inbox that were recorded elsewhere: what cannot be is no score."""

from __future__ import annotations

from typing import Any

import pytest
from test_inbox_task import _in_the_order_of_the_rows, levelled, made, scored

from pmbench import Response, Unscored

__all__ = ["_in_the_order_of_the_rows"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"scores": [None] * 4}, "no-answer"),
        ({"comparisons": [[None] * 4] * 4}, "no-answer"),
        ({"comparisons": [[1.7] * 4] * 4}, "out-of-range"),
        ({"comparisons": [[-0.1] * 4] * 4, "scale": "probability"}, "out-of-range"),
        ({"levels": [1, 2, 3, 99]}, "out-of-range"),
        ({"scores": [True, 1, 2, 3]}, "unparsed"),
        ({"scores": ["1", 1, 2, 3]}, "unparsed"),
        ({"scores": [10**400, 1, 2, 3]}, "unparsed"),
        ({"scores": [1e308, 1, 2, 3]}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "asked": -5}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "asked": "lots"}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "missing": 1e300}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "left_out": None}, "unparsed"),
        ({"scores": [4, 3, 2, 1], "ids": 5}, "other-messages"),
        ({"comparisons": "all"}, "unparsed"),
        ({"comparisons": [[0.5] * 3] * 4}, "unparsed"),
    ],
)
def test_a_recording_that_cannot_be_is_no_score(data: dict[str, Any], kind: str) -> None:
    (instance,) = made(levelled(1, 1, 2, 2))
    with pytest.raises(Unscored) as caught:
        scored(instance, Response(data=data))
    assert caught.value.kind == kind


def test_levels_by_themselves_are_an_order_and_rewards_have_no_bounds() -> None:
    (instance,) = made(levelled(1, 1, 2, 2))
    named = scored(instance, Response(data={"levels": [1, 1, 2, 2], "scores": [None] * 4}))
    assert named.stats["tau_b"] == pytest.approx(1.0)
    rewards = [[None if i == j else float(3 * j - 9) for j in range(4)] for i in range(4)]
    assert scored(instance, Response(data={"comparisons": rewards, "scale": "reward"})).stats["t_ndcg_10"]
