"""What somebody meets who uses the program for the first time on files of their own."""

import json
from pathlib import Path

from cli_answers import write_messages

RUN = ("run", "-t", "greeting", "-d", "mine.jsonl")


def answers(path: Path, *ids: str, text: str = "Dear you") -> None:
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name in ids))


def test_no_arguments_show_the_overview(pmbench) -> None:
    done = pmbench()
    assert done.returncode == 2
    assert "Usage: pmbench" in done.stderr and "\n  leaderboard" in done.stderr


def test_a_spreadsheets_semicolons_are_read(pmbench, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text('\ufeffid;message\r\nm1;"One; two, ""three"""\r\nm2;Ünïcode\r\n')
    (tmp_path / "answers.csv").write_text("id;text\nm1;Dear you, yes\nm2;No\n")
    done = pmbench("run", "-t", "greeting", "-m", "replay:answers.csv", "-d", "mine.csv", "--json", "-", "-q")
    assert json.loads(done.stdout)["metrics"]["greeting_share"]["value"] == 0.5


def test_answers_whose_ids_fit_nothing_are_refused_with_an_example(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl")
    answers(tmp_path / "answers.jsonl", "MSG-1", "MSG-2")
    done = pmbench(*RUN, "-m", "replay:answers.jsonl")
    assert done.returncode == 2
    assert (
        "none of its ids is in the data: it has 'MSG-1', 'MSG-2', the data have '0', '1', '2', …"
        in done.stderr
    )


def test_answers_that_fit_in_part_are_counted_before_the_run(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c"])
    answers(tmp_path / "answers.jsonl", "0", "2", "zz")
    done = pmbench(*RUN, "-m", "replay:answers.jsonl")
    assert done.returncode == 1
    assert "1 of 3 instances have no recorded answer: '1'" in done.stderr
    assert "1 recorded answers belong to no instance: 'zz'" in done.stderr
    assert "--max-missing SHARE" in done.stdout and "absent 1" in done.stdout
    assert "give the same command again" not in done.stdout


def test_the_columns_of_recorded_answers_can_be_named(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a"])
    (tmp_path / "vendor.csv").write_text("MsgNo,Draft A,Draft B\n0,Dear you,No\n")
    for column, value in (("Draft A", 1.0), ("Draft B", 0.0)):
        done = pmbench(*RUN, "-m", f"replay:vendor.csv?id=MsgNo&column={column}", "--json", "-", "-q")
        assert json.loads(done.stdout)["metrics"]["greeting_share"]["value"] == value


def test_a_system_that_left_out_its_hardest_is_not_on_the_leaderboard_unless_asked(
    pmbench, tmp_path: Path
) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c", "d"])
    answers(tmp_path / "part.jsonl", "0", "1", "2")
    (tmp_path / "all.jsonl").write_text(
        (tmp_path / "part.jsonl").read_text() + json.dumps({"id": "3", "text": ""}) + "\n"
    )
    assert pmbench(*RUN, "-m", "replay:part.jsonl", "--max-missing", "0.5").returncode == 0
    assert pmbench(*RUN, "-m", "replay:all.jsonl").returncode == 0
    board = pmbench("leaderboard", "-t", "greeting").stdout
    assert "1  replay:all.jsonl" in board
    assert "1 of 4 responses have no score; --max-missing or --include-incomplete takes it" in board
    asked = pmbench("leaderboard", "-t", "greeting", "--max-missing", "0.5").stdout
    assert "1  replay:part.jsonl" in asked
    assert "75.000% if all of them had been worst" in asked


def test_a_part_of_the_instances_does_not_take_the_place_of_all(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl")
    assert pmbench(*RUN, "-m", "parrot:grey", "--json", "all.json").returncode == 0
    done = pmbench(*RUN, "-m", "parrot:grey", "-n", "3")
    assert "keeps the results of more instances" in done.stdout
    kept = json.loads(next(tmp_path.glob("runs/**/results.json")).read_text())
    assert kept == json.loads((tmp_path / "all.json").read_text())


def test_show_says_what_is_not_there(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a", "b", "c"])
    answers(tmp_path / "answers.jsonl", "0", "2", text="Dear\x1b[31m you")
    pmbench(*RUN, "-m", "replay:answers.jsonl")
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    absent = pmbench("show", run, "-i", "1")
    assert absent.returncode == 0 and "No response: it failed (absent)." in absent.stderr
    wrong = pmbench("show", run, "-i", "nine")
    assert wrong.returncode == 2 and "There are: '0', '1', '2'" in wrong.stderr
    there = pmbench("show", run, "-i", "0")
    assert "Dear\\x1b[31m you" in there.stdout and "\x1b" not in there.stdout
    listed = pmbench("show", run, "--instances").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["instance", "1", "0", "2"]
    assert "absent" in listed[1]


def test_one_run_under_two_names_is_told_apart_by_folder(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["a"])
    answers(tmp_path / "one.jsonl", "0")
    answers(tmp_path / "two.jsonl", "0")
    for name in ("one", "two"):
        assert pmbench(*RUN, "-m", f"replay:{name}.jsonl").returncode == 0
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    done = pmbench("show", run)
    assert done.returncode == 2 and "is one run under 2 names" in done.stderr
    folder = done.stderr.split("Give a folder: ")[1].split(",")[0]
    assert pmbench("show", folder.strip()).returncode == 0


def test_what_the_embedded_judge_cannot_see_stands_under_its_numbers(pmbench, tmp_path: Path) -> None:
    told = "it misses a quarter to a third of negations and of other doses"
    done = pmbench("run", "-t", "syppm-editf1", "-d", "demo", "-m", "replay:@draft", "-n", "2")
    assert done.returncode == 0 and told in done.stdout
    assert told in pmbench("leaderboard", "-t", "syppm-editf1", "-o", "-").stdout
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    assert told in pmbench("show", run).stdout


def test_texts_that_were_taken_for_ids_are_not_shown(pmbench, tmp_path: Path) -> None:
    write_messages(tmp_path / "mine.jsonl", ["Hello"])
    answers(tmp_path / "answers.jsonl", "1", text="My zyzzyva cough is bad")
    done = pmbench(*RUN, "-m", "replay:answers.jsonl?id=text&column=id")
    assert done.returncode == 2
    assert "zyzzyva" not in done.stdout + done.stderr
    assert "it has (a long id), the data have '0'" in done.stderr


def test_ids_that_are_the_same_number_are_matched_and_told(pmbench, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("id,message\n007,Hello\n008,Hi\n")
    (tmp_path / "answers.csv").write_text("id,text\n7,Dear you\n8.0,No\n")
    done = pmbench("run", "-t", "greeting", "-d", "mine.csv", "-m", "replay:answers.csv")
    assert done.returncode == 0
    assert (
        "2 ids are the same as numbers only: '007', '008' stand in the answers as '7', '8.0'" in done.stderr
    )
