"""Words, tokens and vectors: text made from digests, and digests made from text."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import shake_128

_LIST = """
amber anchor apple autumn barley basket birch bridge candle canyon carpet cedar clover coast copper cotton
daisy delta ember fabric falcon feather fern forest garden ginger glacier granite harbor hazel heron island
ivory jasmine juniper kettle ladder lantern lemon linen maple marble meadow mirror morning moss needle oasis
olive orchard pebble pepper pillow pine planet pocket quartz ribbon river saddle silver tulip valley willow
"""
WORDS = tuple(_LIST.split())  # 64 of them: one is six bits of a digest

_TOKEN = re.compile(r"\s*\S+|\s+$")


def sentence(digest: bytes, words: int | None = None) -> str:
    """A short text that means nothing: the same for the same digest.

    Args:
        digest: 32 bytes.
        words: how many words; None for 5 to 12, as the digest decides.
    """
    if words is None:
        return " ".join([WORDS[b & 63] for b in digest[1 : 6 + (digest[0] & 7)]]) + "."
    drawn = shake_128(digest).digest(max(words, 1))
    return " ".join([WORDS[b & 63] for b in drawn]) + "."


def tokens_of(text: str) -> list[str]:
    """A text in tokens of one word each, with the white space before it; joined, they are the text."""
    return _TOKEN.findall(text)


def count_tokens(text: str) -> int:
    """About how many tokens a text is: four characters each, as a rule of thumb."""
    return (len(text) + 3) // 4


@lru_cache(maxsize=65536)
def _word_vector(word: str, dimensions: int) -> tuple[float, ...]:
    return tuple(b / 127.5 - 1 for b in shake_128(word.encode(errors="surrogatepass")).digest(dimensions))


def embedding(text: str, dimensions: int) -> list[float]:
    """A unit vector: the sum of one random vector per word, so that texts that share words are near.

    Args:
        text: what to embed.
        dimensions: the length of the vector.
    """
    total = [0.0] * dimensions
    for word in text.lower().split() or [""]:
        for i, value in enumerate(_word_vector(word, dimensions)):
            total[i] += value
    norm = sum(v * v for v in total) ** 0.5 or 1.0
    return [v / norm for v in total]
