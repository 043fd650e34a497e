"""The embedded embedder: a vector depends on its text alone, and means something."""

from __future__ import annotations

import asyncio
import importlib.metadata
import random
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from pmbench.core.errors import MissingExtra, ModelUnavailable, UnknownName
from pmbench.models.embedder import DIMENSIONS, LocalEmbedder, open_embedder, unavailable
from pmbench.models.files import cache

T = TypeVar("T")

SENTENCES = (
    "Please take the tablets with food.",
    "The swelling should go down within a week.",
    "Call us if the fever returns.",
    "Your blood test shows a low iron level, so I would like you to take a supplement once a day.",
    "Ok.",
    "",
    "Ibuprofen 400 mg, every 6 h (max. 1,200 mg/day) – not on an empty stomach!",
    "Die Schmerzen sind besser geworden. 🙂",
)

needs_model = pytest.mark.model


def with_embedder(work: Callable[[LocalEmbedder], Awaitable[T]], **given: int) -> T:
    async def run() -> T:
        embedder = LocalEmbedder(**given)  # type: ignore[arg-type]
        try:
            return await work(embedder)
        finally:
            await embedder.close()

    return asyncio.run(run())


@needs_model
def test_rows_are_unit_vectors_in_the_order_asked(models: dict[str, list[Path]]) -> None:
    async def work(embedder: LocalEmbedder) -> None:
        vectors = await embedder.embed(SENTENCES)
        assert vectors.shape == (len(SENTENCES), DIMENSIONS)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)
        backwards = await embedder.embed([*SENTENCES[::-1], SENTENCES[0]])
        assert np.array_equal(backwards[:-1], vectors[::-1])
        assert np.array_equal(backwards[-1], vectors[0])
        assert embedder.computed == len(SENTENCES)
        none = await embedder.embed([])
        assert (none.shape, none.dtype) == ((0, DIMENSIONS), np.float32)

    with_embedder(work)


@needs_model
def test_a_vector_does_not_depend_on_its_neighbours(models: dict[str, list[Path]]) -> None:
    texts = [f"{first} {second}" for first in SENTENCES for second in SENTENCES]
    long = " ".join(SENTENCES) * 8

    async def together(embedder: LocalEmbedder) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return await embedder.embed([long, *texts])

    async def alone_and_at_once(
        embedder: LocalEmbedder,
    ) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        shuffled = random.Random(1).sample(texts, len(texts))
        rows = await asyncio.gather(*(embedder.embed([text]) for text in shuffled))
        return {text: row[0] for text, row in zip(shuffled, rows, strict=True)}

    one_thread = with_embedder(together, workers=1)
    many = with_embedder(alone_and_at_once, workers=3)
    for text, vector in zip(texts, one_thread[1:], strict=True):
        assert np.array_equal(vector, many[text])


@needs_model
def test_meaning_is_closer_than_words(models: dict[str, list[Path]]) -> None:
    groups = (
        ("The chest pain began after exercise.", "Pain in the chest started following physical activity."),
        ("Please schedule a follow-up visit.", "Kindly book another appointment."),
        ("Take one tablet every morning.", "You should have a single pill once a day, early."),
    )

    async def work(embedder: LocalEmbedder) -> None:
        left = await embedder.embed([pair[0] for pair in groups])
        right = await embedder.embed([pair[1] for pair in groups])
        likeness = left @ right.T
        same = np.diag(likeness)
        other = likeness[~np.eye(len(groups), dtype=bool)]
        assert same.min() > other.max() + 0.1
        assert other.max() < 0.3

    with_embedder(work)


@needs_model
def test_the_vector_is_the_masked_mean_of_the_last_states(models: dict[str, list[Path]]) -> None:
    """Against the formula written out in another way: a padded batch and its mask, in double precision."""
    import onnxruntime
    from tokenizers import Tokenizer

    model, tokenizer_file = models["all-minilm-l6-v2"]
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    codes = tokenizer.encode_batch(list(SENTENCES))
    ids, mask = (np.array([getattr(code, name) for code in codes]) for name in ("ids", "attention_mask"))
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    states = session.run(None, feed)[0].astype(np.float64)
    expected = np.array([row[m == 1].sum(axis=0) for row, m in zip(states, mask, strict=True)])
    expected /= np.sqrt((expected**2).sum(axis=1, keepdims=True))
    vectors = with_embedder(lambda embedder: embedder.embed(SENTENCES))
    assert np.abs(vectors - expected).max() < 1e-5


