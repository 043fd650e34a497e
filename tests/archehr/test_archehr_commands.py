"""`pmbench archehr`: agreement of annotators, what an editor kept, and how two kinds of relevance go together."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path

import pytest
from scipy.stats import kendalltau

from pmbench.cli.main import run


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        status = run(["archehr", *arguments])
        return status, *capsys.readouterr()

    return command


def key(path: Path, labels: dict[str, list[str]]) -> None:
    entries = [
        {
            "case_id": case,
            "answers": [
                {"sentence_id": str(place), "relevance": label} for place, label in enumerate(of_case, 1)
            ],
        }
        for case, of_case in labels.items()
    ]
    path.write_text(json.dumps(entries))


def test_agreement_of_two_keys(told, tmp_path: Path) -> None:
    key(tmp_path / "a.json", {"1": ["essential", "essential", "not-relevant"], "2": ["supplementary"]})
    key(tmp_path / "b.json", {"1": ["essential", "supplementary", "not-relevant"], "2": ["supplementary"]})
    status, out, err = told("agreement", "a.json", "b.json", "--json", "found.json")
    assert (status, err) == (0, "")
    assert "4 labels of 2 cases, 3 of them equal" in out
    assert "equal labels             75.0%" in out
    assert "essential to supplementary: 1 (100.0%)" in out
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["share"][0] == 0.75
    assert found["table"] == [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert json.loads(told("agreement", "a.json", "b.json", "--json", "-")[1]) == found


def test_agreement_of_the_demo_with_itself(told) -> None:
    import pmbench_tasks.archehr

    path = str(Path(pmbench_tasks.archehr.__file__).parent / "demo" / "archehr-qa_key.json")
    status, out, _ = told("agreement", path, path)
    assert status == 0
    assert "equal labels             100.0%" in out
    assert "Cohen's kappa            1.000" in out
    assert "changes" not in out


def test_what_an_editor_kept(told, tmp_path: Path) -> None:
    (tmp_path / "before.csv").write_text("id,text\n1,Fever and cough with pain\n2,Nausea\n3,Gone\n")
    after = [
        {"case_id": "1", "clinician_answer_without_citations": "Fevers, coughing"},
        {"case_id": "2", "clinician_answer_without_citations": "Nausea"},
    ]
    (tmp_path / "after.json").write_text(json.dumps(after))
    status, out, err = told("retention", "before.csv", "after.json")
    assert (status, err) == (0, "")
    assert "2 answers, 3 of 4 lemmas kept" in out
    assert "of all lemmas     75.0%" in out
    assert "not counted: 1 answer that only the original file has" in out
    found = json.loads(told("retention", "before.csv", "after.json", "--json", "-")[1])
    assert found["by_answer"] == {"1": 2 / 3, "2": 1.0}


SIX = ("bleu", "rougeLsum", "sari", "bertscore", "alignscore", "medcon")


def a_run(
    folder: Path, seed: int, *, task: str = "archehr-qa", data: str = "d", part: bool = False
) -> list[tuple]:
    """A run folder with scores of 12 cases; the two means of relevance of each."""
    chance = random.Random(seed)
    scoring = folder / "scores" / "s"
    scoring.mkdir(parents=True)
    asked = {"task": task, "fingerprint": data, "strategy": "together", "seed": 0}
    (folder / "run.json").write_text(json.dumps({"asked": asked, "model": f"m{seed}", "round": 1}))
    (scoring / "results.json").write_text(json.dumps({"round": 1, "counts": {"scored": 12}}))
    lines, means = [json.dumps({"id": "1", "round": 0, "stats": {"notes_part_3_of_6": 9.0}})], []
    for case in range(1, 13):
        stats: dict[str, float] = {}
        for version in ("human", "notes"):
            values = {f"{version}_{name}": chance.random() for name in SIX}
            mean = sum(values.values()) / 6
            stats |= {f"{version}_part_3_of_6": mean} if part else values
            means.append((str(case), version, mean))
        lines.append(json.dumps({"id": str(case), "round": 1, "stats": stats}))
    lines.append(json.dumps({"id": "13", "round": 1, "status": "missing", "failure": "unparsed"}))
    (scoring / "scores.jsonl").write_text("\n".join(lines) + '\n{"id": "torn')
    return means


def test_submissions_are_answers_too_and_their_citations_are_no_words(told, tmp_path: Path) -> None:
    of_2025 = [{"case_id": "1", "answer": "Fever, cough. |1,2|"}, {"case_id": "2", "answer": ""}]
    with zipfile.ZipFile(tmp_path / "submission.zip", "w") as archive:
        archive.writestr("submission.json", json.dumps(of_2025))
    of_2026 = [{"case_id": "1", "prediction": "Fever."}, {"case_id": "2", "prediction": "Pain."}]
    (tmp_path / "after.json").write_text(json.dumps(of_2026))
    status, out, err = told("retention", "submission.zip", "after.json")
    assert (status, err) == (0, "")
    assert "2 answers, 1 of 2 lemmas kept" in out
    assert "1 answer whose original has no word" in out


@pytest.mark.parametrize(("part", "second"), [(False, "overall_relevance_score"), (True, "relevance_3_of_6")])
def test_tau_of_the_two_kinds_of_relevance(told, tmp_path: Path, part: bool, second: str) -> None:
    means = a_run(tmp_path / "runs/archehr-qa/m1/together-abc1", 1, part=part)
    means += a_run(tmp_path / "runs/archehr-qa/m2/together-abd2", 2, part=part)
    status, out, err = told(
        "tau", "abc", "runs/archehr-qa/m2/together-abd2", "--resamples", "200", "--json", "t.json"
    )
    assert (status, err) == (0, "")
    assert "24 answers of 2 runs to 12 cases" in out
    found = json.loads((tmp_path / "t.json").read_text())
    assert found["second"] == second
    human, notes = ([mean for _, version, mean in means if version == one] for one in ("human", "notes"))
    assert found["tau"][0] == pytest.approx(kendalltau(human, notes).statistic)
    turned = ("--first", second, "--second", found["first"])
    asked = told("tau", "abc", "runs/archehr-qa/m2/together-abd2", *turned, "--json", "-")[1]
    assert json.loads(asked)["tau"][0] == pytest.approx(found["tau"][0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("agreement", "none.json", "k.json"), "none.json: there is no such file"),
        (("agreement", "bad.json", "k.json"), "entry 1, case '1', sentence '1': its relevance is no known label"),
        (("agreement", "broken.json", "k.json"), "no valid JSON"),
        (("agreement", "empty.json", "k.json"), "empty.json: holds no labels"),
        (("agreement", "other.json", "k.json"), "no sentence is in both"),
        (("agreement", "k.json", "k.json", "--json", "k.json"), "--json k.json: is there already"),
        (("agreement", "k.json", "k.json", "--json", "no/k.json"), "cannot be written"),
        (("retention", "t.csv", "k.json"), "k.json: has no column 'text'"),
        (("retention", "null.json", "t.csv"), "null.json, entry 1, case '1', answer: text is expected"),
        (("retention", "list.json", "t.csv"), "list.json, entry 1, case '1', answer: text is expected"),
        (("retention", "ids.json", "t.csv"), "ids.json: holds lists of sentence ids (2026), no texts"),
        (("retention", "t.csv", "null.jsonl"), "null.jsonl, row 1, column 'text': text is expected"),
        (("retention", "t.csv", "none.zip"), "none.zip: is no regular file"),
        (("retention", "twice.csv", "t.csv"), "twice.csv, row 2, column 'id': an id that another answer has"),
        (("retention", "blank.csv", "t.csv"), "an answer without an id"),
        (("tau", "zzz"), "runs: no run 'zzz'"),
        (("tau", "ab"), "runs: 3 runs begin with 'ab'"),
        (("tau", "aba", "abb"), "was made on other data"),
        (("tau", "aba", "aba"), "is named twice"),
        (("tau", "abc"), "is a run of archehr-2026-answers"),
        (("tau", "aba", "--first", "bleu"), "go together"),
        (("tau", "aba", "--first", "bleu", "--second", "bleu"), "bleu is named twice"),
        (("tau", "aba", "--first", "bleu", "--second", "blue"), "no metric of archehr-qa called 'blue'"),
        (("tau", "aba", "--first", "words", "--second", "bleu"), "no answer of these runs has both words and bleu"),
        (("tau", "unscored"), "is not scored yet"),
        (("tau", "spoilt"), "scores.jsonl, line 1: is no score"),
        (("tau", "odd"), "run.json: is not what a run has"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line(
    told, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    key(tmp_path / "k.json", {"1": ["essential"]})
    key(tmp_path / "bad.json", {"1": ["vital"]})
    key(tmp_path / "empty.json", {"1": []})
    key(tmp_path / "other.json", {"2": ["essential"]})
    (tmp_path / "broken.json").write_text('[{"case_id": ')
    (tmp_path / "t.csv").write_text("id,text\n1,secret words\n")
    (tmp_path / "twice.csv").write_text("id,text\n1,secret words\n1,more\n")
    (tmp_path / "blank.csv").write_text("id,text\n,secret words\n")
    (tmp_path / "null.json").write_text('[{"case_id": "1", "answer": null}]')
    (tmp_path / "list.json").write_text('[{"case_id": "1", "answer": ["secret"]}]')
    (tmp_path / "ids.json").write_text('[{"case_id": "1", "prediction": ["secret"]}]')
    (tmp_path / "null.jsonl").write_text('{"id": "1", "text": null}\n')
    for name, settings in (("aba", {}), ("abb", {"data": "e"}), ("abc", {"task": "archehr-2026-answers"})):
        a_run(tmp_path / f"runs/archehr-qa/m/together-{name}", 1, **settings)
    a_run(tmp_path / "spoilt", 1)
    (tmp_path / "spoilt/scores/s/scores.jsonl").write_text("nothing\n{}\n")
    (tmp_path / "unscored").mkdir()
    (tmp_path / "unscored/run.json").write_bytes((tmp_path / "spoilt/run.json").read_bytes())
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/run.json").write_text("[]")
    status, out, err = told(*arguments)
    assert status == 2
    assert out == ""
    assert words in err
    assert len(err.strip().splitlines()) == 1
    assert "secret" not in err


def test_runs_without_relevance_of_the_same_components(told, tmp_path: Path) -> None:
    a_run(tmp_path / "one", 1)
    a_run(tmp_path / "two", 2, part=True)
    status, _, err = told("tau", "one", "two")
    assert status == 2
    assert "no relevance to both references of the same components" in err
