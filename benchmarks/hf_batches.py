"""The backend `hf` beside lm-eval's `hf`, what reuse of common beginnings gains, and what batches change.

All with the embedded chat model in transformers' format, which the tests make into the model cache:

1. Answers: the same model, prompts, batch size and most tokens through lm-eval's `generate_until` and through
   `hf`, in turns in one run; the ratio of their speeds, and how many answers are the same text. PMBENCH_LMEVAL
   names the `python` of an environment with lm-eval; without one only `hf` is run. To make one:

       python -m venv lmeval; lmeval/bin/pip install -c constraints.txt "lm-eval[hf]==0.4.13" torch transformers

2. Choices in an inbox: each message compared with each other one, with and without reuse.
3. Batches: greedy answers one by one and in batches of 16: how many differ, and the largest difference between
   log-probabilities of the options of choices.

    python benchmarks/hf_batches.py [--parts 123] [--prompts 48] [--tokens 48] [--calls 120]
        [--rounds 3] [--threads 0]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS / "models"))

SYSTEM = (
    "You are the assistant of a family doctor. Answer the message of a patient in a friendly and short way, say what "
    "they can do themselves, and when they have to come to the practice."
)
DESK = (
    "You work at the desk of a doctor's practice and decide which of two messages of patients is answered first. "
    "Answer with one letter."
)
SENTENCES = (
    "It began on {} and has come and gone since then without any reason that I could find.",
    "I took what you gave me twice a day with food, as the label says, and wrote everything down.",
    "At night it is worse, and in the morning I can hardly get out of bed before {} o'clock.",
    "I have no fever, I eat and drink as usual, and the swelling is about as large as a walnut.",
    "Could you tell me whether I should come in, or whether it can wait until the check in {}?",
    "My neighbour, who used to be a nurse, thinks that somebody should look at it this week.",
    "Last year I had the same for {} days, and it went away by itself.",
)
THINGS = (
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
WHEN = ("Monday", "Friday", "March", "seven", "nine", "spring")

LM_EVAL = """
import json, sys, time
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
model = HFLM(pretrained=sys.argv[1], device="cpu", dtype="float32", batch_size=int(sys.argv[2]))
prompts = json.load(open(sys.argv[3]))["texts"]
given = {"until": [], "max_gen_toks": int(sys.argv[4]), "do_sample": False}
asked = [Instance("generate_until", {}, (text, dict(given)), n) for n, text in enumerate(prompts)]
print("ready", flush=True)
for _ in sys.stdin:
    began, used = time.perf_counter(), time.process_time()
    answers = model.generate_until(asked, disable_tqdm=True)
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    print(json.dumps({"seconds": seconds, "cpu": cpu, "answers": answers}), flush=True)
"""


def message(chance: random.Random, words: int) -> str:
    """A message of a patient of about so many words."""
    text = f"Hello, this is about my {chance.choice(THINGS)}."
    while len(text.split()) < words:
        text += " " + chance.choice(SENTENCES).format(chance.choice(WHEN))
    return text


def conversations(count: int) -> list[list[dict[str, str]]]:
    """Messages of 20 to 120 words, each after the same instructions."""
    chance = random.Random(1)
    texts = [message(chance, chance.randint(20, 120)) for _ in range(count)]
    return [[{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}] for text in texts]


def comparisons(count: int) -> list[list[dict[str, str]]]:
    """The first comparisons of an inbox of 30 messages of about 100 words."""
    chance = random.Random(2)
    inbox = [message(chance, 100) for _ in range(30)]
    pairs = [(a, b) for a in range(30) for b in range(30) if a != b][:count]
    asked = (
        f"Message A:\n{inbox[a]}\n\nMessage B:\n{inbox[b]}\n\nWhich is answered first?" for a, b in pairs
    )
    return [[{"role": "system", "content": DESK}, {"role": "user", "content": text}] for text in asked]


def opened(folder: Path, **options: Any) -> Any:
    """The backend, not open yet."""
    from pmbench.models.backends.hf.backend import Hf, HfOptions
    from pmbench.models.spec import ModelSpec

    spec = ModelSpec(f"hf:{folder}", "hf", str(folder), {})
    return Hf(spec, HfOptions(device="cpu", **options))


async def answers(backend: Any, asked: Sequence[Any], tokens: int) -> list[str]:
    """Greedy answers to all conversations, asked at the same time."""
    from pmbench.models.backend import Request

    requests = [Request(tuple(messages), max_tokens=tokens) for messages in asked]
    return [answer.text for answer in await asyncio.gather(*[backend.chat(one) for one in requests])]


async def choices(backend: Any, asked: Sequence[Any], at_once: int = 0) -> list[Any]:
    """Choices between A and B for all conversations, asked at the same time or so many at a time."""
    from pmbench.models.backend import Request

    gate = asyncio.Semaphore(at_once or len(asked))

    async def one(messages: Any) -> Any:
        async with gate:
            return await backend.choose(Request(tuple(messages), options=("A", "B")))

    return await asyncio.gather(*[one(messages) for messages in asked])


async def serve(folder: Path, batch: int, given: Path, tokens: int, prefix: str) -> None:
    """What runs in the process of `hf`: all prompts, each time that a line comes."""
    backend = opened(folder, batch=batch, prefix=prefix)
    asked = json.loads(given.read_text())["conversations"]
    await backend.open()
    print("ready", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        began, used = time.perf_counter(), time.process_time()
        texts = await answers(backend, asked, tokens)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        print(json.dumps({"seconds": seconds, "cpu": cpu, "answers": texts}), flush=True)
        backend._worker._engine._reader.beginnings.clear()  # each round begins without what the last one kept
    await backend.close()


class Side:
    """A process that answers all prompts each time it is asked."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.rounds: list[dict[str, Any]] = []
        self._line("ready")

    def round(self) -> None:
        """One round; its seconds and answers are kept."""
        assert self._process.stdin is not None
        self._process.stdin.write("again\n")
        self._process.stdin.flush()
        self.rounds.append(json.loads(self._line("{")))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def middle(self, what: str) -> float:
        """Median of a number over the rounds."""
        return statistics.median(float(one[what]) for one in self.rounds)

    def _line(self, begins: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(begins):
                return line
        raise SystemExit(f"a process ended with status {self._process.wait()}")


def beside_lm_eval(folder: Path, prompts: int, tokens: int, rounds: int, scratch: Path) -> None:
    """Print a row for each batch size."""
    from pmbench.models.backends.hf.folder import ModelFolder
    from pmbench.models.backends.hf.prompts import open_speech

    asked = conversations(prompts)
    speech = open_speech(ModelFolder(folder), ModelFolder(folder).template)
    texts = [
        speech.tokenizer.apply_chat_template(one, tokenize=False, add_generation_prompt=True) for one in asked
    ]
    given = scratch / "prompts.json"
    given.write_text(json.dumps({"conversations": asked, "texts": texts}))
    python = os.environ.get("PMBENCH_LMEVAL", "")
    print(
        f"{prompts} prompts, {tokens} new tokens; seconds, median of {rounds} rounds in turns (of the processor)"
    )
    print(f"{'batch':>5}{'lm-eval':>16}{'hf':>16}{'ratio':>14}{'hf, no reuse':>16}{'ratio':>14}  same texts")
    for batch in (8, 16):
        ours = [sys.executable, __file__, "--serve", str(folder), str(batch), str(given), str(tokens)]
        sides = {"on": Side([*ours, "on"]), "off": Side([*ours, "off"])}
        if python:
            sides["lm-eval"] = Side([python, "-c", LM_EVAL, str(folder), str(batch), str(given), str(tokens)])
        for _ in range(rounds):
            for side in sides.values():
                side.round()
        for side in sides.values():
            side.close()
        print(_row(batch, sides, prompts), flush=True)
    if not python:
        print("lm-eval: PMBENCH_LMEVAL names no environment, so it was not run")


def _row(batch: int, sides: dict[str, Side], prompts: int) -> str:
    shown = {name: f"{side.middle('seconds'):.1f} ({side.middle('cpu'):.1f})" for name, side in sides.items()}
    ratios, same = dict.fromkeys(("on", "off"), "–"), "–"
    if "lm-eval" in sides:
        theirs = sides["lm-eval"]
        for name in ratios:
            wall, cpu = (
                statistics.median(
                    a[what] / b[what] for a, b in zip(theirs.rounds, sides[name].rounds, strict=True)
                )
                for what in ("seconds", "cpu")
            )
            ratios[name] = f"{wall:.2f} ({cpu:.2f})"
        pairs = zip(theirs.rounds[0]["answers"], sides["on"].rounds[0]["answers"], strict=True)
        same = f"{sum(a == b for a, b in pairs)} of {prompts}"
    cells = f"{shown.get('lm-eval', '–'):>16}{shown['on']:>16}{ratios['on']:>14}{shown['off']:>16}{ratios['off']:>14}"
    return f"{batch:>5}{cells}  {same}"


async def reuse(folder: Path, calls: int) -> None:
    """Print what reuse gains in an inbox, and the largest difference that it makes."""
    asked, seconds, used, found = comparisons(calls), {}, {}, {}
    for prefix in ("off", "on"):
        backend = opened(folder, prefix=prefix)
        await backend.open()
        began, cpu = time.perf_counter(), time.process_time()
        found[prefix] = await choices(backend, asked)
        seconds[prefix], used[prefix] = time.perf_counter() - began, time.process_time() - cpu
        await backend.close()
    prompts = sum(choice.usage.prompt_tokens for choice in found["on"])
    cached = sum(choice.usage.cached_tokens for choice in found["on"])
    print(f"inbox of 30, {calls} comparisons of {prompts / calls:.0f} tokens")
    for name, spent in (("seconds", seconds), ("of the processor", used)):
        ratio = spent["off"] / spent["on"]
        print(f"  {name}: without reuse {spent['off']:.1f}, with {spent['on']:.1f}: {ratio:.2f} x")
    print(
        f"  {cached / prompts:.0%} of the tokens were read before; {_difference(found['off'], found['on'])}"
    )


async def batches(folder: Path, prompts: int, tokens: int) -> None:
    """Print how answers one by one differ from those in batches."""
    asked, found = conversations(prompts), {}
    for batch in (1, 16):
        backend = opened(folder, batch=batch)
        await backend.open()
        found[batch] = await answers(backend, asked, tokens), await choices(backend, asked)
        await backend.close()
    differ = sum(a != b for a, b in zip(found[1][0], found[16][0], strict=True))
    print(f"{prompts} prompts one by one and in batches of 16, greedy, {tokens} tokens")
    print(f"  {differ} texts differ; {_difference(found[1][1], found[16][1])}")


def _difference(some: Sequence[Any], others: Sequence[Any]) -> str:
    largest = max(
        abs(math.log(one.mass * p) - math.log(other.mass * q))
        for one, other in zip(some, others, strict=True)
        for p, q in zip(one.probabilities, other.probabilities, strict=True)
        if p > 0 and q > 0
    )
    flips = sum(
        (one.probabilities[0] > one.probabilities[1]) != (other.probabilities[0] > other.probabilities[1])
        for one, other in zip(some, others, strict=True)
    )
    return f"largest difference of a log-probability {largest:.1e}, {flips} of {len(some)} choices are other ones"


def main() -> None:
    """Run the parts that are asked for."""
    import tempfile

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default="123")
    parser.add_argument("--prompts", type=int, default=48)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--calls", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--serve", nargs=5, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        folder, batch, given, tokens, prefix = asked.serve
        asyncio.run(serve(Path(folder), int(batch), Path(given), int(tokens), prefix))
        return
    if asked.threads:
        os.environ["OMP_NUM_THREADS"] = str(asked.threads)  # of both sides
    import importlib

    folder = importlib.import_module("hf_models").chat_model()
    if asked.threads != 1:
        import torch

        torch.set_num_threads(asked.threads or len(os.sched_getaffinity(0)))
    if "1" in asked.parts:
        with tempfile.TemporaryDirectory() as scratch:
            beside_lm_eval(folder, asked.prompts, asked.tokens, asked.rounds, Path(scratch))
    if "2" in asked.parts:
        asyncio.run(reuse(folder, asked.calls))
    if "3" in asked.parts:
        asyncio.run(batches(folder, asked.prompts, asked.tokens))


if __name__ == "__main__":
    main()
