"""Two checklists, five remarks and four visits, and a server scripted to answer about them in a known way."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

DOSE = "Does every medicine that the section names carry its dose?"
RETURN = "Does the section say when the patient is seen next?"
RIDDLE = "Is the section free of RIDDLES?"
PROBLEM = "Does the section name the problem?"
PLAN = "Does the section say what will be done?"

OURS = {"q1": DOSE, "q2": RETURN, "q3": RIDDLE}
BASE = {"b1": PROBLEM, "b2": PLAN}

FEEDBACK = (
    ("f1", "no dose for the metformin", "1", "assessment_and_plan"),
    ("f2", "dose and date are all there", "5", "assessment_and_plan"),
    ("f3", "wording is rather clumsy here", "3", "assessment_and_plan"),
    ("f4", "the date got lost again", "1", "assessment_and_plan"),
    ("f5", "who knows what this is", "5", "assessment_and_plan"),
    ("f6", "onset is wrong up there", "2", "subjective"),
    ("f7", "fix this", "1", "assessment_and_plan"),
)

COVERING: dict[str, list[int]] = {"f1": [1], "f2": [1, 2], "f3": [], "f4": [2]}
"""What covers what, for either checklist; nothing usable is said of f5."""

BROKEN = "Take something, some time. BROKEN-ON-PURPOSE"


def plan(text: str) -> str:
    return f"HISTORY OF PRESENT ILLNESS\n\nHe feels well.\n\nASSESSMENT AND PLAN\n\nDiabetes. {text}"


VISITS: list[dict[str, Any]] = [
    {
        "id": f"v{n}",
        "transcript": f"[doctor] Take {n} tablets.\n[patient] Fine.",
        "note": plan(f"Take {n} tablets of metformin 500 mg." + (" It FAILS." if n == 4 else "")),
        "good": plan(f"Metformin 500 mg, {n} a day."),
        "gaps": plan(f"Take {n} of them. GAPS everywhere."),
    }
    for n in range(1, 5)
]

PREFERENCES = [
    ("p1", "v1", "good", "gaps", "a", "a"),
    ("p2", "v2", "gaps", "good", "b", "b"),
    ("p3", "v3", "good", "gaps", "a", "b"),
]

LABELS = [("v1", "good", "q1", "yes"), ("v1", "gaps", "q1", "yes"), ("v2", "note", "q1", "yes")]

YES, NO = '{"answer": "yes", "quote": ""}', '{"answer": "no", "quote": ""}'


def scripts() -> dict[str, str]:
    """What the server answers, by a text in the last message of the user; the first that fits counts."""
    about = [{"n": n, "about": [section]} for n, (_, _, _, section) in enumerate(FEEDBACK[:6], 1)]
    texts = {ident: text for ident, text, *_ in FEEDBACK}
    return {
        f'<item n="1">{FEEDBACK[0][1]}': json.dumps({"answers": about}),
        **{f"<feedback>{texts[one]}": json.dumps({"covering": said}) for one, said in COVERING.items()},
        f"<feedback>{texts['f5']}": "All of them, I think.",
        '"covering" must hold numbers': "Hm.",
        '{"covering": [...]} in your answer': "Hm.",
        "Rewrite the section so that": json.dumps({"rewritten": BROKEN}),
        "Rewrite it.": "Diabetes, as before. Metformin 500 mg goes on.",
        RIDDLE: "Perhaps.",
        "Your answer could not be read": "Perhaps.",
        "BROKEN-ON-PURPOSE": NO,
        "nothing was written": NO,
        "GAPS everywhere": NO,
        "It FAILS": NO,
        "THE TEXT: the assessment and plan": YES,
    }


def _checklist(path: Path, name: str, questions: dict[str, str], section: str) -> None:
    items = [{"id": ident, "question": text} for ident, text in questions.items()]
    path.write_text(json.dumps({"name": name, "section": section, "items": items}))


def _table(path: Path, head: str, rows: Any) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head.split(","))
        writer.writerows(rows)


def write_given(folder: Path) -> None:
    """Everything that the command is given, as files."""
    _checklist(folder / "ours.json", "ours", OURS, "assessment_and_plan")
    _checklist(folder / "base.json", "base", BASE, "assessment_and_plan")
    _checklist(folder / "exam.json", "exam", BASE, "objective_exam")
    _table(folder / "feedback.csv", "id,feedback,stars,section", FEEDBACK)
    _table(folder / "preferences.csv", "id,visit,a,b,rater1,rater2", PREFERENCES)
    _table(folder / "labels.csv", "visit,draft,question,annotator1", LABELS)
    (folder / "notes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in VISITS))


def words(url: str, *more: str, out: str = "out") -> list[str]:
    """The command on two checklists and all that is given."""
    return [
        "evaluate", "ours.json", "base.json", "--feedback", "feedback.csv", "--notes", "notes.jsonl",
        "--preferences", "preferences.csv", "--labels", "labels.csv", "-m", f"openai:m?base_url={url}",
        "--embedder", f"openai:embed?base_url={url}", "--perturbations",
        "delete_section,repeat_sentence,paraphrase", "--tests", "3", "--again", "1", "--resamples", "100",
        "--splits", "3", "--sensitivity", "phi", "--out", out, *more,
    ]  # fmt: skip
