"""What `hf` says of itself before anything is loaded: what is missing, what it offers, what decides its answers."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hf_models
import pytest
from hf_work import backend, request, user, with_hf

from pmbench.core.errors import ConfigError, ModelUnavailable
from pmbench.models.backends.hf.backend import Hf
from pmbench.models.catalogue import availability, backend_for

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache of the hub."""
    import huggingface_hub.constants

    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder))
    yield folder


def cached(hub: Path, name: str, commit: str = COMMIT) -> Path:
    """Put the tiny model into the cache of the hub, as the hub's own tools do."""
    repository = hub / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "refs" / "main").write_text(commit)
    return hf_models.copy_of(hf_models.tiny_model(), repository / "snapshots" / commit)


def test_a_model_that_is_not_in_the_cache(hub: Path) -> None:
    spec, why = availability("hf:someone/small")
    assert spec == "hf:someone/small"
    assert "is not in the Hugging Face cache, and nothing is downloaded" in why
    assert why.endswith("Run: pmbench fetch hf:someone/small")
    assert availability("hf:someone/small?revision=v2")[1].endswith("fetch hf:someone/small?revision=v2")
    assert availability("qwen2.5-32b")[1].endswith("Run: pmbench fetch qwen2.5-32b")
    with pytest.raises(ModelUnavailable, match="not in the Hugging Face cache"):
        backend("someone/small").identity()


def test_a_model_in_the_cache_of_the_hub_is_its_revision(hub: Path) -> None:
    cached(hub, "someone/small")
    found = backend_for("hf:someone/small?device=cpu")
    assert found.unavailable() == ""
    identity = found.identity()
    assert identity["revision"] == COMMIT
    assert "weights" not in identity
    other = "f" * 40
    cached(hub, "someone/small", other)
    assert backend_for("hf:someone/small").identity()["revision"] == other
    assert backend_for(f"hf:someone/small?revision={COMMIT}").identity()["revision"] == COMMIT
    assert "not in the Hugging Face cache at revision" in availability("hf:someone/small?revision=nope")[1]


def test_half_a_download_is_no_model(hub: Path, tmp_path: Path) -> None:
    folder = cached(hub, "someone/small")
    (folder / "model.safetensors").unlink()
    assert "holds no weights" in availability("hf:someone/small")[1]
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "model-00002-of-00002.safetensors").touch()
    assert "is not complete: 1 of 2 files of the weights are missing" in availability("hf:someone/small")[1]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("./nowhere", "there is no such folder"),
        ("nowhere/at/all", "there is no such folder"),
        ("some..one/x--y", "is no name of the hub"),
        ("~nobody-at-all/x", "the home folder that it begins with cannot be found"),
    ],
)
def test_targets_that_can_be_nothing(hub: Path, target: str, words: str) -> None:
    try:
        why = backend(target).unavailable()
    except ConfigError as error:
        why = str(error)
    assert words in why


def test_folders_that_hold_no_fit_model(tmp_path: Path, hub: Path) -> None:
    def why(config: dict[str, Any] | None = None, **options: Any) -> str:
        folder = tmp_path / f"m{len(list(tmp_path.iterdir()))}"
        hf_models.copy_of(hf_models.tiny_model(), folder, **(config or {}))
        return backend(folder, **options).unavailable()

    assert why() == ""
    assert "is a folder without a config.json" in backend(hub).unavailable()
    assert "has an encoder and a decoder" in why({"is_encoder_decoder": True})
    assert "is no sequence classifier" in why(kind="reward")
    assert "Leave out ?kind=reward" in why(kind="reward")
    sorts = {"architectures": ["LlamaForSequenceClassification"], "id2label": {"0": "a", "1": "b", "2": "c"}}
    assert "is a classifier of 3 classes" in why(sorts)
    assert "cannot chat" in why({"architectures": ["LlamaForSequenceClassification"]}, kind="chat")
    assert "knows no thinking switch. Leave out ?thinking=" in why(thinking="off")
    assert "is given an adapter without adapter_config.json" in why(adapter=str(tmp_path))
    assert "there is no such file" in why(template=str(tmp_path / "none.jinja"))
    bare = hf_models.copy_of(hf_models.tiny_model(), tmp_path / "bare")
    (bare / "chat_template.jinja").unlink()
    assert "has no chat template. Give one: ?template=FILE" in backend(bare).unavailable()
    (tmp_path / "t.jinja").write_text("{{ messages }}")
    assert backend(bare, template=str(tmp_path / "t.jinja")).unavailable() == ""
    (bare / "config.json").write_text("{")
    assert "cannot be read as JSON" in backend(bare).unavailable()


