"""Options of the ArchEHR-QA tasks (`-o name=value`) that strategies read."""

from __future__ import annotations

from typing import Annotated

import msgspec

from pmbench import ConfigError, Options

TRIES = 5
"""How often a prompt is put at most (the paper's section Evaluation framework, Fig. 3)."""

Tries = Annotated[int, msgspec.Meta(ge=1, le=100)]
"""How often a prompt may be put."""

CUTOFF = 0.36
"""Least cosine of a note sentence to the questions; how it was chosen is in benchmarks/archehr_cutoff.py."""

LINK_CUTOFF = 0.60
"""Least cosine of a note sentence to a sentence of the answer; chosen in the same way."""


Cosine = Annotated[float, msgspec.Meta(ge=-1, le=1)]
"""A cut-off of cosines."""


class TextOptions(Options, frozen=True):
    """Options of tasks whose answer is a text.

    Attributes:
        tries: how often a prompt is put at most; 1: the first answer stands, whatever is wrong with it.
    """

    tries: Tries = TRIES


class AnswerOptions(TextOptions, frozen=True):
    """Options of answers with citations.

    Attributes:
        cutoff: least cosine, from -1 to 1, of a note sentence to the questions, for `evidence-first`. Chosen for
            the embedded embedder: another one has another scale.
    """

    cutoff: Cosine = CUTOFF


class EvidenceOptions(TextOptions, frozen=True):
    """Options of finding the evidence for an answer.

    Attributes:
        cutoff: as of `AnswerOptions`, for `similarity`.
    """

    cutoff: Cosine = CUTOFF


class AlignmentOptions(TextOptions, frozen=True):
    """Options of aligning an answer with the note.

    Attributes:
        cutoff: least cosine, from -1 to 1, of a note sentence to a sentence of the answer, for `similarity`.
    """

    cutoff: Cosine = LINK_CUTOFF


def tries_of(options: Options) -> int:
    """How often a prompt is put at most.

    Raises:
        ConfigError: the options are of another task.
    """
    if not isinstance(options, TextOptions):
        raise ConfigError("this strategy is for the ArchEHR-QA tasks")
    return options.tries


def cutoff_of(options: Options) -> float:
    """The least cosine of a note sentence that is kept.

    Raises:
        ConfigError: the options are of another task.
    """
    if not isinstance(options, AnswerOptions | EvidenceOptions | AlignmentOptions):
        raise ConfigError("this strategy is for the ArchEHR-QA tasks that find note sentences")
    return options.cutoff
