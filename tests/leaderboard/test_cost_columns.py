"""Cost and time on a leaderboard: a table of its own, what is unknown as a dash, no test made of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from made_runs import Made, Page, Toy, write

from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.table import Leaderboard
from pmbench.leaderboard.tested import Resampling
from pmbench.running.folder import write_json
from pmbench.running.results import Results, UsageTotal

FAST = Resampling(resamples=200, permutations=200)
PAID = UsageTotal(
    calls=24, prompt_tokens=1000, completion_tokens=10, cost=0.06, latency_median=1.234, latency_p95=12.34
)


def made(runs: Path, made_up: Made, model: UsageTotal | None, judges: UsageTotal | None = None) -> None:
    """A run with such a usage; without any as it was before there was one."""
    folder = write(runs, made_up)
    (file,) = folder.path.glob("scores/*/results.json")
    results = msgspec.json.decode(file.read_bytes(), type=Results)
    if model is not None:
        results.usage = {"model": model, "judges": judges or UsageTotal()}
    write_json(file, results)


def board(runs: Path) -> Leaderboard:
    return leaderboard(Toy, runs, statistics=FAST)


def table(found: Page) -> list[list[str]]:
    return found.tables[-1]


def test_without_any_cost_or_time_there_is_no_table(tmp_path: Path) -> None:
    made(tmp_path, Made(), None)
    made(tmp_path, Made(model="recorded", strategy="recorded"), UsageTotal(calls=24, unpriced=24))
    text = render_markdown(board(tmp_path), Toy)
    assert "Cost and time" not in text


def test_cost_of_a_thousand_instances_by_hand(tmp_path: Path) -> None:
    made(tmp_path, Made(), PAID)
    found = Page(render_markdown(board(tmp_path), Toy))
    assert "Cost and time" in found.headings
    assert table(found) == [
        [
            *["#", "System", "Strategy", "Cost ($ per 1,000 instances)"],
            *["Seconds per response, median", "Seconds per response, 95th percentile"],
        ],
        ["1", "smollm2-135m", "zero-shot", "2.50", "1.23", "12.3"],
    ]
    took = board(tmp_path).tables[0].rows[0].took
    assert took.cost.dollars == pytest.approx(0.06 / 24 * 1000)
    assert (took.median, took.p95) == (1.234, 12.34)


def test_what_is_unknown_is_a_dash_and_what_is_known_in_part_is_marked(tmp_path: Path) -> None:
    some = msgspec.structs.replace(PAID, unpriced=4)
    local = msgspec.structs.replace(PAID, cost=0.0, unpriced=24)
    made(tmp_path, Made(model="part", skill=0.9), some)
    made(tmp_path, Made(model="local", skill=0.6), local)
    made(tmp_path, Made(model="old", skill=0.2), None)
    found = Page(render_markdown(board(tmp_path), Toy))
    assert [line[1:2] + line[3:] for line in table(found)[1:]] == [
        ["part", "≥ 2.50", "1.23", "12.3"],
        ["local", "–", "1.23", "12.3"],
        ["old", "–", "–", "–"],
    ]
    assert any("After ≥ stands a cost without the calls" in item for item in found.items)


def test_a_price_of_nothing_is_nothing(tmp_path: Path) -> None:
    made(tmp_path, Made(), msgspec.structs.replace(PAID, cost=0.0))
    assert table(Page(render_markdown(board(tmp_path), Toy)))[1][3] == "0.00"


def test_judges_have_a_column_where_one_has_a_price(tmp_path: Path) -> None:
    made(tmp_path, Made(), PAID, UsageTotal(calls=48, prompt_tokens=9, cost=0.00024))
    found = table(Page(render_markdown(board(tmp_path), Toy)))
    assert found[0][4] == "Cost of judges ($ per 1,000 instances)"
    assert found[1][3:5] == ["2.50", "0.010"]


def test_all_samples_of_an_instance_are_in_its_cost_and_failed_ones_count(tmp_path: Path) -> None:
    made(tmp_path, Made(samples=2, temperature=1.0), PAID)
    made(tmp_path / "other", Made(failed=frozenset({1})), PAID)
    assert board(tmp_path).tables[0].rows[0].took.cost.dollars == pytest.approx(2.5)
    assert board(tmp_path / "other").tables[0].rows[0].took.cost.dollars == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(24.0, "1,000.00"), (0.0024, "0.10"), (0.00024, "0.010"), (0.000012, "0.00050"), (1e-9, "0.000000")],
)
def test_small_costs_keep_two_digits(tmp_path: Path, cost: float, shown: str) -> None:
    made(tmp_path, Made(), msgspec.structs.replace(PAID, cost=cost))
    assert table(Page(render_markdown(board(tmp_path), Toy)))[1][3] == shown


def test_no_test_is_made_of_cost_and_time(tmp_path: Path) -> None:
    made(tmp_path, Made(skill=0.5), PAID)
    made(tmp_path, Made(model="b", skill=0.5, seed=1), PAID)
    names = [head.name for head in board(tmp_path).metrics]
    assert names == [metric.name for metric in Toy.metrics]


def test_the_command_shows_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pmbench.cli import leaderboard_shown as command

    made(tmp_path, Made(), PAID)
    monkeypatch.setenv("COLUMNS", "200")
    command.show(board(tmp_path))
    printed = capsys.readouterr().out
    assert "Cost and time" in printed
    assert "2.50" in printed and "12.3" in printed
