"""Groups of metrics: which columns they have, and what the systems should come near to."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import SHARES, Made, Themed, Toy, themed, write

from pmbench.core.metric import Mean, Metric, MetricGroup
from pmbench.core.registry import PluginError
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.groups import group_heads, metric_heads, nearest
from pmbench.leaderboard.table import Leaderboard, Reference, Table
from pmbench.leaderboard.tested import Resampling
from pmbench.running.folder import read_json
from pmbench.running.results import Results

FAST = Resampling(resamples=300, permutations=300)


def table(runs: Path, *made: Made) -> Table:
    for one in made:
        write(runs, one, Themed)
    found = leaderboard(Themed, runs, statistics=FAST)
    assert found.left_out == []
    assert len(found.tables) == 1
    return found.tables[0]


def shares(runs: Path, *made: Made) -> Reference:
    return table(runs, *made).references["Shares"]


def test_each_metric_has_one_place(tmp_path: Path) -> None:
    write(tmp_path, Made(more=themed(1, 1)), Themed)
    board = leaderboard(Themed, tmp_path, statistics=FAST)
    assert [head.name for head in board.leading] == ["f1", "calm"]
    assert [head.name for head in board.others] == ["right", "words"]
    assert {group.title: group.metrics for group in board.groups} == {
        "Recall by theme": ["recall_a", "recall_b"],
        "Shares": ["draft_share_a", "draft_share_b"],
    }
    assert [group.reference for group in board.groups] == ["", "people's replies"]
    assert list(board.tables[0].references) == ["Shares"]
    assert [head.name for head in board.metrics if head.referred] == ["reply_share_a", "reply_share_b"]


def test_every_metric_of_a_group_is_the_one_of_results_json(tmp_path: Path) -> None:
    write(tmp_path, Made(more=themed(13, 9), clusters=11), Themed)
    row = leaderboard(Themed, tmp_path).tables[0].rows[0]
    said = read_json(tmp_path / row.where / "results.json", Results).metrics
    for name in ("recall_a", "draft_share_a", "reply_share_b"):
        measure = row.measures[name]
        assert [measure.value, measure.low, measure.high] == pytest.approx(
            [said[name].value, said[name].low, said[name].high]
        )


def test_the_reference_is_a_number_of_the_data_with_its_interval(tmp_path: Path) -> None:
    found = shares(tmp_path, Made(more=themed(3, 3)), Made(model="b", more=themed(20, 20)))
    assert {name: one.value for name, one in found.measures.items()} == {
        "draft_share_a": 0.5,
        "draft_share_b": 0.25,
    }
    measure = found.measures["draft_share_a"]
    assert measure.low is not None
    assert measure.high is not None
    assert 0.2 < measure.low < 0.5 < measure.high < 0.8
    # With the decimals of the column, not of the metric that is referred to.
    assert measure.text == f"0.50 [{measure.low:.2f}, {measure.high:.2f}]"
    assert (found.instances, found.notes) == (24, [])


def test_the_nearest_are_marked_on_either_side_with_ties(tmp_path: Path) -> None:
    made = [
        Made(model="a", skill=0.8, more=themed(13, 9)),  # alpha: 1 away, beta: 3 above
        Made(model="b", skill=0.5, more=themed(24, 3)),  # beta: 3 below
        Made(model="c", skill=0.2, more=themed(4, 24)),
    ]
    assert shares(tmp_path, *made).nearest == {"draft_share_a": [1], "draft_share_b": [1, 2]}


def test_one_system_alone_is_not_the_nearest(tmp_path: Path) -> None:
    assert shares(tmp_path, Made(more=themed(12, 6))).nearest == {"draft_share_a": [], "draft_share_b": []}


def test_a_system_without_the_metric_is_never_the_nearest(tmp_path: Path) -> None:
    made = [Made(model="a", more=themed(24, 24)), Made(model="b", more=themed(20, 20)), Made(model="c")]
    found = table(tmp_path, *made)
    without = next(row for row in found.rows if row.model == "c")
    assert without.measures["draft_share_a"].text == "–"
    assert all(without.number not in rows for rows in found.references["Shares"].nearest.values())
    # Nor can what it has scored decide the reference.
    assert found.references["Shares"].row != without.number


def test_the_reference_is_of_the_system_that_scored_most_and_differences_are_noted(tmp_path: Path) -> None:
    few, all_ = (
        Made(model="few", skill=0.9, missing=frozenset(range(6)), more=themed(12, 6)),
        Made(model="all", skill=0.1, more=themed(12, 6)),
    )
    found = shares(tmp_path, few, all_)
    assert (found.row, found.instances) == (2, 24)
    assert found.measures["draft_share_b"].value == 0.25  # Of the 18 others no reply has beta.
    told = "the 24 instances that row 2 has scored. On the instances that row 1 has scored, not all"
    assert [told in note for note in found.notes] == [True]


def test_a_reference_that_the_task_has_not_is_the_plugins_fault(tmp_path: Path) -> None:
    class Wrong(Toy):
        metrics: tuple[Metric, ...] = (*Toy.metrics, Mean("a", group=SHARES, reference="gone"))

    write(tmp_path, Made())
    with pytest.raises(PluginError, match="the metric a refers to gone, which is no metric of its task"):
        leaderboard(Wrong, tmp_path)


def test_a_group_without_a_name_for_its_reference_has_one() -> None:
    group = MetricGroup("Plain")
    metrics = (Mean("a", group=group, reference="b"), Mean("b", group=group), Mean("c"))
    assert [(head.metrics, head.reference) for head in group_heads(metrics)] == [(["a"], "reference")]
    assert [head.referred for head in metric_heads(metrics)] == [False, True, False]


def test_a_reference_outside_of_groups_stays_a_column() -> None:
    metrics = (Mean("a", reference="b"), Mean("b"))
    assert group_heads(metrics) == []
    assert not any(head.referred for head in metric_heads(metrics))


def test_a_headline_of_a_group_is_told_from_others_of_its_title() -> None:
    head = metric_heads([Mean("a", title="Alpha", group=SHARES, headline=True)])[0]
    assert (head.heading, head.full_heading) == ("Alpha", "Shares: Alpha")


@given(
    st.dictionaries(st.integers(), st.none() | st.floats(0, 1)),
)
def test_nobody_is_nearer_than_the_nearest(gaps: dict[int, float | None]) -> None:
    chosen = nearest(gaps)
    there = {key: gap for key, gap in gaps.items() if gap is not None}
    if len(there) < 2 or max(there.values()) <= min(there.values()) + 1e-9:
        assert chosen == []  # who is as near as all others is not marked
        return
    assert chosen
    for key, gap in there.items():
        assert (key in chosen) == (gap <= min(there.values()) + 1e-9)


def test_groups_and_references_are_plain_data(tmp_path: Path) -> None:
    for made in (Made(more=themed(3, 3)), Made(model="b", more=themed(20, 20))):
        write(tmp_path, made, Themed)
    board = leaderboard(Themed, tmp_path, statistics=FAST, aggregate="strategy")
    assert msgspec.json.decode(msgspec.json.encode(board), type=Leaderboard) == board
