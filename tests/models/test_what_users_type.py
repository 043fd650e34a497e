"""What a user types or has lying about: names, numbers, folders and files that are not what they should be."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
from pathlib import Path

import pytest

from pmbench.core.errors import ConfigError, ModelUnavailable, StorageError
from pmbench.core.names import name_shown, safe_kind
from pmbench.models.catalogue import availability, backend_for, open_model
from pmbench.models.embedder import open_embedder, unavailable
from pmbench.models.files import cache
from pmbench.models.files.fetch import fetch
from pmbench.models.sampling import Sampling
from pmbench.models.store import CompletionStore

MINILM = "all-minilm-l6-v2"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("context=64", "multiple of 256"),
        ("context=1000", "multiple of 256"),
        ("context=99999999999", "from 256 to"),
        ("threads=100000", "from 1 to 512"),
        ("threads=-1", "from 1 to 512"),
        ("gpu_layers=4294967296", "from 0 to 10000"),
        ("slots=0", "from 1 to 64"),
    ],
)
def test_a_number_that_the_engine_would_change_is_refused(options: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        backend_for(f"llama-cpp:x.gguf?{options}")


def test_what_is_no_model_file_is_called_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "folder.gguf").mkdir()
    (tmp_path / "device.gguf").symlink_to("/dev/null")
    for name, said in {"pipe": "a pipe", "folder": "a folder", "device": "a device"}.items():
        reason = backend_for(f"llama-cpp:{tmp_path}/{name}.gguf").unavailable()
        assert f"it is {said}, not a file" in reason
    reason = backend_for(f"llama-cpp:{'a' * 5000}.gguf").unavailable()
    assert "name too long" in reason
    assert len(reason) < 500
    with pytest.raises(ConfigError, match="home folder"):
        backend_for("llama-cpp:~nosuchuser/x.gguf")


@pytest.mark.parametrize(
    ("sampling", "option"),
    [
        (Sampling(max_tokens=2**31), "--max-tokens"),
        (Sampling(max_tokens=2**70), "--max-tokens"),
        (Sampling(max_tokens=0), "--max-tokens"),
        (Sampling(temperature=math.nan), "--temperature"),
        (Sampling(temperature=-0.5), "--temperature"),
        (Sampling(seed=2**63), "--seed"),
    ],
)
def test_sampling_that_would_wrap_around_is_refused_before_anything_is_asked(
    tmp_path: Path, sampling: Sampling, option: str
) -> None:
    store = CompletionStore(tmp_path / "completions.sqlite")
    with pytest.raises(ConfigError, match=option):
        open_model("replay:a.jsonl", store=store, sampling=sampling)
    store.close()


@pytest.mark.parametrize("name", ["id", "clinician_response", "Message to the doctor", "draft v1.2"])
def test_a_name_is_shown(name: str) -> None:
    assert name_shown(name) == repr(name)


@pytest.mark.parametrize(
    "name", ["My knee hurts a lot", "Help! Now", "Mrs. Doe", "Jane\nDoe", "x" * 61, "pain?\tyes"]
)
def test_what_may_be_text_is_not_shown(name: str) -> None:
    assert name_shown(name) == f"(a name of {len(name)} characters)"


def test_only_a_short_word_is_a_kind() -> None:
    assert safe_kind("rate-limit", "fault") == "rate-limit"
    for other in ("Mrs Doe", "", "a" * 41, "x\n", "é", None):
        assert safe_kind(other, "fault") == "fault"


def test_a_cache_in_no_bodys_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMBENCH_CACHE", "~nosuchuser/x")
    for ask in (cache.cache_folder, open_embedder, lambda: availability("smollm2-135m")):
        with pytest.raises(ConfigError, match="PMBENCH_CACHE '~nosuchuser/x': the home folder"):
            ask()


def test_a_cache_of_a_name_too_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path / ("a" * 300)))
    assert "name too long" in unavailable()
    assert "name too long" in availability("smollm2-135m")[1]
    with pytest.raises(StorageError, match="name too long"):
        fetch(MINILM, report=lambda line: None)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b"{", b"[]"])
def test_broken_notes_of_the_cache_are_written_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path))
    (tmp_path / "digests.json").write_bytes(content)
    (tmp_path / cache.MANIFEST).write_bytes(content)
    file = tmp_path / "x.gguf"
    file.write_bytes(b"x")
    assert cache.file_sha256(file) == cache.hash_file(file)
    assert b"x.gguf" in (tmp_path / "digests.json").read_bytes()


@pytest.mark.model
@pytest.mark.parametrize("manifest", [None, b"{", b'{"name":"all-minilm-l6-v2","files":{}}'])
def test_a_changed_model_is_found_out_without_a_manifest_too(
    models: dict[str, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: bytes | None
) -> None:
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path))
    here = tmp_path / MINILM
    shutil.copytree(models[MINILM][0].parent, here)
    (here / cache.MANIFEST).unlink()
    if manifest is not None:
        (here / cache.MANIFEST).write_bytes(manifest)

    async def embed() -> None:
        embedder = open_embedder()
        try:
            await embedder.embed(["a fever"])
        finally:
            await embedder.close()

    asyncio.run(embed())
    assert b"model.onnx" in (tmp_path / "digests.json").read_bytes(), "hashed once, then noted"
    with (here / "model.onnx").open("r+b") as stream:
        stream.seek(15_000_000)
        stream.write(b"X")
    with pytest.raises(ModelUnavailable, match=f"SHA-256 differs. Run: pmbench fetch {MINILM}"):
        asyncio.run(embed())


def test_a_store_closed_again_after_ctrl_c_in_its_closing(tmp_path: Path) -> None:
    store = CompletionStore(tmp_path / "completions.sqlite")
    whole, calls = store._thread.join, []

    def join() -> None:
        calls.append(1)
        if len(calls) <= 2:
            raise KeyboardInterrupt
        whole()

    store._thread.join = join  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        store.close()
    store._close_at_exit()  # Python would print what it raises
    store.close()
    store.close()
    assert not store._thread.is_alive()
