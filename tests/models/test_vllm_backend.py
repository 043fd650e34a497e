"""The backend `vllm`: what it says of itself everywhere, and against the real engine where vllm is installed.

Those are in `test_vllm_engine.py`; the engine needs an environment of its own: `make test-vllm`.
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vllm_probe import processes

from pmbench.core.errors import ConfigError, ModelUnavailable, UnknownName
from pmbench.models import catalogue, first_token
from pmbench.models.backends.vllm import build as vllm_build
from pmbench.models.backends.vllm import wire
from pmbench.models.backends.vllm.backend import Vllm
from pmbench.models.backends.vllm.child import EngineProcess, environment, reason
from pmbench.models.backends.vllm.engine import engine_arguments

INSTALLED = importlib.util.find_spec("vllm") is not None

needs_engine = pytest.mark.skipif(not INSTALLED, reason="vllm is not installed here: make test-vllm")
without_engine = pytest.mark.skipif(INSTALLED, reason="vllm is installed here")

CONFIG = {"architectures": ["LlamaForCausalLM"], "max_position_embeddings": 2048, "torch_dtype": "bfloat16"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like a model, as far as one looks before it is loaded."""
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text(json.dumps(CONFIG))
    (made / "model.safetensors").write_bytes(b"no weights")
    (made / "chat_template.jinja").write_text("{{ messages }}")
    return made


def change(folder: Path, **config: Any) -> None:
    (folder / "config.json").write_text(json.dumps(CONFIG | config))


# What it says of itself.


@without_engine
def test_without_the_library_it_says_what_to_install(folder: Path) -> None:
    reason = catalogue.backend_for(f"vllm:{folder}").unavailable()
    assert 'pip install "pmbench[vllm]"' in reason
    assert "\n" not in reason


@pytest.mark.parametrize(
    "option",
    ["tensor_parallel=0", "gpu_memory=1.5", "gpu_memory=nan", "gpu_memory=-0.1", "context=0", "dtype=int4"],
)
def test_an_option_out_of_bounds_is_named(folder: Path, option: str) -> None:
    with pytest.raises(ConfigError, match=option.partition("=")[0]):
        catalogue.backend_for(f"vllm:{folder}?{option}")


def test_an_unknown_option_is_named(folder: Path) -> None:
    with pytest.raises(UnknownName, match="gpu_memroy"):
        catalogue.backend_for(f"vllm:{folder}?gpu_memroy=0.5")


def test_of_the_model_s_sampling_only_what_a_run_says_is_applied() -> None:
    given = engine_arguments(wire.Load("/m", "", context=2048), cpu=False, free=2**40)
    assert given["generation_config"] == "vllm"
    assert given["max_logprobs"] == first_token.TOP
    assert given["enable_prefix_caching"] is True
    assert given["enable_log_requests"] is False
    assert given["trust_remote_code"] is False
    assert not {"gpu_memory_utilization", "kv_cache_memory_bytes", "enable_lora"} & set(given)


def test_memory_and_adapters_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    load = wire.Load("/m", "", adapter="/a", rank=20, memory=0.5, tensor_parallel=2)
    given = engine_arguments(load, cpu=False, free=0)
    assert (given["enable_lora"], given["max_lora_rank"], given["max_loras"]) == (True, 32, 1)
    assert (given["gpu_memory_utilization"], given["tensor_parallel_size"]) == (0.5, 2)
    on_a_processor = engine_arguments(wire.Load("/m", ""), cpu=True, free=4 * 2**30)
    assert on_a_processor["kv_cache_memory_bytes"] == 2**30


def test_a_model_that_classifies_is_loaded_as_one() -> None:
    given = engine_arguments(wire.Load("/m", "", reward=True), cpu=False, free=0)
    assert (given["runner"], given["convert"]) == ("pooling", "classify")


