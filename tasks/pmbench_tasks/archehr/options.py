"""Options of the ArchEHR-QA tasks (`-o name=value`) that strategies read."""

from __future__ import annotations

from pmbench import ConfigError, Options

TRIES = 5
"""How often a prompt is put at most (the paper's section Evaluation framework, Fig. 3)."""

MOST_TRIES = 100

CUTOFF = 0.36
"""Least cosine of a note sentence to the questions; how it was chosen is in benchmarks/archehr_cutoff.py."""

LINK_CUTOFF = 0.60
"""Least cosine of a note sentence to a sentence of the answer; chosen in the same way."""


class TextOptions(Options, frozen=True):
    """Options of tasks whose answer is a text.

    Attributes:
        tries: how often a prompt is put at most; 1: the first answer stands, whatever is wrong with it.
    """

    tries: int = TRIES


class AnswerOptions(TextOptions, frozen=True):
    """Options of answers with citations.

    Attributes:
        cutoff: least cosine, from -1 to 1, of a note sentence to the questions, for `evidence-first`. Chosen for
            the embedded embedder: another one has another scale.
    """

    cutoff: float = CUTOFF


class EvidenceOptions(TextOptions, frozen=True):
    """Options of finding the evidence for an answer.

    Attributes:
        cutoff: as of `AnswerOptions`, for `similarity`.
    """

    cutoff: float = CUTOFF


class AlignmentOptions(TextOptions, frozen=True):
    """Options of aligning an answer with the note.

    Attributes:
        cutoff: least cosine, from -1 to 1, of a note sentence to a sentence of the answer, for `similarity`.
    """

    cutoff: float = LINK_CUTOFF


def tries_of(options: Options) -> int:
    """How often a prompt is put at most.

    Raises:
        ConfigError: it is not from 1 to 100, or the options are of another task.
    """
    if not isinstance(options, TextOptions):
        raise ConfigError("this strategy is for the ArchEHR-QA tasks")
    if not 1 <= options.tries <= MOST_TRIES:
        raise ConfigError(f"it must be from 1 to {MOST_TRIES}", where="-o tries")
    return options.tries


def cutoff_of(options: Options) -> float:
    """The least cosine of a note sentence that is kept.

    Raises:
        ConfigError: it is not from -1 to 1, or the options are of another task.
    """
    if not isinstance(options, AnswerOptions | EvidenceOptions | AlignmentOptions):
        raise ConfigError("this strategy is for the ArchEHR-QA tasks that find note sentences")
    if not -1.0 <= options.cutoff <= 1.0:
        raise ConfigError("it must be from -1 to 1, as cosines are", where="-o cutoff")
    return options.cutoff
