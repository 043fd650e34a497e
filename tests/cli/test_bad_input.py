"""What each bad input gets: one line with place and remedy, the right exit status, and nothing lost."""

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest
from cli_answers import write_messages

SECRET = "Zyzzyva-7731"
"""Stands in texts of the dataset; it may be in no message."""

GOOD = {
    "id": "1",
    "message": f"My knee hurts. {SECRET}",
    "response": f"Rest the knee. {SECRET}.",
    "draft": "Rest.",
}


def write_rows(path: Path, *changes: dict) -> None:
    path.write_text("".join(json.dumps({**GOOD, **change}) + "\n" for change in changes))


def refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """One line on standard error with all parts, status 2, no text of the dataset, no traceback."""
    assert done.returncode == 2, done.stderr
    complaint = done.stderr.splitlines()[-1]
    assert complaint.startswith("Error: ")
    for part in parts:
        assert part in complaint
    assert SECRET not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


DRAFTING = ("run", "-t", "syppm-editf1", "-m", "replay:@draft")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (
            ("run", "-t", "sypm-editf1", "-m", "smollm2-135m"),
            ("no task called 'sypm-editf1'", "Did you mean syppm-editf1"),
        ),
        (
            ("run", "-t", "syppm-editf1", "-m", "smollm-135m", "-d", "demo"),
            ("no model called", "Did you mean smollm2-135m"),
        ),
        (("run", "-t", "syppm-editf1", "-m", "nobody:x", "-d", "demo"), ("no backend called 'nobody'",)),
        (("run", "-t", "syppm-editf1", "-m", "", "-d", "demo"), ("an empty model name", "pmbench models")),
        (
            ("run", "-t", "syppm-editf1", "-m", "gpt-4o", "-d", "demo"),
            ("gpt-4o", "there is no key in OPENAI_API_KEY"),
        ),
        (("run", "-t", "syppm-editf1", "-m", "smollm2-135m?slots=many", "-d", "demo"), ("slots",)),
        (
            ("run", "-t", "syppm-editf1", "-m", "smollm2-135m?slot=2", "-d", "demo"),
            ("slot", "Did you mean slots"),
        ),
        (
            ("run", "-t", "ippm-editf1", "-m", "replay:@draft"),
            ("IPPM holds real portal messages", "--data", '"response"'),
        ),
        ((*DRAFTING, "-d", "nowhere.jsonl"), ("nowhere.jsonl",)),
        ((*DRAFTING, "-d", "demo", "-s", "zero-shot"), ("--strategy", "recorded answers")),
        (
            (*DRAFTING, "-d", "demo", "-s", "zeroshot"),
            ("no strategy of syppm-editf1 called 'zeroshot'", "zero-shot"),
        ),
        (
            (*DRAFTING, "-d", "demo", "-j", "contents=x"),
            ("no judge role of syppm-editf1 called 'contents'", "content"),
        ),
        ((*DRAFTING, "-d", "demo", "-j", "content"), ("--judge", "name=value")),
        ((*DRAFTING, "-d", "demo", "-n", "0"), ("--limit", "must be 1 or more")),
        ((*DRAFTING, "-d", "demo", "--max-missing", "2"), ("--max-missing", "must be from 0 to 1")),
        ((*DRAFTING, "-d", "demo", "--columns", "message"), ("--columns",)),
        (("run", "-t", "syppm-editf1", "-m", "answers.jsonl", "-d", "demo"), ("replay:answers.jsonl",)),
        ((*DRAFTING, "-d", "demo", "-j", "content=embeded"), ("no judge called", "Did you mean embedded")),
        ((*DRAFTING, "-d", "demo", "--seed", "-1"), ("--seed", "must be from 0")),
        ((*DRAFTING, "-d", "demo", "-c", "message=a", "-c", "message=b"), ("--columns", "given twice")),
        (("run", "-t", "syppm-editf1", "-m", "replay:@nothing", "-d", "demo"), ("nothing", "draft")),
        (("run", "-t", "syppm-editf1", "-m", "replay:gone.jsonl", "-d", "demo"), ("gone.jsonl",)),
        (("show", "abc"), ("no run 'abc'", "pmbench runs")),
        (("leaderboard", "-t", "syppm-editf1"), ("no run of syppm-editf1", "pmbench run --task")),
        (("fetch", "smollm2"), ("Did you mean smollm2-135m",)),
        (("fetch", "gpt-4o"), ("gpt-4o",)),
        (("tasks", "sypmm"), ("Did you mean",)),
        (("models", "qwen"), ("Did you mean",)),
        (("leaderbord",), ("Did you mean leaderboard",)),
    ],
    ids=lambda value: " ".join(value)[-50:] if isinstance(value, tuple) else None,
)
def test_names_and_options(pmbench, arguments: tuple[str, ...], parts: tuple[str, ...]) -> None:
    refused(pmbench(*arguments), *parts)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ("mine.jsonl", "empty")),
        (b'{"id": "1", "message": "Zyzzyva-7731"\n', ("mine.jsonl", "line 1")),
        (json.dumps(GOOD).encode() + b"\n{broken\n", ("mine.jsonl", "line 2")),
        (json.dumps(GOOD).encode("utf-16"), ("mine.jsonl", "UTF-8")),
        (b'{"id": "1", "message": "\xff Zyzzyva-7731", "response": "x"}\n', ("mine.jsonl", "UTF-8")),
        (b'["Zyzzyva-7731"]\n', ("mine.jsonl", "1")),
    ],
    ids=["empty", "cut", "broken", "utf-16", "byte", "list"],
)
def test_broken_files(pmbench, tmp_path: Path, content: bytes, parts: tuple[str, ...]) -> None:
    (tmp_path / "mine.jsonl").write_bytes(content)
    refused(pmbench(*DRAFTING, "-d", "mine.jsonl"), *parts)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (({}, {"message": "again"}), ("mine.jsonl", "row 2", "id", "row 1")),
        (({}, {"id": "2", "message": None}), ("mine.jsonl, row 2", "column 'message'")),
        (({}, {"id": "2", "message": "   "}), ("mine.jsonl, row 2", "column 'message'")),
        (({"response": "!!!"},), ("mine.jsonl, row 1", "column 'response'", "no sentence")),
        (({"response": 5},), ("mine.jsonl, row 1", "column 'response'")),
    ],
    ids=["duplicate id", "null message", "blank message", "no sentence", "a number"],
)
def test_rows_that_cannot_be_used(
    pmbench, tmp_path: Path, changes: tuple[dict, ...], parts: tuple[str, ...]
) -> None:
    write_rows(tmp_path / "mine.jsonl", *changes)
    refused(pmbench(*DRAFTING, "-d", "mine.jsonl"), *parts)


