"""Friedman and Nemenyi over several tasks: through the command, against scipy and scikit-posthocs."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from made_runs import SENTINEL, Made, Toy, write

from pmbench.cli.main import run
from pmbench.core.metric import Mean, Metric
from pmbench.core.task import Task
from pmbench.leaderboard.over_tasks import over_tasks
from pmbench.stats.several_tasks import TaskColumns

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    posthocs = pytest.importorskip("scikit_posthocs", reason="scikit-posthocs is not installed")

WORDS = Mean("words", title="Words", higher_is_better=False, unit="words")


def task(name: str, metric: Metric) -> type[Task]:
    """A task of that name and primary metric."""
    body = {"name": name, "title": name, "metrics": (metric,), "strategies": {"zero-shot": object()}}
    return type(name, (Toy,), body)


def words(mean: int) -> Callable[[int], dict[str, float]]:
    return lambda index: {"words": float(mean + index % 3)}


Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Makes runs of tasks and systems, a number each, and gives status, output and error of the command."""

    def made(
        values: dict[str, list[int | None]],
        *more: str,
        less: tuple[str, ...] = (),
        apart: bool = True,
        data: str = "",
    ) -> tuple[int, str, str]:
        tasks = {
            name: task(name, WORDS if name in less else Mean("words", title="Words", unit="words"))
            for name in values
        }
        monkeypatch.setattr("pmbench.core.registry.load_task", tasks.__getitem__)
        monkeypatch.setenv("COLUMNS", "200")
        for place, (name, numbers) in enumerate(values.items()):
            # Each task has data and numbers of its own: one that counts twice is another matter.
            own, of = 1000 * place if apart else 0, data or f"{place:064x}"
            for system, number in enumerate(numbers):
                if number is not None:
                    made_of = words(number + own)
                    one = Made(
                        model=f"m{system}", strategy="zero-shot", seed=system, more=made_of, fingerprint=of
                    )
                    write(tmp_path / "runs", one, tasks[name])
        asked = ["leaderboard", "--tasks", ",".join(values), "--runs", str(tmp_path / "runs")]
        status = run([*asked, "--resamples", "100", *more])
        return status, *capsys.readouterr()

    return made


def numbers(text: str) -> tuple[dict[str, Any], dict[str, int]]:
    """What the JSON has over tasks, and the number of each model's row."""
    read = json.loads(text)
    return read["over_tasks"], {row["model"]: row["number"] for row in read["rows"]}


LESS = ("t1", "t4")
"""Tasks in which less is better."""


def table(seed: int, tasks: int, systems: int, step: int, ties: bool) -> dict[str, list[int | None]]:
    generator = np.random.default_rng(seed)
    rows = generator.integers(0, 4 if ties else 4000, (tasks, systems)) + step * np.arange(systems)
    rows[[1, 4]] = rows[[1, 4], ::-1]
    return {f"t{number}": row for number, row in enumerate(rows.tolist())}


@pytest.mark.parametrize(("step", "ties"), [(0, False), (900, False), (1, True)])
def test_the_command_says_what_scipy_and_scikit_posthocs_find(ask: Ask, step: int, ties: bool) -> None:
    values = table(step, 7, 5, step, ties)
    status, text, _ = ask(values, "-f", "json", less=LESS)
    found, at = numbers(text)
    signed = np.array([[-v if name in LESS else v for v in row] for name, row in values.items()], float)
    theirs = scipy.stats.friedmanchisquare(*signed.T)
    assert status == 0
    assert (found["statistic"], found["p"]) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)
    ranks = scipy.stats.rankdata(-signed, axis=1).mean(axis=0)
    place = {number: int(model[1:]) for model, number in at.items()}
    assert found["systems"] == [1, 2, 3, 4, 5]
    assert found["mean_ranks"] == pytest.approx([ranks[place[number]] for number in found["systems"]])
    matrix = posthocs.posthoc_nemenyi_friedman(signed).to_numpy()
    assert len(found["pairs"]) == 10
    for pair in found["pairs"]:
        one, other = place[pair["first"]], place[pair["second"]]
        assert pair["p"] == pytest.approx(matrix[one, other], rel=1e-6, abs=1e-9)
        assert pair["difference"] == pytest.approx(ranks[other] - ranks[one]) and pair["difference"] >= 0
        assert pair["differ"] == (found["p"] <= 0.05 and matrix[one, other] <= 0.05)
        beyond = pair["difference"] >= found["critical_difference"]
        assert beyond == (matrix[one, other] <= 0.05)
    assert found["why"] == ""
    if step == 900:
        assert any(pair["differ"] for pair in found["pairs"])


