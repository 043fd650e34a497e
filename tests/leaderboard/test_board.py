"""The numbers of a leaderboard: against results.json, the stats room, and what a reader may rely on."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from made_runs import Made, Toy, scores, write

from pmbench.core.errors import StorageError
from pmbench.core.metric import Mean, Metric
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.table import Leaderboard, Table
from pmbench.leaderboard.tested import Resampling
from pmbench.running.folder import read_json, write_json
from pmbench.running.results import MetricResult, Results
from pmbench.stats.corrections import holm
from pmbench.stats.randomisation import paired_test

FAST = Resampling(resamples=500, permutations=500)


def board(runs: Path, *made: Made, statistics: Resampling = FAST, task: type[Toy] = Toy) -> Leaderboard:
    for one in made:
        write(runs, one, task)
    return leaderboard(task, runs, statistics=statistics)


def only_table(found: Leaderboard) -> Table:
    assert found.left_out == []
    assert len(found.tables) == 1
    return found.tables[0]


def values(made: Made) -> dict[str, float]:
    """Edit-F1 of each scored instance, by hand."""
    found: dict[str, list[float]] = {}
    for one in scores(made):
        if one.status == "ok":
            twice = 2 * one.stats["tp"]
            found.setdefault(one.id, []).append(twice / (twice + one.stats["fp"] + one.stats["fn"]))
    return {name: float(np.mean(parts)) for name, parts in found.items()}


def test_values_and_intervals_are_those_of_results_json(tmp_path: Path) -> None:
    made = [Made(), Made(model="b", skill=0.7, clusters=11), Made(model="c", missing=frozenset({4}))]
    found = only_table(board(tmp_path, *made, statistics=Resampling()))
    for row in found.rows:
        said = read_json(tmp_path / row.where / "results.json", Results).metrics
        assert set(row.measures) == set(said)
        for name, measure in row.measures.items():
            assert [measure.value, measure.low, measure.high] == pytest.approx(
                [said[name].value, said[name].low, said[name].high], rel=1e-9
            )


def test_rows_go_from_the_best_to_the_worst(tmp_path: Path) -> None:
    found = only_table(board(tmp_path, *(Made(model=f"m{s}", skill=s / 10) for s in (3, 8, 5))))
    assert [(row.number, row.model) for row in found.rows] == [(1, "m8"), (2, "m5"), (3, "m3")]


def test_a_metric_that_is_better_when_low_is_ordered_so(tmp_path: Path) -> None:
    class Words(Toy):
        name = "words"
        metrics: tuple[Metric, ...] = (Toy.metrics[2],)

    found = only_table(board(tmp_path, *(Made(model=f"m{s}", seed=s) for s in range(4)), task=Words))
    shown = [row.measures["words"].value for row in found.rows]
    assert shown == sorted(shown)  # type: ignore[type-var]
    assert all(row.against and row.against.difference >= 0 for row in found.rows[1:])  # type: ignore[operator]


def test_comparisons_are_paired_tests_adjusted_over_the_table(tmp_path: Path) -> None:
    made = [Made(model=f"m{s}", skill=s / 10, seed=s, clusters=17) for s in (8, 7, 5)]
    found = only_table(board(tmp_path, *made))
    metric = Mean("y")
    names = sorted(values(made[0]))
    clusters = [f"c{int(name[1:]) % 17}" for name in names]
    columns = [metric.columns({"y": np.array([values(one)[name] for name in names])}) for one in made]
    pairs = [(1, 0), (2, 0), (2, 1)]
    tests = [
        paired_test(metric, columns[a], columns[b], clusters, permutations=500, resamples=500)
        for a, b in pairs
    ]
    assert found.rows[0].against is None
    # Adjusted over all three pairs: which system is first was chosen by looking at the same data.
    for row, test, adjusted in zip(found.rows[1:], tests, holm([t.p for t in tests]), strict=False):
        pair = row.against
        assert pair is not None
        assert [pair.difference, pair.low, pair.high] == pytest.approx([test.difference, test.low, test.high])
        assert (pair.p, pair.p_adjusted) == (test.p, adjusted)
        assert (pair.instances, pair.clusters, pair.only_best, pair.only_this) == (24, 17, 0, 0)


def test_a_comparison_takes_what_both_have_scored_and_says_so(tmp_path: Path) -> None:
    best, other = (
        Made(model="a", skill=0.9, missing=frozenset({1, 2})),
        Made(model="b", failed=frozenset({2, 3, 4})),
    )
    found = only_table(board(tmp_path, best, other))
    pair = found.rows[1].against
    assert pair is not None
    shared = values(best).keys() & values(other).keys()
    expected = np.mean([values(other)[name] - values(best)[name] for name in shared])
    assert pair.difference == pytest.approx(expected)
    assert (pair.instances, pair.only_best, pair.only_this) == (20, 2, 1)
    assert any(
        "compared with row 1 on the 20 instances that both have scored" in note for note in found.notes
    )


def test_nothing_in_common_is_no_comparison(tmp_path: Path) -> None:
    half = frozenset(range(12))
    found = only_table(
        board(
            tmp_path,
            Made(model="a", skill=0.9, missing=half),
            Made(model="b", missing=frozenset(range(12, 24))),
        )
    )
    pair = found.rows[1].against
    assert pair is not None
    assert (pair.difference, pair.p, pair.p_adjusted, pair.text, pair.p_text) == (None, None, None, "–", "–")


def test_samples_of_an_instance_count_as_one(tmp_path: Path) -> None:
    made = Made(samples=3, temperature=1.0)
    found = only_table(board(tmp_path, made))
    assert found.rows[0].measures["f1"].value == pytest.approx(np.mean(list(values(made).values())))
    assert found.rows[0].counts.samples == 72


def test_runs_of_one_system_are_rows_that_say_what_distinguishes_them(tmp_path: Path) -> None:
    found = only_table(board(tmp_path, Made(), Made(seed=1, temperature=0.7), Made(model="b")))
    settings = {row.model + str(row.measures["f1"].value): row.settings for row in found.rows}
    told = sorted(words.rpartition(", run ")[0] for words in settings.values())
    assert told == ["", "temperature=0.7, seed=1", "temperature=none, seed=0"]


def test_ties_are_said_to_be_ties(tmp_path: Path) -> None:
    found = only_table(board(tmp_path, Made(model="b"), Made(model="a"), Made(model="c", skill=0.1)))
    assert [row.model for row in found.rows] == ["a", "b", "c"]
    assert "Rows 1 and 2 have the same Edit-F1; their order says nothing." in found.notes
    pair = found.rows[1].against
    assert pair is not None
    assert (pair.difference, pair.p, pair.text) == (0, 1, "0.000 [-0.142, 0.142]")


def test_few_clusters_are_pointed_out(tmp_path: Path) -> None:
    found = only_table(board(tmp_path, Made(clusters=5), Made(model="b", clusters=5)))
    assert found.clusters == 5
    assert any("Only 5 clusters" in note for note in found.notes)
    plenty = only_table(
        board(
            tmp_path / "other",
            Made(clusters=60, instances=60, dataset=60, skill=0.9),
            Made(model="b", clusters=60, instances=60, dataset=60, skill=0.1),
        )
    )
    assert not any("clusters" in note for note in plenty.notes)


def test_a_p_that_cannot_be_small_is_pointed_out(tmp_path: Path) -> None:
    found = only_table(board(tmp_path, Made(clusters=4, skill=0.9), Made(model="b", clusters=4, skill=0.1)))
    assert found.rows[1].against is not None
    assert found.rows[1].against.differing == 4
    assert found.words[1] == (
        "This table cannot show a difference, whatever the systems: the two systems differ in 4 clusters only, so"
        " that no p can be below 0.12; more data are needed."
    )


def test_one_cluster_has_values_without_intervals(tmp_path: Path) -> None:
    found = only_table(board(tmp_path, Made(clusters=1)))
    measure = found.rows[0].measures["f1"]
    assert (measure.low, measure.high) == (None, None)
    assert measure.text == f"{measure.value:.3f}"


def test_a_reader_is_told_that_the_best_was_chosen_on_these_data(tmp_path: Path) -> None:
    alone = " ".join(only_table(board(tmp_path, Made())).notes)
    assert "chosen on these same data" not in alone
    assert "chosen on these same data" in " ".join(only_table(board(tmp_path, Made(model="b"))).notes)


def test_missing_scores_are_shown_with_their_worst_and_best_case(tmp_path: Path) -> None:
    made = Made(failed=frozenset({1}), missing=frozenset({2}))
    found = only_table(board(tmp_path, made))
    row = found.rows[0]
    assert row.failures == "1 failed, 1 missing (timeout 1, unparsed 1)"
    total = sum(values(made).values())
    assert row.measures["f1"].worst == pytest.approx(total / 24)
    assert row.measures["f1"].best == pytest.approx((total + 2) / 24)
    assert f"{total / 24:.3f} if all of them had been worst" in " ".join(found.notes)


def test_incomplete_runs_say_so_in_their_row(tmp_path: Path) -> None:
    write(tmp_path, Made(pending=5))
    assert leaderboard(Toy, tmp_path).tables == []
    found = leaderboard(Toy, tmp_path, include_incomplete=True, statistics=FAST).tables[0]
    assert found.rows[0].failures == "5 pending"
    assert "Row 1 is incomplete (work is left: 5 not done)." in found.notes


def test_results_that_their_scores_do_not_bear_out_are_left_out(tmp_path: Path) -> None:
    run = write(tmp_path, Made())
    path = run.scorings()[0] / "results.json"
    old = read_json(path, Results)
    write_json(path, msgspec.structs.replace(old, metrics={**old.metrics, "f1": MetricResult(0.99)}))
    found = board(tmp_path)
    assert found.tables == []
    assert "another f1 than results.json says" in found.left_out[0].reason


def test_a_metric_that_no_run_has_is_undefined(tmp_path: Path) -> None:
    class More(Toy):
        metrics: tuple[Metric, ...] = (*Toy.metrics, Mean("new"))

    write(tmp_path, Made())
    measure = leaderboard(More, tmp_path, statistics=FAST).tables[0].rows[0].measures["new"]
    assert (measure.value, measure.text) == (None, "–")


def test_a_metric_whose_scheme_lacks_what_it_needs_has_its_value_only(tmp_path: Path) -> None:
    class Pairs(Mean):
        scheme = "dyadic"

    class Other(Toy):
        metrics: tuple[Metric, ...] = (Pairs("right", title="Right"), Toy.metrics[0])

    write(tmp_path, Made())
    write(tmp_path, Made(model="b"))
    found = only_table(board(tmp_path, task=Other))
    measure = found.rows[0].measures["right"]
    against = found.rows[1].against
    assert measure.value is not None and measure.low is None
    assert against is not None and (against.p, against.low, against.number) == (None, None, "0.000")
    assert any(note.startswith("Rows 1 and 2, Right: no interval, for the metric") for note in found.notes)


def test_no_run_at_all_is_an_error_that_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"no run of toy here\. Run: pmbench run --task toy"):
        leaderboard(Toy, tmp_path)


def test_the_same_folder_gives_the_same_leaderboard_as_plain_data(tmp_path: Path) -> None:
    first = board(tmp_path, Made(), Made(model="b", clusters=24))
    again = board(tmp_path)
    encoded = msgspec.json.encode(first)
    assert encoded == msgspec.json.encode(again)
    assert msgspec.json.decode(encoded, type=Leaderboard) == first


def test_runs_can_be_left_out_by_the_beginning_of_their_digest(tmp_path: Path) -> None:
    for model in ("a", "b"):
        write(tmp_path, Made(model=model))
    board = leaderboard(Toy, tmp_path, statistics=FAST)
    run = board.tables[0].rows[0].run
    fewer = leaderboard(Toy, tmp_path, statistics=FAST, exclude=[run[:6]])
    assert len(fewer.tables[0].rows) == len(board.tables[0].rows) - 1
    assert [one.reason for one in fewer.left_out] == ["excluded (--exclude)"]
    for nothing in ("", "recorded", "toy", "a", "ffffffffffffffff"):
        with pytest.raises(StorageError, match="no run of this task begins with"):
            leaderboard(Toy, tmp_path, statistics=FAST, exclude=[nothing])
