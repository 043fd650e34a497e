"""Counting tokens before a model is asked, for estimates and budgets: nothing is loaded that is not at hand.

The model's own tokenizer where its `tokenizer.json` lies in a folder or in the hub's cache; for models of OpenAI
tiktoken, where its vocabulary has been cached on this machine before; else an approximation, which says so in its
name. No network is ever asked.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from pmbench.core.model import Message
from pmbench.models.backend import Backend

TURN = 4
"""Tokens that mark the beginning and the end of a message, about; chat templates differ."""

CHARACTERS = 4
"""Characters of a token, about, in scripts that part words by blanks."""

_EAST_ASIAN = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)
"""Hangul, kana, Chinese characters, and their punctuation: one token each, about."""

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")

_VOCABULARIES = {
    "o200k_base": ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "o200k_harmony": ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "cl100k_base": ("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
}
"""Of tiktoken's encodings: the vocabulary's file and its SHA-256, as the library knows them."""

_VOCABULARY_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


class TokenCounter:
    """Counts tokens of texts.

    Attributes:
        name: how it counts, in words.
        exact: whether by the model's own tokenizer.
    """

    def __init__(self, name: str, count: Callable[[str], int], *, exact: bool) -> None:
        self.name, self.exact, self._count = name, exact, count

    def count(self, text: str) -> int:
        """Tokens of a text, without any that a chat template adds."""
        return self._count(text)

    def count_messages(self, messages: Iterable[Message]) -> int:
        """Tokens of a conversation, with about four for the marks of each turn."""
        return sum(TURN + self._count(message["content"]) for message in messages)


def counter(backend: Backend) -> TokenCounter:
    """The best counter of a model's tokens that is at hand. Loads no model and asks no network."""
    target = backend.spec.target
    file = _tokenizer_file(target, getattr(backend.option, "revision", None) or "main")
    if file is not None:
        found = _by_tokenizer(file, file.stat().st_mtime_ns)
        if found is not None:
            return found
    if backend.price is not None and backend.price.provider == "openai":
        found = _by_tiktoken(backend.price.model)
        if found is not None:
            return found
    return APPROXIMATE


def approximate(text: str) -> int:
    """About how many tokens a text has: a token for four characters, for each one of East Asian scripts."""
    wide = len(_EAST_ASIAN.findall(text))
    return wide + -(-(len(text) - wide) // CHARACTERS)


APPROXIMATE = TokenCounter("about four characters a token", approximate, exact=False)


def _tokenizer_file(target: str, revision: str) -> Path | None:
    """`tokenizer.json` of a folder of weights, or of a repository that lies in the hub's cache."""
    try:
        folder = Path(target).expanduser()
        if (folder / "tokenizer.json").is_file():
            return folder / "tokenizer.json"
    except (OSError, ValueError, RuntimeError):  # a name that can be none of a file
        return None
    if not _HUB_ID.fullmatch(target) or importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(target, "tokenizer.json", revision=revision)
    except ValueError:  # no name of a repository
        return None
    return Path(found) if isinstance(found, str) else None


@functools.lru_cache(maxsize=4)
def _by_tokenizer(file: Path, _changed: int) -> TokenCounter | None:
    if importlib.util.find_spec("tokenizers") is None:
        return None
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception:  # noqa: BLE001 - it raises plain Exceptions for files that it does not understand
        return None
    # Some files pad to or cut at a fixed length, which is no count.
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return TokenCounter("the model's own tokenizer", count, exact=True)


def _by_tiktoken(model: str) -> TokenCounter | None:
    """None where tiktoken, its knowledge of the model or its vocabulary is not there."""
    if importlib.util.find_spec("tiktoken") is None:
        return None
    from tiktoken.model import encoding_name_for_model

    try:
        name = encoding_name_for_model(model)
    except KeyError:
        return None
    return _by_encoding(name) if name in _VOCABULARIES and _vocabulary_cached(name) else None


@functools.cache
def _by_encoding(name: str) -> TokenCounter:
    import tiktoken

    encoding = tiktoken.get_encoding(name)

    def count(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    return TokenCounter(f"tiktoken, {name}", count, exact=True)


def _vocabulary_cached(name: str) -> bool:
    """Whether tiktoken would find its vocabulary, whole, where it looks before it asks the network.

    A file that is not what it should be would be deleted by the library and brought anew, so it is checked here.
    """
    file, sha256 = _VOCABULARIES[name]
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if named == "":  # the library's way of saying: keep nothing
        return False
    folder = Path(named) if named is not None else Path(tempfile.gettempdir()) / "data-gym-cache"
    url = _VOCABULARY_URL.format(file)
    path = folder / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    except OSError:
        return False
