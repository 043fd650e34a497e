"""Families of models that remember a text in other ways than the plain one: the answers of transformers for each."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import hf_models
import pytest
import torch
from hf_work import PROMPTS, request, user, with_hf

from pmbench.core.model import Completion
from pmbench.models.backends.hf.backend import Hf
from pmbench.models.backends.hf.reading import WholeReader

# Small enough that every prompt is longer than the window.
SLIDING = {"sliding_window": 20}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "mistral": ("MistralForCausalLM", SLIDING),
    "gemma3": ("Gemma3ForCausalLM", {**SLIDING, "layer_types": ["sliding_attention", "full_attention"]}),
    "gpt-oss": ("GptOssForCausalLM", {**SLIDING, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "llama4": (
        "Llama4ForCausalLM",
        {"attention_chunk_size": 24, "num_local_experts": 2, "intermediate_size_mlp": 128},
    ),
    "qwen3": ("Qwen3ForCausalLM", {}),
    "mixtral": ("MixtralForCausalLM", {"num_local_experts": 4}),
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 512}),
    "bloom": ("BloomForCausalLM", {"n_layer": 2, "n_head": 4}),
    "mamba": ("MambaForCausalLM", {"state_size": 8, "time_step_rank": 4}),
    "lfm2": ("Lfm2ForCausalLM", {"layer_types": ["conv", "full_attention"]}),
    "qwen3-next": (
        "Qwen3NextForCausalLM",
        {
            "layer_types": ["linear_attention", "full_attention"],
            "linear_key_head_dim": 16,
            "linear_value_head_dim": 16,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 32,
        },
    ),
}
WHOLE = {"bloom", "mamba", "lfm2", "qwen3-next"}


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_those_of_transformers(family: str, tmp_path: Path) -> None:
    name, config = FAMILIES[family]
    hf_models.tiny(tmp_path, name, config, hf_models.chat_model())
    expected = _directly(tmp_path)

    async def work(opened: Hf) -> list[Completion]:
        engine: Any = opened._worker._engine  # type: ignore[union-attr]
        assert isinstance(engine._reader, WholeReader) == (family in WHOLE)
        # Unlike lengths of answers, so that rows leave, and more prompts than rows, so that others join.
        return await asyncio.gather(
            *[opened.chat(request(text, max_tokens=12 + 5 * (n % 3))) for n, text in enumerate(PROMPTS)]
        )

    for options in ({"batch": 3}, {"batch": 1}):
        answers = with_hf(tmp_path, work, **options)
        for answer, whole in zip(answers, expected, strict=True):
            assert whole.startswith(answer.text)
            assert len(answer.text) > 10


def _directly(folder: Path) -> list[str]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    found = []
    for text in PROMPTS:
        prompt = tokenizer.apply_chat_template(
            [user(text)], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        ids = model.generate(**prompt, max_new_tokens=22, do_sample=False)
        found.append(tokenizer.decode(ids[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True))
    return found