@pytest.mark.parametrize(
    ("option", "words"),
    [("batch=-1", "batch"), ("batch=5000", "batch"), ("device=tpu", "device"), ("device=cuda:x", "device"),
     ("context=-5", "context"), ("dtype=int3", "dtype"), ("kind=chatty", "kind"), ("prefix=maybe", "prefix")],
)  # fmt: skip
def test_options_out_of_bounds(option: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        backend_for(f"hf:{hf_models.tiny_model()}?{option}")


def test_a_device_that_is_not_there() -> None:
    import torch

    missing = next(
        kind for kind in ("cuda:77", "mps") if not (kind == "mps" and torch.backends.mps.is_available())
    )

    async def work(opened: Hf) -> None:
        raise AssertionError("it opened")

    with pytest.raises(ConfigError, match="there is no such device"):
        with_hf(hf_models.tiny_model(), work, device=missing)


def test_features_are_those_of_the_model_and_its_options(tmp_path: Path) -> None:
    plain = {"temperature", "seed", "stop", "logprobs", "adapter", "prefix"}
    folder = hf_models.tiny_model()
    assert backend(folder).features == plain
    assert backend(folder, batch=1).features == plain - {"prefix"}
    assert backend(folder, batch=1, prefix="on").features == plain
    template = tmp_path / "t.jinja"
    template.write_text("{{ messages }}{% if enable_thinking %}x{% endif %}")
    assert backend(folder, template=str(template), thinking="off").features == plain | {"thinking"}
    assert backend(hf_models.reward_model()).features == {"adapter"}
    assert backend(folder).local
    assert backend(folder, batch=1).parallel == 1
    assert backend(folder).parallel >= 64


def test_identity_names_what_decides_an_answer_and_nothing_else(tmp_path: Path) -> None:
    folder = hf_models.copy_of(hf_models.tiny_model(), tmp_path / "here")
    elsewhere = hf_models.copy_of(hf_models.tiny_model(), tmp_path / "there")
    plain = dict(backend(folder).identity())
    assert plain["engine"] == "transformers"
    assert (plain["dtype"], plain["device"]) == ("float32", "cpu")
    assert plain == dict(backend(elsewhere).identity()), "where it lies decides nothing"
    template = tmp_path / "t.jinja"
    template.write_text("{{ messages }}{{ enable_thinking }}")
    adapter = hf_models.adapter()
    changed: list[dict[str, Any]] = [
        {"batch": 4},
        {"batch": 1},
        {"prefix": "off"},
        {"dtype": "bfloat16"},
        {"context": 512},
        {"adapter": str(adapter)},
        {"template": str(template)},
        {"template": str(template), "thinking": "on"},
        {"device": "cuda"},
    ]
    said = [tuple(sorted(backend(folder, **options).identity().items())) for options in [{}, *changed]]
    assert len(set(said)) == len(said)
    # Another template of its own, another weight: other answers.
    (elsewhere / "chat_template.jinja").write_text("{{ messages }}")
    assert dict(backend(elsewhere).identity()) != plain
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    weights.unlink()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert dict(backend(folder).identity())["weights"] != plain["weights"]


def test_a_changed_template_file_is_another_model(tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ messages }}")
    before = backend(hf_models.tiny_model(), template=str(template)).identity()["template"]
    template.write_text("{{ messages }} ")
    assert backend(hf_models.tiny_model(), template=str(template)).identity()["template"] != before


@pytest.mark.parametrize("damage", ["cut", "empty", "no tokenizer"])
def test_a_damaged_model_is_one_line(tmp_path: Path, damage: str) -> None:
    folder = hf_models.copy_of(hf_models.tiny_model(), tmp_path / "damaged")
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    if damage == "no tokenizer":
        (folder / "tokenizer.json").write_text("{}")
    else:
        weights.unlink()
        weights.write_bytes(content[:5000] if damage == "cut" else b"")
    with pytest.raises(ModelUnavailable) as caught:
        asyncio.run(backend(folder).open())
    assert "cannot be loaded" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_lora_adapter_of_another_model(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="does not fit this model"):
        asyncio.run(backend(hf_models.tiny_model(), adapter=str(hf_models.adapter())).open())


def test_asking_what_it_is_loads_nothing(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pmbench.models.catalogue import backend_for\n"
        f"backend = backend_for('hf:{hf_models.tiny_model()}?device=cpu&adapter={hf_models.adapter()}')\n"
        "assert backend.unavailable() == '' and backend.identity() and backend.features\n"
        "print(sorted({'torch', 'transformers', 'peft', 'numpy'} & sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[]"


def test_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    """In a process without any network but loopback, and with a hub address that would answer."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-n", "true"], check=False).returncode:
        pytest.skip("cutting the network off needs rights that this process does not have")
    script = (
        "import asyncio, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from hf_work import backend, request\n"
        "async def run():\n"
        "    opened = backend(sys.argv[2])\n"
        "    await opened.open()\n"
        "    print((await opened.chat(request('Hello', max_tokens=3))).finish)\n"
        "    await opened.close()\n"
        "asyncio.run(run())\n"
    )
    where = [str(Path(__file__).parent), str(hf_models.tiny_model())]
    done = subprocess.run(
        ["unshare", "-n", sys.executable, "-c", script, *where],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "length", done.stderr[-500:]
    assert done.stderr == "", "the libraries say nothing to the user's terminal"


def test_a_conversation_of_several_turns_is_answered() -> None:
    async def work(opened: Hf) -> None:
        one = await opened.chat(request("Hello", max_tokens=4))
        more = await opened.chat(
            request("x", max_tokens=4).__class__(
                ({"role": "system", "content": "Be kind."}, user("Hello"), {"role": "assistant", "content": "Hi"},
                 user("What now?")), max_tokens=4,
            )
        )  # fmt: skip
        assert more.usage.prompt_tokens != one.usage.prompt_tokens

    with_hf(hf_models.tiny_model(), work)
