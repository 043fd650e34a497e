"""Sentences per second of the embedded theme judge, beside its embedder alone on the same machine and moment.

Run: python benchmarks/theme_judge.py [--sentences N] [--rounds N]

Sides take turns within a round, each on sentences that its embedder has not seen; the model is loaded before. The
ratio is the time of `label` over the time of `embed` for as many sentences: what is above 1 is the judge's own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time

from pmbench import open_embedder
from pmbench_tasks.drafting.judge_data.train_themes import read_sentences
from pmbench_tasks.drafting.judging.embedded_theme_judge import EmbeddedThemeJudge


def fresh(count: int, mark: str) -> list[str]:
    """So many different sentences; the mark makes them new."""
    rows = read_sentences("tune")
    return [f"{rows[at % len(rows)].sentence} ({mark} {at})" for at in range(count)]


async def one_round(count: int, number: int) -> tuple[float, float]:
    """Seconds of `label` and of `embed`."""
    embedder = open_embedder()
    judge = EmbeddedThemeJudge(embedder)
    await judge.label(["A first sentence loads the model."])
    times = {}
    for side in ("label", "embed") if number % 2 else ("embed", "label"):
        # Marks of one length, so that both sides read as many tokens.
        sentences = fresh(count, f"{side[0]}{number}")
        began = time.perf_counter()
        if side == "label":
            await judge.label(sentences)
        else:
            await embedder.embed(sentences)
        times[side] = time.perf_counter() - began
    await embedder.close()
    return times["label"], times["embed"]


def main() -> None:
    """Print medians and ranges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sentences", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    rounds = [asyncio.run(one_round(given.sentences, number)) for number in range(given.rounds)]
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{given.sentences} sentences, {given.rounds} rounds, {os.cpu_count()} cores{load}; median (range)")
    for name, values, digits in (
        ("label, sentences/s", [given.sentences / label for label, _ in rounds], 0),
        ("embed, sentences/s", [given.sentences / embed for _, embed in rounds], 0),
        ("label time / embed time", [label / embed for label, embed in rounds], 2),
    ):
        low, high = min(values), max(values)
        print(f"{name:<26}{statistics.median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})")


if __name__ == "__main__":
    main()
