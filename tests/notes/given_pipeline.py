"""Twenty feedback items, four reference notes, and a server scripted to grow a checklist from them."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOSE = "Does every medicine that the section names carry its dose?"
DOSE_AGAIN = "does every medicine that the section names carry its dose"
INVENTED = "Is the section free of orders that nobody mentioned?"
REPEATED = "Is anything said twice in the section?"
NOT_REPEATED = "Does the section avoid saying things twice?"
OR_NA = "Is the reason for the referral given, or N/A?"
OPEN = "Which tests were ordered at the visit?"
INSULIN = "Is the sliding scale of the insulin given?"
AGREES = "Does the section agree with the history?"
PLEASANT = "Is the wording of the section pleasant?"
AGAIN = "Can a reader tell when the patient is seen next?"
DOSE_TOO = "Does a dose stand with every medicine that is named, as agreed?"
MERGED = "Does every medicine that the section names carry the dose that was agreed on?"

NEAR = "0.65"
"""The server draws vectors from texts: those of DOSE and DOSE_TOO have a cosine of 0.69, others less than 0.56."""

FEEDBACK = (
    # id, text, stars, section
    ("f01", "no dose for the metformin", "2", "assessment_and_plan"),
    ("f02", "lisinopril without mg, again", "2", "AP"),
    ("f03", "doses are all there, thank you", "5", "A&P"),
    ("f04", "an MRI that nobody ordered", "1", "assessment_and_plan"),
    ("f05", "made up a referral to cardiology", "1", "plan"),
    ("f06", "said the same thing twice", "3", "assessment_and_plan"),
    ("f07", "why the referral? not said", "3", "assessment_and_plan"),
    ("f08", "labs that I ordered are missing", "2", "assessment_and_plan"),
    ("f09", "sliding scale got lost", "2", "assessment_and_plan"),
    ("f10", "plan contradicts my history", "2", "assessment_and_plan"),
    ("f11", "wording is a bit clumsy", "4", "assessment_and_plan"),
    ("f12", "when do I see her again?", "3", ""),
    ("f13", "follow-up date is missing", "2", ""),
    ("f14", "Señor Muñoz’s follow-up, 3 months, vanished", "1", "assessment_and_plan"),
    ("f15", "onset of pain is wrong in the HPI", "2", "subjective"),
    ("f16", "the app logs me out every hour", "1", ""),
    ("f17", "headings look odd all over", "3", ""),
    ("f18", "fix this", "1", "assessment_and_plan"),
    ("f19", "   ", "3", "assessment_and_plan"),
    ("f20", "great plan, very thorough work", "5", "assessment_and_plan"),
)

USED = tuple(f"f{n:02d}" for n in (*range(1, 15), 20))
"""What is left for assessment and plan."""

BROKEN, STILL = "BROKEN-ON-PURPOSE", "PLEASANT-AS-BEFORE"

REFERENCES = [
    {
        "id": f"visit-{n}",
        "transcript": f"[doctor] Take {n} tablets.\n[patient] Fine.",
        "note": f"ASSESSMENT AND PLAN\nTake {n} tablets of metformin 500 mg. See me in {n} weeks."
        + (" FAILS-EVERYTHING" if n == 4 else ""),
    }
    for n in range(1, 5)
]


def write_feedback(path: Path, rows: tuple[tuple[str, ...], ...] = FEEDBACK, encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file)
        writer.writerow(["id", "feedback", "stars", "section"])
        writer.writerows(rows)
    return path


def write_references(path: Path) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in REFERENCES))
    return path


def proposals(order: Mapping[str, int]) -> str:
    """An answer of the proposer. `order` has the number of each item in its shuffled batch."""
    listed = {
        DOSE: ("f01", "f02"),
        INVENTED: ("f04", "f05"),
        DOSE_AGAIN: ("f03",),
        REPEATED: ("f06",),
        OR_NA: ("f07",),
        OPEN: ("f08",),
        INSULIN: ("f09",),
        AGREES: ("f10",),
        PLEASANT: ("f11",),
        AGAIN: ("f12", "f13", "f14"),
        DOSE_TOO: ("f02", "f20"),
    }
    return json.dumps(
        {"questions": [{"question": q, "feedback": [order[i] for i in ids]} for q, ids in listed.items()]}
    )


def answers(**entries: Any) -> str:
    return json.dumps({n[1:]: entry for n, entry in entries.items()})


def good(count: int, *bad: int) -> dict[str, dict[str, Any]]:
    return {
        f"n{n}": {"reason": "so", "every_visit": n not in bad, "this_section_only": True}
        for n in range(1, count + 1)
    }


def scripts(order: Mapping[str, int]) -> dict[str, str]:
    """What the server answers, by a text in the last message of the user; the first that fits counts."""
    plan = "assessment_and_plan"
    first = {f"n{n}": {"about": plan, "also": "nothing"} for n in range(1, 11)}
    about = (plan, plan, plan, plan, "subjective", "not_the_note", "whole_note", plan)
    second = {f"n{n}": {"about": one, "also": "nothing"} for n, one in enumerate(about, 1)}
    fine = {"yes_is_good": True, "reworded": ""}
    turned = {f"n{n}": fine for n in range(1, 10)} | {
        "n4": {"yes_is_good": False, "reworded": NOT_REPEATED},
        "n2": {"yes_is_good": "perhaps"},
    }
    tagged = good(7, 4) | {"n5": {"reason": "so", "every_visit": True, "this_section_only": False}}
    covering = {
        "f01": [1], "f02": [1], "f03": [1], "f04": [2], "f05": [2], "f06": [3],
        "f07": [], "f08": [], "f09": [1], "f10": [], "f11": [3], "f12": [4], "f13": [4], "f14": [4],
    }  # fmt: skip
    texts = {ident: text for ident, text, *_ in FEEDBACK}
    return {
        "THE REMARKS": "I would ask about the doses.",
        f'<item n="1">{FEEDBACK[0][1]}': answers(**first),
        f'<item n="1">{FEEDBACK[10][1]}': answers(**second),
        '{"questions": [...]} in your answer': proposals(order),
        f'<item n="1">{INVENTED}</item>': answers(n1=fine),
        "Which way round is each?": "Here you are:\n```json\n" + answers(**turned) + "\n```",
        "Write one question for all of them.": json.dumps({"question": MERGED}),
        "Decide on every question.": answers(**tagged),
        f"<question>{PLEASANT}</question>\n\nRewrite": json.dumps({"rewritten": STILL}),
        "Rewrite the section so that": json.dumps({"rewritten": BROKEN}),
        STILL: '{"answer": "yes", "quote": ""}',
        BROKEN: '{"answer": "no", "quote": ""}',
        "FAILS-EVERYTHING": '{"answer": "no", "quote": ""}',
        "THE TEXT: the assessment and plan": '{"answer": "yes", "quote": ""}',
        **{
            f"<feedback>{texts[ident]}": json.dumps({"covering": numbers})
            for ident, numbers in covering.items()
        },
        f"<feedback>{texts['f20']}": "All of them, I think.",
        '{"covering": [...]} in your answer': '{"covering": [99]}',
        '"covering" must hold numbers': '{"covering": "most"}',
    }


def pmbench(folder: Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pmbench", "checklist", *arguments],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **more,
    )


def words(folder: Path, url: str, *more: str, out: str = "grown.json") -> list[str]:
    """The command that builds the checklist."""
    model, embedder = f"openai:m?base_url={url}", f"openai:embed?base_url={url}"
    return [
        "build", "--feedback", "feedback.csv", "--notes", "notes.jsonl", "-m", model, "--embedder", embedder,
        "--tests", "3", "--threshold", NEAR, "--sensitivity", "phi", "--out", out, *more,
    ]  # fmt: skip
