"""Counting tokens: by the model's own tokenizer where it is at hand, by a named approximation elsewhere."""

from __future__ import annotations

import hashlib
import inspect
import socket
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest
import tiktoken_ext.openai_public
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from pmbench.models.backend import Backend, BackendOptions, Price
from pmbench.models.cost import tokens
from pmbench.models.cost.tokens import APPROXIMATE, TURN, approximate, counter
from pmbench.models.spec import parse_spec

LETTER = "Dear Mrs Sample, your potassium is fine."


class Some(Backend):
    """A backend of any model."""

    name: ClassVar[str] = "some"

    def __init__(self, spec: str, price: Price | None = None) -> None:
        super().__init__(parse_spec(spec), BackendOptions())
        self.price = price

    def unavailable(self) -> str:
        return ""

    def identity(self) -> dict[str, str]:
        return {}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any connection is an error."""

    def refuse(*arguments: Any) -> NoReturn:
        raise AssertionError("a network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def words(folder: Path) -> Path:
    """A folder with a tokenizer that knows whole words, and pads and cuts to sixteen of them."""
    vocabulary = {word: place for place, word in enumerate(["[UNK]", "Dear", "Mrs", "Sample", ",", "your"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=16)
    tokenizer.enable_truncation(16)
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_the_models_own_tokenizer_of_a_folder(tmp_path: Path) -> None:
    found = counter(Some(f"hf:{words(tmp_path / 'model')}"))
    assert (found.name, found.exact) == ("the model's own tokenizer", True)
    assert found.count(LETTER) == 9
    assert found.count("Dear " * 100) == 100
    assert found.count("") == 0


def test_the_models_own_tokenizer_in_the_cache_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: None
) -> None:
    import huggingface_hub.constants

    cache = tmp_path / "hub"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    repository = cache / "models--Some--Model"
    words(repository / "snapshots" / ("a" * 40))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40)
    assert counter(Some("hf:Some/Model")).count(LETTER) == 9
    # The same model behind a server.
    assert counter(Some("openai:Some/Model", Price("openai", "Some/Model"))).count(LETTER) == 9
    assert counter(Some("hf:Some/Other")) is APPROXIMATE


def test_a_tokenizer_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    assert counter(Some(f"hf:{tmp_path}")) is APPROXIMATE


@pytest.mark.parametrize(
    "target", ["gpt-4o", "a" * 5000, "~nobody-of-this-name/x", "nul\0", "../..", "a/b/c"]
)
def test_any_name_has_a_counter(target: str, offline: None) -> None:
    assert counter(Some(f"openai:{target}")).count(LETTER) > 0


def vocabulary_file(folder: Path, name: str) -> Path:
    url = tokens._VOCABULARY_URL.format(tokens._VOCABULARIES[name][0])
    return folder / hashlib.sha1(url.encode()).hexdigest()


def test_without_its_vocabulary_tiktoken_is_not_asked_and_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: None
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokens._by_encoding.cache_clear()
    asked = Some("openai:gpt-4o", Price("openai", "gpt-4o"))
    assert counter(asked) is APPROXIMATE
    broken = vocabulary_file(tmp_path, "o200k_base")
    broken.write_bytes(b"no vocabulary")
    assert counter(asked) is APPROXIMATE
    assert broken.read_bytes() == b"no vocabulary"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert counter(asked) is APPROXIMATE


@pytest.mark.parametrize(
    ("model", "name", "expected"),
    [("gpt-4o", "o200k_base", 9), ("o3-mini", "o200k_base", 9), ("gpt-4", "cl100k_base", 9)],
)
def test_with_its_vocabulary_tiktoken_counts(model: str, name: str, expected: int, offline: None) -> None:
    if not tokens._vocabulary_cached(name):
        pytest.skip(f"tiktoken has not cached the vocabulary of {name} on this machine")
    found = counter(Some(f"openai:{model}", Price("openai", model)))
    assert (found.name, found.count(LETTER)) == (f"tiktoken, {name}", expected)
    # What ends a text for the model is text in a prompt.
    assert found.count("<|endoftext|>") > 1


def test_our_knowledge_of_vocabularies_is_that_of_the_library() -> None:
    for name, (file, sha256) in tokens._VOCABULARIES.items():
        source = inspect.getsource(getattr(tiktoken_ext.openai_public, name))
        if "o200k_base()" in source:
            assert file == "o200k_base"
            continue
        assert tokens._VOCABULARY_URL.format(file) in source
        assert sha256 in source


def test_where_the_library_looks_is_where_we_look() -> None:
    import tiktoken.load

    source = inspect.getsource(tiktoken.load.read_file_cached)
    for part in (
        '"TIKTOKEN_CACHE_DIR"',
        '"DATA_GYM_CACHE_DIR"',
        '"data-gym-cache"',
        "sha1(blobpath.encode())",
    ):
        assert part in source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("血清", 2),
        ("血清カリウムは正常です。", 12),
        ("K+ は正常", 4),
    ],
)
def test_the_approximation_by_hand(text: str, expected: int) -> None:
    assert approximate(text) == expected


@given(st.text(), st.text())
def test_the_approximation_adds_up(one: str, other: str) -> None:
    whole = approximate(one + other)
    assert whole <= approximate(one) + approximate(other) <= whole + 1
    assert 0 <= whole <= len(one + other)


def test_a_conversation_has_its_turns_besides() -> None:
    messages = [{"role": "system", "content": "abcd"}, {"role": "user", "content": "abcdefgh"}]
    assert APPROXIMATE.count_messages(messages) == 3 + 2 * TURN  # type: ignore[arg-type]
    assert APPROXIMATE.name == "about four characters a token"
