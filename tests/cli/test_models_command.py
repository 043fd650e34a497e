"""`pmbench models`: what can run here, what is lacking, what it costs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pmbench.cli.main import run
from pmbench.core import registry
from pmbench.models import memory, survey
from pmbench.models.cost.prices import list_date
from pmbench.models.memory import Weights
from pmbench.models.presets import presets
from pmbench.models.spec import parse_spec

Shown = Callable[..., str]


@pytest.fixture
def shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What the command prints on a machine with an empty model cache and no keys."""
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.delenv("PMBENCH_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str, status: int = 0) -> str:
        assert run(["models", *arguments]) == status
        told = capsys.readouterr()
        return told.err if status else told.out

    return command


def line_of(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.split()[:1] == [name])


def test_every_preset_has_a_line(shown: Shown) -> None:
    text = shown()
    for name, preset in presets().items():
        line = line_of(text, name)
        assert preset.kind in line
        assert ("local" if preset.local else "remote") in line
    assert text.splitlines()[0].split("  ")[0] == "preset"
    assert list_date() in text


def test_a_file_that_is_lacking_is_said_with_its_size(shown: Shown) -> None:
    text = shown()
    assert line_of(text, "smollm2-135m").endswith("pmbench fetch smollm2-135m (98 MB)")
    assert "pmbench fetch all-minilm-l6-v2 (23 MB)" in line_of(text, "all-minilm-l6-v2")
    one = shown("smollm2-135m")
    assert "SmolLM2-135M-Instruct.Q4_1.gguf: to be fetched, 98 MB" in one
    assert "can it run here? " in one and "Run: pmbench fetch smollm2-135m" in one


def test_prices_stand_beside_models_of_vendors_and_a_dash_beside_local_ones(shown: Shown) -> None:
    text = shown()
    assert " 2.5 / 10 " in line_of(text, "gpt-4o")
    assert " 3 / 15 " in line_of(text, "claude-sonnet-4.5")
    assert " 0.13 / – " in line_of(text, "text-embedding-3-large")
    assert " – " in line_of(text, "smollm2-135m")
    one = shown("gemini-2.5-pro")
    assert "$1.25 of prompts ($0.125 where the server had them" in one and "$10 of answers" in one
    assert "prompts above 200,000 tokens: $2.5 of prompts, $15 of answers" in one
    assert list_date() in one


def test_own_prices_are_shown_as_own(shown: Shown) -> None:
    Path("pmbench.toml").write_text('[prices."openai:gpt-4o"]\ninput = 1.5\noutput = 7.25\n')
    assert " 1.5 / 7.25 " in line_of(shown(), "gpt-4o")
    assert "(pmbench.toml)" in shown("gpt-4o")


def test_a_model_that_is_too_large_for_the_machine_is_said(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "main_memory", lambda: 8_000_000_000)
    monkeypatch.setattr(memory, "graphics_memory", lambda: ())
    text = shown()
    assert "of memory (8.0 GB here)" in line_of(text, "qwen3-32b")
    assert "of memory" not in line_of(text, "smollm2-135m")
    monkeypatch.setattr(memory, "graphics_memory", lambda: (80 << 30,))
    assert "141 GB of graphics memory (86 GB here)" in line_of(shown(), "llama-3.3-70b")
    assert "graphics memory (" not in line_of(shown(), "medgemma-27b")


def test_without_its_backends_a_preset_says_so_and_keeps_its_price(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "names", lambda group: {})
    text = shown()
    assert "needs the backend 'openai', which no installed package provides" in line_of(text, "gpt-4o")
    assert " 2.5 / 10 " in line_of(text, "gpt-4o")


def test_any_specification_is_told_about(shown: Shown, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "a", "text": "Dear Mrs Sample"}\n')
    one = shown(f"replay:{answers}")
    assert "runs in this process, local" in one
    assert "price –" in one
    assert "can it run here? yes" in one
    assert "Sample" not in one
    gguf = shown("llama-cpp:Some/Model-GGUF/model.gguf?context=2048")
    assert "pmbench fetch llama-cpp:Some/Model-GGUF/model.gguf" in gguf


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-4oo", "Did you mean gpt-4o"),
        ("opnai:gpt-4o", "no backend called 'opnai'"),
        ("smollm2-135m?contxt=1", "no option of the backend 'llama-cpp' called 'contxt'"),
    ],
)
def test_a_name_that_is_none_is_the_users_error(shown: Shown, name: str, words: str) -> None:
    assert words in shown(name, status=2)