def test_where_all_tasks_agree_it_says_who_is_better(ask: Ask) -> None:
    """Eight tasks that put four systems in one order: 12·8/20·(1.5² + 0.5² + 0.5² + 1.5²) = 24, all there can be.

    Critical difference of Demšar's table, 2.569·√(4·5/(6·8)) = 1.66: 1 and 3 differ, 1 and 2 do not.
    """
    values = {f"t{number}": [40, 30, 20, 10] for number in range(8)}
    _, text, _ = ask(values, "-f", "json")
    found, _ = numbers(text)
    assert found["statistic"] == pytest.approx(24) and found["p"] == found["least_p"]
    assert found["critical_difference"] == pytest.approx(2.569 * math.sqrt(20 / 48), abs=2e-3)
    differ = {(pair["first"], pair["second"]) for pair in found["pairs"] if pair["differ"]}
    assert differ == {(1, 3), (1, 4), (2, 4)}
    first, second, caution = found["words"]
    assert first.startswith(
        "Friedman's test of the ranks of 4 systems in 8 tasks, the tasks being the sample: p < 0"
    )
    assert first.endswith("Some of them are better over tasks than others.")
    assert re.search(
        r"differ where their mean ranks are 1\.66 or more apart \(Nemenyi, level 5%\): m0 is better than m2 and m3,"
        r" p ≤ 0\.\d+; m1 is better than m3, p = 0\.\d+\.$",
        second,
    )
    assert caution.endswith("whatever the number of instances: few tasks show little.")


def test_every_format_and_the_terminal_have_the_sentences(ask: Ask, tmp_path: Path) -> None:
    values = {f"t{number}": [40, 30, 20, 10] for number in range(4)}
    status, shown, _ = ask(values, "-f", "md,csv,json,html,latex", "-o", str(tmp_path / "out"))
    assert status == 0
    read = {path.suffix[1:]: path.read_text() for path in (tmp_path / "out").iterdir()}
    sentences = json.loads(read["json"])["over_tasks"]["words"]
    assert len(sentences) == 3 and "below 6 the p-values are rough" in sentences[-1]
    for line in sentences:
        assert line in shown and SENTINEL not in line
        for form in ("md", "html", "tex"):
            plain = (
                read[form].replace("&#39;", "'").replace("&lt;", "<").replace(r"\%", "%").replace("\\", "")
            )
            some = re.findall(r"[\w ]{25,}", line)
            assert some and all(part in plain for part in some), (form, line)
    lines = list(csv.DictReader(io.StringIO(read["csv"])))
    assert len(lines) == 4 and not any("riedman" in name for name in lines[0])
    _, text, error = ask(values, "-f", "csv", "-o", "-")
    assert text == read["csv"] and all(line in error for line in sentences)


