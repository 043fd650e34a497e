"""One instance as its task shows it: in a pipe, on a terminal, and where the task's own view fails."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_answers import write_messages

SECRET = "Zyzzyva-7731"

VIEWS = """
import sys
import pmbench
from pmbench.cli.main import run
from pmbench_greeting.task import Greeting

Line, Block = pmbench.ViewLine, pmbench.ViewBlock

def view(record):
    text, message = record.response.text, record.instance.inputs["message"]
    marks = ("", "kept", "deleted", "added")
    match what:
        case "blocks":
            return [
                Block("Plain " + message, (Line(text),)),
                Block("Marked", [Line(text, mark, message) for mark in marks]),
                Block("Empty", ()),
            ]
        case "markdown":
            return "# " + text
        case "number":
            return 5
        case "generator":
            return (Block("x", ()) for _ in range(2))
        case "lines":
            return [Line(text)]
        case "texts":
            return [Block("x", (text,))]
        case "mark":
            return [Block("x", (Line(text, "gone"),))]
        case "none":
            return [Block("x", (Line(None),))]
        case "raise":
            raise ValueError(text)

what = sys.argv.pop(1)
Greeting.views = {"test": view}
sys.exit(run(sys.argv[1:]))
"""

HOSTILE = (
    "Dear \x1b[31mred\x1b]0;title\x07 you,\r\n\tsee [bold]this[/bold] [link=x]y[/] :smile: **md** `c` <b>h</b>\x00\n"
    "```\n\u202eright\u2066 to\u200b left \u2028 caf\u00e9 漢字" + "漢字" * 60 + " end"
)
SEEN = (
    "Dear \\x1b[31mred\\x1b]0;title\\x07 you, see [bold]this[/bold] [link=x]y[/] :smile: **md** `c` <b>h</b>\\x00 "
    "``` \\u202eright\\u2066 to\\u200b left café 漢字" + "漢字" * 60 + " end"
)
"""What a reader sees of it."""

Show = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def show(pmbench, plugged: Path, tmp_path: Path) -> Show:
    """Shows the one instance of a run whose message and response are given, by a view of a plugin."""

    def command(
        what: str, text: str, message: str = "beside it", columns: int | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        write_messages(tmp_path / "mine.jsonl", [message])
        (tmp_path / "r.jsonl").write_text(json.dumps({"id": "0", "text": text}) + "\n")
        done = pmbench("score", "-t", "greeting", "-d", "mine.jsonl", "-r", "r.jsonl", "--fresh")
        assert done.returncode == 0, done.stderr
        run = max((tmp_path / "runs").glob("greeting/*/*"), key=lambda path: path.stat().st_mtime)
        arguments = [str(plugged), "-c", VIEWS, what, "show", str(run), "-i", "0"]
        return on_a_terminal(arguments, columns, env) if columns else in_a_pipe(arguments, env)

    def in_a_pipe(arguments: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "40", **env},
            capture_output=True,
            text=True,
        )

    def on_a_terminal(
        arguments: list[str], columns: int, env: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        left_out = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "COLORTERM", "LINES")
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        process = subprocess.Popen(
            arguments,
            cwd=tmp_path,
            env={**kept, "TERM": "xterm-256color", **env},
            stdout=theirs,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        os.close(theirs)
        content = b""
        while True:
            try:
                got = os.read(ours, 1 << 16)
            except OSError:  # how Linux says that the other end is closed
                break
            if not got:
                break
            content += got
        os.close(ours)
        _, errors = process.communicate()
        text = content.decode().replace("\r\n", "\n")
        return subprocess.CompletedProcess(arguments, process.returncode, text, errors.decode())

    return command


def plain(text: str) -> str:
    """Without colours, and with nothing else that a terminal obeys."""
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert not [sign for sign in bare if unicodedata.category(sign) in ("Cc", "Cf") and sign != "\n"]
    return bare


def width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in line)


def test_in_a_pipe_a_line_is_a_line_with_its_sign(show: Show) -> None:
    done = show("blocks", "Dear you,\n  thank you for\n\nwriting at such length about it all.")
    text = "Dear you, thank you for writing at such length about it all."
    assert done.stdout.splitlines() == [
        "Plain beside it",
        f"  {text}",
        "",
        "Marked (= kept, - deleted, + added)",
        f"  {text}  [beside it]",
        f"= {text}  [beside it]",
        f"- {text}  [beside it]",
        f"+ {text}  [beside it]",
        "",
        "Empty",
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_hostile_text_is_shown_and_does_nothing_in_a_pipe(show: Show) -> None:
    done = show("blocks", HOSTILE, HOSTILE)
    lines = plain(done.stdout).splitlines()
    assert lines[0] == f"Plain {SEEN}"
    assert lines[5] == f"= {SEEN}  [{SEEN}]"
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("columns", [30, 89, 90, 140])
def test_on_a_terminal_it_keeps_to_the_width_and_each_sign_to_its_column(show: Show, columns: int) -> None:
    done = show("blocks", HOSTILE, "a remark of some length that has to be wrapped", columns=columns)
    assert (done.returncode, done.stderr) == (0, "")
    lines = plain(done.stdout).splitlines()
    marked = lines[next(i for i, line in enumerate(lines) if line.startswith("Marked")) + 1 : -2]
    assert all(width(line) <= columns for line in marked)
    assert {line[0] for line in marked if line[0] != " "} == {"=", "-", "+"}
    assert all(line[1] == " " for line in marked)
    if columns < 90:
        shown = "".join("".join(marked).split())
        assert shown.count("".join(SEEN.split())) == 4
        assert shown.count("[aremarkofsomelengththathastobewrapped]") == 4
    else:
        # Side by side, so that a line holds a part of each.
        places = [line.index("a remark") for line in marked if "a remark" in line]
        assert len(places) == 4 and min(places) > columns // 2


def test_colour_is_never_the_only_sign(show: Show) -> None:
    coloured = show("blocks", "Dear you", columns=100).stdout
    assert "\x1b[1;31m- " in coloured and "\x1b[1;32m+ " in coloured
    bare = show("blocks", "Dear you", columns=100, NO_COLOR="1").stdout
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", bare)
    assert plain(bare) == plain(coloured)
    dumb = show("blocks", "Dear you", columns=100, TERM="dumb").stdout
    assert "\x1b" not in dumb
    assert [line[0] for line in dumb.splitlines() if line.endswith("Dear you")] == [" ", " ", "=", "-", "+"]


def test_markdown_is_still_shown(show: Show) -> None:
    assert show("markdown", "Dear you").stdout == "# Dear you\n"
    assert "Dear you" in plain(show("markdown", "Dear you", columns=80).stdout)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("number", "it made int, neither text nor blocks"),
        ("generator", "it made generator, neither text nor blocks"),
        ("lines", "it made ViewLine where a block belongs"),
        ("texts", "it made str where a line belongs"),
        ("mark", "it made a line whose text, remark or mark is none"),
        ("none", "it made a line whose text, remark or mark is none"),
        ("raise", "ValueError at <string>"),
    ],
)
def test_a_view_that_fails_leaves_what_is_stored(show: Show, what: str, told: str) -> None:
    done = show(what, f"Dear you {SECRET}")
    assert done.returncode == 0
    assert f"The task's own view of it failed ({told}" in done.stderr
    assert SECRET not in done.stderr
    assert done.stdout.startswith(f"Dear you {SECRET}\n") and '"greets": 1.0' in done.stdout


@pytest.mark.model
def test_a_draft_with_its_expected_edits(pmbench, tmp_path: Path) -> None:
    data = {
        "id": "m1",
        "message": "My cough is worse at night.",
        "response": "I am sorry the cough keeps you up. Please call us on Monday to book a visit.",
    }
    (tmp_path / "mine.jsonl").write_text(json.dumps(data) + "\n")
    draft = "I am sorry that the cough keeps you up. Bananas are yellow."
    (tmp_path / "r.jsonl").write_text(json.dumps({"id": "m1", "text": draft}) + "\n")
    done = pmbench("score", "-t", "syppm-editf1", "-d", "mine.jsonl", "-r", "r.jsonl")
    assert done.returncode == 0, done.stderr
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    lines = pmbench("show", run, "-i", "m1").stdout.splitlines()
    at = lines.index("The draft with its expected edits (= kept, - deleted, + added)")
    kept, added, deleted = lines[at + 1 : at + 4]
    assert kept.startswith(
        "= I am sorry that the cough keeps you up.  [empathy; 1: I am sorry the cough keeps"
    )
    assert added.startswith("+ Please call us on Monday to book a visit.  [")
    assert added.endswith("sentence 2 of the reply]")
    assert deleted.startswith("- Bananas are yellow.  [")


@pytest.mark.model
def test_a_draft_of_fifty_thousand_words_is_shown_whole(pmbench, tmp_path: Path) -> None:
    data = {"id": "m1", "message": "Why?", "response": "Rest the knee. Call us."}
    (tmp_path / "mine.jsonl").write_text(json.dumps(data) + "\n")
    draft = "Rest the knee. " + "We see. " * 25_000
    (tmp_path / "r.jsonl").write_text(json.dumps({"id": "m1", "text": draft}) + "\n")
    done = pmbench("score", "-t", "syppm-editf1", "-d", "mine.jsonl", "-r", "r.jsonl")
    assert done.returncode == 0, done.stderr
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    lines = pmbench("show", run, "-i", "m1").stdout.splitlines()
    assert sum(line.startswith("- We see.") for line in lines) == 25_000
