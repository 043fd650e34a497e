"""How far the official relevance of ArchEHR-QA depends on the order of the essential sentences.

Run: python benchmarks/archehr_orders.py [--orders N] [--data FOLDER] [--responses FILE]

The official scorer joins the essential sentences in the order of a Python set of their ids, which changes with
PYTHONHASHSEED; pmbench joins them in the order of the note. Printed: the value in the order of the note, in the order
of this process's own set, and the least and greatest mean over cases that any of N orders drawn for each case gives.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from pmbench import bleu, rouge, sari
from pmbench_tasks.archehr.answers import parse_official
from pmbench_tasks.archehr.cases import Case, Sentence
from pmbench_tasks.archehr.reading import read_folder
from pmbench_tasks.archehr.readings import question_text
from pmbench_tasks.archehr.submissions import read_submission

DEMO = Path(__file__).parent.parent / "tasks/pmbench_tasks/archehr/demo"
NAMES = ("bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "sari")


def measured(case: Case, answer: str, order: Sequence[Sentence]) -> dict[str, float]:
    """The components that need no weights, ×100, with the essential sentences in that order."""
    question, essential = question_text(case), "\n".join(one.text for one in order)
    reference = f"{question}\n\n{essential}"
    found = {
        "bleu": bleu(answer, reference),
        **rouge(answer, reference),
        "sari": sari(question, answer, [essential]),
    }
    return {name: 100 * found[name] for name in NAMES}


def main() -> None:
    """Print a line for each component."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--orders", type=int, default=200, help="drawn for each case")
    parser.add_argument("--data", type=Path, default=DEMO)
    parser.add_argument("--responses", type=Path, default=DEMO / "submission.json")
    given = parser.parse_args()
    rows, answers = read_folder(given.data), read_submission(given.responses)
    if rows is None or answers is None:
        raise SystemExit("no ArchEHR-QA files there")
    lot = random.Random(0)
    values: dict[str, list[list[float]]] = {name: [] for name in NAMES}
    for row in rows:
        case: Case = row.values["case"]
        found = answers.get(case.id)
        if found is None:
            continue
        answer = parse_official(found.text or "").text
        essential = [one for one in case.sentences if case.relevance.get(one.id) == "essential"]
        by_id = {one.id: one for one in essential}
        orders = [essential, [by_id[name] for name in set(by_id)]]
        orders += [lot.sample(essential, len(essential)) for _ in range(given.orders)]
        each = [measured(case, answer, order) for order in orders]
        for name in NAMES:
            values[name].append([one[name] for one in each])
    cases = len(values["bleu"])
    print(f"{cases} cases, {given.orders} orders each; mean over cases, ×100")
    print("component | order of the note | order of a set | least | greatest")
    for name, table in values.items():
        note, own = (sum(row[place] for row in table) / cases for place in (0, 1))
        least, most = (sum(end(row) for row in table) / cases for end in (min, max))
        inside = "" if least - 1e-9 <= own <= most + 1e-9 else " (outside of the orders drawn)"
        print(f"{name} | {note:.3f} | {own:.3f}{inside} | {least:.3f} | {most:.3f}")


if __name__ == "__main__":
    main()
