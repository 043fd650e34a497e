"""The sheet that whoever labels reads: the texts in the form's order, what to count, and nothing of the judge."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import json
import re
from pathlib import Path

import pytest

from pmbench import Instance, Record, Response, Score, Task, ViewBlock, ViewLine
from pmbench.data.loading import load
from pmbench.report import sheet as sheets
from pmbench.running.records import ResponseRecord
from pmbench.running.responding import response_digest
from pmbench_tasks.archehr.answer_task import AnswersWithCitations
from pmbench_tasks.drafting.oncqa import OncQA, OncQAOptions
from pmbench_tasks.drafting.task import SyPPM
from pmbench_tasks.notes.note_task import NotesChecklist
from pmbench_tasks.notes.reply_task import RepliesChecklist

DEMO = Path(__file__).parents[2] / "tasks/pmbench_tasks/drafting/demo/messages.jsonl"
HOSTILE = "</span><script>alert(1)</script><img src=https://example.org/x> \u202eI cough."


def done(result) -> str:
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(result) -> str:
    assert result.returncode == 2, result.stdout
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def run(pmbench, tmp_path: Path) -> Path:
    """The demo's drafts, one of whose messages is no patient's."""
    rows = [json.loads(line) for line in DEMO.read_text().splitlines()]
    rows[3]["message"] = HOSTILE
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done(pmbench("run", "-t", "syppm-editf1", "-d", "data.jsonl", "-m", "replay:@draft", "-q"))
    (path,) = (tmp_path / "runs").rglob("run.json")
    return path.parent


def test_the_sheet_has_the_texts_in_the_forms_order_and_nothing_of_the_judge(
    pmbench, run: Path, tmp_path: Path
) -> None:
    told = done(pmbench("labels", run, "--sample", "24", "-o", "form.csv", "--sheet", "sheet.html"))
    for part in (
        "  matches: sentences of the reply whose content the draft has",
        "  deletions: sentences of the draft",
        "  additions: sentences of the reply that the draft lacks",
        "to read: sheet.html",
        "Do not open pmbench show --instance, pmbench report or a leaderboard",
    ):
        assert part in told
    page = (tmp_path / "sheet.html").read_text()
    assert (tmp_path / "sheet.html").stat().st_mode & 0o777 == 0o600

    ids = [row["id"] for row in csv.DictReader((tmp_path / "form.csv").read_text().splitlines())]
    assert re.findall(r"<h2>\d+\. <bdi>(.*?)</bdi>", page) == ids
    rows = {row["id"]: row for row in map(json.loads, (tmp_path / "data.jsonl").read_text().splitlines())}
    sections = page.split("<section>\n")[1:]
    assert len(sections) == 24
    for name, section in zip(ids, sections, strict=True):
        words = " ".join(html.unescape(re.sub("<[^>]*>", " ", section)).split())
        for line in (*rows[name]["chart"].splitlines(), *rows[name]["draft"].splitlines()):
            assert all(word in words for word in line.split()), (name, line)
        assert re.search(r"The clinician's reply: \d+ sentences? 1: ", words)

    # Other scores of the same answers make the same sheet: it holds nothing of them.
    (path,) = run.rglob("scores.jsonl")
    scores = [json.loads(line) for line in path.read_text().splitlines()]
    for score in scores:
        score["stats"] = {name: value + 1 for name, value in score["stats"].items()}
        score["evidence"] = None
    path.write_text("".join(json.dumps(score) + "\n" for score in scores))
    done(pmbench("labels", run, "--sample", "24", "-o", "-", "--sheet", "again.html"))
    assert (tmp_path / "again.html").read_text() == page
    assert "replay" not in page and not re.search(r'class="[kda]"', page)

    assert "<script" not in page and "<img" not in page and "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]  # type: ignore[index]
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = html.unescape(re.search(r'Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'") and f"style-src 'sha256-{allowed}'" in policy
    assert not re.search(r"(?:src|href)\s*=", re.sub(r"&lt;.*?&gt;", "", page))


def test_nothing_is_written_over_and_nothing_is_made_of_what_is_gone(
    pmbench, run: Path, tmp_path: Path
) -> None:
    made = ("labels", run, "--sample", "24", "-o", "form.csv", "--sheet")
    (tmp_path / "sheet.html").write_text("mine")
    assert "sheet.html: this is there already" in refused(pmbench(*made, "sheet.html"))
    assert (tmp_path / "sheet.html").read_text() == "mine"
    assert "the sheet is a file" in refused(pmbench(*made, "-"))
    assert "the form and the sheet" in refused(pmbench(*made, "form.csv"))
    data = tmp_path / "data.jsonl"
    data.rename(tmp_path / "elsewhere.jsonl")
    assert "The dataset cannot be read again" in refused(pmbench(*made, "new.html"))
    (tmp_path / "elsewhere.jsonl").rename(data)
    responses = run / "responses.jsonl"
    lines = [json.loads(line) for line in responses.read_text().splitlines()]
    lines[0]["text"] = "Please call us."
    responses.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "1 of 24 answers are gone or were asked for anew" in refused(pmbench(*made, "new.html"))
    assert not (tmp_path / "form.csv").exists() and not (tmp_path / "new.html").exists()
    (tmp_path / "form.csv").write_text("mine")
    assert "people may have filled it in" in refused(pmbench(*made, "new.html"))
    assert not (tmp_path / "new.html").exists()


def told(blocks) -> str:
    return "\n".join(
        f"{block.title}\n" + "\n".join(f"{line.text} {line.beside}" for line in block.lines)
        for block in blocks
    )


@pytest.mark.parametrize(
    "task", [SyPPM(), AnswersWithCitations(), NotesChecklist(), RepliesChecklist()], ids=lambda one: one.name
)
def test_tasks_with_judges_say_what_is_counted_and_show_what_it_rests_on(task: Task) -> None:
    assert set(task.metrics[0].stat_names) <= set(task.stat_words)
    instance = load(task, "demo").instances[0]
    text = told(task.to_label(instance, Response("Hello there. |1|")))
    assert "Hello there." in text and "|1|" in text if task.name == "archehr-qa" else True
    for value in instance.inputs.values():
        if isinstance(value, str):
            assert value in text
    if isinstance(task, RepliesChecklist | NotesChecklist):
        assert all(item.question in text for item in task.checklist.items)


def test_a_draft_is_shown_as_it_is_scored() -> None:
    instance = Instance("1", {"message": "I cough.", "chart": ""}, {"response": "Rest. Drink."})
    draft = Response("The provided information is sufficient.\n\nDear Ann,\nRest well.")
    kept, dropped = (
        told(OncQA(OncQAOptions(preamble=one)).to_label(instance, draft)) for one in ("keep", "drop")
    )
    assert "sufficient" in kept and "sufficient" not in dropped and "Rest well." in dropped
    assert "The clinician's reply: 2 sentences\n1: Rest. \n2: Drink." in dropped


class Plain(Task):
    """A task that says nothing of labels."""

    name = "plain"

    def __init__(self, view) -> None:
        self.views = {"own": view}  # type: ignore[misc]


def marked(record: Record) -> list[ViewBlock]:
    """A view that shows what the judge said, where it is handed a score."""
    score = record.score
    told = "" if score is None else f"judged {score.stats}"
    return [ViewBlock("Asked", (ViewLine(record.instance.inputs["message"], "kept", told),))]


def in_markdown(record: Record) -> str:
    """The same as text."""
    return f"**Asked** {record.instance.inputs['message']}" + ("" if record.score is None else " judged")


def broken(record: Record) -> str:
    """A view that needs a score."""
    return str(record.score.evidence["what"])  # type: ignore[union-attr]


@pytest.mark.parametrize("view", [marked, in_markdown, broken])
def test_of_other_tasks_the_view_without_a_score_and_all_else_is_shown(view) -> None:
    instance = Instance("1", {"message": "I cough.", "chart": "Asthma."}, {"reply": "Rest."})
    line = ResponseRecord(id="1", sample=0, text="Drink tea.")
    record = Record(instance, Response("Drink tea."), Score({"s": 1.0}, evidence={"what": "judged"}))
    found = sheets.read_of(Plain(view), ("1", 0), {("1", 0): record}, {("1", 0): line}, response_digest(line))
    assert found is not None
    text = str(found.markdown) + "\n".join(
        line.text + line.remark for block in found.blocks for line in block.lines
    )
    for part in ("I cough.", "Asthma.", "Rest.", "Drink tea."):
        assert text.count(part) == 1, part
    assert "judged" not in text and not any(
        line.kind or line.sign for block in found.blocks for line in block.lines
    )
