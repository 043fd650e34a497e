"""Names and words of a checklist that want to be markup, or to steer a terminal: they are shown, or refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from given_evaluation import scripts, write_given
from given_pipeline import pmbench
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench import ConfigError
from pmbench_tasks.notes.checklist import Checklist, Item, validate
from pmbench_tasks.notes.checklist_metrics import metrics_for
from pmbench_tasks.notes.evaluation.evaluate import Material, compare
from pmbench_tasks.notes.evaluation.table import markdown
from pmbench_tasks.notes.pipeline.writing import check_out
from pmbench_tasks.notes.plain_text import inline, plain_line

STEERING = ["\x1b[31m", "\x07", "\N{RIGHT-TO-LEFT OVERRIDE}", "\x1b]0;x\x07", "\N{LINE SEPARATOR}", "\x00"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("[x](javascript:1)", "\\[x\\](javascript:1)"),
        ("a | b\n# evil", "a \\| b # evil"),
        ("**so** `it` _is_", "\\*\\*so\\*\\* \\`it\\` \\_is\\_"),
        ("delete_section & more", "delete_section &amp; more"),
        ("می‌رود — naïve, 5 mg/kg?", "می‌رود — naïve, 5 mg/kg?"),
    ],
)
def test_words_become_markdown_that_shows_them(text: str, shown: str) -> None:
    assert inline(text) == shown


@given(st.text())
@settings(deadline=None)
def test_whatever_the_words_they_stay_one_line_of_one_cell(text: str) -> None:
    line = inline(text)
    assert len(line.splitlines()) <= 1 and not re.search(r"(?<!\\)(?:\\\\)*\|", line)
    assert "<" not in line and "\x1b" not in line
    assert len(plain_line(text).splitlines()) <= 1


@pytest.mark.parametrize("mark", STEERING)
def test_validate_refuses_words_that_steer_a_terminal(mark: str) -> None:
    fine = Item(id="a", question="Is the dose there?", category="doses")
    assert validate(Checklist(name="c", items=(fine,))) == []
    if not mark.isspace():  # white space becomes a blank wherever words are shown
        words = f"Is the {mark}dose there?"
        (line,) = validate(Checklist(name="c", items=(Item(id="a", question=words),)))
        assert line.startswith("error: ") and "its question has characters that cannot be printed" in line
    items = (Item(id="a", question="Is the dose there?", category=f"c{mark}d"),)
    (line,) = validate(Checklist(name="c", items=items))
    assert line.startswith("error: ") and "its category" in line


def test_a_criterion_of_several_lines_is_no_fault() -> None:
    words = "Is the dose there?\n\tFor example:\n- 5 mg"
    assert not any(
        line.startswith("error")
        for line in validate(Checklist(name="c", items=(Item(id="a", question=words),)))
    )


def test_titles_of_a_run_are_one_line_without_control_characters() -> None:
    items = (Item(id="a\x07", question="Is \x1b[31m it\n| so?", category="c|\x1b[31m\n# h"),)
    titles = [metric.title for metric in metrics_for(Checklist(name="c", items=items))]
    assert all(title.isprintable() for title in titles), titles


def test_the_table_shows_hostile_words_and_does_nothing_with_them() -> None:
    hostile = "<script>alert(1)</script> [x](javascript:1) \x1b[31m a|b"
    found = markdown(compare([Material(name=hostile, questions=("q|1",))]), {hostile: {"q|1": hostile}})
    assert "<script" not in found and "\x1b" not in found and "[x](" not in found
    assert "| q\\|1: &lt;script&gt;" in found


def test_evaluate_shows_a_hostile_name_everywhere_as_a_name(
    llm_server: Any, tmp_path: Path, plain_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write_given(tmp_path)
    llm_server.control(answers=scripts())
    name = "a <b>x</b> [y](http://z) | c"
    items = [{"id": "b|1", "question": "Does the section name the <i>problem</i>?"}]
    text = json.dumps({"name": name, "section": "assessment_and_plan", "items": items})
    (tmp_path / "evil.json").write_text(text)
    done = pmbench(
        tmp_path, "evaluate", "evil.json", "--notes", "notes.jsonl", "-m", f"openai:m?base_url={llm_server.v1}",
        "--tests", "0", "--perturbations", "delete_section", "--out", "out", "--resamples", "100",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = (tmp_path / "out" / "table.md").read_text()
    for shown in (told, done.stdout):
        assert "<b>" not in shown and "<i>" not in shown and "[y](" not in shown
    named = inline(name)
    assert f"- {named}: 1 question about" in told and f"## Questions of {named}" in told
    assert f"| {named} | reference notes |" in told
    columns = {
        line.count(" | ") for line in told.split("## What was asked")[1].splitlines() if line[:2] == "| "
    }
    assert len(columns - {0}) <= 2  # the head and rows of one table, and its line of dashes


@pytest.mark.parametrize("name", ["a\nb.json", "\x1b[31m.json", f"{'n' * 121}.json"])
def test_a_checklist_is_not_built_under_a_name_that_could_not_be_read_back(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="its name is that of the checklist"):
        check_out(tmp_path / name)
