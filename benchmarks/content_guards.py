"""Time that the content judge's reading takes as a text grows: twice the text, about twice the time.

Run: `python benchmarks/content_guards.py`. No model is needed: cosines come from counts of words. A degenerate
text (one phrase without end) must grow like an ordinary one.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pmbench_tasks.drafting.judging.candidates import candidates
from pmbench_tasks.drafting.judging.embedded_content_judge import EmbeddedContentJudge
from pmbench_tasks.drafting.judging.guards import claims, contradiction

LETTERS = (20_000, 40_000, 80_000, 160_000)
PHRASES = {
    "a letter": "Take 5 mg twice a day for 7 days, and call us if the left knee is no better by Monday. ",
    "denials": "no not never don't stop ",
    "verdicts": "antibiotics are not needed ",
    "ranges": "1 to 2 or 3 - ",
    "digits": "1",
    "commas": "no fever, ",
    "marks": "( ) : ; , . - ",
    "one word": "a",
    "idle phrases": "do not hesitate to ",
    "numbers": "".join(f"{number}, " for number in range(40_000)),
}
REPLY = ("Take 10 mg twice a day.", "Call us if your right knee is worse.", "No fever?")
WIDTH = 64


class WordCounts:
    """Embeds a text as hashed counts of its words."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors, shape (n, WIDTH)."""
        vectors = np.zeros((len(texts), WIDTH), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                vectors[row, sum(map(ord, word[:8])) % WIDTH] += 1
        found: NDArray[np.float32] = vectors / np.maximum(
            np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-9)
        )
        return found


def answered(text: str) -> None:
    """A reply judged against a draft."""
    asyncio.run(EmbeddedContentJudge(WordCounts()).match(REPLY, text))


def compared(text: str) -> None:
    """A sentence and a passage compared by the rules."""
    contradiction(claims(REPLY[0]), claims(text))


def seconds(work: Callable[[str], object], text: str) -> float:
    """How long a piece of work takes."""
    start = time.perf_counter()
    work(text)
    return time.perf_counter() - start


def main() -> None:
    """Print seconds by length for the rules, the candidates, and a reply's answers."""
    print(
        f"{'text':<15}{'work':<12}"
        + "".join(f"{letters:>10,}" for letters in LETTERS)
        + "   last / one before"
    )
    for name, phrase in PHRASES.items():
        texts = [(phrase * (letters // len(phrase) + 1))[:letters] for letters in LETTERS]
        for what, work in (("rules", compared), ("candidates", candidates), ("answers", answered)):
            taken = [seconds(work, text) for text in texts]
            shown = "".join(f"{took:>8.3f} s" for took in taken)
            print(f"{name:<15}{what:<12}{shown}{taken[-1] / max(taken[-2], 1e-4):>8.1f}")


if __name__ == "__main__":
    main()
