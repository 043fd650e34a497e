"""Runs of a stranger's task and of tasks that need no model, and a real browser to look at their pages."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from hostile_texts import HOSTILE
from real_browser import chromium, opened

HERE = Path(__file__).resolve().parent
LABEL = "<script>alert('model')</script> \"quoted\" </title>"
SECRET = "Zyzzyva-7731"

__all__ = ["HERE", "LABEL", "SECRET", "Command", "chromium", "opened", "rows"]

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def reporting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, Path]:
    """Runs `pmbench ARGUMENTS` as a second process that has the stranger's package, in a folder with runs of it."""
    home = tmp_path_factory.mktemp("reporting")
    package = home / "site"
    information = package / "strangers_task-1.0.dist-info"
    information.mkdir(parents=True)
    shutil.copy(HERE / "stranger_task.py", package)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers-task\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[pmbench.tasks]\nstranger = stranger_task:Stranger\n")

    def command(*arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        paths = [str(package), os.environ.get("PYTHONPATH", "")]
        return subprocess.run(
            [sys.executable, "-m", "pmbench", *map(str, arguments)],
            cwd=home,
            env={
                **os.environ,
                "PMBENCH_RUNS": str(home / "runs"),
                "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                "COLUMNS": "160",
                **more,
            },
            capture_output=True,
            text=True,
            timeout=300,
        )

    return command, home


def rows() -> Iterator[tuple[dict[str, Any], str | None]]:
    """Rows of the data, each with its recorded answer."""
    for number, (name, text) in enumerate(HOSTILE.items()):
        kind = ("plain", 'odd "<b>" kind')[number % 2]
        yield {"id": name, "message": f"message of {name}", "kind": kind, "right": str(number % 2)}, text
        yield {"id": f"{name}-md", "message": f"markdown {name}", "kind": kind, "right": "1"}, text
    yield {"id": "raises", "message": f"raise {SECRET}", "kind": "plain", "right": "0"}, "an answer"
    yield {"id": "number", "message": "number please", "kind": "plain", "right": "0"}, "an answer"
    yield {"id": "none", "message": "no answer at all", "kind": "plain", "right": "0"}, None
    yield {"id": "unscored", "message": "unscored, please", "kind": "plain", "right": "0"}, "not to be scored"
    yield {"id": "empty", "message": "an empty answer", "kind": "plain", "right": "0"}, ""
    yield {"id": "cut", "message": "an answer that was cut off", "kind": "plain", "right": "1"}, "cut o"
    yield {"id": "<i>id</i>", "message": "an id", "kind": "plain", "right": "1"}, "right"


@pytest.fixture(scope="session")
def run_folder(reporting: tuple[Command, Path]) -> Path:
    """A run whose answers, names and labels are hostile, with a failed, a missing, an empty and a cut answer."""
    command, home = reporting
    every = list(rows())
    data, answers = home / "data.jsonl", home / "answers.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row, _ in every))
    answers.write_text("".join(json.dumps({"id": row["id"], "text": text}) + "\n" for row, text in every))
    ask = (
        "run",
        "-t",
        "stranger",
        "-d",
        data,
        "--sensitivity",
        "phi",
        "-m",
        f"replay:{answers}",
        "--label",
        LABEL,
    )
    done = command(*ask)
    assert "scored" in done.stdout, done.stderr
    (found,) = (home / "runs").glob("stranger/*/*/run.json")
    responses = found.parent / "responses.jsonl"
    lines = [json.loads(line) for line in responses.read_text().splitlines()]
    for line in lines:
        if line["id"] == "cut":
            line["finish"] = "length"  # as a server's limit would leave it
    responses.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return found.parent


@pytest.fixture(scope="session")
def page_file(reporting: tuple[Command, Path], run_folder: Path) -> Path:
    """The page of the hostile run."""
    command, home = reporting
    done = command("report", run_folder, "-o", "hostile.html")
    assert done.returncode == 0, done.stderr
    return home / "hostile.html"
