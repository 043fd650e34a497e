"""What is broken, edited or foreign in a runs folder is named with its reason; all that is sound stays visible."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_answers import write_messages

LONG = "a" * 5000
NESTED = '{"x":' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.fixture
def two_runs(pmbench, tmp_path: Path) -> Path:
    """Two runs of the greeting task, `replay:sound.jsonl` and `replay:spoilt.jsonl`; the folder of the second."""
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c"])
    for name, text in (("sound", "Dear you"), ("spoilt", "No")):
        lines = [json.dumps({"id": ident, "text": text}) for ident in "012"]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        done = pmbench("run", "-t", "greeting", "-d", "mine.jsonl", "-m", f"replay:{name}.jsonl")
        assert done.returncode == 0, done.stderr
    return next(tmp_path.glob("runs/greeting/replay-spoilt.jsonl/*"))


def one_line(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Status 2 and one line on standard error with all parts."""
    assert done.returncode == 2, done.stderr
    [complaint] = done.stderr.splitlines()
    assert complaint.startswith("Error: ")
    for part in parts:
        assert part in complaint


def file(run: Path, name: str) -> Path:
    return next(run.glob(f"**/{name}"))


def change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize("content", [NESTED, "{", "[1]", '{"digest": 5}'], ids=lambda text: text[:16])
@pytest.mark.parametrize("name", ["run.json", "results.json"])
def test_a_file_that_cannot_be_read_hides_no_other_run(
    pmbench, two_runs: Path, name: str, content: str
) -> None:
    file(two_runs, name).write_text(content)
    listed = pmbench("runs")
    assert listed.returncode == 1, listed.stderr
    assert "replay:sound.jsonl" in listed.stdout
    assert f"{name}: the file cannot be read" in " ".join(listed.stdout.split())
    board = pmbench("leaderboard", "-t", "greeting")
    assert board.returncode == 1, "a run that belongs into the table is missing"
    assert "1  replay:sound.jsonl" in board.stdout
    assert f"{name}: the file cannot be read" in board.stdout
    one_line(pmbench("show", two_runs), name, "Give the run's command again")


def test_the_remedy_for_a_broken_run_json_is_one(pmbench, two_runs: Path) -> None:
    (two_runs / "run.json").write_text("{")
    command = ("run", "-t", "greeting", "-d", "mine.jsonl", "-m", "replay:spoilt.jsonl")
    one_line(pmbench(*command, "-q"), "run.json", "--fresh")
    assert pmbench(*command, "--fresh").returncode == 0
    assert "replay:spoilt.jsonl" in pmbench("leaderboard", "-t", "greeting").stdout.split("not in a table")[0]


def test_a_broken_scoring_does_not_hide_the_others_of_its_run(pmbench, two_runs: Path) -> None:
    scoring = file(two_runs, "results.json").parent
    other = scoring.with_name("0123456789ab")
    other.mkdir()
    (other / "results.json").write_text(NESTED)
    shown = pmbench("show", two_runs)
    assert shown.returncode == 0
    assert "3 of 3 scored" in shown.stdout
    assert "0123456789ab" in shown.stderr and "cannot be read" in shown.stderr
    one_line(pmbench("show", two_runs, "--scoring", "0123"), "cannot be read")


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("scoring.json", '"seed": 0', '"seed": 7', "scoring.json was changed after it was written"),
        ("run.json", '"seed": 0', '"seed": 7', "run.json was changed after it was written"),
        (
            "scores.jsonl",
            '"greets":0.0',
            '"greets":1.0',
            "the scores, the results or the task's formula were changed after they were written",
        ),
    ],
)
def test_what_was_edited_afterwards_is_in_no_table(
    pmbench, two_runs: Path, name: str, old: str, new: str, reason: str
) -> None:
    path = file(two_runs, name)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    board = pmbench("leaderboard", "-t", "greeting").stdout
    table, _, left = board.partition("not in a table: ")
    assert "replay:sound.jsonl" in table
    assert "replay:spoilt.jsonl" not in table
    assert reason in left


