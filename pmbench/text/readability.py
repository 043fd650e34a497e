"""How many years of school a text asks of its reader."""

from __future__ import annotations

import re

from pmbench.text.sentences import split_sentences

_WORD = re.compile(r"\d+(?:[.,:/]\d+)*%?|[^\W\d_]+(?:['’-][^\W\d_]+)*|\w+")


def flesch_kincaid_grade(text: str) -> float | None:
    """The Flesch–Kincaid grade of an English text, in years of school in the USA; None for a text without a word.

    0.39 · words per sentence + 11.8 · syllables per word − 15.59: about 6 is what health organisations ask for in
    what patients are given; short simple sentences come out below 0. Sentences are those of `split_sentences`, in
    which a decimal point ends none; syllables are those of the library syllapy (a dictionary, and rules for words
    that are not in it); a number counts one syllable.

    Source: Kincaid et al. 1975.
    """
    import syllapy

    words = _WORD.findall(text)
    sentences = len(split_sentences(text))
    if not words or not sentences:
        return None
    syllables: int = sum(max(1, syllapy.count(word.replace("’", "'"))) for word in words)
    return 0.39 * len(words) / sentences + 11.8 * syllables / len(words) - 15.59