def test_as_json(shown: Shown) -> None:
    every = json.loads(shown("--json"))
    assert [one["name"] for one in every] == list(presets())
    one = json.loads(shown("gpt-4o", "--json"))
    assert one["price"]["input"]["base"] == 2.5
    assert one["price"]["output"] == {"base": 10.0, "steps": []}
    assert one["price_list"] == list_date()
    assert one["ready"] is False and one["needs"]
    small = json.loads(shown("smollm2-135m", "--json"))
    assert [file["there"] for file in small["files"]] == [False]
    assert small["price"] is None and small["local"] is True
    assert {need["kind"] for need in small["needs"]} == {"files"}


def test_the_size_of_files_goes_before_what_is_worked_out(tmp_path: Path) -> None:
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(b"a" * 1000)
    (tmp_path / "model-00002-of-00002.safetensors").write_bytes(b"b" * 500)
    found = memory.weights(parse_spec(f"hf:{tmp_path}?device=cpu"), None, presets()["qwen3-8b"])
    assert found is not None
    assert (found.size, found.exact, found.graphics) == (1500, True, False)


@pytest.mark.parametrize(
    ("spec", "preset", "size"),
    [
        ("hf:Qwen/Qwen3-8B", "qwen3-8b", 16.4e9),
        ("hf:Qwen/Qwen3-8B?dtype=float32", "qwen3-8b", 32.8e9),
        ("llama-cpp:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q8_0.gguf", "qwen3-8b", 8.71e9),
        ("hf:openai/gpt-oss-120b", "gpt-oss-120b", 65.3e9),  # 60.8 GiB, says its card
        ("hf:openai/gpt-oss-20b", "gpt-oss-20b", 13.7e9),  # 12.8 GiB, says its card
    ],
)
def test_the_size_of_weights_is_worked_out_from_parameters(spec: str, preset: str, size: float) -> None:
    found = memory.weights(parse_spec(spec), None, presets()[preset])
    assert found is not None
    assert not found.exact and found.size == pytest.approx(size, rel=0.02)


def test_a_machine_that_does_not_say_its_memory_has_enough() -> None:
    assert Weights(10**12, True, 0, False).fits


def test_memory_of_graphics_processors_is_read_as_the_tool_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    for says, expected in (("143771\\n81559", (143771 << 20, 81559 << 20)), ("[N/A]", ()), ("", ())):
        tool.write_text(f"#!/bin/sh\nprintf '{says}'\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        memory.graphics_memory.cache_clear()
        assert memory.graphics_memory() == expected
    monkeypatch.setenv("PATH", "")
    memory.graphics_memory.cache_clear()
    assert memory.graphics_memory() == ()
    memory.graphics_memory.cache_clear()


@pytest.mark.parametrize(("size", "text"), [(22_928_619, "23 MB"), (4_250_000_000, "4.2 GB"), (900, "1 kB")])
def test_sizes_in_words(size: int, text: str) -> None:
    assert survey.bytes_text(size) == text


def test_the_list_imports_no_vendors_library_and_nothing_that_computes() -> None:
    code = (
        "import sys; from pmbench.cli.main import run; run(['models'])\n"
        "heavy = {'openai', 'anthropic', 'google.genai', 'torch', 'transformers', 'numpy', 'xllamacpp', 'tokenizers',"
        " 'tiktoken', 'aiohttp', 'onnxruntime', 'rich'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
