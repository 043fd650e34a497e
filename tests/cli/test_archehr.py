"""ArchEHR-QA as its users meet it: official submissions in, official scores out, cases shown beside the note."""

import importlib.util
import json
import os
import re
from pathlib import Path

import pytest

SHARED = (
    Path(os.environ.get("PMBENCH_SHARED") or Path(__file__).parents[3] / "shared") / "conformance/archehr"
)
DEMO = Path(__file__).parents[2] / "tasks/pmbench_tasks/archehr/demo"

SUBMISSIONS = ("extract", "human", "long", "messy")
FACTS = ("precision", "recall", "f1")
RELEVANCE = ("bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "sari")

needs_conformance = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the conformance data are not beside the repository"
)


def values(path: Path) -> dict[str, float | None]:
    return {name: one["value"] for name, one in json.loads(path.read_text())["metrics"].items()}


def score_demo(pmbench, *more: str):
    return pmbench("score", "-t", "archehr-qa", "-d", "demo", *more)


@needs_conformance
@pytest.mark.parametrize("name", SUBMISSIONS)
def test_a_submission_has_the_official_scores(pmbench, tmp_path: Path, name: str) -> None:
    expected = json.loads((SHARED / "expected.json").read_text())[f"submission_{name}"]
    asked = ("--data", str(SHARED), "--responses", str(SHARED / f"submission_{name}.json"))
    done = pmbench("score", "--task", "archehr-qa", *asked, "--json", "out.json")
    assert done.returncode == 0, done.stderr
    found = values(tmp_path / "out.json")
    for mode in ("strict", "lenient"):
        for average in ("macro", "micro"):
            for part in FACTS:
                right = 100 * expected["factuality"][mode][average][part]
                assert found[f"{mode}_{average}_{part}"] == pytest.approx(right, abs=1e-9), (
                    mode,
                    average,
                    part,
                )
    for version, prefix in (("notes", ""), ("human", "human_")):
        for part in RELEVANCE:
            right = expected[f"relevance_{version}"][part]
            assert found[prefix + part] == pytest.approx(right, abs=1e-6), (version, part)
    assert found["overall_factuality_score"] == found["strict_micro_f1"]
    assert found["overall_score"] is None and found["overall_relevance_score"] is None


@needs_conformance
def test_the_official_scores_file_is_written_without_what_was_not_computed(pmbench, tmp_path: Path) -> None:
    expected = json.loads((SHARED / "expected.json").read_text())["submission_messy"]
    asked = ("-d", str(SHARED), "-r", str(SHARED / "submission_messy.json"), "--label", "messy")
    assert pmbench("score", "-t", "archehr-qa", *asked).returncode == 0
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    done = pmbench("export", run, "--format", "archehr-scores", "-o", "scores.json")
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["strict_micro_f1"] == pytest.approx(100 * expected["factuality"]["strict"]["micro"]["f1"])
    assert scores["rougeLsum"] == pytest.approx(expected["relevance_notes"]["rougeLsum"], abs=1e-6)
    assert (
        not {"overall_score", "overall_relevance_score", "bertscore", "medcon", "alignscore"} & scores.keys()
    )


def test_what_form_has_cost_is_said_and_nothing_stops(pmbench, tmp_path: Path) -> None:
    done = score_demo(pmbench, "-r", str(DEMO / "submission-messy.json"), "--json", "out.json")
    assert done.returncode == 0, done.stderr
    assert "citations lost to their form in the official reading: " in done.stdout
    assert "the official scorer reads no citation, and would stop there: 'd" in done.stdout
    assert (
        "over 75 words, and what is beyond them not scored (citations there count officially): 1 case: 'd4'"
        in done.stdout
    )
    assert "not computed: bertscore, alignscore, medcon" in done.stdout
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["findings"][0] in done.stdout
    value = values(tmp_path / "out.json")
    assert value["clean_strict_micro_f1"] > value["strict_micro_f1"]
    assert value["score_3_of_6"] == pytest.approx((value["strict_micro_f1"] + value["relevance_3_of_6"]) / 2)
    mean = sum(value[name] for name in ("bleu", "rougeLsum", "sari")) / 3
    assert value["relevance_3_of_6"] == pytest.approx(mean)


def test_the_test_half_is_taken_unasked_and_the_halves_are_not_joined(pmbench, tmp_path: Path) -> None:
    done = score_demo(pmbench, "-r", str(DEMO / "submission.json"))
    assert "split test: 8 of 12" in done.stderr
    done = score_demo(pmbench, "-r", str(DEMO / "submission.json"), "--split", "development")
    assert "4 of 4 scored" in done.stdout
    refused = score_demo(pmbench, "-r", str(DEMO / "submission.json"), "--split", "train")
    assert refused.returncode == 2
    assert "there is no split 'train'" in refused.stderr


def test_a_run_goes_out_as_a_submission_and_comes_back_the_same(pmbench, tmp_path: Path) -> None:
    assert score_demo(pmbench, "-r", str(DEMO / "submission.json"), "--json", "first.json").returncode == 0
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    done = pmbench("export", run, "-f", "archehr", "-o", "mine.json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mine.json").stat().st_mode & 0o077 == 0
    entries = json.loads((tmp_path / "mine.json").read_text())
    assert all(entry.keys() == {"case_id", "answer"} for entry in entries)
    assert score_demo(pmbench, "-r", "mine.json", "--json", "second.json").returncode == 0
    assert values(tmp_path / "first.json") == values(tmp_path / "second.json")
    again = pmbench("export", run, "-f", "archehr", "-o", "mine.json")
    assert again.returncode == 2
    assert "this is there already" in again.stderr
    odd = pmbench("export", run, "-f", "archer", "-o", "other.json")
    assert odd.returncode == 2
    assert "Did you mean archehr" in odd.stderr


