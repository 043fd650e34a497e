"""Measures the embedded content judge and its baselines on pairs that took no part in choosing its numbers.

Run: `python -m pmbench_tasks.drafting.judge_data.measure_content` (needs the embedded embedder).

Measures are those of Table 7 of Seegmiller et al. 2026 (arXiv 2601.11344, appendix C.1). The baselines'
thresholds are chosen on the fold `tune`, by what the judge's numbers are chosen by.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pmbench import Embedder, find_span, open_embedder
from pmbench_tasks.drafting.judge_data.baselines import (
    best_threshold,
    cosine_of,
    nearest_sentence,
    never,
    rouge_l,
    texts_of,
)
from pmbench_tasks.drafting.judge_data.pairs import (
    PAIRS,
    TEST,
    Pair,
    Verdict,
    agreement,
    read_pairs,
    verdict,
    verdicts,
)
from pmbench_tasks.drafting.judging.embedded_content_judge import EmbeddedContentJudge

JUDGE = "embedded judge"
RESAMPLES, SEED, LEVEL = 10_000, 0, 0.95

Floats = NDArray[np.float64]
Answers = Mapping[str, Sequence[Verdict]]
"""Of each judge, in the order of the pairs."""


def report() -> str:
    """The tables as Markdown: a section for the pairs held back and one for those of `content_test.jsonl`."""
    return asyncio.run(_report())


async def _report() -> str:
    embedder = open_embedder()
    try:
        tune = read_pairs()
        sections = [
            ("Held back", read_pairs(PAIRS, ("held-back",))),
            ("Test, written by another author without sight of the judge", read_pairs(TEST, ())),
        ]
        parts = ["# The embedded content judge against labelled pairs\n"]
        for title, pairs in sections:
            parts.append(section(title, await answers(pairs, tune, embedder)))
        return "\n".join(parts)
    finally:
        await embedder.close()


async def answers(
    pairs: Sequence[Pair], tune: Sequence[Pair], embedder: Embedder
) -> dict[str, list[Verdict]]:
    """What the judge and the baselines answer to some pairs, beside the labels."""
    texts = texts_of([*pairs, *tune])
    cosine = cosine_of(dict(zip(texts, await embedder.embed(texts), strict=True)))
    found = {JUDGE: await judged(pairs, embedder)}
    for name, likeness in (("nearest sentence by cosine", cosine), ("nearest sentence by ROUGE-L", rouge_l)):
        threshold = best_threshold(likeness, tune)
        found[f"{name}, {threshold:.2f}"] = verdicts(pairs, nearest_sentence(likeness, threshold))
    return {**found, 'always "no match"': verdicts(pairs, never)}


async def judged(pairs: Sequence[Pair], embedder: Embedder) -> list[Verdict]:
    """What the embedded judge answers, each draft with all its sentences at once as in a run."""
    judge = EmbeddedContentJudge(embedder)
    found: dict[str, Verdict] = {}
    for draft, group in itertools.groupby(sorted(pairs, key=lambda p: (p.draft, p.id)), lambda p: p.draft):
        of_draft = list(group)
        for pair, answer in zip(
            of_draft, await judge.match([p.sentence for p in of_draft], draft), strict=True
        ):
            found[pair.id] = verdict(pair, find_span(draft, answer.span) if answer.span else None)
    return [found[pair.id] for pair in pairs]


def section(title: str, given: Answers) -> str:
    """One set of pairs: shares of each judge, the judge by kind, and its lead over each baseline."""
    ours = given[JUDGE]
    drafts = len({v.pair.draft_id for v in ours})
    lines = [
        f"## {title}",
        "",
        f"{len(ours)} pairs of {drafts} drafts, {sum(v.pair.span is not None for v in ours)} with a match.",
        "",
        "| judge | agreement | non-match | exact passage | overlap | mean of non-match and overlap |",
        "|---|---|---|---|---|---|",
    ]
    for name, theirs in given.items():
        a = agreement(theirs)
        shares = (a.agreement, a.non_match, a.exact, a.overlap, a.mean)
        lines.append(f"| {name} | " + " | ".join(map(_shown, shares)) + " |")
    lines += [
        "",
        "The embedded judge by kind:",
        "",
        "| kind | pairs | agreement | overlap |",
        "|---|---|---|---|",
    ]
    for kind in sorted({v.pair.kind for v in ours}):
        a = agreement([v for v in ours if v.pair.kind == kind])
        lines.append(f"| {kind} | {a.pairs} | {_shown(a.agreement)} | {_shown(a.overlap)} |")
    lines += [
        "",
        f"The embedded judge less each baseline, with {LEVEL:.0%} intervals ({RESAMPLES:,} resamples of drafts):",
        "",
        "| less | agreement | mean of non-match and overlap |",
        "|---|---|---|",
    ]
    for name, theirs in given.items():
        if name != JUDGE:
            both = lead(ours, theirs)
            lines.append(
                f"| {name} | " + " | ".join(f"{v:+.2f} [{a:+.2f}, {b:+.2f}]" for v, a, b in both) + " |"
            )
    return "\n".join(lines) + "\n"


def lead(
    ours: Sequence[Verdict], theirs: Sequence[Verdict]
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """How far one judge is before another on the same pairs, in agreement and in the mean.

    Returns:
        Value, low and high of each: percentile intervals of a bootstrap that draws drafts, since sentences
        about one draft are not independent (Davison & Hinkley 1997, section 3.8).
    """
    one, other = _sums(ours), _sums(theirs)
    draws = np.random.default_rng(SEED).multinomial(len(one), np.full(len(one), 1 / len(one)), RESAMPLES)
    values = _measures(one.sum(0)) - _measures(other.sum(0))
    resampled = _measures(draws @ one) - _measures(draws @ other)
    tails = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    first, second = ((float(v), float(a), float(b)) for v, a, b in zip(values, *tails, strict=True))
    return first, second


def _sums(given: Iterable[Verdict]) -> Floats:
    """For each draft: pairs, agreeing, non-matches, of them agreeing, matches, of them overlapping."""
    sums: dict[str, Floats] = {}
    for v in given:
        match = v.pair.span is not None
        row = np.array([1, v.agrees, not match, v.agrees and not match, match, v.overlaps], float)
        sums[v.pair.draft_id] = sums.get(v.pair.draft_id, np.zeros(6)) + row
    return np.stack(list(sums.values()))


def _measures(sums: Floats) -> Floats:
    """Agreement, and the mean of non-match agreement and overlap; NaN without non-matches or matches."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack(
            [
                sums[..., 1] / sums[..., 0],
                (sums[..., 3] / sums[..., 2] + sums[..., 5] / sums[..., 4]) / 2,
            ],
            axis=-1,
        )


def _shown(share: float) -> str:
    return "–" if share != share else f"{share:.2f}"


def main() -> None:
    """Print the report."""
    sys.stdout.write(report())


if __name__ == "__main__":
    main()
