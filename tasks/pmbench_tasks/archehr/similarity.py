"""How similar the sentences of a note are to the questions, by the run's embedder, and which of them are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmbench import ConfigError, Embedder, StrategyContext
from pmbench_tasks.archehr.note_text import is_heading, one_line

LEAST_KEPT = 5
"""So many of the most similar sentences are kept whatever their cosine: about as many as an answer has."""

RULE = {"questions": "mean of the cosines", "headings": "never", "least_kept": LEAST_KEPT}
"""What decides which sentences are kept, beside the cut-off; part of a run's digest."""


def candidates(sentences: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """The sentences of a note that can be evidence: headings are none, unless there is nothing else."""
    return [sentence for sentence in sentences if not is_heading(sentence["text"])] or list(sentences)


async def similarities(
    inputs: Mapping[str, Any], sentences: Sequence[Mapping[str, str]], context: StrategyContext
) -> list[float]:
    """Of each sentence the mean of its cosines to the patient's question and to the clinician's, from -1 to 1.

    A question that is empty does not count; what is longer than the embedder reads is counted by the embedder.

    Raises:
        ConfigError: the run has no embedder.
    """
    embedder = embedder_of(context)
    questions = [one for name in ("narrative", "clinician_question") if (one := inputs.get(name, "").strip())]
    if not questions or not sentences:
        return [0.0] * len(sentences)
    asked = await embedder.embed(questions)
    found = await embedder.embed([one_line(sentence["text"]) for sentence in sentences])
    return [float(value) for value in (found @ asked.T).mean(axis=1)]


def embedder_of(context: StrategyContext) -> Embedder:
    """The run's embedder.

    Raises:
        ConfigError: it has none.
    """
    if context.embedder is None:
        raise ConfigError("this strategy needs an embedder", where="--embedder")
    return context.embedder


def ranked(values: Sequence[float]) -> list[int]:
    """Places by falling value; of equal values the first place first."""
    return sorted(range(len(values)), key=lambda place: (-values[place], place))


def kept(values: Sequence[float], cutoff: float, least: int = LEAST_KEPT) -> list[int]:
    """Places, in order, of the values that are at least the cut-off, and of the `least` highest in any case."""
    top = set(ranked(values)[:least])
    return [place for place, value in enumerate(values) if value >= cutoff or place in top]


async def filtered(inputs: Mapping[str, Any], context: StrategyContext, cutoff: float) -> list[str]:
    """Ids of the note sentences that pass the filter, in document order: `candidates`, then `kept`.

    Raises:
        ConfigError: the run has no embedder.
    """
    sentences = candidates(inputs["sentences"])
    values = await similarities(inputs, sentences, context)
    return [sentences[place]["id"] for place in kept(values, cutoff)]
