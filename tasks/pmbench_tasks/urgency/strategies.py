"""How models are used to put messages in order; all strategies of one task stand on one leaderboard."""

from __future__ import annotations

from collections.abc import Mapping

from pmbench import Prompt, Strategy
from pmbench_tasks.urgency.baselines import BY_LENGTH, BY_LOT
from pmbench_tasks.urgency.comparators import CHOOSE, REWARD, Longer, Lot
from pmbench_tasks.urgency.levelled import LevelledInbox, LevelledPair
from pmbench_tasks.urgency.listwise import Listwise
from pmbench_tasks.urgency.pairwise import ComparedInbox, ComparedPair
from pmbench_tasks.urgency.sorted_by import SortedInbox

LEVEL = Prompt("pmbench_tasks.urgency:prompts/level.txt")

PAIR_STRATEGIES: Mapping[str, Strategy] = {
    "pairwise": ComparedPair(CHOOSE),
    "multiclass": LevelledPair(LEVEL, "named"),
    "pairwise-reward": ComparedPair(REWARD),
    "length": ComparedPair(Longer()),
    "random": ComparedPair(Lot()),
}

INBOX_STRATEGIES: Mapping[str, Strategy] = {
    "pairwise": ComparedInbox(CHOOSE),
    "multiclass": LevelledInbox(LEVEL, "named"),
    "pointwise": LevelledInbox(LEVEL, "expected"),
    "listwise": Listwise(Prompt("pmbench_tasks.urgency:prompts/listwise.txt")),
    "merge": SortedInbox(CHOOSE, "merge"),
    "heap": SortedInbox(CHOOSE, "heap"),
    "tournament": SortedInbox(CHOOSE, "tournament"),
    "active": SortedInbox(CHOOSE, "active"),
    "pairwise-reward": ComparedInbox(REWARD),
    "length": BY_LENGTH,
    "random": BY_LOT,
}
