"""A drafting task reads rows, asks for drafts, counts edits and shows them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from given_judges import GivenThemes, RecordedModel, WordCounts
from hypothesis import given
from hypothesis import strategies as st

from pmbench import (
    Completion,
    DataError,
    Instance,
    Options,
    Record,
    Response,
    Row,
    Score,
    StrategyContext,
    Task,
    Unscored,
)
from pmbench.core.registry import resource
from pmbench.data.loading import load
from pmbench.leaderboard.reported import reported
from pmbench_tasks.drafting.judging.chat_content_judge import ChatContentJudge
from pmbench_tasks.drafting.judging.embedded_content_judge import EmbeddedContentJudge
from pmbench_tasks.drafting.oncqa import OncQA
from pmbench_tasks.drafting.task import IPPM, Drafting, SoCPPM, SyPPM
from pmbench_tasks.drafting.views import edits_view

TASKS: tuple[type[Drafting], ...] = (SyPPM, IPPM, SoCPPM, OncQA)
REPLY = "Please stop the ibuprofen. Any fever?"


def instance(response: str = REPLY) -> Instance:
    rows = [Row({"id": "7", "message": "My back hurts.", "response": response}, "mine.jsonl", 1)]
    return next(iter(SyPPM().instances(rows)))


def scored(draft: str, response: str = REPLY) -> Score:
    judge = EmbeddedContentJudge(WordCounts())
    return asyncio.run(
        SyPPM().score(instance(response), Response(draft), {"content": judge, "theme": GivenThemes()})
    )


def test_a_row_becomes_an_instance_whose_reply_no_strategy_sees() -> None:
    values = {
        "id": 7,
        "message": "Hi",
        "chart": None,
        "response": "Rest. " * 50,
        "sex": "female",
        "urgency": " ",
    }
    (found,) = SyPPM().instances([Row({**values, "cluster": "m1"}, "f", 1)])
    assert found.id == "7"
    assert found.inputs == {"message": "Hi", "chart": ""}
    assert found.target == {"response": "Rest. " * 50}
    assert found.slices == {"sex": "female", "length": "medium"}
    assert found.cluster == "m1"


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("message", None, "the message is empty"),
        ("message", " \n", "the message is empty"),
        ("response", None, "no sentence"),
        ("response", "👍 !!", "no sentence"),
    ],
)
def test_a_row_without_message_or_reply_is_refused_by_place(
    column: str, value: str | None, what: str
) -> None:
    values = {"id": "1", "message": "secret words", "response": "Secret reply.", column: value}
    row = Row(values, "mine.csv", 12, {column: "col"})
    with pytest.raises(DataError) as raised:
        list(SyPPM().instances([row]))
    assert str(raised.value).startswith("mine.csv, row 12, column 'col'")
    assert what in str(raised.value)
    assert "ecret" not in str(raised.value)


def test_what_a_score_holds() -> None:
    score = scored("We saw your labs. Please stop the ibuprofen.")
    content = {
        "matches": 1,
        "additions": 1,
        "deletions": 1,
        "nonverbatim": 0,
        "draft_words": 8,
        "reply_words": 6,
        "words_to_delete": 4,
        "words_to_add": 2,
        "usable": 0,
        "html": 0,
        "words_cut": 0,
    }
    assert content.items() <= score.stats.items()
    assert all("theme" in name or "_has_" in name or "_have_" in name for name in _of_themes(score, content))
    first, second = score.evidence["reply"]
    assert (first["answer"], first["found"]) == ("Please stop the ibuprofen.", True)
    assert (second["answer"], second["found"], second["start"]) == (None, False, None)
    assert score.evidence["leftover"] == ["We saw your labs."]
    json.dumps(score.evidence)


def _of_themes(score: Score, content: dict[str, int]) -> list[str]:
    return [
        name
        for name in score.stats.keys() - content.keys()
        if not name.startswith(("sentences_", "matched_"))
    ]


def test_the_reply_itself_is_usable_as_it_is() -> None:
    score = scored(REPLY)
    assert (score.stats["usable"], score.stats["words_to_add"], score.stats["words_to_delete"]) == (1, 0, 0)


@pytest.mark.parametrize("draft", ["", "🎉 😀"])
def test_a_draft_without_words_adds_everything(draft: str) -> None:
    score = scored(draft)
    assert (score.stats["additions"], score.stats["deletions"], score.stats["draft_words"]) == (2, 0, 0)


def test_a_judge_that_cannot_be_read_leaves_no_score() -> None:
    judge = ChatContentJudge(
        RecordedModel({s: ["?", "?"] for s in ("Please stop the ibuprofen.", "Any fever?")})
    )
    with pytest.raises(Unscored):
        asyncio.run(SyPPM().score(instance(), Response("Rest."), {"content": judge, "theme": GivenThemes()}))


@given(
    st.lists(
        st.sampled_from(["Please stop it.", "Any fever?", "Call us, and rest.", "1. Rest\n"]), max_size=8
    )
)
def test_words_add_up(parts: list[str]) -> None:
    stats = scored(" ".join(parts)).stats
    assert 0 <= stats["words_to_delete"] <= stats["draft_words"]
    assert 0 <= stats["words_to_add"] <= stats["reply_words"] == 6
    assert stats["usable"] == (stats["additions"] == stats["deletions"] == 0)


class Echo(RecordedModel):
    """Answers with what it was asked."""

    async def chat(self, messages, **asked):  # type: ignore[no-untyped-def, override]
        self.requests.append((list(messages), asked["max_tokens"], None))
        return Completion(text=f" {messages[-1]['content']}\n")


@pytest.mark.parametrize("name", ["zero-shot", "thematic"])
def test_strategies_ask_once_and_keep_what_the_model_wrote(name: str) -> None:
    model = Echo({})
    _, strategy = SyPPM().strategy(name)
    inputs = {"message": "Can {{ I }} drive?", "chart": "Asthma {% x %}"}
    context = StrategyContext(SyPPM().option)
    response = asyncio.run(strategy(inputs, model, context))
    assert "Can {{ I }} drive?" in response.text
    assert "Asthma {% x %}" in response.text
    assert response.text == response.text.strip()
    assert [limit for _, limit, _ in model.requests] == [320]
    assert strategy.estimate(inputs, Options()) == (1, 1)


def test_prompts_are_short_and_thematic_names_every_theme() -> None:
    def system(name: str) -> str:
        model = Echo({})
        _, strategy = SyPPM().strategy(name)
        asyncio.run(strategy({"message": "m", "chart": ""}, model, StrategyContext(SyPPM().option)))
        return " ".join(turn["content"] for turn in model.requests[0][0])

    assert len(system("zero-shot").split()) <= 90
    assert len(system("thematic").split()) <= 230
    for theme in (
        "Empathy",
        "Symptom questions",
        "Medication questions",
        "Assessment",
        "Planning",
        "Logistics",
        "Care coordination",
        "Contingency planning",
    ):
        assert f"{theme}:" in system("thematic")


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_card_metrics_and_default_strategy(task: type[Drafting]) -> None:
    card = resource(task.card).read_text(encoding="utf-8")
    assert card.startswith("# ")
    assert task().strategy()[0] == "zero-shot"
    assert task.metrics[0].name == "content_f1"
    better = {metric.name: metric.higher_is_better for metric in task.metrics}
    assert (better["words_to_add"], better["words_to_delete"], better["length_ratio"]) == (False, False, None)


@pytest.mark.parametrize("task", [SyPPM, IPPM, SoCPPM])
def test_the_demo_data_is_read_by_the_task(task: type[Task]) -> None:
    found = load(task(), "demo")
    assert len(found.instances) == 24
    assert set(found.column("draft")) == {one.id for one in found.instances}
    assert {"specialty", "urgency", "length"} <= set(found.instances[0].slices)


@pytest.mark.parametrize(("task", "rows"), [(SyPPM, 57), (IPPM, 23), (SoCPPM, 24), (OncQA, 0)])
def test_reported_numbers(task: type[Task], rows: int) -> None:
    found = reported(task)
    assert len(found.row) == rows
    for row in found.row:
        assert set(row.values) <= {metric.name for metric in task.metrics}
        assert set(row.spread) <= set(row.values)
        assert all(0 <= float(value) <= 1 for value in row.values.values())


def test_both_numbers_stand_where_the_paper_disagrees_with_itself() -> None:
    gemini = [
        r
        for r in reported(SyPPM).row
        if (r.system, r.strategy) == ("Gemini 2.5 Pro", "thematic") and "theme_precision" in r.values
    ]
    assert {str(r.table): str(r.values["theme_precision"]) for r in gemini} == {
        "Table 3": "0.58",
        "Table 4": "0.56",
    }
    assert all(r.note for r in gemini)
    assert any("Table 14" in str(r.table) and "Table 16" in r.note for r in reported(SyPPM).row)


def test_three_rows_of_table_4_are_no_micro_average() -> None:
    impossible = set()
    for row in reported(SyPPM).row:
        if row.table == "Table 4" and not row.system.startswith("mean"):
            p, r, f1 = (float(row.values[f"content_{part}"]) for part in ("precision", "recall", "f1"))
            low, high = (2 * (p + e) * (r + e) / (p + r + 2 * e) for e in (-0.005, 0.005))
            if not (low <= f1 + 0.005 and f1 - 0.005 <= high):
                impossible.add((row.system, row.strategy))
    assert impossible == {
        ("Claude 4.5 Sonnet", "zero-shot"),
        ("Gemini 2.5 Pro", "thematic"),
        ("another clinician (IAP)", ""),
    }


def test_importing_the_tasks_is_light() -> None:
    heavy = ("numpy", "jinja2", "sentencex", "rich", "onnxruntime", "datasets", "pyarrow")
    code = (
        "import sys, pmbench_tasks.drafting.task, pmbench_tasks.drafting.oncqa\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": f"{root}:{root / 'tasks'}"},
    )
    assert done.stdout.strip() == "[]"


def test_html_is_counted_and_taken_as_text() -> None:
    rows = [
        {"id": "1", "message": "<p>My back hurts.</p>", "response": "Rest."},
        {"id": "2", "message": "My back hurts < 5 days & > 2.", "response": "Rest."},
        {"id": "3", "message": "Hi", "response": "Rest.<BR/>Call us."},
    ]
    task = SyPPM()
    found = list(task.instances(Row(row, "mine.jsonl", n) for n, row in enumerate(rows, 1)))
    assert list(task.remarks(found)) == ["2 of 3 instances hold HTML tags, which are taken as text"]
    assert list(task.remarks(found[1:2])) == []
    score = scored("<ul><li>Please stop the ibuprofen.</li></ul>")
    assert score.stats["html"] == 1
    shown = edits_view(Record(found[0], Response("x"), score))
    assert any("HTML tags" in line.text for block in shown for line in block.lines)
