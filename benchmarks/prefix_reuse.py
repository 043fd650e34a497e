"""What the reuse of common beginnings gains on an inbox, and what it changes.

An inbox of 30 messages is put in order by comparing each with each other one: 870 prompts, 29 of which begin alike.
Asked are the embedded chat model's log-probabilities of two options, in three ways, side by side in one run:

- without reuse, which is how one slot computes by default;
- with reuse, the requests handed over in random order to the engine one by one, as a plain queue would;
- with reuse, handed over in the same random order all at once to the model that strategies are given, which puts
  those with a common beginning one after the other.

Also: in how many of the comparisons the more probable option is another one than without reuse, with one slot
and with four.

    python benchmarks/prefix_reuse.py [--first-messages 4] [--messages 30]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from pathlib import Path

from pmbench.core.model import Message
from pmbench.models.catalogue import open_model
from pmbench.models.store import CompletionStore

MODEL = "smollm2-135m"
OPTIONS = ("A", "B")

_SYSTEM = (
    "You work at the desk of a doctor's practice and decide which of two messages of patients is answered first. "
    "Answer with one letter."
)
_OPENINGS = (
    "Hello, this is about my {}.",
    "Good morning, I write because of my {}.",
    "Dear doctor, my {} again.",
)
_THINGS = (
    "left knee",
    "blood pressure",
    "cough",
    "rash",
    "sleep",
    "stomach",
    "new tablets",
    "ear",
    "eyesight",
)
_SENTENCES = (
    "It began on {} and has come and gone since then without any reason that I could find.",
    "I took what you gave me twice a day with food, as the label says, and wrote everything down.",
    "My neighbour, who used to be a nurse, thinks that I should have somebody look at it this week.",
    "At night it is worse, and in the morning I can hardly get out of bed before {} o'clock.",
    "I have no fever, I eat and drink as usual, and the swelling is about as large as a walnut.",
    "Could you tell me whether I should come in, or whether it can wait until the check in {}?",
    "The chemist had run out of them, so that I went without for {} days.",
    "Thank you for taking the time to read this long letter.",
)


def inbox(count: int) -> list[str]:
    """Messages of about a hundred words, made of parts; they are nobody's."""
    chance = random.Random(0)
    messages = []
    for _ in range(count):
        opening = chance.choice(_OPENINGS).format(chance.choice(_THINGS))
        body = [s.format(chance.randint(2, 12)) for s in chance.sample(_SENTENCES, 6)]
        messages.append(" ".join([opening, *body]))
    return messages


def comparisons(messages: list[str], firsts: int) -> list[list[Message]]:
    """The prompts in random order; all pairs whose first message is one of the first so many."""
    pairs = [(a, b) for a in range(min(firsts, len(messages))) for b in range(len(messages)) if a != b]
    random.Random(1).shuffle(pairs)
    asked = "Message A:\n{}\n\nMessage B:\n{}\n\nWhich message is answered first?"
    return [
        [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": asked.format(messages[a], messages[b])},
        ]
        for a, b in pairs
    ]


async def ask(spec: str, prompts: list[list[Message]], *, at_once: bool) -> tuple[float, list[float]]:
    """Seconds for all prompts, and the probability of the first option of each."""
    with tempfile.TemporaryDirectory() as folder:
        store = CompletionStore(Path(folder) / "completions.sqlite")
        model = open_model(spec, store=store)
        try:
            await model.choose([{"role": "user", "content": "A or B?"}], OPTIONS)  # it is loaded now
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
    parser.add_argument("--messages", type=int, default=30)
    parser.add_argument("--first-messages", type=int, default=4)
    given = parser.parse_args()
    prompts = comparisons(inbox(given.messages), given.first_messages)
    print(f"{len(prompts)} comparisons, load {os.getloadavg()[0]:.1f}")

    ways = {
        "without reuse": (f"{MODEL}?cache=off", False),
        "reuse, random order": (f"{MODEL}?cache=on", False),
        "reuse, ordered": (f"{MODEL}?cache=on", True),
        "reuse, ordered, 4 slots": (f"{MODEL}?slots=4", True),
    }
    found = {name: asyncio.run(ask(spec, prompts, at_once=once)) for name, (spec, once) in ways.items()}
    slowest, plain = found["without reuse"]
    for name, (seconds, probabilities) in found.items():
        flips = sum((p > 0.5) != (q > 0.5) for p, q in zip(probabilities, plain, strict=True))
        apart = max(abs(p - q) for p, q in zip(probabilities, plain, strict=True))
        print(
            f"{name:26} {seconds:7.1f} s, {slowest / seconds:5.2f} times as fast; another option in {flips} of"
            f" {len(prompts)}, probabilities apart by {apart:.5f} at most"
        )
    random_order, ordered = found["reuse, random order"][0], found["reuse, ordered"][0]
    print(f"ordered against random order: {random_order / ordered:.2f} times as fast")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
