"""What a model's name stands for, and what a user is told where it cannot run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from pmbench.core import registry
from pmbench.core.errors import ConfigError, MissingExtra, ModelUnavailable, UnknownName, UserError
from pmbench.models import memory
from pmbench.models.catalogue import availability, backend_for, open_model, presets, resolve
from pmbench.models.files import cache
from pmbench.models.spec import parse_spec
from pmbench.models.store import CompletionStore

NAMED_IN_THE_PAPERS = set(
    """
    qwen3-8b llama3-8b aloe-8b gpt-oss-20b gpt-oss-120b claude-sonnet-4.5 gemini-2.5-pro medgemma-27b qwen3-4b
    qwen3-32b qwen3-32b-thinking llama-3.3-70b llama-4-scout mixtral-8x22b skywork-reward-v2-qwen3-4b
    skywork-reward-v2-qwen3-8b qwen2.5-32b gpt-4o gpt-4.1-mini o3-mini text-embedding-3-large
    """.split()  # noqa: SIM905 - a list to read
)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_every_model_of_the_papers_has_a_name() -> None:
    assert not NAMED_IN_THE_PAPERS - set(presets())
    assert not {"smollm2-135m", "all-minilm-l6-v2"} - set(presets())


@pytest.mark.parametrize("name", presets())
def test_presets_hold_together(name: str) -> None:
    preset = presets()[name]
    routes = [parse_spec(route) for route in preset.routes]
    assert preset.routes
    assert all(route.backend and route.target for route in routes)
    assert preset.context > 0
    assert preset.local is not any(r.backend in ("openai", "anthropic", "google") for r in routes)
    assert preset.local or not preset.files
    for file in preset.files:
        assert bool(file.wheel) != bool(file.repo)
        assert cache.cached_path(file.place, file.name)
        # The package index states no hash that the file inside a wheel could be held to: it is pinned here.
        assert not file.wheel or (len(file.sha256) == 64 and file.size and file.member and "==" in file.wheel)
    places = [f"{file.place}/{file.name}" for file in preset.files]
    assert [r.target for r in routes if r.backend == "llama-cpp"] == places[: len(places) and 1] or not any(
        r.backend == "llama-cpp" for r in routes
    )


@pytest.mark.parametrize("name", presets())
def test_what_cannot_run_says_so_in_one_line(name: str, empty_cache: Path, plain_environment: None) -> None:
    spec, reason = availability(name)
    assert parse_spec(spec).backend
    assert reason
    assert "\n" not in reason
    if presets()[name].local:
        assert f"pmbench fetch {name}" in reason
    else:
        assert "there is no key in " in reason


@pytest.mark.parametrize(("gigabytes", "backend"), [(100, "hf"), (30, "llama-cpp"), (8, "hf"), (0, "hf")])
def test_of_the_routes_that_are_installed_the_first_that_fits_is_taken(
    monkeypatch: pytest.MonkeyPatch, gigabytes: int, backend: str
) -> None:
    """32.8 billion parameters: 66 GB in 16 bits, 20 GB in the 4.9 of Q4_K_M."""
    monkeypatch.setattr(memory, "main_memory", lambda: gigabytes * 10**9)
    monkeypatch.setattr(memory, "graphics_memory", lambda: ())
    assert resolve("qwen3-32b").backend == backend


def test_what_the_user_says_of_the_type_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "main_memory", lambda: 25 * 10**9)
    monkeypatch.setattr(memory, "graphics_memory", lambda: ())
    assert resolve("qwen3-8b").backend == "hf"
    assert resolve("qwen3-8b?dtype=float32").backend == "llama-cpp"


def test_thinking_on_and_off_are_two_systems_with_one_file() -> None:
    off, on = (resolve(name) for name in ("qwen3-32b", "qwen3-32b-thinking"))
    assert off.target == on.target
    assert (off.options["thinking"], on.options["thinking"]) == ("off", "on")


def test_options_of_the_user_go_over_those_of_the_preset() -> None:
    spec = resolve("qwen3-8b?thinking=on&context=4096")
    assert spec.options == {"thinking": "on", "context": "4096"}
    assert spec.given == "qwen3-8b?thinking=on&context=4096"


def opened(name: str, tmp_path: Path) -> str:
    store = CompletionStore(tmp_path / "completions.sqlite")
    try:
        with pytest.raises(UserError) as caught:
            open_model(name, store=store)
    finally:
        store.close()
    assert "\n" not in str(caught.value)
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("qwen3-8", "UnknownName: no model called 'qwen3-8'. Did you mean qwen3-8b"),
        ("no-such", "UnknownName: no model called 'no-such'. Known: "),
        ("", "ConfigError"),
        ("mine.gguf", "For a file write llama-cpp:mine.gguf"),
        ("lama-cpp:x.gguf", "UnknownName: no backend called 'lama-cpp'. Did you mean llama-cpp"),
        ("openai:gpt-4o", "ModelUnavailable: model openai:gpt-4o: there is no key in OPENAI_API_KEY"),
        ("gpt-4o", "ModelUnavailable: model gpt-4o: there is no key in OPENAI_API_KEY"),
        (
            "smollm2-135m?slot=4",
            "UnknownName: no option of the backend 'llama-cpp' called 'slot'. Did you mean",
        ),
        (
            "smollm2-135m?slots=four",
            "ConfigError: options of model 'smollm2-135m?slots=four': Expected `int`",
        ),
        ("smollm2-135m?slots=0", "`slots` must be from 1 to 64"),
        ("smollm2-135m?cache=maybe", "ConfigError: options of model"),
        ("smollm2-135m?slots", "ConfigError"),
        ("all-minilm-l6-v2", "is an embedder"),
        ("llama-cpp:nowhere/at/all/x.gguf", "there is no such file"),
        ("llama-cpp:models/nowhere.gguf", "there is no such file"),
        ("llama-cpp:./nowhere.gguf", "there is no such file"),
        ("llama-cpp:~/nowhere.gguf", "there is no such file"),
        ("llama-cpp:some/repo/x.gguf", "neither a file here nor in the model cache"),
        ("llama-cpp:some/repo", "llama-cpp reads .gguf files"),
        ("llama-cpp:some/repo/x.gguf", "Run: pmbench fetch llama-cpp:some/repo/x.gguf"),
        ("smollm2-135m?slots=4", "smollm2-135m is not in the model cache ("),
        ("smollm2-135m", "Run: pmbench fetch smollm2-135m"),
    ],
)
def test_names_that_cannot_be_opened(
    name: str, said: str, empty_cache: Path, tmp_path: Path, plain_environment: None
) -> None:
    assert said in opened(name, tmp_path)


def test_of_a_presets_routes_the_first_that_is_installed_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve("qwen3-8b").backend == "hf"
    monkeypatch.setitem(sys.modules, "torch", None)
    assert str(resolve("qwen3-8b")) == "llama-cpp:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q8_0.gguf?thinking=off"
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert resolve("qwen3-8b").backend == "hf"  # and it says which extra brings it


def test_a_missing_engine_names_its_extra(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert opened("smollm2-135m", tmp_path).startswith("MissingExtra: ")
    assert 'pip install "pmbench[embedded]"' in availability("smollm2-135m")[1]


def test_a_backend_that_cannot_be_imported_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(group: str, kind: str, name: str) -> None:
        raise registry.PluginError(f"the {kind} {name!r} cannot be loaded")

    monkeypatch.setattr(registry, "load", broken)
    assert "cannot be loaded" in availability("smollm2-135m")[1]


def test_columns_of_the_data_reach_the_backend_that_reads_them() -> None:
    asked: list[str] = []

    def columns(name: str) -> dict[str, str]:
        asked.append(name)
        return {"1": "Please come in today."}

    backend = backend_for("replay:@draft", columns)
    assert backend.identity()["engine"] == "replay"
    assert asked == ["draft"]


def test_the_catalogue_is_light() -> None:
    script = (
        "import sys; from pmbench.models.catalogue import presets, availability\n"
        "for name in presets(): availability(name)\n"
        "print([m for m in ('numpy', 'xllamacpp', 'onnxruntime', 'tokenizers', 'torch', 'openai') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.model
def test_a_model_answers_and_is_not_asked_twice(models: dict[str, list[Path]], tmp_path: Path) -> None:
    async def answers() -> tuple[str, str, int]:
        store = CompletionStore(tmp_path / "completions.sqlite")
        model = open_model("smollm2-135m?context=1024", store=store)
        try:
            message = [{"role": "user", "content": "Name a fruit."}]
            first = await model.chat(message, max_tokens=12)  # type: ignore[arg-type]
            second = await model.chat(message, max_tokens=12)  # type: ignore[arg-type]
            return first.text, second.text, model.answered_from_store
        finally:
            await model.close()
            store.close()

    first, second, stored = asyncio.run(answers())
    assert first
    assert second == first
    assert stored == 1
    assert availability("smollm2-135m") == (presets()["smollm2-135m"].routes[0], "")


def test_unknown_presets_are_errors_of_the_user_not_reasons() -> None:
    with pytest.raises(UnknownName):
        availability("no-such")
    with pytest.raises(ConfigError):
        availability("smollm2-135m?slots=many")
    assert isinstance(ModelUnavailable("x"), UserError)
    assert issubclass(MissingExtra, UserError)