def test_a_case_is_shown_beside_its_note(pmbench, tmp_path: Path) -> None:
    assert score_demo(pmbench, "-r", str(DEMO / "submission-messy.json")).returncode == 0
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    shown = pmbench("show", run, "--instance", "d2").stdout
    assert "The answer, with what each sentence cites" in shown
    assert "lost to its form" in shown
    assert "essential, missed" in shown or "essential, found" in shown
    assert "The clinician's answer" in shown


@pytest.mark.parametrize(
    ("task", "prediction", "told"),
    [
        ("archehr-2026-questions", "Why was the drug stopped?", "metric"),
        ("archehr-2026-answers", "You were treated for an infection.", "metric"),
        ("archehr-2026-evidence", ["2", "3"], "Strict micro F1"),
        ("archehr-2026-alignment", [], "Micro F1"),
    ],
)
def test_the_subtasks_of_2026_take_their_submissions(pmbench, tmp_path: Path, task, prediction, told) -> None:
    cases = [f"d{number}" for number in range(1, 13)]
    submission = [{"case_id": name, "prediction": prediction} for name in cases]
    (tmp_path / "submission.json").write_text(json.dumps(submission))
    done = pmbench("score", "-t", task, "-d", "demo", "-r", "submission.json", "--json", "out.json")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "8 of 8 scored" in done.stdout
    assert told in done.stdout
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    assert pmbench("show", run, "--instance", "d2").returncode == 0
    assert pmbench("export", run, "-f", "archehr", "-o", "out-submission.json").returncode == 0
    back = pmbench("score", "-t", task, "-d", "demo", "-r", "out-submission.json", "--json", "back.json")
    assert back.returncode == 0, back.stderr
    assert values(tmp_path / "back.json") == values(tmp_path / "out.json")


def test_credentialed_data_go_to_no_remote_model_unless_that_is_allowed(pmbench, tmp_path: Path) -> None:
    """And it is said in every plan; the demo's files in a folder of one's own stand for a release."""
    folder = tmp_path / "release"
    folder.mkdir()
    for file in DEMO.glob("archehr-qa*"):
        (folder / file.name).write_bytes(file.read_bytes())
    remote = "openai:m?base_url=http://192.0.2.1:9/v1"
    refused = pmbench(
        "run", "-t", "archehr-qa", "-d", "release", "-m", remote, env={"OPENAI_API_KEY": "none"}
    )
    assert refused.returncode == 2
    assert "the data are deidentified and would be sent to http://192.0.2.1:9" in refused.stderr
    assert "--allow-remote" in refused.stderr
    phi = pmbench(
        *("run", "-t", "archehr-qa", "-d", "release", "-m", remote, "--sensitivity", "phi", "--allow-remote"),
        env={"OPENAI_API_KEY": "none"},
    )
    assert phi.returncode == 2 and "the data are phi" in phi.stderr
    plan = pmbench("run", "-t", "archehr-qa", "-d", "release", "-s", "heuristic", "--dry-run")
    assert plan.returncode == 0, plan.stderr
    assert "credentialed data of PhysioNet" in plan.stderr + plan.stdout


def test_subgroups_are_settings(pmbench, tmp_path: Path) -> None:
    assert (
        score_demo(pmbench, "-r", str(DEMO / "submission.json"), "--split", "development+test").returncode
        == 0
    )
    run = pmbench("runs").stdout.splitlines()[1].split()[0]
    shown = pmbench("show", run, "--slices").stdout
    assert all(label in shown for label in ("setting", "icu", "ed ", "ward"))


needs_spacy = pytest.mark.skipif(
    importlib.util.find_spec("spacy") is None, reason="spaCy is not installed (the extra medcon)"
)


@needs_spacy
def test_without_a_licence_entities_are_compared_under_a_name_of_their_own(pmbench, tmp_path: Path) -> None:
    import spacy

    words = ("stroke", "apixaban", "rhythm", "antibiotics", "fever", "bleeding", "surgery")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "TERM", "pattern": word} for word in words])  # type: ignore[attr-defined]
    pipeline.to_disk(tmp_path / "terms")
    asked = ("-r", str(DEMO / "submission.json"), "--judge", f"relevance=embedded?entities={tmp_path}/terms")
    done = score_demo(pmbench, *asked, "--json", "out.json")
    assert done.returncode == 0, done.stderr
    assert "Entity F1 (no MEDCON)" in done.stdout
    found = values(tmp_path / "out.json")
    assert found["medcon"] is None and found["relevance_3_of_6"] is not None  # it is in no mean

    said = {one["case_id"]: one["answer"] for one in json.loads((DEMO / "submission.json").read_text())}
    key = {one["case_id"]: one for one in json.loads((DEMO / "archehr-qa_key.json").read_text())}
    shares = []
    mapping = json.loads((DEMO / "archehr-qa_mapping.json").read_text())
    for case in [one["case_id"] for one in mapping if one["split"] == "test"]:
        wanted = key[case]["clinician_answer_without_citations"]
        here, there = ({one for one in words if re.search(rf"\b{one}\b", t)} for t in (said[case], wanted))
        shares.append(2 * len(here & there) / (len(here) + len(there)) if here | there else 0.0)
    assert 0 < sum(shares) < len(shares)
    assert found["human_entity_f1"] == pytest.approx(100 * sum(shares) / len(shares))
