"""Responses that were made elsewhere, in the files that people have, through the command that scores them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_answers import write_messages

SECRET = "Zyzzyva-7731"
"""Stands in texts of the data and of responses; it may be in no message."""

SCORE = ("score", "-t", "greeting", "-d", "mine.jsonl")

SPREADSHEET = (
    "\ufeffNr;Antwort der KI;Sekunden;\r\n"
    '0;"Dear you,\r\n\r\nyes; ""please"" come\ntomorrow";1,5;\r\n'
    "1;;2,0;\r\n"
    "2;Nein.;0,1;\r\n"
    ";;;\r\n"
)
"""As a spreadsheet of a country with decimal commas exports it: the second response is empty."""


def write_responses(path: Path, *ids: str, text: str = f"Dear you {SECRET}") -> None:
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name in ids))


def results(path: Path) -> dict:
    found = json.loads(path.read_text())
    del found["finished_at"]
    return found


def refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """One line on standard error with all parts, status 2, no text of the dataset, no traceback."""
    assert done.returncode == 2, done.stderr
    (complaint,) = done.stderr.splitlines()
    assert complaint.startswith("Error: ")
    for part in parts:
        assert part in complaint
    assert SECRET not in done.stderr + done.stdout


def test_a_file_that_a_spreadsheet_exported(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c"])
    (tmp_path / "export.csv").write_text(SPREADSHEET, encoding="utf-8", newline="")
    columns = ("--response-columns", "id=Nr,text=Antwort der KI")
    done = pmbench(*SCORE, "-r", "export.csv", *columns, "--json", "out.json")
    assert done.returncode == 0, done.stderr
    found = results(tmp_path / "out.json")
    assert found["metrics"]["greeting_share"]["value"] == pytest.approx(1 / 3)
    assert (found["counts"]["scored"], found["counts"]["empty"]) == (3, 1)
    assert "3 of 3 scored; 1 empty" in done.stdout
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    assert 'yes; "please" come' in pmbench("show", run, "-i", "0").stdout


@pytest.mark.parametrize(
    ("name", "content", "model"),
    [
        (
            "r.jsonl",
            '{"id": "0", "text": "Dear"}\n{"id": 1, "text": "No"}\n{"id": "2", "text": ""}\n',
            "r.jsonl",
        ),
        ("r.csv", "id,draft\n0,Dear\n1,No\n2,\n", "r.csv?column=draft"),
        ("r.tsv", "uid\tModel output\n0\tDear\n1\tNo\n2\t\n", "r.tsv?column=Model%20output&id=uid"),
        ("a?b#c.csv", "ID;reply\n0;Dear\n1;No\n2;\n", "a?b#c.csv?column=reply&id=ID"),
        ("@r.csv", "id;text\n0;Dear\n1;No\n2;\n", "./@r.csv"),
    ],
)
def test_it_is_the_run_that_replays_the_file(
    pmbench, tmp_path: Path, name: str, content: str, model: str
) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c"])
    (tmp_path / name).write_text(content)
    options = ("--limit", "2", "--max-missing", "0.2", "-o", "word=dear")
    scored = pmbench(*SCORE, "-r", name, "--runs", "scored", "--json", "scored.json", *options)
    assert scored.returncode == 0, scored.stderr
    assert ("(a guess; --response-columns decides)" in scored.stderr) == ("=" in model)
    run = ("run", *SCORE[1:], "-m", f"replay:{model}", "--runs", "run", "--json", "run.json", *options)
    assert pmbench(*run).returncode == 0
    assert results(tmp_path / "scored.json") == results(tmp_path / "run.json")
    (kept,) = tmp_path.glob("scored/**/results.json")
    assert results(kept) == results(tmp_path / "run.json")
    again = pmbench(*run[:-6], "--runs", "scored", *options)
    assert again.returncode == 0 and "respond:" not in again.stderr  # it is there already


def test_ids_that_do_not_fit_are_told_before_and_at_the_end(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c", "d"])
    write_responses(tmp_path / "r.jsonl", "0", "2", "y", "zz")
    done = pmbench(*SCORE, "-r", "r.jsonl", "--json", "out.json")
    assert done.returncode == 1
    assert "2 of 4 instances have no recorded answer: '1', '3'" in done.stderr
    end = done.stdout.splitlines()[-4:]
    assert end[0] == "2 of 4 instances without a response: '1', '3'"
    assert end[1] == "responses that belong to no instance: 2: 'y', 'zz'"
    assert end[2].startswith("results: ")
    assert end[3].startswith("To mend it, add the missing responses and give the same command again")
    found = results(tmp_path / "out.json")
    assert found["status"] == "incomplete" and found["counts"]["failures"] == {"absent": 2}
    allowed = pmbench(*SCORE, "-r", "r.jsonl", "--max-missing", "0.5")
    assert allowed.returncode == 0 and "complete-with-missing" in allowed.stdout
    part = pmbench(*SCORE, "-r", "r.jsonl", "--limit", "2")
    assert "1 of 2 instances without a response: '1'" in part.stdout
    write_responses(tmp_path / "r.jsonl", "0", "1", "2", "3")
    mended = pmbench(*SCORE, "-r", "r.jsonl")
    assert mended.returncode == 0 and "without a response" not in mended.stdout
    planned = pmbench(*SCORE, "-r", "r.jsonl", "--dry-run")
    assert planned.returncode == 0 and "requests  0 to the model" in planned.stdout


def test_ids_that_a_spreadsheet_rewrote_are_found_and_told(pmbench, tmp_path: Path) -> None:
    rows = [{"id": name, "message": "a"} for name in ("007", "008", "x")]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "r.csv").write_text("id,text\n7,Dear\n8.0,Dear\nx,Dear\n")
    done = pmbench(*SCORE, "-r", "r.csv")
    assert done.returncode == 0, done.stderr
    told = "ids that are the same as numbers only: 2, such as '007', '008', which stand there as '7', '8.0'"
    assert told in done.stdout


XLSX = b"PK\x03\x04\x14\x00\x06\x00\x08\x00" + SECRET.encode()


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("r.csv", b"", ("r.csv", "holds no answers")),
        ("r.jsonl", b"\n", ("r.jsonl", "holds no answers")),
        ("r.csv", f"id,text\n1,{SECRET}\n1,{SECRET}\n".encode(), ("line 3", "the same id as in line 2")),
        ("r.csv", f"id;text\n;{SECRET}\n".encode(), ("line 2", "no id", "id=COLUMN")),
        (
            "r.csv",
            f"text\n{SECRET}\n".encode(),
            ("no column of ids", "--response-columns id=COLUMN", "'text'"),
        ),
        ("r.csv", f"id,a,b\n1,{SECRET},\n".encode(), ("no column of responses", "'id', 'a', 'b'")),
        ("r.csv", f"id,draft,reply\n1,{SECRET},\n".encode(), ("2 columns could be", "'draft', 'reply'")),
        ("r.csv", f"1,{SECRET} and so it goes on\n2,x\n".encode(), ("no column of responses", "characters)")),
        ("r.csv", f'id,text\n1,"{SECRET}\n'.encode(), ("broken CSV", "line 2")),
        ("r.csv", f"id,text\n1,{SECRET}\n".encode("utf-16"), ("UTF-16, not UTF-8", "Save it as CSV UTF-8")),
        ("r.csv", f"id,text\n1,ä{SECRET}\n".encode("latin-1"), ("not UTF-8 (byte 10)", "CSV UTF-8")),
        ("r.csv", b"\x7fELF\x02\x00\x00" + SECRET.encode(), ("not text", "zero byte")),
        ("r.csv", XLSX, ("a spreadsheet or a zip file", "save it as CSV")),
        ("r.xlsx", XLSX, ("r.xlsx", "save it as CSV with the character set UTF-8")),
        ("r.ods", XLSX, ("r.ods", "save it as CSV with the character set UTF-8")),
        ("r.txt", SECRET.encode(), ("called .txt", "Use .jsonl, .csv or .tsv")),
        ("r.jsonl", b'{"id": "1"}\n', ("no column of responses",)),
        ("r.jsonl", b'{"id": "1", "text": "Zyzzyva-7731}\n', ("line 1", "JSON is broken")),
        ("r.jsonl", b'{"id": "1", "text": 5}\n', ("line 1", "'text' is no text")),
        ("r.jsonl", b'{"id": "a", "text": "Zyzzyva-7731"}\n', ("none of its ids is in the data", "'a'")),
    ],
)
def test_files_that_cannot_be_read(
    pmbench, tmp_path: Path, name: str, content: bytes, parts: tuple[str, ...]
) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a"])
    (tmp_path / name).write_bytes(content)
    refused(pmbench(*SCORE, "-r", name), *parts)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("-r", "gone.csv"), ("gone.csv", "no such file")),
        (("-r", "folder"), ("folder", "it is a folder, not a file")),
        (("-r", ""), ("--responses", "names no file")),
        ((), ("--responses",)),
        (("-r", "r.jsonl", "--response-columns", "text"), ("--response-columns", "name=column")),
        (("-r", "r.jsonl", "--response-columns", "txt=a"), ("'txt'", "Did you mean text?")),
        (("-r", "r.jsonl", "--response-columns", "text=a"), ("r.jsonl", "no column 'a'", "'id', 'text'")),
        (("-r", "r.jsonl", "-r", "s.jsonl", "--label", "x"), ("--label",)),
        (("-r", "r.jsonl", "--json", "r.jsonl"), ("--json r.jsonl", "a file of responses")),
        (("-r", "r.jsonl", "--json", "mine.jsonl"), ("--json mine.jsonl", "the data")),
        (("-r", "r.jsonl", "--json", "nowhere/out.json"), ("no such folder",)),
        (("-r", "r.jsonl", "-j", "content=embedded"), ("no judge role",)),
        (("-r", "r.jsonl", "-t", "greting"), ("no task called 'greting'",)),
    ],
)
def test_options(pmbench, tmp_path: Path, arguments: tuple[str, ...], parts: tuple[str, ...]) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a"])
    (tmp_path / "folder").mkdir()
    for name in ("r.jsonl", "s.jsonl"):
        write_responses(tmp_path / name, "0")
    before = (tmp_path / "r.jsonl").read_bytes()
    refused(pmbench(*SCORE, *arguments), *parts)
    assert (tmp_path / "r.jsonl").read_bytes() == before


def test_without_data_it_says_what_is_needed(pmbench, tmp_path: Path) -> None:
    write_responses(tmp_path / "r.jsonl", "0")
    refused(pmbench("score", "-t", "greeting", "-r", "r.jsonl"), "greeting needs --data FILE", '"message"')
    done = pmbench("score", "-t", "syppm-editf1", "-r", "r.jsonl", env={"HF_HUB_OFFLINE": "1"})
    note, complaint = done.stderr.splitlines()
    assert "no --data: the responses are taken to answer the task's own dataset, hub:PortalPal-AI/" in note
    assert done.returncode == 2 and "give it as --data FILE" in complaint


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("id,message,draft", ()),
        ("message,draft", ()),
        ("message id,message,draft", ()),
        ("key,message,draft", ("--columns", "id=key")),
        ("key,text,draft", ("--columns", "id=key,message=text")),
        ("key,message,draft", ("--columns", "id=")),
    ],
)
def test_one_file_may_hold_messages_and_responses(
    pmbench, tmp_path: Path, header: str, columns: tuple[str, ...]
) -> None:
    rows = ["0;Hello there;No", "1;Dear me;Dear", "2;Dear me;No"]
    cut = 0 if header.count(",") == 2 else 2
    lines = [header.replace(",", ";"), *(row[cut:] for row in rows)]
    (tmp_path / "all.csv").write_text("\ufeff" + "\r\n".join(lines) + "\r\n", newline="")
    both = ("score", "-t", "greeting", "--data", "all.csv", "--responses", "all.csv", *columns)
    refused(pmbench(*both), "it holds the data too", "--response-columns text=COLUMN", "'draft'")
    done = pmbench(*both, "--response-columns", "text=draft", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["greeting_share"]["value"] == pytest.approx(1 / 3)


def test_several_files_in_one_command_stand_side_by_side(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c"])
    write_responses(tmp_path / "r.jsonl", "0", "1", "2")
    (tmp_path / "s.csv").write_text("id,text\n0,No\n1,No\n2,Dear\n")
    done = pmbench(*SCORE, "-r", "r.jsonl", "-r", "s.csv", "--json", "-")
    first, second = json.loads(done.stdout)
    assert (first["model"], second["model"]) == ("replay:r.jsonl", "replay:s.csv")
    assert second["metrics"]["greeting_share"]["value"] == pytest.approx(1 / 3)
    named = pmbench(*SCORE, "-r", "s.csv", "--label", "our vendor", "--runs", "named")
    assert named.returncode == 0
    assert "our vendor" in pmbench("runs", "--runs", "named").stdout
    board = pmbench("leaderboard", "-t", "greeting")
    assert "replay:r.jsonl" in board.stdout and "replay:s.csv" in board.stdout


def test_json_on_standard_output_is_json_alone_and_quiet_is_quiet(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b"])
    write_responses(tmp_path / "r.jsonl", "0")
    done = pmbench(*SCORE, "-r", "r.jsonl", "--json", "-")
    assert json.loads(done.stdout)["counts"]["failed"] == 1
    assert "1 of 2 instances without a response: '1'" in done.stderr
    quiet = pmbench(*SCORE, "-r", "r.jsonl", "-q", "--json", "out.json")
    assert (quiet.returncode, quiet.stdout) == (1, "")
    assert quiet.stderr.startswith("Incomplete: ") and quiet.stderr.count("\n") == 1, "why the status is 1"
    assert json.loads((tmp_path / "out.json").read_text())["counts"]["failed"] == 1


def test_no_text_of_a_response_is_in_any_output(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", [f"{SECRET} {number}" for number in range(3)])
    write_responses(tmp_path / "r.jsonl", "0", "1", "9", text=f"\x1b[31m\u202e{SECRET} [bold]x[/bold]\x00")
    for extra in ((), ("--dry-run",), ("--fresh",), ("--retry-failed",)):
        done = pmbench(*SCORE, "-r", "r.jsonl", *extra)
        assert done.returncode == (0 if extra == ("--dry-run",) else 1)
        assert SECRET not in done.stdout + done.stderr and "\x1b" not in done.stdout + done.stderr


def test_help_is_light() -> None:
    code = (
        "import sys; from pmbench.cli.main import run\n"
        "status = run(['score', '--help'])\n"
        "sys.exit(str(sorted({'numpy', 'rich', 'onnxruntime'} & set(sys.modules)) or '') or status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "--data mine.csv --responses mine.csv" in done.stdout, done.stderr


@pytest.mark.model
def test_drafts_of_a_spreadsheet_score_as_the_column_of_the_data_does(pmbench, tmp_path: Path) -> None:
    import csv

    from pmbench.core.registry import load_task
    from pmbench.data.loading import load

    dataset = load(load_task("syppm-editf1")(), "demo")
    with (tmp_path / "drafts.csv").open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerows([("Id", "Draft"), *dataset.column("draft").items()])
    task = ("-t", "syppm-editf1", "-d", "demo", "-n", "3")
    scored = pmbench("score", *task, "-r", "drafts.csv", "--json", "scored.json")
    assert scored.returncode == 0, scored.stderr
    assert pmbench("run", *task, "-m", "replay:@draft", "--json", "run.json").returncode == 0
    found, expected = results(tmp_path / "scored.json"), results(tmp_path / "run.json")
    assert found.pop("model") == "replay:drafts.csv?column=Draft&id=Id"
    assert expected.pop("model") == "replay:@draft"
    assert found == expected


def test_results_are_written_over_results_only(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["Hello"])
    (tmp_path / "answers.jsonl").write_text('{"id": "0", "text": "Dear you"}\n')
    (tmp_path / "folder").mkdir()
    shutil.copy(tmp_path / "mine.jsonl", tmp_path / "folder" / "inner.jsonl")
    command = ("score", "-t", "greeting", "-r", "answers.jsonl", "-d", "mine.jsonl", "-q")
    assert pmbench(*command, "--json", "out.json").returncode == 0
    assert pmbench(*command, "--json", "out.json").returncode == 0
    own = [path.relative_to(tmp_path) for path in (tmp_path / "runs").rglob("*.json*") if path.is_file()]
    assert len(own) >= 4
    for path in (*own, Path("folder/inner.jsonl"), Path("mine.jsonl"), Path("answers.jsonl")):
        before = (tmp_path / path).read_bytes()
        done = pmbench(*command, "--json", path)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, path
        assert (tmp_path / path).read_bytes() == before