def test_nothing_is_reported_to_anybody_or_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://elsewhere.example")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    given = environment("/scratch")
    assert given["VLLM_NO_USAGE_STATS"] == given["DO_NOT_TRACK"] == given["HF_HUB_OFFLINE"] == "1"
    assert given["VLLM_RPC_BASE_PATH"] == "/scratch"
    assert not [name for name in given if name.startswith("OTEL_")]


LOG = """\
Triton is installed, but doesn't include CPU backend. Disabling Triton.
(VllmWorker-0 pid=28826) ERROR 11-30 02:11:33 [multiproc_executor.py:953] Traceback (most recent call last):
(VllmWorker-0 pid=28826) ERROR 11-30 02:11:33 [multiproc_executor.py:953]     raise ValueError(
(VllmWorker-0 pid=28826) ERROR 11-30 02:11:33 [multiproc_executor.py:953] ValueError: Available memory is too small.
Exception: WorkerProc initialization failed due to an exception in a background process.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def test_the_cause_is_found_in_what_the_engine_prints() -> None:
    assert reason(LOG.splitlines()) == "ValueError: Available memory is too small."
    assert reason(["torch.OutOfMemoryError: CUDA out of memory. Tried"]) == (
        "OutOfMemoryError: CUDA out of memory. Tried"
    )
    assert reason(["RuntimeError: Worker failed with error 'no such kernel', please check the log"]) == (
        "RuntimeError: Worker failed with error 'no such kernel'"
    )
    assert reason(["all is well"]) == reason([]) == ""


@given(st.text(st.characters(exclude_categories=["Cs"])), st.floats(0, 2), st.integers(0, 2**31 - 1))
def test_what_goes_through_the_pipe_comes_out_the_same(text: str, temperature: float, seed: int) -> None:
    ask = wire.Ask(
        "chat", ({"role": "user", "content": text},), temperature=temperature, seed=seed, stop=(text,)
    )
    into, out = os.pipe()[::-1]
    try:
        wire.write(into, wire.frame(ask))
        wire.write(into, wire.frame(wire.Leave(7)))
        assert wire.read(out, wire.Ask) == ask
        assert wire.read(out, wire.Leave) == wire.Leave(7)
        os.close(into)
        assert wire.read(out, wire.Ask) is None
    finally:
        os.close(out)


@without_engine
def test_a_process_that_cannot_load_is_gone_and_says_why(folder: Path) -> None:
    engine = EngineProcess("model 'here'")
    with pytest.raises(ModelUnavailable, match="model 'here': vLLM cannot load it"):
        engine.start(wire.Load(str(folder), "{{ messages }}"))
    assert processes("backends.vllm.engine") == []


@needs_engine
def test_what_cannot_run_is_said_before_anything_is_loaded(folder: Path, tmp_path: Path) -> None:
    def said(options: str = "") -> str:
        return catalogue.backend_for(f"vllm:{folder}{options}").unavailable()

    assert said() == ""
    assert "knows no thinking switch" in said("?thinking=on")
    assert "has no revisions" in said("?revision=main")
    assert "names a rank" in said(f"?adapter={tmp_path}")
    assert "neither chats nor classifies" in _with(folder, said, architectures=["BertModel"])
    many = {"architectures": ["LlamaForSequenceClassification"], "num_labels": 3}
    assert "3 classes" in _with(folder, said, **many)
    (folder / "chat_template.jinja").unlink()
    change(folder)
    assert "has no chat template" in said()
    absent = catalogue.backend_for("vllm:nobody/has-this-model").unavailable()
    assert "is not in the Hugging Face cache" in absent
    assert "vllm:nobody/has-this-model" in absent


def _with(folder: Path, said: Any, **config: Any) -> str:
    change(folder, **config)
    return str(said())


@needs_engine
def test_a_build_for_graphics_processors_wants_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself, told that another build is installed: none such can be where this test runs."""
    monkeypatch.setattr(vllm_build, "_DISTRIBUTIONS", ("msgspec",))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    backend = catalogue.backend_for(f"vllm:{folder}")
    assert isinstance(backend, Vllm)
    assert "needs a graphics processor, and there is none here" in backend.unavailable()
