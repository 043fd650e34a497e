"""`pmbench report`: what it writes, what it leaves out, and what it refuses."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import LABEL, SECRET, rows
from hostile_texts import HOSTILE

Command = Callable[..., subprocess.CompletedProcess[str]]


class Cells(HTMLParser):
    """The cells of every table, row by row, each by the caption of its table."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._open = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self.tables[-1][-1][-1] += data


def results_of(run: Path) -> dict[str, Any]:
    (file,) = run.glob("scores/*/results.json")
    return json.loads(file.read_text())


@pytest.fixture
def copied(run_folder: Path, tmp_path: Path) -> Path:
    """The run in a place of the test's own, to be spoiled."""
    return Path(shutil.copytree(run_folder, tmp_path / "run"))


def test_it_is_its_owners_alone_and_overwrites_nothing(
    reporting: Any, page_file: Path, run_folder: Path
) -> None:
    command, _ = reporting
    assert page_file.stat().st_mode & 0o777 == 0o600
    before = page_file.read_bytes()
    refused = command("report", run_folder, "-o", page_file)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "this is there already" in refused.stderr and page_file.read_bytes() == before


def test_the_numbers_are_those_of_the_run(page_file: Path, run_folder: Path) -> None:
    results = results_of(run_folder)
    table = Cells(page_file.read_text()).tables[0]
    share, length = results["metrics"]["share"], results["metrics"]["length"]
    assert table[1][1:3] == [
        f"{100 * share['value']:.3f}%",
        f"{100 * share['low']:.3f}% to {100 * share['high']:.3f}%",
    ]
    assert table[2][1] == f"{length['value']:.0f} characters"
    bounds = table[1][4]
    assert bounds == f"{100 * share['worst']:.3f}% / {100 * share['best']:.3f}%"


def test_subgroups_and_what_became_of_the_responses(page_file: Path, run_folder: Path) -> None:
    results = results_of(run_folder)
    tables = Cells(page_file.read_text()).tables
    slices = next(table for table in tables if table[0][0] == "Slice")
    kinds = results["slices"]["kind"]
    assert {row[1]: row[2] for row in slices[1:]} == {
        label: str(found["instances"]) for label, found in kinds.items()
    }
    became = {row[0]: row[1] for table in tables if table[0][0] == "What" for row in table[1:]}
    counts = results["counts"]
    assert became["failed after all retries"] == str(counts["failed"]) == "1"
    assert became["without a score"] == str(counts["missing"]) == "1"
    assert became["lost: unparsed"] == "1"


def test_a_view_that_fails_costs_its_instance_alone(page_file: Path) -> None:
    page = page_file.read_text()
    assert page.count("own view of it failed (ValueError at stranger_task.py:") == 1
    assert page.count("own view of it failed (it made int, neither text nor blocks)") == 1
    assert f"raise {SECRET}" in page  # as it is stored


def test_without_texts_there_are_none(reporting: Any, run_folder: Path) -> None:
    command, home = reporting
    done = command("report", run_folder, "-o", "-", "--no-text")
    assert done.returncode == 0
    for row, answer in rows():
        assert row["message"] not in done.stdout
        if answer and len(answer) > 8:
            assert answer not in done.stdout and answer[:40] not in done.stdout
    assert SECRET not in done.stdout and str(home) not in done.stdout
    ids = ["raises", "unscored", *HOSTILE]
    assert all(f"<bdi>{name}</bdi>" in done.stdout for name in ids)
    assert "length 5" in done.stdout


def test_the_same_run_makes_the_same_page(reporting: Any, run_folder: Path, page_file: Path) -> None:
    command, _ = reporting
    assert command("report", run_folder, "-o", "-").stdout == page_file.read_text()


def test_data_that_have_changed_are_not_shown(reporting: Any, run_folder: Path) -> None:
    command, home = reporting
    data = home / "data.jsonl"
    before = data.read_text()
    try:
        data.write_text(before.replace("message of emoji", "another message"))
        done = command("report", run_folder, "-o", "-")
        assert done.returncode == 0 and "The dataset has changed since the run" in done.stdout
        assert "another message" not in done.stdout and HOSTILE["emoji"] in done.stdout
        data.unlink()
        assert "The dataset cannot be read again" in command("report", run_folder, "-o", "-").stdout
    finally:
        data.write_text(before)


def test_a_run_without_scores(reporting: Any, copied: Path) -> None:
    command, home = reporting
    shutil.rmtree(copied / "scores")
    refused = command("report", copied, "-o", "unscored.html")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "not scored yet" in refused.stderr and not (home / "unscored.html").exists()


def test_an_unfinished_run_says_so(reporting: Any, copied: Path) -> None:
    command, _ = reporting
    (file,) = copied.glob("scores/*/results.json")
    results = json.loads(file.read_text())
    file.write_text(json.dumps({**results, "status": "incomplete", "reason": "interrupted <b>"}))
    done = command("report", copied, "-o", "-")
    assert done.returncode == 0 and "The run is incomplete: interrupted &lt;b&gt;." in done.stdout


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("percentile bootstrap by cluster", "are narrower than they should be"),
        ("another, made for few", "small differences cannot be shown"),
    ],
)
def test_few_clusters_are_said_as_the_run_was_measured(
    reporting: Any, copied: Path, method: str, said: str
) -> None:
    command, _ = reporting
    (file,) = copied.glob("scores/*/results.json")
    results = json.loads(file.read_text())
    results["statistics"]["method"] = method
    file.write_text(json.dumps(results))
    assert said in command("report", copied, "-o", "-").stdout


@pytest.mark.parametrize(
    ("more", "what"),
    [(("--scoring", "ffff"), "0 scorings begin with"), (("--runs", "nowhere"), "")],
)
def test_what_is_not_there(reporting: Any, run_folder: Path, more: tuple[str, ...], what: str) -> None:
    command, _ = reporting
    name = run_folder if what else "0123456789ab"
    refused = command("report", name, "-o", "x.html", *more)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and what in refused.stderr


def test_without_matplotlib_it_says_so_in_a_line(reporting: Any, run_folder: Path) -> None:
    _, home = reporting
    program = (
        "import sys; sys.modules['matplotlib'] = None; sys.path.insert(0, sys.argv.pop(1)); "
        "from pmbench.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(home / "site"), "report", str(run_folder), "-o", "-"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and done.stderr.count("\n") == 1
    assert 'pip install "pmbench[plots]"' in done.stderr
    assert "they need matplotlib" in done.stdout and 'class="plot"' not in done.stdout


def test_the_sorted_inbox_stands_as_a_table(reporting: Any) -> None:
    command, home = reporting
    run = command("run", "-t", "inbox-triage", "-d", "demo", "--strategy", "length")
    assert run.returncode == 0, run.stderr
    (found,) = (home / "runs").glob("inbox-triage/*/*/run.json")
    done = command("report", found.parent, "-o", "-")
    inboxes = [table for table in Cells(done.stdout).tables if table[0][:2] == ["place", "level"]]
    assert [len(table) - 1 for table in inboxes] == [30, 30]
    shown = command("show", found.parent, "--instance", "a").stdout
    levels = [line.split("|")[2].strip() for line in shown.splitlines() if line.startswith("|")][2:]
    assert levels in ([row[1] for row in table[1:]] for table in inboxes)


def test_the_label_of_the_model_is_in_the_title(page_file: Path) -> None:
    import html

    title = page_file.read_text().partition("<title>")[2].partition("</title>")[0]
    assert html.unescape(title) == f"stranger: {LABEL}, recorded"
