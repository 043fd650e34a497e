"""`pmbench checklist evaluate` as a whole, against a server: the numbers, what is kept, what is never asked twice."""

from __future__ import annotations

import csv
import json
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from given_evaluation import BROKEN, scripts, words, write_given
from given_pipeline import pmbench


@pytest.fixture
def server(llm_server: Any, tmp_path: Path, plain_environment: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write_given(tmp_path)
    llm_server.control(answers=scripts())
    return llm_server


def answered(server: Any) -> int:
    return int(server.stats(log=False)["by_status"].get("200", 0))


def made_now(done: subprocess.CompletedProcess[str]) -> int:
    return int(done.stdout.split("requests made now: ")[1].split(";")[0])


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("[!.]*"))}


def numbers(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "evaluation.json").read_text())
    return found


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_number_is_that_of_the_answers(server: Any, tmp_path: Path) -> None:
    done = pmbench(tmp_path, *words(server.v1))
    assert done.returncode == 0, done.stderr
    ours, base = numbers(tmp_path)["evaluations"]
    assert (ours["name"], base["name"]) == ("ours", "base")

    # Of five items one has no answer; of the other four f1, f2 and f4 are covered.
    coverage = ours["coverage"]
    assert coverage["value"] == pytest.approx(3 / 4) and coverage["units"] == 4
    assert (coverage["least"], coverage["most"]) == (pytest.approx(3 / 5), pytest.approx(4 / 5))
    # Questions 1 and 2 share f2 of three items, the third covers nothing.
    assert ours["diversity"]["value"] == pytest.approx(1 - (1 / 3) / 3)
    assert base["diversity"]["value"] == pytest.approx(1 - 1 / 3)

    # The judge says yes to three of four reference notes, and nothing usable to the third question.
    assert ours["reference"]["value"] == pytest.approx(75) and base["reference"]["value"] == pytest.approx(75)
    assert ours["reference"]["missing"] == 4 and base["reference"]["missing"] == 0
    assert ours["reference"]["least"] == pytest.approx(100 * 6 / 12)
    assert ours["reference"]["most"] == pytest.approx(100 * 10 / 12)

    deltas = {one["perturbation"]: one for one in ours["robustness"]["deltas"]}
    assert {name: one["test"]["mean"]["value"] for name, one in deltas.items()} == {
        "delete_section": pytest.approx(75),
        "repeat_sentence": pytest.approx(0),
        "paraphrase": pytest.approx(-25),  # the failing note, too, is rewritten to one that passes
    }
    assert deltas["paraphrase"]["control"] and not deltas["delete_section"]["control"]

    preference = ours["preference"]
    assert preference["difference"]["mean"]["value"] == pytest.approx(100)
    assert (preference["pairs"], preference["undecided"], preference["higher"]) == (2, 1, 2)

    rates = {one["question"]: one["rate"]["value"] for one in ours["enforceability"]["questions"]}
    assert rates == {"q1": 1.0, "q2": 1.0, "q3": None} and ours["enforceability"]["untested"] == 1
    # People said yes three times, the judge to two of these; there are no labels of the other checklist.
    assert ours["judge"]["pooled"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert base["judge"] is None
    assert ours["retest"]["same"]["value"] == 1.0 and ours["retest"]["runs"] == 2


def test_what_is_missing_or_was_not_measured_is_said(server: Any, tmp_path: Path) -> None:
    done = pmbench(tmp_path, *words(server.v1))
    told = (tmp_path / "out" / "table.md").read_text()
    assert told.rstrip("\n") in done.stdout
    assert "| ours | reference notes | 4 | 12 | 6 | 2 | 4 | 4 unparsed |" in told
    assert "| base | perturbed: delete_section | 4 | 8 | 0 | 8 | 0 | – |" in told
    assert "base, perturbed: delete_section: every one of the 8 answers is no" in told
    assert "5 of 7 feedback items used; not used: 1 about another section, 1 two words or fewer" in told
    assert "ours: 1 of 5 feedback items without a usable answer (1 unreadable)" in told
    assert "hallucination, unhelpful, incomplete_step: not among --perturbations" in told
    assert "agreement of the judge with people on base: no label is of a question of it" in told
    asked = {one["part"]: one for one in numbers(tmp_path)["asked"]["ours"]}
    assert asked["compared notes"]["missing"] == 6 and asked["unit tests"]["no"] == 6


def test_the_folder_holds_all_that_the_numbers_come_from(server: Any, tmp_path: Path) -> None:
    pmbench(tmp_path, *words(server.v1))
    left = tmp_path / "out"
    assert {path.name for path in left.glob("[!.]*")} == {
        "table.md", "evaluation.json", "answers.csv", "coverage.csv", "perturbations.json", "unit-tests.json",
        "deltas.svg", "enforceability.svg", "preferences.svg", "reference.svg", "choice-by-alpha.svg",
        "objective-by-size.svg",
    }  # fmt: skip
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in left.iterdir())
    said = rows(left / "answers.csv")
    met = [one["answer"] for one in said if one["checklist"] == "ours" and one["perturbation"] == ""]
    assert met.count("") == 14 and met.count("yes") == 18 and met.count("no") == 10
    covered = {(one["checklist"], one["feedback"]): one for one in rows(left / "coverage.csv")}
    assert covered["ours", "f2"]["questions"] == "q1 q2" and covered["ours", "f5"]["answer"] == "missing"
    made = json.loads((left / "perturbations.json").read_text())
    first = next(one for one in made if one["kind"] == "repeat_sentence" and one["note"] == "v1/note")
    change = next(one for one in first["changes"] if one["section"] == "assessment_and_plan")
    assert change["what"] == "repeated" and first["text"].count(change["text"]) == 2
    tested = json.loads((left / "unit-tests.json").read_text())["ours"]
    assert {test["rewritten"] for one in tested for test in one["tests"]} == {BROKEN}


