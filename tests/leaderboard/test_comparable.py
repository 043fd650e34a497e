"""Only what may be compared stands in one table, and each heading says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from made_runs import Made, write

from pmbench.leaderboard.collect import collect
from pmbench.leaderboard.comparable import Group, comparable, distinguishing


def groups(runs: Path, *made: Made, version: int = 1) -> list[Group]:
    for one in made:
        write(runs, one)
    return comparable(collect("toy", runs)[0], version)


def test_other_models_strategies_and_sampling_are_compared(tmp_path: Path) -> None:
    found = groups(
        tmp_path,
        Made(),
        Made(model="qwen3-8b"),
        Made(strategy="thematic"),
        Made(seed=3, temperature=0.5, samples=2),
        Made(model="with-missing", missing=frozenset({2})),
    )
    assert [len(group.entries) for group in found] == [5]
    assert found[0].differs == []


def test_other_judges_are_not_compared(tmp_path: Path) -> None:
    found = groups(tmp_path, Made(), Made(model="b"), Made(judges={"content": "qwen3-8b"}))
    assert [group.differs for group in found] == [
        ["judges: content=embedded"],
        ["judges: content=qwen3-8b"],
    ]


def test_judges_of_one_name_that_work_otherwise_are_told_apart(tmp_path: Path) -> None:
    found = groups(
        tmp_path, Made(model="b"), Made(), Made(judge_about={"threshold": 0.7, "prompt": "9" * 64})
    )
    assert [group.differs for group in found] == [
        ["scoring: content.threshold=0.6, content.prompt=none"],
        ["scoring: content.threshold=0.7, content.prompt=999999999999"],
    ]


def test_fewer_instances_are_not_compared_and_most_come_first(tmp_path: Path) -> None:
    found = groups(tmp_path, Made(instances=12, model="a"), Made(instances=12, model="b"), Made())
    assert [group.differs for group in found] == [["instances: 24 of 24"], ["instances: 12 of 24"]]
    assert [len(group.entries) for group in found] == [1, 2]


def test_other_data_and_options_are_not_compared(tmp_path: Path) -> None:
    base = Made(options={"preamble": "keep", "rounds": 2})
    found = groups(
        tmp_path,
        base,
        replace(base, model="b"),
        replace(base, options={"preamble": "drop", "rounds": 2}, fingerprint="0" * 64),
    )
    assert [group.differs for group in found] == [
        ["data: messages.jsonl (fingerprint ffffffffffff)", "options: preamble=keep"],
        ["data: messages.jsonl (fingerprint 000000000000)", "options: preamble=drop"],
    ]


def test_an_older_task_version_comes_last_however_large(tmp_path: Path) -> None:
    found = groups(tmp_path, Made(), Made(model="b"), Made(version=2, instances=12), version=2)
    assert [group.differs[0] for group in found] == ["task version: 2", "task version: 1"]


def test_only_what_differs_is_told() -> None:
    assert distinguishing([{"a": 1, "b": {"c": "x", "d": None}}, {"a": 1, "b": {"c": "y"}}]) == [
        {"b.c": "x"},
        {"b.c": "y"},
    ]
