"""The backend `vllm`: what it says of itself everywhere, and against the real engine where vllm is installed.

The engine needs an environment of its own: `make test-vllm`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import hf_models
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vllm_probe import request

from pmbench.core.errors import ConfigError, ModelUnavailable, RequestFailed, UnknownName
from pmbench.models import catalogue, first_token
from pmbench.models.backend import Backend
from pmbench.models.backends import vllm_build
from pmbench.models.backends import vllm_wire as wire
from pmbench.models.backends.vllm import Vllm
from pmbench.models.backends.vllm_child import EngineProcess, environment, reason
from pmbench.models.backends.vllm_engine import engine_arguments
from pmbench.testing import BackendSuite

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
    assert processes("vllm_engine") == []


# Against the real engine.


def processes(word: str) -> list[int]:
    """Sessions of the living processes of this machine in whose command the word stands."""
    listed = subprocess.run(
        ["ps", "-eo", "sid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [int(sid) for sid, state, args in rows if word in args and not state.startswith("Z")]


def members(session: int) -> list[tuple[int, float]]:
    """The living processes of a session, each with the seconds of a processor that it has used."""
    listed = subprocess.run(
        ["ps", "-eo", "sid=,pid=,stat=,times="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [
        (int(pid), float(used)) for sid, pid, state, used in rows if int(sid) == session and state[0] != "Z"
    ]


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")


class OfTheEngine(BackendSuite):
    """The conformance suite, and what is true of this backend only."""

    seconds = 900.0
    options = "dtype=float32&eager=true&context=1024"
    bad_options: ClassVar = {"tensor_parallel": "0", "gpu_memory": "2", "context": "1"}
    not_deciding: ClassVar = {"gpu_memory": ("0.3", "0.6")}

    @property
    def folder(self) -> Path:
        return hf_models.chat_model()

    @property
    def spec(self) -> str:  # type: ignore[override]
        return f"vllm:{self.folder}?{self.options}"

    @property
    def deciding(self) -> dict[str, tuple[str, str]]:  # type: ignore[override]
        return {
            "adapter": ("", str(hf_models.adapter())),
            "dtype": ("float32", "bfloat16"),
            "tensor_parallel": ("1", "2"),
            "context": ("512", "1024"),
            "thinking": ("on", "off"),
            "revision": ("", "main"),
            "prefix": ("on", "off"),
            "eager": ("true", "false"),
            "template": ("", str(hf_models.chat_model() / "chat_template.jinja")),
        }

    @pytest.fixture(autouse=True)
    def _small(self, small_memory: None) -> None:
        pass


@needs_engine
@pytest.mark.slow
@pytest.mark.model
class TestVllm(OfTheEngine):
    control_tokens = ("<|im_end|>", "<|im_start|>", "<|endoftext|>")

    def test_it_says_nothing_to_the_terminal(self, capfd: pytest.CaptureFixture[str]) -> None:
        self.chat(self.request())
        assert "".join(capfd.readouterr()) == ""

    def test_the_greedy_answer_is_that_of_transformers(self) -> None:
        """With numbers of 32 bits both say the same, up to the last digits, which decide nothing here."""
        asked = request("List three fruits.", max_tokens=24)
        answer = self.chat(asked)
        ids, model, tokenizer = direct("List three fruits.")
        out = model.generate(ids, max_new_tokens=24, do_sample=False, pad_token_id=0)[0, ids.shape[1] :]
        assert answer.text == tokenizer.decode(out, skip_special_tokens=True)
        assert answer.usage.prompt_tokens == ids.shape[1]

    def test_choosing_agrees_with_transformers(self) -> None:
        text, options = "Answer Yes or No only. Is chest pain after exercise urgent?", ("YES", "NO")

        async def choose(backend: Backend) -> Any:
            return await backend.choose(request(text, options=options))

        choice = self.run(choose)
        ids, model, tokenizer = direct(text)
        import torch

        with torch.no_grad():
            logprobs = model(ids).logits[0, -1].float().log_softmax(-1)
        top = logprobs.topk(first_token.TOP)
        tokens = [
            (tokenizer.decode([token]), value)
            for token, value in zip(top.indices.tolist(), top.values.tolist(), strict=True)
        ]
        probabilities, mass = first_token.option_probabilities(tokens, options)
        assert choice.exact
        assert choice.probabilities == pytest.approx(probabilities, abs=2e-4)
        assert choice.mass == pytest.approx(mass, abs=2e-4)

    def test_sixteen_at_once_share_what_they_have_in_common(self) -> None:
        long = "The knee is swollen after a fall, no fever. " * 12
        asked = [request(f"{long} Question {number}: what now?", max_tokens=8) for number in range(16)]

        async def scene(backend: Backend) -> list[Any]:
            await backend.chat(asked[0])
            return list(await asyncio.gather(*(backend.chat(one) for one in asked)))

        answers = self.run(scene)
        assert all(answer.text for answer in answers)
        assert all(answer.usage.cached_tokens >= 64 for answer in answers)

    def test_a_prompt_that_does_not_fit_is_refused_and_an_answer_that_does_not_is_marked(self) -> None:
        refused = self.chat_or_failure(request("fever " * 3000))
        assert isinstance(refused, RequestFailed)
        assert (refused.kind, refused.retryable) == ("too-long", False)
        assert "a context of 1024" in str(refused)
        cut = self.chat(request("fever " * 950, max_tokens=2**40, temperature=1.0))
        if cut.finish == "length":
            assert cut.raw["cut"] == "context"
        assert cut.usage.prompt_tokens + cut.usage.completion_tokens <= 1024

    def test_a_schema_that_cannot_be_kept_is_refused(self) -> None:
        bad = {"type": "object", "properties": {"a": {"type": "x"}}}
        refused = self.chat_or_failure(request("Is it?", schema=bad))
        assert isinstance(refused, RequestFailed)
        assert (refused.kind, refused.retryable) == ("schema", False)

    def test_what_nobody_waits_for_is_not_computed(self) -> None:
        async def scene(backend: Backend) -> float:
            (session,) = set(processes("vllm_engine"))
            stories = [
                asyncio.create_task(
                    backend.chat(request(f"Story {number}.", max_tokens=900, temperature=1.0))
                )
                for number in range(4)
            ]
            await asyncio.sleep(2)
            for story in stories:
                story.cancel()
            await asyncio.gather(*stories, return_exceptions=True)
            await asyncio.sleep(2)
            before = sum(used for _, used in members(session))
            await asyncio.sleep(4)
            return sum(used for _, used in members(session)) - before

        self.chat(self.request())
        assert self.run(scene) <= 2.0, "seconds of a processor in four, of an engine with nothing to do"

    def test_closing_leaves_no_process_and_no_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

        async def scene(backend: Backend) -> int:
            before = set(processes("vllm_engine"))
            await backend.open()
            (session,) = set(processes("vllm_engine")) - before
            assert len(members(session)) >= 2
            await backend.chat(self.request())
            assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o700]
            return session

        session = self.run_new(scene)
        assert members(session) == []
        assert list(tmp_path.iterdir()) == []

    def test_an_engine_that_is_killed_stops_the_run_with_one_line(self) -> None:
        async def scene(backend: Backend) -> None:
            before = set(processes("vllm_engine"))
            await backend.open()
            (session,) = set(processes("vllm_engine")) - before
            story = asyncio.create_task(backend.chat(request("A long story.", max_tokens=900)))
            await asyncio.sleep(1)
            os.kill(max(members(session), key=lambda one: one[1])[0], signal.SIGKILL)
            for asked in (story, backend.chat(self.request())):
                with pytest.raises(ModelUnavailable, match="ended by itself"):
                    await asked
            await backend.close()
            assert members(session) == []

        self.run_new(scene)

    @pytest.mark.parametrize("after", ["opening", "open"])
    def test_nothing_lives_longer_than_a_program_that_is_killed(
        self, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = Path(__file__).with_name("vllm_probe.py")
        before = set(processes("vllm_engine"))
        with subprocess.Popen(
            [sys.executable, str(script), self.spec],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"TMPDIR": str(tmp_path)},
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "opening\n"
            if after == "open":
                assert process.stdout.readline() == "open\n"
            time.sleep(3)
            (session,) = set(processes("vllm_engine")) - before
            process.send_signal(signal.SIGKILL)
            _, said = process.communicate(timeout=60)
        assert said == "", "the engine says nothing to the user's terminal"
        end = time.monotonic() + 120
        while members(session) and time.monotonic() < end:
            time.sleep(0.5)
        assert members(session) == []
        assert list(tmp_path.glob("pmbench-vllm-*")) == []


@needs_engine
@pytest.mark.slow
@pytest.mark.model
class TestVllmReward(OfTheEngine):
    @pytest.fixture(autouse=True, scope="class")
    def _made(self, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
        # The engine's kernels for processors want heads at least this wide.
        made = tmp_path_factory.mktemp("reward")
        wide = {"num_labels": 1, "head_dim": 64, "hidden_size": 256}
        hf_models.tiny(made, "LlamaForSequenceClassification", wide, hf_models.chat_model())
        request.cls.made = made

    made: ClassVar[Path]

    @property
    def folder(self) -> Path:
        return self.made

    def test_a_reward_is_the_logit_of_transformers(self) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self.made)
        model = AutoModelForSequenceClassification.from_pretrained(self.made, dtype=torch.float32)
        for text in ("I have a cold.", "My knee hurts."):
            ids = tokenizer.apply_chat_template(
                [{"role": "user", "content": text}], return_tensors="pt", return_dict=True
            )["input_ids"]
            with torch.no_grad():
                logit = model.score(model.model(ids).last_hidden_state[:, -1]).item()

            async def reward(backend: Backend, text: str = text) -> float:
                return await backend.reward(request(text))

            found = self.run(reward)
            assert found == pytest.approx(logit, abs=2e-3)
            assert not math.isclose(found, 1 / (1 + math.exp(-logit)), abs_tol=1e-2), "no activation"


@needs_engine
@pytest.mark.slow
@pytest.mark.model
def test_an_adapter_changes_the_answer_as_it_does_in_transformers(small_memory: None) -> None:
    text = "List three fruits."
    adapter = hf_models.adapter()
    name = f"vllm:{hf_models.chat_model()}?adapter={adapter}&{OfTheEngine.options}"

    async def scene() -> str:
        backend = catalogue.backend_for(name)
        await backend.open()
        try:
            return (await backend.chat(request(text))).text
        finally:
            await backend.close()

    ids, model, tokenizer = direct(text)
    from peft import PeftModel

    adapted = PeftModel.from_pretrained(model, str(adapter))
    out = adapted.generate(input_ids=ids, max_new_tokens=24, do_sample=False, pad_token_id=0)[
        0, ids.shape[1] :
    ]
    assert asyncio.run(scene()) == tokenizer.decode(out, skip_special_tokens=True)


@needs_engine
def test_what_cannot_run_is_said_before_anything_is_loaded(folder: Path, tmp_path: Path) -> None:
    def said(options: str = "") -> str:
        return catalogue.backend_for(f"vllm:{folder}{options}").unavailable()

    assert said() == ""
    assert "no switch" in said("?thinking=on") or "knows no thinking switch" in said("?thinking=on")
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
@pytest.mark.slow
def test_a_folder_that_only_looks_like_a_model_ends_with_one_line(folder: Path, small_memory: None) -> None:
    backend = catalogue.backend_for(f"vllm:{folder}")
    with pytest.raises(ModelUnavailable, match="cannot") as caught:
        asyncio.run(backend.open())
    assert "\n" not in str(caught.value)


@needs_engine
def test_a_build_for_graphics_processors_wants_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself, told that another build is installed: none such can be where this test runs."""
    monkeypatch.setattr(vllm_build, "_DISTRIBUTIONS", ("msgspec",))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    backend = catalogue.backend_for(f"vllm:{folder}")
    assert isinstance(backend, Vllm)
    assert "needs a graphics processor, and there is none here" in backend.unavailable()


_DIRECT: dict[str, Any] = {}


def direct(text: str) -> tuple[Any, Any, Any]:
    """Token ids of a prompt, the model and its tokenizer, all by transformers alone."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = hf_models.chat_model()
    tokenizer = _DIRECT.setdefault("tokenizer", AutoTokenizer.from_pretrained(folder))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": text}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]
    return ids, model, tokenizer
