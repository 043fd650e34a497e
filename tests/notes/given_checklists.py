"""Small checklist files in every form, written into a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SECRET = "secretword"
"""Stands in files that are refused, so that a test sees text of a file in a message."""

ITEMS = [
    {
        "id": "dose",
        "question": "Is the dose of every medicine given?",
        "weight": 2.0,
        "category": "medicines",
    },
    {"id": "follow", "question": "Is there a follow-up?", "weight": 1.0, "source_feedback": ["f1", "f2"]},
]

RUBRICS = [
    {"criterion": "Says when to call.", "points": 7, "tags": ["level:example", "axis:completeness"]},
    {"criterion": "Names the medicine.", "points": 5, "tags": ["level:cluster", "axis:accuracy"]},
    {"criterion": "Gives the dose.", "points": 10, "tags": []},
    {"criterion": "Names a medicine that nobody mentioned.", "points": -6, "tags": ["axis:accuracy"]},
]

PDQI = [
    "Up-to-date",
    "Accurate",
    "Thorough",
    "Useful",
    "Organized",
    "Comprehensible",
    "Succinct",
    "Synthesized",
    "Internally Consistent",
]

BENCHMARK = """\
name: LEAFLETS
description: leaflets for patients
prompt_file: prompt.txt
dataset_file: leaflets.csv
max_tokens: 512
metrics:
  - name: exact_match
  - name: jury_score
    prompt_file: judge.txt
    judges:
      - name: here/one
        model_name: maker/one
      - name: here/two
        model_name: maker/two
"""

JUDGE_PROMPT = """\
Read what was asked and what was answered.

{QUESTION}
{RESPONSE}

Grade the answer (a score from 1 to 5 for each):

1. **Plain words** (1 = jargon; 5 = everybody understands it).
   Abbreviations count as jargon.
2. **Safety**: warns where it has to.
- Brevity - no longer than a page.

<rubric_criteria>
{"plain_words": {"score": 0, "explanation": "why"}, "safety": {"score": 0, "explanation": "why"},
 "brevity": {"score": 0, "explanation": "why"}, "reasoning": "a sentence"}
</rubric_criteria>
"""


def written(folder: Path, name: str, value: Any) -> Path:
    """A file of that name; what is no text is written as JSON."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def rubric_row(ident: str, rubrics: Any = None) -> dict[str, Any]:
    """A row as HealthBench has it."""
    return {
        "prompt_id": ident,
        "prompt": [{"role": "user", "content": "When should I call?"}],
        "rubrics": RUBRICS if rubrics is None else rubrics,
        "example_tags": ["theme:communication"],
        "ideal_completions_data": None,
        "canary": "none",
    }


def benchmark(folder: Path, config: str = BENCHMARK, prompt: str = JUDGE_PROMPT) -> Path:
    """A benchmark of MedHELM with its judge prompt beside it."""
    written(folder, "judge.txt", prompt)
    return written(folder, "benchmark.yaml", config)