@pytest.mark.parametrize("ask", ["item", "batch"])
def test_the_same_again_asks_nothing_and_writes_the_same(server: Any, tmp_path: Path, ask: str) -> None:
    first = pmbench(tmp_path, *words(server.v1, "--ask", ask))
    assert first.returncode == 0, first.stderr
    made, before = answered(server), files(tmp_path / "out")
    again = pmbench(tmp_path, *words(server.v1, "--ask", ask))
    assert again.returncode == 0 and made_now(again) == 0
    assert answered(server) == made == made_now(first)
    assert files(tmp_path / "out") == before


@pytest.mark.parametrize("ask", ["item", "batch"])
def test_a_dry_run_asks_nothing_and_what_is_asked_then_is_within_its_numbers(
    server: Any, tmp_path: Path, ask: str
) -> None:
    told = pmbench(tmp_path, *words(server.v1, "--ask", ask, "--dry-run"))
    assert told.returncode == 0, told.stderr
    assert answered(server) == 0 and not (tmp_path / "out").exists()
    assert "read            ours: 3 questions" in told.stdout and "labelled notes: 3" in told.stdout
    assert "notes.jsonl: 4 reference notes with assessment_and_plan" in told.stdout
    in_all = next(line for line in told.stdout.splitlines() if line.startswith("in all"))
    low, high = (int(number.replace(",", "")) for number in re.findall(r"[\d,]+(?= to| requests)", in_all))
    done = pmbench(tmp_path, *words(server.v1, "--ask", ask))
    vectors = sum(n for path, n in server.stats(log=False)["by_path"].items() if "embed" in path)
    assert low <= made_now(done) - vectors <= high


def test_stopped_by_its_budget_it_goes_on_where_it_was(server: Any, tmp_path: Path) -> None:
    calm = pmbench(tmp_path, *words(server.v1, "--runs", "calm", out="calm-out"))
    total, before = made_now(calm), answered(server)
    stopped = pmbench(tmp_path, *words(server.v1, "--max-requests", "60"))
    assert stopped.returncode == 1 and not (tmp_path / "out" / "table.md").exists()
    assert len(stopped.stderr.splitlines()[-1]) < 300 and "Traceback" not in stopped.stderr
    assert "Give this command again with a higher --max-requests" in stopped.stderr
    done = pmbench(tmp_path, *words(server.v1))
    assert done.returncode == 0, done.stderr
    assert answered(server) - before == total and made_now(done) == total - 60
    assert files(tmp_path / "out") == files(tmp_path / "calm-out")