def test_wrong_columns_are_listed_and_can_be_named(pmbench, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"key,vraag,antwoord,draft\n1,{SECRET},{SECRET} rest.,Rest.\n")
    done = pmbench(*DRAFTING, "-d", "mine.csv")
    refused(done, "mine.csv", "vraag", "antwoord", "--columns")
    named = pmbench(*DRAFTING, "-d", "mine.csv", "--columns", "message=vraag,response=antwoord,id=key")
    assert named.returncode == 0, named.stderr


@pytest.mark.model
@pytest.mark.parametrize(
    "draft",
    [
        "",
        " \n ",
        "👍 😀",
        "Rest the knee. " * 17_000,
        "\u200b\u2060\ufeff",
        "\u202e\x00\x1b[31mred",
        "{{ message }} {% raw %} ]]>",
    ],
    ids=["empty", "blank", "emoji", "51,000 words", "zero width", "control characters", "template-like"],
)
def test_a_strange_draft_is_scored_and_counted(pmbench, tmp_path: Path, draft: str) -> None:
    write_rows(tmp_path / "mine.jsonl", {"draft": draft}, {"id": "2"})
    done = pmbench(*DRAFTING, "-d", "mine.jsonl", "--json", "out.json")
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    assert results["status"] == "complete" and results["counts"]["scored"] == 2
    assert results["counts"]["empty"] == int(not draft.strip("\u200b\u2060\ufeff \n"))
    assert "\x1b[31m" not in done.stdout + done.stderr


@pytest.mark.model
def test_a_judges_answer_that_cannot_be_parsed_is_missing_not_zero(pmbench, tmp_path: Path) -> None:
    write_rows(tmp_path / "mine.jsonl", {}, {"id": "2"})
    env = {"PARROT_LOG": "asked"}
    done = pmbench(
        *DRAFTING, "-d", "mine.jsonl", "--judge", "content=parrot:grey", "--json", "out.json", env=env
    )
    assert done.returncode == 1
    results = json.loads((tmp_path / "out.json").read_text())
    assert results["status"] == "incomplete" and results["counts"]["missing"] == 2
    assert results["counts"]["failures"] == {"unparsed": 2}
    assert results["metrics"]["content_f1"]["value"] is None
    assert "2 missing" in done.stdout and SECRET not in done.stdout
    before = (tmp_path / "asked").read_text()
    again = pmbench(*DRAFTING, "-d", "mine.jsonl", "--judge", "content=parrot:grey", env=env)
    assert again.returncode == 1 and (tmp_path / "asked").read_text() == before


