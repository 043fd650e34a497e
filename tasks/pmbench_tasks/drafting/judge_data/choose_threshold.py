"""Chooses the numbers of the embedded content judge, and measures it on pairs that were held back.

Run: `python -m pmbench_tasks.drafting.judge_data.choose_threshold` (needs the embedded embedder).

Every method's numbers are chosen on the fold `tune` alone: the greatest mean of non-match agreement and
overlap, without the kinds where one word was changed. Measures are those of the paper's Table 7.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from pmbench import Embedder, find_span, open_embedder
from pmbench_tasks.drafting.candidates import Candidate, candidates
from pmbench_tasks.drafting.embedded_judge import nearest

ONE_WORD = frozenset({"dose", "date", "laterality", "negation"})
"""Kinds where one word of a matching sentence was changed: not what a cosine can see."""

Decide = Callable[["Pair"], tuple[int, int] | None]


@dataclass(frozen=True)
class Pair:
    """One annotated pair: the passage of the draft that says the same as the sentence (None: none does).

    Attributes:
        passages, similarities: candidates of the draft and their cosines with the sentence.
    """

    sentence: str
    draft: str
    span: tuple[int, int] | None
    kind: str
    fold: str
    passages: Sequence[Candidate] = field(default=(), repr=False)
    similarities: Sequence[float] = field(default=(), repr=False)


@dataclass(frozen=True)
class Agreement:
    """How a judge fares, as shares.

    Attributes:
        pairs: how many there are.
        agreement: same decision whether there is a match.
        non_match: pairs without a match that were called so.
        exact: pairs with a match answered with the annotated passage (punctuation at its ends aside).
        overlap: pairs with a match answered with a passage that shares text with the annotated one.
    """

    pairs: int
    agreement: float
    non_match: float
    exact: float
    overlap: float

    @property
    def objective(self) -> float:
        """What the numbers are chosen by."""
        return (self.non_match + self.overlap) / 2


async def read_pairs(embedder: Embedder) -> list[Pair]:
    """All pairs, with candidates and cosines; each pair's texts in one call, as the judge does it."""
    source = files("pmbench_tasks.drafting").joinpath("judge_data/content_pairs.jsonl")
    pairs = []
    for line in source.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        passages = candidates(row["draft"])
        vectors = await embedder.embed([row["sentence"], *(passage.text for passage in passages)])
        span = None if row["span"] is None else find_span(row["draft"], row["span"])
        if row["span"] is not None and span is None:
            raise ValueError(f"the span of {row['id']} is not in its draft")
        similarities = (vectors[1:] @ vectors[0]).tolist()
        pairs.append(
            Pair(row["sentence"], row["draft"], span, row["kind"], row["fold"], passages, similarities)
        )
    return pairs


def measure(pairs: Iterable[Pair], decide: Decide) -> Agreement:
    """Agreement of a method with the annotation; shares of nothing are NaN."""
    same = refused = none = exact = overlap = matches = 0
    for pair in pairs:
        answer = decide(pair)
        same += (answer is None) == (pair.span is None)
        if pair.span is None:
            none += 1
            refused += answer is None
            continue
        matches += 1
        if answer is not None:
            exact += _bare(pair.draft, answer) == _bare(pair.draft, pair.span)
            overlap += answer[0] < pair.span[1] and pair.span[0] < answer[1]
    return Agreement(
        none + matches,
        _share(same, none + matches),
        _share(refused, none),
        _share(exact, matches),
        _share(overlap, matches),
    )


def embedded(threshold: float, clause: float) -> Decide:
    """The embedded judge with other numbers."""

    def decide(pair: Pair) -> tuple[int, int] | None:
        index, near = nearest(
            pair.sentence,
            pair.passages,
            pair.similarities,
            threshold=threshold,
            clause=clause,
        )
        return (pair.passages[index].start, pair.passages[index].end) if near else None

    return decide


def whole_sentences(threshold: float) -> Decide:
    """Baseline: the sentence of the draft with the greatest cosine."""
    return _best(threshold, lambda _pair, _passage, cosine: cosine)