def test_so_few_tasks_that_nothing_can_be_shown(ask: Ask) -> None:
    """Two tasks, three systems: chi-squared of at most 2·2 on 2 degrees of freedom, exp(−2) = 0.135."""
    _, text, _ = ask({"t0": [3, 2, 1], "t1": [3, 2, 1]}, "-f", "json")
    found, _ = numbers(text)
    assert found["p"] == found["least_p"] == pytest.approx(math.exp(-2))
    assert (
        "with 2 tasks and 3 systems it can show nothing, since p cannot be less than 0.135."
        in found["words"][-1]
    )
    assert "It does not show that any is better" in found["words"][0]
    assert not any(pair["differ"] for pair in found["pairs"])


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (
            {"t0": [3, 2], "t1": [1, 2]},
            "it needs 3 systems with a value in all counted tasks, and 2 of those; here are 2 systems and 2 tasks",
        ),
        ({"t0": [3, 2, 1], "t1": [3, 2, None]}, "here are 2 systems and 2 tasks"),
        ({"t0": [3, 2, 1], "t1": [3, None, None]}, "here are 3 systems and 1 task"),
        ({"t0": [5, 5, 5], "t1": [7, 7, 7]}, "all systems have the same rank in every task"),
    ],
)
def test_where_there_is_no_test_one_sentence_says_why(
    ask: Ask, values: dict[str, list[int | None]], why: str
) -> None:
    status, text, _ = ask(values, "-f", "json")
    found, _ = numbers(text)
    assert status == 0 and (found["statistic"], found["p"], found["pairs"]) == (None, None, [])
    assert len(found["words"]) == 1 and why in found["why"] and why in found["words"][0]
    for form in ("md", "html", "latex"):
        assert "There is no test with the tasks as the sample" in ask(values, "-f", form)[1]


def test_a_system_that_lacks_a_task_is_not_ranked_and_that_is_said(ask: Ask) -> None:
    _, text, _ = ask({"t0": [9, 3, 2, 1], "t1": [None, 3, 2, 1], "t2": [1, 3, 2, 1]}, "-f", "json")
    found, at = numbers(text)
    assert at["m0"] not in found["systems"] and len(found["systems"]) == 3
    assert found["mean_ranks"] == [1, 2, 3]
    assert "(1 system without a value in one of them not counted)" in found["words"][0]


def test_values_that_differ_by_rounding_alone_share_a_rank() -> None:
    metric = Mean("y")

    def column(value: float) -> np.ndarray:
        return np.array([[value, 1.0]])

    systems = [column(0.1 + 0.2), column(0.3), column(0.1)]
    tasks = [TaskColumns(name, metric, systems, ["a"]) for name in "xyz"]
    found = over_tasks(tasks, {place: (place + 1, f"m{place}") for place in range(3)}, alpha=0.05)
    assert found.mean_ranks == [1.5, 1.5, 3]


def test_many_systems_are_compared_at_once_and_not_all_named() -> None:
    generator = np.random.default_rng(0)
    metric: Metric = Mean("y")
    values = generator.normal(size=(12, 60)) + np.arange(60) / 4
    tasks = [
        TaskColumns(f"t{number}", metric, [np.array([[value, 1.0]]) for value in row], ["a"])
        for number, row in enumerate(values.tolist())
    ]
    found = over_tasks(tasks, {place: (60 - place, f"m{place}") for place in range(60)}, alpha=0.05)
    assert len(found.pairs) == 1770 and found.systems == list(range(1, 61))
    assert "other systems" in found.words[1] and len(found.words[1]) < 600


@pytest.mark.parametrize(("data", "why"), [("f" * 64, "are of the same data"), ("", "have the same values")])
def test_tasks_that_count_twice_are_named_in_one_note_and_the_test_says_that_it_means_nothing(
    ask: Ask, data: str, why: str
) -> None:
    values: dict[str, list[int | None]] = {f"t{number}": [40, 30, 20, 10] for number in range(6)}
    _, text, _ = ask(values, "-f", "json", apart=False, data=data)
    found, _ = numbers(text)
    about = [note for note in json.loads(text)["notes"] if "same" in note]
    assert len(about) == 1 and about[0].startswith(f"t0, t1, t2, t3, t4 and t5 {why}")
    assert ("counted 6 times" in about[0]) == (not data)
    first, *others = found["words"]
    assert first.endswith("These tasks are not independent (see the notes): the p-value means nothing.")
    assert not any("better" in line for line in found["words"]) and len(others) == 1