def test_a_missing_extra_names_the_command_that_adds_it(bare: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [bare, "-m", "pmbench", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    refused(run(*DRAFTING, "-d", "demo"), 'pip install "pmbench[embedded]"')
    refused(
        run("run", "-t", "syppm-editf1", "-m", "smollm2-135m", "-d", "demo"),
        'pip install "pmbench[embedded]"',
    )
    refused(run("run", "-t", "syppm-editf1", "-m", "replay:@draft"), 'pip install "pmbench[hub]"')
    (tmp_path / "mine.parquet").write_bytes(b"PAR1")
    refused(run(*DRAFTING, "-d", "mine.parquet"), 'pip install "pmbench[parquet]"')
    listed = run("tasks")
    assert listed.returncode == 0 and "syppm-editf1" in listed.stdout
    models = run("models")
    assert models.returncode == 0 and 'pip install "pmbench[embedded]"' in " ".join(models.stdout.split())


def test_a_model_that_was_not_fetched_names_the_command_that_brings_it(pmbench, tmp_path: Path) -> None:
    env = {"PMBENCH_CACHE": str(tmp_path / "cache")}
    done = pmbench("run", "-t", "syppm-editf1", "-m", "smollm2-135m", "-d", "demo", env=env)
    refused(done, "Run: pmbench fetch smollm2-135m")
    refused(pmbench(*DRAFTING, "-d", "demo", env=env), "Run: pmbench fetch all-minilm-l6-v2")
    refused(
        pmbench("run", "-t", "syppm-editf1", "-m", "qwen3-8b", "-d", "demo", env=env),
        "Run: pmbench fetch qwen3-8b",
    )


def test_the_hub_is_not_asked_when_offline_is_asked_for(pmbench) -> None:
    done = pmbench("run", "-t", "syppm-editf1", "-m", "replay:@draft", env={"HF_HUB_OFFLINE": "1"})
    refused(done, "PortalPal-AI/Patient-Message-Response-Drafting", "--data")


@pytest.mark.parametrize("runs", ["file/runs", "/proc/runs"])
def test_a_runs_folder_that_cannot_be_written(pmbench, tmp_path: Path, runs: str) -> None:
    write_messages(tmp_path / "mine.jsonl")
    (tmp_path / "file").write_text("in the way")
    done = pmbench("run", "-t", "greeting", "-m", "parrot:grey", "-d", "mine.jsonl", "--runs", runs)
    refused(done, runs.split("/")[-1], "--runs DIR or PMBENCH_RUNS")
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_disk_that_fills_up_loses_no_answer(pmbench, plugged: Path, tmp_path: Path) -> None:
    """RLIMIT_FSIZE ends every file at a size, as a full disk would; then the limit is lifted."""
    write_messages(tmp_path / "mine.jsonl", [f"{i} " + "x" * 3000 for i in range(60)])
    command = [plugged, "-m", "pmbench", "run", "-t", "greeting", "-m", "parrot:grey", "-d", "mine.jsonl"]
    full = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        # Measuring coverage would write a file of its own against the limit.
        env={k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")} | {"PARROT_LOG": "asked"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, 90_000)),
    )
    refused(full, "Free some space", "same command")
    asked = len((tmp_path / "asked").read_text().splitlines())
    assert 0 < asked < 60
    done = pmbench(*map(str, command[3:]), "--json", "out.json", env={"PARROT_LOG": "asked"})
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "asked").read_text().splitlines()) <= 60 + 5
    assert json.loads((tmp_path / "out.json").read_text())["counts"]["scored"] == 60


@pytest.mark.parametrize("damage", [b"not a database, not at all, but long enough" * 30, b""])
def test_a_damaged_completion_store_is_named_and_kept(pmbench, tmp_path: Path, damage: bytes) -> None:
    write_messages(tmp_path / "mine.jsonl")
    (tmp_path / "runs").mkdir()
    store = tmp_path / "runs" / "completions.sqlite"
    store.write_bytes(damage)
    done = pmbench("run", "-t", "greeting", "-m", "parrot:grey", "-d", "mine.jsonl")
    if damage:
        refused(done, "completions.sqlite")
        assert store.read_bytes() == damage
    else:
        assert done.returncode == 0


def test_no_text_of_the_dataset_is_in_any_output(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", [f"{SECRET} {i}" for i in range(5)])
    for extra in ((), ("--dry-run",), ("--fresh",)):
        done = pmbench(
            "run",
            "-t",
            "greeting",
            "-m",
            "parrot:grey",
            "-d",
            "mine.jsonl",
            *extra,
            env={"PARROT_FAIL": " 3"},
        )
        assert SECRET not in done.stdout + done.stderr
    for command in (("runs",), ("leaderboard", "-t", "greeting", "--include-incomplete", "-o", "-")):
        told = pmbench(*command)
        assert told.returncode == 0 and SECRET not in told.stdout + told.stderr


@pytest.mark.parametrize(
    "asked",
    [
        ("run", "-t", "syppm-editf1", "-m", "replay:@draft", "-d", "x" * 300 + ".csv"),
        ("checklist", "validate", "x" * 300 + ".json"),
        ("show", "x" * 300),
        (
            "run",
            "-t",
            "notes-checklist",
            "-d",
            "demo",
            "-m",
            "replay:@note",
            "-o",
            f"checklist={'x' * 300}.json",
        ),
    ],
)
def test_a_name_longer_than_files_have(pmbench, asked: tuple[str, ...]) -> None:
    done = pmbench(*asked)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and "fault in pmbench" not in done.stderr