@needs_model
def test_the_tokenizer_is_that_of_bert(models: dict[str, list[Path]]) -> None:
    async def work(embedder: LocalEmbedder) -> None:
        await embedder.embed(["x"])
        # From the vocabulary of bert-base-uncased: [CLS] 101, hello 7592, world 2088, [SEP] 102.
        assert embedder._tokenizer.encode("Hello world").ids == [101, 7592, 2088, 102]

    with_embedder(work)


@needs_model
def test_what_is_too_long_is_counted(models: dict[str, list[Path]]) -> None:
    async def work(embedder: LocalEmbedder) -> None:
        # 254 words of one token each, and the two special tokens, just fit.
        fits, too_long = " ".join(["pain"] * 254), " ".join(["pain"] * 255)
        vectors = await embedder.embed([fits, too_long, too_long])
        assert embedder.truncated == 1
        assert np.array_equal(vectors[0], vectors[1])

    with_embedder(work)


@needs_model
def test_memory_is_bounded(models: dict[str, list[Path]]) -> None:
    async def work(embedder: LocalEmbedder) -> None:
        await embedder.embed(["a", "b", "c"])
        await embedder.embed(["a"])
        await embedder.embed(["d"])
        assert list(embedder._vectors) == ["c", "a", "d"]
        await embedder.embed(["b"])
        assert embedder.computed == 5
        many = await embedder.embed([str(number) for number in range(40)])
        assert len(many) == 40
        assert len(embedder._vectors) == 3

    with_embedder(work, keep=3)


@needs_model
def test_the_event_loop_stays_free(models: dict[str, list[Path]]) -> None:
    async def work(embedder: LocalEmbedder) -> int:
        turns = 0
        task = asyncio.create_task(embedder.embed([f"{text} {n}" for n in range(10) for text in SENTENCES]))
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        await task
        return turns

    assert with_embedder(work) > 10


@needs_model
def test_it_can_be_closed_and_used_again(models: dict[str, list[Path]]) -> None:
    async def work(embedder: LocalEmbedder) -> None:
        before = await embedder.embed(["one"])
        await embedder.close()
        await embedder.close()
        embedder._vectors.clear()
        assert np.array_equal(await embedder.embed(["one"]), before)

    with_embedder(work)


@needs_model
def test_identity(models: dict[str, list[Path]]) -> None:
    model, tokenizer = models["all-minilm-l6-v2"]
    identity = open_embedder().identity()
    assert identity == open_embedder("all-minilm-l6-v2").identity()
    assert identity["name"] == "all-minilm-l6-v2"
    assert identity["model.onnx"] == cache.hash_file(model)
    assert identity["tokenizer.json"] == cache.hash_file(tokenizer)
    assert identity["onnxruntime"] == importlib.metadata.version("onnxruntime")
    assert (identity["pooling"], identity["max_tokens"]) == ("mean", "256")
    assert unavailable() == ""


def test_what_is_told_where_it_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="Run: pmbench fetch all-minilm-l6-v2"):
        open_embedder()
    with pytest.raises(UnknownName, match="no embedder called 'smollm2-135m'"):
        open_embedder("smollm2-135m")
    with pytest.raises(ModelUnavailable, match="needs the backend 'openai'"):
        open_embedder("text-embedding-3-large")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"pmbench\[embedded\]"):
        open_embedder()
    assert "pmbench[embedded]" in unavailable()


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
@needs_model
def test_a_broken_file(
    models: dict[str, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path))
    folder = tmp_path / "all-minilm-l6-v2"
    folder.mkdir()
    for path in models["all-minilm-l6-v2"]:
        (folder / path.name).write_bytes(
            path.read_bytes()[:1000] if path.name == broken else path.read_bytes()
        )
    with pytest.raises(ModelUnavailable, match="Run: pmbench fetch all-minilm-l6-v2"):
        with_embedder(lambda embedder: embedder.embed(["text"]))
