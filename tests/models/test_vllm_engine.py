"""The backend `vllm` against the real engine, on a processor: `make test-vllm` has the environment that it needs."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import hf_models
import pytest
from vllm_probe import gone, members, processes, request

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.models import catalogue, first_token
from pmbench.models.backend import Backend
from pmbench.testing import BackendSuite

if importlib.util.find_spec("vllm") is None:
    pytest.skip("vllm is not installed here: make test-vllm", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.model]


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")


@pytest.fixture(scope="module", autouse=True)
def reward_model(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A reward model whose heads are as wide as the engine's kernels for processors want them."""
    made = tmp_path_factory.mktemp("reward")
    config = {"num_labels": 1, "head_dim": 64}
    hf_models.tiny(made, "LlamaForSequenceClassification", config, hf_models.chat_model())
    TestVllmReward.made = made


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A temporary folder with a short name: a socket's may have a hundred letters."""
    with tempfile.TemporaryDirectory(prefix="pv-", dir=tmp_path_factory.getbasetemp().parent.parent) as name:
        yield Path(name)


def shared_memory() -> set[Path]:
    """The pieces of shared memory of this machine's Python programs."""
    return set(Path("/dev/shm").glob("psm_*"))


class OfTheEngine(BackendSuite):
    """The conformance suite, and what is true of this backend only."""

    seconds = 900.0
    options = "dtype=float32&eager=true&context=1024"
    bad_options: ClassVar = {"tensor_parallel": "0", "gpu_memory": "2", "context": "1"}
    # Of a copy of the hub its commit decides, of a folder what is in it.
    not_deciding: ClassVar = {"gpu_memory": ("0.3", "0.6"), "revision": ("", "main")}

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
            "prefix": ("on", "off"),
            "eager": ("true", "false"),
            "template": ("", str(hf_models.chat_model() / "chat_template.jinja")),
        }

    @pytest.fixture(autouse=True)
    def _small(self, small_memory: None) -> None:
        pass


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
            (session,) = set(processes("backends.vllm.engine"))
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
        self, short: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(short))

        async def scene(backend: Backend) -> int:
            before = set(processes("backends.vllm.engine"))
            await backend.open()
            (session,) = set(processes("backends.vllm.engine")) - before
            assert len(members(session)) >= 2
            await backend.chat(self.request())
            assert [path.stat().st_mode & 0o777 for path in short.iterdir()] == [0o700]
            return session

        assert gone(self.run_new(scene))
        assert list(short.iterdir()) == []

    def test_an_engine_that_is_killed_stops_the_run_with_one_line(self) -> None:
        async def scene(backend: Backend) -> None:
            before, memory = set(processes("backends.vllm.engine")), shared_memory()
            await backend.open()
            (session,) = set(processes("backends.vllm.engine")) - before
            story = asyncio.create_task(backend.chat(request("A long story.", max_tokens=900)))
            await asyncio.sleep(1)
            os.kill(max(members(session), key=lambda one: one[1])[0], signal.SIGKILL)
            for asked in (story, backend.chat(self.request())):
                with pytest.raises(ModelUnavailable, match="ended by itself"):
                    await asked
            await backend.close()
            assert gone(session)
            assert shared_memory() <= memory

        self.run_new(scene)

    @pytest.mark.parametrize("after", ["opening", "open"])
    def test_nothing_lives_longer_than_a_program_that_is_killed(
        self, after: str, short: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = Path(__file__).with_name("vllm_probe.py")
        before = set(processes("backends.vllm.engine"))
        with subprocess.Popen(
            [sys.executable, str(script), self.spec],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"TMPDIR": str(short)},
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "opening\n"
            if after == "open":
                assert process.stdout.readline() == "open\n"
            time.sleep(3)
            (session,) = set(processes("backends.vllm.engine")) - before
            process.send_signal(signal.SIGKILL)
            _, said = process.communicate(timeout=60)
        assert said == "", "the engine says nothing to the user's terminal"
        assert gone(session, 120)
        assert list(short.glob("pmbench-vllm-*")) == []


class TestVllmReward(OfTheEngine):
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


def test_a_model_that_is_damaged_ends_with_one_line(tmp_path: Path, small_memory: None) -> None:
    folder = hf_models.copy_of(hf_models.chat_model(), tmp_path / "damaged")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(b"no weights")
    backend = catalogue.backend_for(f"vllm:{folder}")
    with pytest.raises(ModelUnavailable, match="cannot") as caught:
        asyncio.run(backend.open())
    assert "\n" not in str(caught.value)


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