def test_a_subgroup_without_the_metric_is_named(pmbench, two_runs: Path) -> None:
    results = file(two_runs, "results.json")
    metric = json.loads(results.read_text())["metrics"]["greeting_share"]
    groups = {
        "lacking": {"instances": 1, "clusters": 1, "lost": 0, "metrics": {}},
        "small": {
            "instances": 10,
            "scored": 9,
            "clusters": 2,
            "lost": 1,
            "metrics": {"greeting_share": metric},
            "gap": {"value": 0.1, "note": "no interval, for a part has 2 clusters and 5 are needed"},
        },
        "large": {"instances": 20, "clusters": 20, "lost": 0, "metrics": {"greeting_share": metric}},
    }
    assert "no subgroups" in pmbench("show", two_runs, "--slices").stdout
    change(results, slices={"ward": groups})
    shown = pmbench("show", two_runs, "--slices")
    assert shown.returncode == 0, shown.stderr
    rows = {line.split()[1]: line for line in shown.stdout.splitlines() if line.startswith("ward ")}
    assert "results.json has no greeting_share of it" in rows["lacking"]
    assert (
        "minus all others: no interval, for a part has 2 clusters" in rows["small"]
        and "9/10" in rows["small"]
    )
    assert "interval" not in rows["large"] and "fewer" not in rows["large"], (
        "what has an interval needs no remark"
    )
    alone = {"all": {**groups["large"], "clusters": 1}, " ": groups["large"]}
    change(results, slices={"ward": alone})
    shown = pmbench("show", two_runs, "--slices")
    assert "has 1 cluster: fewer" in shown.stdout and "by chance" not in shown.stdout
    assert sum(line.startswith("ward ") for line in shown.stdout.splitlines()) == 1, "an empty label is none"


def test_a_score_without_statistics_is_shown_as_lacking_them(pmbench, two_runs: Path) -> None:
    scores = file(two_runs, "scores.jsonl")
    lines = [json.loads(line) for line in scores.read_text().splitlines()]
    scores.write_text("".join(json.dumps({**line, "stats": {}}) + "\n" for line in lines))
    shown = pmbench("show", two_runs, "-i", "1")
    assert shown.returncode == 1 and "Not to be trusted: " in shown.stderr
    assert '"stats": {}' in shown.stdout
    assert "its score lacks statistics of greeting_share" in pmbench("show", two_runs, "--instances").stdout


def drafting(pmbench, tmp_path: Path) -> Path:
    """A run of the drafting task, which has a view; its folder."""
    done = pmbench("run", "-t", "syppm-editf1", "-d", "demo", "-m", "replay:@draft", "-n", "2")
    assert done.returncode == 0, done.stderr
    return next(tmp_path.glob("runs/syppm-editf1/*/*"))


@pytest.mark.parametrize(
    ("lacking", "told"),
    [
        ({"stats": {}}, "the score has no stats"),
        ({"evidence": {"draft": 5}}, "the score may lack what it shows"),
        ({"evidence": {"draft": "x", "reply": [None]}}, "the score may lack what it shows"),
    ],
    ids=["no stats", "other evidence", "other reply"],
)
def test_a_score_that_the_tasks_view_cannot_show_is_shown_as_stored(
    pmbench, tmp_path: Path, lacking: dict, told: str
) -> None:
    run = drafting(pmbench, tmp_path)
    scores = file(run, "scores.jsonl")
    first, *others = scores.read_text().splitlines()
    line = json.loads(first)
    scores.write_text("\n".join([json.dumps({**line, **lacking}), *others]) + "\n")
    shown = pmbench("show", run, "-i", line["id"])
    doubted = int("stats" in lacking)  # what explains a score is in no result
    assert shown.returncode == doubted, shown.stderr
    assert "view of it failed" in shown.stderr and told in shown.stderr
    assert len(shown.stderr.splitlines()) == 1 + doubted
    assert '"stats": {' in shown.stdout


@pytest.mark.parametrize("columns", ["id=", "note=", "message=body"])
def test_the_columns_that_were_asked_for_are_read_again(pmbench, tmp_path: Path, columns: str) -> None:
    """A column that was declined is not guessed when the instance is shown."""
    task = ("run", "-t", "syppm-editf1", "-m", "replay:@draft")
    name = {"note=": "chart=", "message=body": "message=body"}.get(columns, columns)
    body = "body" if "body" in columns else "message"
    row = {
        "id": "m1",
        body: "My knee hurts.",
        "ehr": "54-year-old.",
        "response": "Rest it.",
        "draft": "Rest.",
    }
    (tmp_path / "mine.jsonl").write_text(json.dumps(row) + "\n")
    assert pmbench(*task, "-d", "mine.jsonl", "-c", name).returncode == 0
    run = next(tmp_path.glob("runs/syppm-editf1/*/*"))
    shown = pmbench("show", run, "-i", "1" if columns == "id=" else "m1")
    assert shown.returncode == 0, shown.stderr
    assert "changed" not in shown.stderr
    assert "My knee hurts" in shown.stdout


@pytest.mark.parametrize("task", ["/etc", "**", "*", "..", "../runs/greeting", "greet*", "", LONG, "a\nb"])
def test_a_task_is_taken_by_its_very_name(pmbench, two_runs: Path, task: str) -> None:
    listed = pmbench("runs", "-t", task)
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.startswith("No runs of ")
    assert len(listed.stdout.splitlines()) == 1
    one_line(pmbench("leaderboard", "-t", task), "no task called")


