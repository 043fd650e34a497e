"""How near beam search comes to the best subset of questions, and how fast selection is.

Run: python benchmarks/checklist_selection.py [--matrices N] [--seed S]

Up to 12 questions `select` looks at every subset; above, it searches with a beam of width 5. Here both look at the
same coverage matrices of 12 questions, of three kinds: every cell drawn by itself; questions that overlap because
they share concerns; questions of which some cover nearly the same as another. Printed for each kind: in how many
matrices the beam's best subset is as good as the best one, the mean and the greatest gap of the objective, and the
same over the best subset of every size, and the milliseconds that both take. Then both on the 20 questions that come
with pmbench and the feedback that they grew from (a million subsets), and the seconds of beam search with many.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pmbench_tasks.notes.checklist import own_checklist
from pmbench_tasks.notes.selection import ALPHA, PENALTY, select
from pmbench_tasks.notes.subset_search import Covering, Subset, beam_search, exhaustive

Bools = NDArray[np.bool_]
QUESTIONS, ITEMS = 12, 150


def independent(random: np.random.Generator) -> Bools:
    """Each question covers each feedback item with the same small chance."""
    return random.random((QUESTIONS, ITEMS)) < random.uniform(0.03, 0.4)


def by_concern(random: np.random.Generator) -> Bools:
    """Feedback items have one to three of 20 concerns; a question is about one to four of them."""
    concerns = 20
    of_item = np.zeros((ITEMS, concerns), dtype=bool)
    for row in of_item:
        row[random.choice(concerns, random.integers(1, 4), replace=False)] = True
    of_question = np.zeros((QUESTIONS, concerns), dtype=bool)
    for row in of_question:
        row[random.choice(concerns, random.integers(1, 5), replace=False)] = True
    covers: Bools = np.array(of_question.astype(int) @ of_item.T.astype(int) > 0, dtype=bool)
    return covers


def near_copies(random: np.random.Generator) -> Bools:
    """Half of the questions cover what another covers, but for one item in ten."""
    half = by_concern(random)[: QUESTIONS // 2]
    return np.vstack([half, half ^ (random.random(half.shape) < 0.1)])


KINDS: dict[str, Callable[[np.random.Generator], Bools]] = {
    "independent": independent,
    "by concern": by_concern,
    "near copies": near_copies,
}


def best(found: list[Subset]) -> float:
    """The objective of the best subset of any size."""
    return max(one.objective for one in found)


def gaps(kind: str, matrices: int, seed: int) -> None:
    """Print a line of the table."""
    random = np.random.default_rng(seed)
    overall, by_size = [], []
    seconds = np.zeros(2)
    for _ in range(matrices):
        covering = Covering(KINDS[kind](random))
        started = time.perf_counter()
        exact = exhaustive(covering, ALPHA, PENALTY)
        between = time.perf_counter()
        beam = beam_search(covering, ALPHA, PENALTY)
        seconds += (between - started, time.perf_counter() - between)
        overall.append(best(exact) - best(beam))
        by_size += [one.objective - other.objective for one, other in zip(exact, beam, strict=True)]
    for name, values in (("best of all", overall), ("best of each size", by_size)):
        gap = np.maximum(np.array(values), 0)
        print(
            f"{kind:12} | {name:17} | {np.mean(gap < 1e-9):7.2%} | {gap.mean():.2e} | {gap.max():.2e}"
            f" | {1000 * seconds[0] / matrices:6.1f} | {1000 * seconds[1] / matrices:6.1f}"
        )


def own_questions() -> None:
    """Print what both find among the questions that come with pmbench."""
    items = own_checklist("assessment-and-plan").items
    feedback = sorted({ident for item in items for ident in item.source_feedback})
    matrix = np.array([[ident in item.source_feedback for ident in feedback] for item in items])
    covering = Covering(matrix)
    exact, beam = exhaustive(covering, ALPHA, PENALTY), beam_search(covering, ALPHA, PENALTY)
    gap = max(one.objective - other.objective for one, other in zip(exact, beam, strict=True))
    print(
        f"\n{len(items)} questions × {len(feedback)} feedback items: best {best(exact):.4f}, by beam"
        f" {best(beam):.4f}; greatest gap over all sizes {max(gap, 0):.2e}"
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--matrices", type=int, default=300, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"{given.matrices} matrices of each kind, {QUESTIONS} questions × {ITEMS} feedback items")
    print("matrices     | compared          | as good | mean gap | greatest | exact ms | beam ms")
    for kind in KINDS:
        gaps(kind, given.matrices, given.seed)
    own_questions()
    print("\nselect: questions × feedback items | seconds")
    random = np.random.default_rng(given.seed)
    for questions, items in ((25, 200), (100, 2_000), (200, 20_000)):
        matrix = random.random((questions, items)) < 0.02
        started = time.perf_counter()
        select(matrix)
        print(f"{questions} × {items} | {time.perf_counter() - started:.2f}")


if __name__ == "__main__":
    main()
