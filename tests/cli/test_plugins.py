"""Tasks, backends and commands of a stranger's package, really installed."""

import json
from pathlib import Path

from cli_answers import MESSAGES, write_messages


def test_a_strangers_task_is_listed_and_a_broken_one_says_why(pmbench) -> None:
    told = pmbench("tasks").stdout
    assert "greeting" in told and "pmbench-greeting" in told and "Replies that greet the patient" in told
    assert "cannot be loaded: ModuleNotFoundError: No module named 'a_module_that_is_not_there'" in told
    assert "syppm-editf1" in told


def test_a_broken_task_is_an_error_of_one_line(pmbench) -> None:
    done = pmbench("run", "--task", "broken", "--model", "replay:x.jsonl")
    assert done.returncode == 2 and done.stdout == ""
    assert "the task 'broken' of the package 'pmbench-broken' cannot be loaded" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_entry_point_that_is_no_task_says_so(pmbench) -> None:
    done = pmbench("tasks", "not-a-task")
    assert done.returncode == 2 and "is not a subclass of pmbench.Task" in done.stderr


def test_a_strangers_task_runs_with_a_strangers_backend(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl")
    done = pmbench("run", "-t", "greeting", "-m", "parrot:grey", "-d", "mine.jsonl", "--json", "out.json")
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    expected = sum(len(message) % 2 for message in MESSAGES) / len(MESSAGES)
    assert results["metrics"]["greeting_share"]["value"] == expected
    assert results["status"] == "complete" and results["task_version"] == 3
    assert results["counts"]["scored"] == len(MESSAGES)


def test_a_strangers_command_is_listed_without_being_imported_and_can_be_called(pmbench) -> None:
    assert "greet        (from pmbench-greeting)" in pmbench("--help").stdout
    assert pmbench("greet").stdout == "hello from a plugin\n"


def test_the_card_of_a_strangers_task_shows_options_columns_and_formula(pmbench) -> None:
    card = pmbench("tasks", "greeting").stdout
    assert "`-o word=dear|hello` (default `dear`)" in card
    assert "`message`: what the patient wrote" in card
    assert "| `greeting_share` | mean of greets | higher |" in card


def test_an_option_changes_the_digest_and_the_score(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl")
    base = ("run", "-t", "greeting", "-m", "parrot:grey", "-d", "mine.jsonl", "--json", "-", "-q")
    dear = json.loads(pmbench(*base).stdout)
    hello = json.loads(pmbench(*base, "-o", "word=hello").stdout)
    assert dear["run"] != hello["run"]
    assert hello["metrics"]["greeting_share"]["value"] == 0.0


def test_a_wrong_option_says_which_are_known(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl")
    base = ("run", "-t", "greeting", "-m", "parrot:grey", "-d", "mine.jsonl")
    for option, told in {
        "wrod=dear": "no option of greeting called 'wrod'. Did you mean word?",
        "word=bye": "option word of greeting: it must be dear or hello",
        "word": "is not of the form name=value",
    }.items():
        done = pmbench(*base, "-o", option)
        assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1