def test_only_what_is_given_is_measured(server: Any, tmp_path: Path) -> None:
    model = f"openai:m?base_url={server.v1}"
    feedback = pmbench(tmp_path, "evaluate", "ours.json", "--feedback", "feedback.csv", "-m", model,
                       "--embedder", f"openai:embed?base_url={server.v1}", "--out", "out")  # fmt: skip
    assert feedback.returncode == 0, feedback.stderr
    one = numbers(tmp_path)["evaluations"][0]
    assert one["coverage"] is not None and one["reference"] is None and one["robustness"] is None
    assert "no --notes" in (tmp_path / "out" / "table.md").read_text()

    notes = pmbench(tmp_path, "evaluate", "ours.json", "--notes", "notes.jsonl", "-m", model, "--tests", "0",
                    "--perturbations", "none", "--limit", "2", "--preferences", "preferences.csv",
                    "--out", "out")  # fmt: skip
    assert notes.returncode == 0, notes.stderr
    one = numbers(tmp_path)["evaluations"][0]
    assert one["coverage"] is None and one["enforceability"] is None and one["reference"]["units"] == 2
    assert one["preference"]["pairs"] == 2 and one["judge"] is None
    told = (tmp_path / "out" / "table.md").read_text()
    assert {path.name for path in (tmp_path / "out").glob("[!.]*")} == {
        "table.md", "evaluation.json", "answers.csv", "preferences.svg", "reference.svg"
    }  # fmt: skip
    assert "1 pair: beyond --limit" in told and "no --feedback" in told and "--tests 0" in told


def test_a_note_without_the_section_is_scored_as_not_written(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["note"] = lines[0]["note"].split("ASSESSMENT")[0]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = pmbench(tmp_path, *words(server.v1))
    assert done.returncode == 0, done.stderr
    ours = numbers(tmp_path)["evaluations"][0]
    assert ours["reference"]["value"] == pytest.approx(50) and ours["reference"]["units"] == 4
    told = (tmp_path / "out" / "table.md").read_text()
    assert "delete_section: 3 notes changed, 1 left as they were" in told
    assert "unit tests on 1 reference note without the section" in told


BAD: dict[str, tuple[list[str], str]] = {
    "unknown perturbation": (["--perturbations", "rule,shred"], "shred"),
    "no such section": (["--section", "plans"], "plans"),
    "checklists of two sections": (["exam.json"], "--section"),
    "a checklist twice": (["ours.json"], "one name"),
    "no such checklist": (["nowhere.json"], "nowhere.json"),
    "grades": (["grades.json"], "1-5"),
    "notes without the section": (["--notes", "bare.jsonl"], "no note has the section"),
    "preferences of unknown notes": (["--preferences", "strange.csv"], "v9/good"),
    "labels of unknown notes": (["--labels", "odd.csv"], "v1/none"),
    "a file where the folder should be": (["--out", "ours.json"], "ours.json"),
    "six stars": (["--feedback", "stars.csv"], "stars"),
    "no number": (["--seed", "-1"], "--seed"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_costs_one_line_and_no_request(server: Any, tmp_path: Path, what: str) -> None:
    more, named = BAD[what]
    items = [{"id": "g1", "question": "How accurate is it?"}]
    (tmp_path / "grades.json").write_text(json.dumps({"name": "g", "scale": "1-5", "items": items}))
    (tmp_path / "bare.jsonl").write_text('{"id": "v1", "transcript": "[doctor] Hm.", "note": "HPI: Well."}\n')
    (tmp_path / "strange.csv").write_text("id,visit,a,b,rater1,rater2\np1,v9,good,gaps,a,a\n")
    (tmp_path / "odd.csv").write_text("visit,draft,question,annotator1\nv1,none,q1,yes\n")
    (tmp_path / "stars.csv").write_text("feedback,stars\nno dose at all,6\n")
    done = pmbench(tmp_path, *words(server.v1, *more))
    assert done.returncode == 2 and named in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not done.stdout
    assert what == "no number" or len(done.stderr.splitlines()) == 1, done.stderr
    assert answered(server) == 0


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([], "--feedback, or --notes"),
        (["--feedback", "feedback.csv", "--preferences", "preferences.csv"], "--preferences"),
        (["--feedback", "feedback.csv", "--judge", "openai:j"], "--judge"),
    ],
)
def test_what_cannot_be_measured_together_is_refused(
    server: Any, tmp_path: Path, given: list[str], named: str
) -> None:
    model = f"openai:m?base_url={server.v1}"
    done = pmbench(tmp_path, "evaluate", "ours.json", "-m", model, "--out", "out", *given)
    assert done.returncode == 2 and named in done.stderr and len(done.stderr.splitlines()) == 1
    assert answered(server) == 0
