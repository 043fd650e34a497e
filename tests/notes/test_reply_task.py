"""syppm-checklist: the same judge on drafted replies."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from given_checklists_asked import ScriptedJudge, checklist

from pmbench import ConfigError, Record, Response
from pmbench.data.loading import load
from pmbench_tasks.drafting.task import SyPPM
from pmbench_tasks.notes.checklist import checklist_json, validate
from pmbench_tasks.notes.checklist_judge import ChecklistJudge
from pmbench_tasks.notes.reply_task import RepliesChecklist

YES = '{"answer": "yes", "quote": ""}'


def test_it_has_the_messages_and_the_strategies_of_drafting() -> None:
    assert RepliesChecklist.dataset is SyPPM.dataset and RepliesChecklist.strategies is SyPPM.strategies
    one = RepliesChecklist()
    data = load(one, "demo")
    assert len(data.instances) == 24
    assert any("10 items" in line for line in one.remarks(data.instances))


def test_our_checklist_for_replies_is_sound() -> None:
    one = RepliesChecklist().checklist
    assert len(one.items) == 10 and not one.section
    assert validate(one) == []


def test_a_draft_is_judged_against_message_and_chart() -> None:
    one = RepliesChecklist()
    instance = load(one, "demo").instances[0]
    judge = ScriptedJudge([YES] * 10)
    response = Response("Please call us.")
    score = asyncio.run(one.score(instance, response, {"checklist": ChecklistJudge(judge, kind="reply")}))
    assert score.stats["score"] == 1 and score.stats["asked"] == 10
    system, user = judge.requests[0][0]
    assert "reply to a patient" in system["content"]
    for said in (instance.inputs["message"], instance.inputs["chart"], "Please call us."):
        assert str(said).strip() in user["content"]
    assert str(instance.target["response"]) not in user["content"]
    blocks = RepliesChecklist.views["checklist"](Record(instance, response, score))
    assert not isinstance(blocks, str) and "10 yes" in blocks[-1].title
    assert list(one.findings({instance.id: score})) == []


def test_a_checklist_for_a_section_of_a_note_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(checklist_json(checklist(section="assessment_and_plan")))
    with pytest.raises(ConfigError, match="a reply has none"):
        load(RepliesChecklist(RepliesChecklist.parse_options({"checklist": str(path)})), "demo")