def rouge(threshold: float) -> Decide:
    """Baseline: the sentence of the draft with the greatest ROUGE-L."""
    return _best(threshold, lambda pair, passage, _cosine: rouge_l(pair.sentence, passage.text))


def rouge_l(one: str, other: str) -> float:
    """ROUGE-L F1 of two texts over lower-case words (Lin 2004), without stemming."""
    a, b = _words(one), _words(other)
    row = [0] * (len(b) + 1)
    for word in a:
        above = 0
        for place, compared in enumerate(b, 1):
            above, row[place] = row[place], above + 1 if word == compared else max(row[place], row[place - 1])
    return 2 * row[-1] / (len(a) + len(b)) if a and b else 0.0


def choose(pairs: Iterable[Pair]) -> dict[str, tuple[Decide, str]]:
    """Each method with the numbers that are best on the fold `tune`; the plainer numbers win a tie."""
    tune = [pair for pair in pairs if pair.fold == "tune" and pair.kind not in ONE_WORD]
    steps = [round(0.02 * step, 2) for step in range(10, 46)]
    grids: dict[str, tuple[Callable[..., Decide], Iterable[tuple[float, ...]]]] = {
        "embedded judge": (
            embedded,
            itertools.product(steps, (0.0, 0.02, 0.04, 0.06, 0.08, 0.1)),
        ),
        "whole-sentence cosine": (whole_sentences, ((step,) for step in steps)),
        "ROUGE-L": (rouge, ((step,) for step in steps)),
    }
    found = {}
    for name, (build, numbers) in grids.items():
        _, best = max(
            ((measure(tune, build(*given)).objective, tuple(-n for n in given[1:])), given)
            for given in numbers
        )
        found[name] = (build(*best), " / ".join(f"{number:g}" for number in best))
    return found


def report(pairs: Sequence[Pair]) -> str:
    """The chosen numbers and the tables, as Markdown."""
    chosen = choose(pairs)
    held_back = [pair for pair in pairs if pair.fold == "held-back"]
    groups = {
        "tune, without one-word changes": [p for p in pairs if p.fold == "tune" and p.kind not in ONE_WORD],
        "held back": held_back,
        "held back, without one-word changes": [p for p in held_back if p.kind not in ONE_WORD],
    }
    lines = []
    for title, group in groups.items():
        lines += [f"{title} ({len(group)} pairs)", ""]
        lines += [
            "| judge | numbers | agreement | non-match | exact | overlap |",
            "|---|---|---|---|---|---|",
        ]
        for name, (decide, numbers) in chosen.items():
            a = measure(group, decide)
            shares = (a.agreement, a.non_match, a.exact, a.overlap)
            lines.append(f"| {name} | {numbers} | " + " | ".join(map(_shown, shares)) + " |")
        lines.append("")
    lines += [
        "held back, embedded judge, by kind",
        "",
        "| kind | pairs | agreement | overlap |",
        "|---|---|---|---|",
    ]
    for kind in sorted({pair.kind for pair in held_back}):
        a = measure([pair for pair in held_back if pair.kind == kind], chosen["embedded judge"][0])
        lines.append(f"| {kind} | {a.pairs} | {_shown(a.agreement)} | {_shown(a.overlap)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the report."""
    sys.stdout.write(report(asyncio.run(read_pairs(open_embedder()))))


def _best(threshold: float, similar: Callable[[Pair, Candidate, float], float]) -> Decide:
    def decide(pair: Pair) -> tuple[int, int] | None:
        scored = [
            (similar(pair, passage, cosine), -passage.start, passage.end)
            for passage, cosine in zip(pair.passages, pair.similarities, strict=True)
            if passage.kind == "sentence"
        ]
        best, start, end = max(scored)
        return (-start, end) if best >= threshold else None

    return decide


def _bare(draft: str, span: tuple[int, int]) -> str:
    return " ".join(draft[span[0] : span[1]].strip(" \t\r\n.,;:!?").split()).casefold()


def _words(text: str) -> list[str]:
    kept = "".join(letter if letter.isalnum() else " " for letter in text.lower())
    return kept.split()


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _shown(share: float) -> str:
    return "–" if share != share else f"{share:.2f}"


if __name__ == "__main__":
    main()
