"""`pmbench export`: whole runs only where a format wants them whole, and samples that are there."""

import json
from pathlib import Path

DEMO = Path(__file__).parents[2] / "tasks/pmbench_tasks/archehr/demo"


def score(pmbench, *more: str) -> str:
    done = pmbench("score", "-t", "archehr-qa", "-d", "demo", "-r", str(DEMO / "submission.json"), *more)
    assert done.returncode == 0, done.stderr
    return pmbench("runs").stdout.splitlines()[1].split()[0]


def test_a_run_of_some_cases_is_no_submission(pmbench, tmp_path: Path) -> None:
    run = score(pmbench, "--limit", "2")
    for form, what in (("archehr", "response"), ("archehr-scores", "score")):
        refused = pmbench("export", run, "-f", form, "-o", "out.json")
        assert refused.returncode == 2
        assert f"6 of 8 cases have no {what}" in refused.stderr
        assert not (tmp_path / "out.json").exists()


def test_a_torn_line_is_a_case_without_a_response(pmbench, tmp_path: Path) -> None:
    run = score(pmbench)
    (file,) = tmp_path.rglob("responses.jsonl")
    file.write_bytes(file.read_bytes()[:-30])
    refused = pmbench("export", run, "-f", "archehr", "-o", "out.json")
    assert refused.returncode == 2 and "1 of 8 cases have no response" in refused.stderr
    score(pmbench)
    assert pmbench("export", run, "-f", "archehr", "-o", "out.json").returncode == 0
    assert len(json.loads((tmp_path / "out.json").read_text())) == 8


def test_a_sample_that_is_not_there(pmbench, tmp_path: Path) -> None:
    run = score(pmbench)
    refused = pmbench("export", run, "-f", "archehr", "-o", "-", "--sample", "1")
    assert refused.returncode == 2 and "there is no sample 1" in refused.stderr
    assert refused.stdout == ""


def test_options_are_finite_numbers_within_their_bounds(pmbench) -> None:
    asked = ("score", "-t", "archehr-qa", "-d", "demo", "-r", str(DEMO / "submission.json"))
    refused = pmbench(*asked, "-o", "cutoff=nan")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "option cutoff of archehr-qa" in refused.stderr
