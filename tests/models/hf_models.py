"""Models in transformers' format for the tests of `hf`, made once into the model cache.

The chat model is the embedded one, its weights taken out of the GGUF file; the reward models and the adapter
have random weights of a fixed seed: what they say means nothing, how it is computed is what is tested.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pmbench.models.backends.hf.loading import import_torch
from pmbench.models.files import cache
from pmbench.models.files.fetch import fetch

# The models are so small that a second thread costs more than it brings, most of all on a busy machine.
import_torch().set_num_threads(1)

_FORM = "1"
"""Raised when a model would be made in another way; its folder then has another name."""


def chat_model() -> Path:
    """SmolLM2 135M Instruct in bfloat16, with tokenizer and chat template: 270 MB, half a minute."""
    return _made("smollm2-135m-hf", _convert)


def tiny_model() -> Path:
    """A chat model of two layers, 64 wide, random but sure of itself; tokenizer and template of the chat model."""
    chat = chat_model()
    return _made("tiny-chat-hf", lambda folder: tiny(folder, "LlamaForCausalLM", {}, chat))


def tiny_chooser() -> Path:
    """The tiny chat model, made to begin most answers with Yes, No, The or It in one of their forms."""
    like = tiny_model()
    return _made("tiny-chooser-hf", lambda folder: _favour(folder, like, ("Yes", "No", "The", "It")))


def reward_model() -> Path:
    """A sequence classifier of one logit: two layers, 64 wide, random; tokenizer and template of the chat model."""
    chat = chat_model()
    return _made("tiny-reward-hf", lambda folder: _reward(folder, chat))


def adapter() -> Path:
    """A LoRA adapter of rank 4 for the chat model, random and strong enough to change its answers."""
    chat = chat_model()
    return _made("smollm2-135m-lora", lambda folder: _adapt(folder, chat))


def copy_of(folder: Path, to: Path, **config: Any) -> Path:
    """The same model in another folder, with changes to its config; the weights are linked, not copied."""
    to.mkdir(parents=True)
    for file in folder.iterdir():
        if file.suffix == ".safetensors":
            (to / file.name).symlink_to(file)
        else:
            shutil.copy(file, to / file.name)
    if config:
        path = to / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | config))
    return to


def _made(name: str, make: Callable[[Path], None]) -> Path:
    folder = cache.cache_folder() / "made-for-tests" / f"{name}-{_FORM}"
    with cache.locked(folder.parent):
        if not folder.exists():
            part = folder.with_name(f".{folder.name}")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make(part)
            part.rename(folder)
    return folder


def _convert(folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    (gguf,) = fetch("smollm2-135m", report=lambda line: None)
    given: dict[str, Any] = {"gguf_file": gguf.name}
    AutoTokenizer.from_pretrained(gguf.parent, **given).save_pretrained(folder)
    read = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **given)
    config = read.config.to_dict()
    config.pop("quantization_config", None)
    # A model that was read from a GGUF file cannot be saved; one with the same weights can.
    model = LlamaForCausalLM(LlamaConfig(**config))
    model.load_state_dict(read.state_dict())
    model.tie_weights()
    model.to(torch.bfloat16).save_pretrained(folder)


def tiny(folder: Path, kind: str, config: dict[str, Any], like: Path) -> None:
    """Write a random model of a class of transformers, with the tokenizer and the template of another one."""
    import torch
    import transformers
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(like)
    tokenizer.save_pretrained(folder)
    known: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 2048,
        "initializer_range": 0.2,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        # As in many a published model: padding is the very token that ends a turn.
        "pad_token_id": tokenizer.eos_token_id,
    }
    torch.manual_seed(7)
    made = getattr(transformers, kind)
    made(made.config_class(**(known | config))).save_pretrained(folder)


def _favour(folder: Path, like: Path, words: tuple[str, ...]) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(like)
    tokenizer.save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(like)
    forms = [form for word in words for form in (word, word.lower(), f" {word}", f" {word.lower()}")]
    for ids in tokenizer(forms, add_special_tokens=False)["input_ids"]:
        if len(ids) == 1:
            model.lm_head.weight.data[ids[0]] *= 8
    model.save_pretrained(folder)


def _reward(folder: Path, chat: Path) -> None:
    tiny(folder, "LlamaForSequenceClassification", {"num_labels": 1}, chat)


def _adapt(folder: Path, chat: Path) -> None:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(11)
    model = AutoModelForCausalLM.from_pretrained(chat, dtype=torch.float32)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    get_peft_model(model, config).save_pretrained(folder)
