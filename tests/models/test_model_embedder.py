"""A served model as the embedder: in batches, each text paid for once, nothing asked again by a later command."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pmbench.core.errors import RequestFailed
from pmbench.models.catalogue import open_model
from pmbench.models.model_embedder import ModelEmbedder
from pmbench.models.store import CompletionStore

pytestmark = pytest.mark.usefixtures("plain_environment")


def embedded(server: Any, folder: Path, *lots: list[str]) -> tuple[list[np.ndarray[Any, Any]], ModelEmbedder]:
    """The vectors of each lot, asked for side by side."""

    async def scene() -> list[np.ndarray[Any, Any]]:
        try:
            return list(await asyncio.gather(*[embedder.embed(lot) for lot in lots]))
        finally:
            await embedder.close()

    store = CompletionStore(folder / "completions.sqlite")
    try:
        embedder = ModelEmbedder(open_model(f"openai:embed-x?base_url={server.v1}", store=store))
        return asyncio.run(scene()), embedder
    finally:
        store.close()


def test_texts_are_gathered_into_requests_and_each_gets_its_own_vector(llm_server, tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(100)]
    (one, other, again), _ = embedded(llm_server, tmp_path, texts[:60], texts[40:], [texts[5], texts[5]])
    assert one.shape == (60, 32) and other.shape == (60, 32) and one.dtype == np.float32
    assert np.allclose(np.linalg.norm(one, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(one[40:], other[:20]) and np.array_equal(again[0], again[1])
    assert np.array_equal(again[0], one[5])
    assert llm_server.stats()["requests"] <= 4


def test_a_later_command_asks_for_nothing_that_is_stored(llm_server, tmp_path: Path) -> None:
    (first,), _ = embedded(llm_server, tmp_path, ["a", "b"])
    asked = llm_server.stats()["requests"]
    (second, more), embedder = embedded(llm_server, tmp_path, ["b", "a"], ["c"])
    assert np.array_equal(first, second[::-1]) and more.shape == first[:1].shape
    assert llm_server.stats()["requests"] == asked + 1
    assert embedder.model.answered_from_store == 2


def test_no_texts_no_request(llm_server, tmp_path: Path) -> None:
    (nothing,), _ = embedded(llm_server, tmp_path, [])
    assert nothing.shape[0] == 0 and llm_server.stats()["requests"] == 0


def test_a_failure_is_one_of_its_kind(llm_server, tmp_path: Path) -> None:
    llm_server.control(faults=[{"kind": "400"}])
    with pytest.raises(RequestFailed) as failed:
        embedded(llm_server, tmp_path, ["a"])
    assert failed.value.kind == "invalid"


def test_its_identity_is_that_of_its_model(llm_server, tmp_path: Path) -> None:
    _, embedder = embedded(llm_server, tmp_path, [])
    identity = embedder.identity()
    assert identity["backend"] == "openai" and identity["model"] == "embed-x"
    assert identity["endpoint"] == llm_server.v1 and "spec" not in identity
