"""Options that only scoring reads: what of them is in a run's digest, in a score's, and in what others may read."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec
import pytest

from pmbench import ConfigError, DatasetSpec, Mean, Options, PathOption, ScoringOption, Task, digest
from pmbench.core.options import named, of_responses, of_scores, plain, typed_options
from pmbench.running.card import card
from pmbench.running.records import Scoring


class Given(Options, frozen=True):
    """A task's options: one that strategies read, and three that they do not."""

    tone: str = "plain"
    ask: ScoringOption[Literal["item", "batch"]] = "item"
    list: ScoringOption[PathOption] = "own"
    least: ScoringOption[float] = 0.5


class Listed(Task):
    """A task with these options."""

    name = "listed"
    title = "Listed"
    dataset = DatasetSpec(columns=(), private="give a file")
    strategies: ClassVar = {}
    metrics = (Mean("score"),)
    options = Given


def given(**pairs: str) -> Given:
    return typed_options(Given, pairs, of="listed")


def test_what_only_scoring_reads_is_in_no_run_and_what_strategies_read_in_no_score() -> None:
    one = given(tone="warm", ask="batch", list="/home/me/list.csv", least="0.25")
    assert of_responses(one) == {"tone": "warm"}
    # Where a file lies is in neither; a judge describes what is in it.
    assert of_scores(one) == {"ask": "batch", "least": 0.25}
    assert plain(one) == {"tone": "warm", "ask": "batch", "list": "/home/me/list.csv", "least": 0.25}


@pytest.mark.parametrize("path", ["/home/me/list.csv", r"C:\\me\\list.csv", "list.csv"])
def test_others_do_not_read_where_a_file_of_mine_lies(path: str) -> None:
    assert named(Given, {"list": path, "tone": "a/b", "gone": "x/y"}) == {
        "list": "list.csv",
        "tone": "a/b",
        "gone": "x/y",
    }


def test_a_wrong_value_is_refused_with_what_it_may_be() -> None:
    with pytest.raises(ConfigError, match="it must be item or batch"):
        given(ask="both")


def test_the_card_of_a_task_shows_what_each_may_be() -> None:
    told = card(Listed)
    assert "`-o ask=item|batch` (default `item`)" in told and "`-o list=PATH` (default `own`)" in told
    assert "`-o least=float` (default `0.5`)" in told


def test_the_scores_of_tasks_without_such_options_are_named_as_before() -> None:
    before = msgspec.json.encode(Scoring(2, {}, splitter="s 1"))
    assert before == b'{"scoring_version":2,"judges":{},"embedder":{},"splitter":"s 1","seed":0}'
    assert digest(Scoring(2, {}, splitter="s 1", options={"ask": "batch"})) != digest(
        Scoring(2, {}, splitter="s 1")
    )
