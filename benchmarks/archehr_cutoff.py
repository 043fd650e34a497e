"""How the cut-offs of ArchEHR-QA were chosen: on the development half of the demo, with the embedded embedder.

Run: `python benchmarks/archehr_cutoff.py [FOLDER]`, which is read as `--data` reads one.

Printed are, of each half of the data, micro precision, recall and F1 in percent: of the note sentences that pass a
cut-off (the five most similar of a case always pass) against those that are essential; and of links between sentences
of the clinician's answer and the note (the most similar one always passes) against those of the key. A cut-off is
chosen on the development half: of those whose F1 is within one point of the best the lowest, since a model can leave
out what it is shown, but cannot use what it is not shown. The other half only shows how far that carries.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pmbench import open_embedder
from pmbench_tasks.archehr.base import inputs_of
from pmbench_tasks.archehr.cases import Case
from pmbench_tasks.archehr.heuristic import fitting
from pmbench_tasks.archehr.note_text import one_line
from pmbench_tasks.archehr.options import CUTOFF, LINK_CUTOFF
from pmbench_tasks.archehr.reading import read_folder
from pmbench_tasks.archehr.similarity import LEAST_KEPT, candidates, kept
from pmbench_tasks.archehr.strategies_2026 import LEAST_LINKED

Cosines = NDArray[np.float32]
Counts = tuple[int, int, int]
"""True positives, false positives, false negatives."""

GRID = [round(0.02 * step, 2) for step in range(10, 41)]

NEAR = 1.0
"""Points of F1."""

TOGETHER: dict[str, Callable[[Cosines], Cosines]] = {
    "mean of both": lambda found: found.mean(axis=1),
    "higher of both": lambda found: found.max(axis=1),
    "patient's alone": lambda found: found[:, 0],
    "clinician's alone": lambda found: found[:, 1],
}


def counted(chosen: Iterable[object], right: Iterable[object]) -> Counts:
    """Counts of one case."""
    found, wanted = set(chosen), set(right)
    return len(found & wanted), len(found - wanted), len(wanted - found)


def shares(counts: Iterable[Counts]) -> tuple[float, float, float]:
    """Micro precision, recall and F1, in percent."""
    tp, fp, fn = map(sum, zip(*counts, strict=True))
    return 100 * tp / max(1, tp + fp), 100 * tp / max(1, tp + fn), 200 * tp / max(1, 2 * tp + fp + fn)


class Prepared:
    """A case with its cosines: of sentences to both questions, and of the answer's sentences to sentences."""

    def __init__(self, case: Case, embed: Callable[[Sequence[str]], Cosines]) -> None:
        self.case = case
        self.sentences = candidates(inputs_of(case)["sentences"])
        self.ids = [sentence["id"] for sentence in self.sentences]
        self.essential = [id_ for id_, label in case.relevance.items() if label == "essential"]
        note = embed([one_line(sentence["text"]) for sentence in self.sentences])
        self.questions = note @ embed([case.narrative, case.clinician_question]).T
        self.links = embed([one_line(one.text) for one in case.answer_sentences]) @ note.T

    def filtered(self, way: str, cutoff: float) -> Counts:
        """Of the filter against essential sentences."""
        values = [*map(float, TOGETHER[way](self.questions))]
        return counted([self.ids[place] for place in kept(values, cutoff, LEAST_KEPT)], self.essential)

    def heuristic(self, way: str) -> Counts:
        """Of the strategy `heuristic` against essential sentences."""
        values = [*map(float, TOGETHER[way](self.questions))]
        texts = [one_line(sentence["text"]) for sentence in self.sentences]
        return counted([self.ids[place] for place in fitting(texts, values)], self.essential)

    def linked(self, cutoff: float) -> Counts:
        """Of links against those of the key."""
        found = [
            (one.id, self.ids[place])
            for one, row in zip(self.case.answer_sentences, self.links, strict=True)
            for place in kept([*map(float, row)], cutoff, LEAST_LINKED)
        ]
        return counted(found, [(one.id, id_) for one in self.case.answer_sentences for id_ in one.citations])


async def prepared(cases: Sequence[Case]) -> list[Prepared]:
    """The cases with their cosines, by the embedded embedder."""
    embedder = open_embedder()
    texts = {
        one_line(text)
        for case in cases
        for text in (
            *(one.text for one in case.sentences),
            *(one.text for one in case.answer_sentences),
        )
    } | {text for case in cases for text in (case.narrative, case.clinician_question)}
    vectors = dict(zip(texts, await embedder.embed([*texts]), strict=True))
    await embedder.close()
    return [Prepared(case, lambda wanted: np.stack([vectors[text] for text in wanted])) for case in cases]


def chosen(curve: Mapping[float, float]) -> float:
    """The lowest cut-off whose F1 is within a point of the best."""
    best = max(curve.values())
    return min(at for at, f1 in curve.items() if f1 >= best - NEAR)


def table(halves: Sequence[Sequence[Prepared]], count: Callable[[Prepared, float], Counts]) -> float:
    """Print the curve of both halves; the cut-off chosen on the first."""
    curves = {at: [shares([count(one, at) for one in half]) for half in halves] for at in GRID}
    choice = chosen({at: found[0][2] for at, found in curves.items()})
    for at, found in curves.items():
        numbers = "".join(f"   {p:6.1f} {r:6.1f} {f:6.1f}" for p, r, f in found)
        print(f"{'* ' * (at == choice) + format(at, '.2f'):>8}{numbers}")
    return choice


def main() -> None:
    """Print the curves."""
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(str(files("pmbench_tasks.archehr") / "demo"))
    cases = [row.values["case"] for row in read_folder(given) or ()]
    halves = (
        asyncio.run(prepared([one for one in cases if one.split == "development"] or cases)),
        asyncio.run(prepared([one for one in cases if one.split != "development"] or cases)),
    )
    print(f"{len(halves[0])} development cases, {len(halves[1])} others: P, R, F1 of each")
    for way in TOGETHER:
        found = [shares([one.heuristic(way) for one in half]) for half in halves]
        numbers = "".join(f"   {p:6.1f} {r:6.1f} {f:6.1f}" for p, r, f in found)
        print(f"\n{way}\n{'top 75 words':>12}{numbers}")
        table(halves, lambda one, at, way=way: one.filtered(way, at))  # type: ignore[misc]
    print(f"\nlinks (in use: {LINK_CUTOFF}; of the mean of both above: {CUTOFF})")
    table(halves, Prepared.linked)


if __name__ == "__main__":
    main()
