"""What the reuse of common beginnings gains on an inbox, and what it changes.

The first demo inbox of 30 messages is put in order by comparing each with each other one: 870 prompts, 29 of which
begin alike. Asked is the embedded chat model for the probability of yes, in several ways, side by side in one run:

- without reuse: every prompt is read whole (`?cache=off`);
- marked: what the prompt file marks as the common beginning is read once (one slot, the default), the requests handed
  over in random order all at once to the model that strategies are given, which puts those that begin alike together;
- marked, random order: the same, one request after the other in random order, as a plain queue would;
- reuse of whatever prompts have in common (`?cache=on`), in random order and together, and with four slots.

Also: whether the probabilities of the two marked ways are equal to the last bit, and in how many comparisons the
more probable option is another one than without reuse.

    python benchmarks/prefix_reuse.py [--first-messages 4]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import tempfile
import time
from importlib.resources import files
from pathlib import Path

from pmbench import Message, Prompt
from pmbench.models.catalogue import open_model
from pmbench.models.store import CompletionStore

MODEL = "smollm2-135m"
OPTIONS = ("yes", "no")
WAYS = {
    "without reuse": (f"{MODEL}?cache=off", False),
    "marked": (MODEL, True),
    "marked, random order": (MODEL, False),
    "whatever is common": (f"{MODEL}?cache=on", True),
    "whatever, random order": (f"{MODEL}?cache=on", False),
    "whatever, 4 slots": (f"{MODEL}?slots=4", True),
}


def comparisons(firsts: int) -> list[list[Message]]:
    """The prompts in random order: all pairs of the inbox whose first message is one of the first so many."""
    lines = files("pmbench_tasks.urgency").joinpath("demo/inbox.jsonl").read_text().splitlines()
    messages = [row for row in map(json.loads, lines) if row["inbox"] == "a"]
    pairs = [(a, b) for a in range(min(firsts, len(messages))) for b in range(len(messages)) if a != b]
    random.Random(1).shuffle(pairs)
    prompt = Prompt("pmbench_tasks.urgency:prompts/compare.txt")
    return [prompt.messages(first=messages[a], second=messages[b]) for a, b in pairs]


async def ask(spec: str, prompts: list[list[Message]], *, at_once: bool) -> tuple[float, list[float]]:
    """Seconds for all prompts, and the probability of the first option of each."""
    with tempfile.TemporaryDirectory() as folder:
        store = CompletionStore(Path(folder) / "completions.sqlite")
        model = open_model(spec, store=store)
        try:
            await model.choose([{"role": "user", "content": "Yes or no?"}], OPTIONS)  # it is loaded now
            began = time.perf_counter()
            if at_once:
                choices = await asyncio.gather(*[model.choose(prompt, OPTIONS) for prompt in prompts])
            else:
                choices = [await model.choose(prompt, OPTIONS) for prompt in prompts]
            seconds = time.perf_counter() - began
        finally:
            await model.close()
            store.close()
    return seconds, [choice.probabilities[0] for choice in choices]


def main() -> None:
    """Print times as ratios, and what reuse changes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first-messages", type=int, default=4)
    given = parser.parse_args()
    prompts = comparisons(given.first_messages)
    print(f"{len(prompts)} comparisons, load {os.getloadavg()[0]:.1f}", flush=True)
    found: dict[str, tuple[float, list[float]]] = {}
    for name, (spec, at_once) in WAYS.items():
        found[name] = asyncio.run(ask(spec, prompts, at_once=at_once))
        (slowest, plain), (seconds, probabilities) = found["without reuse"], found[name]
        flips = sum((p > 0.5) != (q > 0.5) for p, q in zip(probabilities, plain, strict=True))
        apart = max(abs(p - q) for p, q in zip(probabilities, plain, strict=True))
        print(
            f"{name:24} {seconds:7.1f} s, {slowest / seconds:5.2f} times as fast; another option in {flips} of"
            f" {len(prompts)}, probabilities apart by {apart:.5f} at most",
            flush=True,
        )
    together, mixed = found["marked"], found["marked, random order"]
    print(f"marked, together against random order: {mixed[0] / together[0]:.2f} times as fast")
    print(f"equal to the last bit whatever the order: {together[1] == mixed[1]}")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