@pytest.mark.parametrize("name", [LONG, f"/{LONG}", "**", "/etc", "\udcff"])
def test_a_run_that_is_none_is_one_line(pmbench, two_runs: Path, name: str) -> None:
    done = pmbench("show", name)
    one_line(done, "no run ", "See: pmbench runs")
    assert len(done.stderr) < 300


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_an_output_that_is_not_utf_8_gets_a_question_mark(
    pmbench, two_runs: Path, environment: dict[str, str]
) -> None:
    for arguments in (("leaderboard", "-t", "greeting"), ("runs",), ("show", two_runs, "--slices")):
        done = pmbench(*arguments, env=environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii() and "greeting" in done.stdout.lower()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_an_output_that_takes_nothing_is_one_line(plugged: Path, two_runs: Path, tmp_path: Path) -> None:
    for arguments in (("leaderboard", "-t", "greeting"), ("runs",), ("show", two_runs)):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [plugged, "-m", "pmbench", *arguments],
                cwd=tmp_path,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        one_line(done, "the output cannot be written (No space left on device)")


def test_in_a_pipe_a_run_is_a_line(plugged: Path, two_runs: Path, tmp_path: Path) -> None:
    def listed(**environment: str) -> list[str]:
        env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | environment
        command = [plugged, "-m", "pmbench", "runs"]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        return done.stdout.splitlines()

    (two_runs / "run.json").write_text("{")
    assert len(listed()) == 3
    assert len(listed(COLUMNS="100")) > 3


class TestThePageOfALeaderboard:
    """`--output` takes nothing away."""

    @pytest.fixture
    def write(self, pmbench, two_runs: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
        return lambda name: pmbench("leaderboard", "-t", "greeting", "-o", name)

    def test_an_earlier_page_or_an_empty_file_is_replaced(self, write, tmp_path: Path) -> None:
        (tmp_path / "empty.md").touch()
        (tmp_path / "link.md").symlink_to("page.md")
        for name in ("page.md", "page.md", "link.md", "empty.md", "new/folder/page.md"):
            assert write(name).returncode == 0
            assert (tmp_path / name).read_text().startswith("# Leaderboard: ")
        assert (tmp_path / "link.md").is_symlink()
        assert not list(tmp_path.glob("**/*.part"))

    @pytest.mark.parametrize("name", ["mine.jsonl", "runs/completions.sqlite", "binary", "notes.md"])
    def test_any_other_file_is_refused_and_kept(self, write, tmp_path: Path, name: str) -> None:
        (tmp_path / "binary").write_bytes(b"\xff\x00")
        (tmp_path / "notes.md").write_text("# Notes\n")
        path = tmp_path / name
        before = path.read_bytes()
        assert before
        unknown = Path(name).suffix not in ("", ".md")
        why = "no format has files that end in" if unknown else "is no leaderboard, and would be overwritten"
        one_line(write(name), why, "name the format" if unknown else "Choose another name or remove it")
        assert path.read_bytes() == before

    def test_a_folder_is_refused(self, write) -> None:
        one_line(write("runs"), "this is a folder", "--output")

    def test_what_cannot_be_written_is_one_line(self, write, tmp_path: Path) -> None:
        (tmp_path / "loop").symlink_to("loop")
        for name in ("mine.jsonl/page.md", LONG, "loop/page.md"):
            done = write(name)
            one_line(done, "the page cannot be written", "--output")
            assert len(done.stderr) < 400

    def test_a_full_disk_leaves_the_earlier_page(
        self, write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A limit on the size of files stands for the disk that is full."""
        import resource
        import signal

        assert write("page.md").returncode == 0
        before = (tmp_path / "page.md").read_bytes()
        # Measuring coverage would write a file of its own against the limit.
        for name in [name for name in os.environ if name.startswith("COVERAGE")]:
            monkeypatch.delenv(name)
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, old[1]))
            done = write("page.md")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
            signal.signal(signal.SIGXFSZ, ignored)
        one_line(done, "the page cannot be written (File too large)")
        assert (tmp_path / "page.md").read_bytes() == before
        assert not list(tmp_path.glob("*.part"))


def test_what_an_earlier_round_answered_is_not_shown(pmbench, two_runs: Path) -> None:
    again = pmbench("run", "-t", "greeting", "-d", "mine.jsonl", "-m", "replay:spoilt.jsonl", "--fresh")
    assert again.returncode == 0, again.stderr
    for name in ("responses.jsonl", "scores.jsonl"):
        lines = file(two_runs, name).read_text().splitlines()
        old = {**json.loads(lines[0]), "text": "Of old", "stats": {"greets": 1.0}}
        assert "round" not in old
        file(two_runs, name).write_text("\n".join([*lines, json.dumps(old), ""]))
    shown = pmbench("show", two_runs, "-i", "0")
    assert shown.returncode == 0, shown.stderr
    assert "Of old" not in shown.stdout and '"greets": 0.0' in shown.stdout
    assert "replay:spoilt.jsonl" in pmbench("leaderboard", "-t", "greeting").stdout.split("not in a table")[0]
