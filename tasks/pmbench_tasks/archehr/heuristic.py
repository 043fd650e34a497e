"""`heuristic`: the note sentences that are most similar to the questions are the answer; no model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmbench import Model, Options, Response, StrategyContext
from pmbench_tasks.archehr.answers import MOST_WORDS
from pmbench_tasks.archehr.note_text import one_line
from pmbench_tasks.archehr.official_lines import official_line, words_as_scored
from pmbench_tasks.archehr.similarity import RULE, candidates, ranked, similarities
from pmbench_tasks.archehr.tries import data_of


class Heuristic:
    """Takes note sentences by their similarity until the next would not fit, and puts them in document order.

    The sentence that is most similar is taken even where it is too long by itself: scoring cuts it. Each
    sentence cites itself.
    """

    needs = frozenset({"embed"})

    def describe(self) -> Mapping[str, Any]:
        """The rule."""
        return {"filter": RULE, "most_words": MOST_WORDS, "order": "document", "full": "stop at the first"}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """No request."""
        return 0, 0

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """The lines; no tries, and nothing can be wrong with them.

        Raises:
            ConfigError: the run has no embedder.
        """
        sentences = candidates(inputs["sentences"])
        values = await similarities(inputs, sentences, context)
        places = fitting([one_line(sentence["text"]) for sentence in sentences], values)
        lines = [official_line(sentences[place]["text"], [sentences[place]["id"]]) for place in places]
        return Response(text="\n".join(lines), data=data_of(()))


def fitting(texts: Sequence[str], values: Sequence[float], most_words: int = MOST_WORDS) -> list[int]:
    """Places, in order, of the texts of the highest values that have at most so many words together.

    It ends at the first that does not fit, and has the first in any case.
    """
    taken: list[int] = []
    words = 0
    for place in ranked(values):
        words += words_as_scored(texts[place])
        if taken and words > most_words:
            break
        taken.append(place)
    return sorted(taken)
