"""Where an encoder of relevance cannot read a text to its end, the user is told in how many cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_encoders import alignscore_parts, alignscore_state, save_checkpoint, small_bert, small_roberta

from pmbench.cli.main import run


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> str:
    bert = small_bert(tmp_path_factory.mktemp("bert"), positions=48)
    backbone = small_roberta(tmp_path_factory.mktemp("backbone"), positions=130)
    folder = tmp_path_factory.mktemp("checkpoint")
    checkpoint = save_checkpoint(
        alignscore_state(alignscore_parts(backbone)), folder / "AlignScore-base.ckpt"
    )
    return f"relevance=embedded?bertscore={bert}&layer=2&alignscore={checkpoint}&backbone={backbone}"


@pytest.mark.parametrize(
    ("task", "name", "value"),
    [("archehr-qa", "answer", "A stroke. |2|"), ("archehr-2026-answers", "prediction", "A stroke.")],
)
def test_inputs_that_were_cut_are_counted(
    judge: str,
    task: str,
    name: str,
    value: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = [{"case_id": ident, name: text} for ident, text in (("d2", value), ("d4", value), ("d5", ""))]
    Path("submission.json").write_text(json.dumps(cases))
    asked = ("score", "-t", task, "-d", "demo", "-r", "submission.json", "-j", judge, "--max-missing", "1")
    assert run([*asked, "--json", "out.json"]) == 0
    found = json.loads(Path("out.json").read_text())["findings"]
    for metric in ("BERTScore", "AlignScore"):
        (line,) = [
            line for line in found if f"longer than the encoder of {metric} reads, and cut there" in line
        ]
        assert "inputs in 2 cases: 'd2', 'd4'" in line
    assert "longer than the encoder of BERTScore" in capsys.readouterr().out
