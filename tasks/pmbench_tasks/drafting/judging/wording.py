"""A text as words, and words without their endings: what the guards read."""

from __future__ import annotations

import re

# Numbers with points or commas, ordinals, codes (B12, q6h, x5), words with one apostrophe, and the marks that
# end a scope. Each letter is looked at once: a text may be one run of anything.
_TOKEN = re.compile(
    r"\d++(?:[.,:]\d++)*+(?:(?:st|nd|rd|th)\b)?|[^\W\d_]++(?:['’][^\W\d_]++)?+(?:\d++[^\W\d_]*+)?+|[.,;:!?()\n%/–—-]"
)
_ENDINGS = ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s")


def words(text: str) -> list[str]:
    """Words, numbers and marks of a text, in lower case and order; anything else is left out."""
    return _TOKEN.findall(text.lower().replace("’", "'"))


def stem(word: str) -> str:
    """A word without the endings of English verbs and plurals; other words come back as they are.

    Only for telling whether two words are forms of one; the stem itself need be no word.
    """
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending) + ("y" if ending in ("ied", "ies") else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiosl":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word
