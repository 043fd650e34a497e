"""The conformance suite against `vllm`, where it is installed; an engine takes a minute to load."""

from __future__ import annotations

import importlib.util
from typing import ClassVar

import hf_models
import pytest

from pmbench.testing import BackendSuite


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vllm is not installed")
class TestVllm(BackendSuite):
    control_tokens = ("<|im_end|>", "<|im_start|>", "<|endoftext|>")
    bad_options: ClassVar = {"tensor_parallel": "0", "gpu_memory": "2", "context": "1"}
    not_deciding: ClassVar = {"revision": ("", "main"), "gpu_memory": ("0.3", "0.4")}

    @property
    def spec(self) -> str:
        return f"vllm:{hf_models.chat_model()}?eager=true&dtype=float32&context=2048"

    @property
    def deciding(self) -> dict[str, tuple[str, str]]:
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
