"""The conformance suite against `llama-cpp`, in its deterministic mode and with several slots."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from pmbench.testing import BackendSuite


@pytest.mark.model
class TestLlamaCpp(BackendSuite):
    spec = "smollm2-135m?context=2048"
    deterministic = True
    control_tokens = ("<|im_end|>", "<|im_start|>", "<|endoftext|>")
    deciding: ClassVar = {
        "context": ("1024", "4096"),
        "slots": ("1", "2"),
        "cache": ("on", "off"),
        "thinking": ("on", "off"),
        "gpu_layers": ("0", "-1"),
    }
    not_deciding: ClassVar = {"threads": ("1", "2")}
    bad_options: ClassVar = {"context": "1000", "slots": "0", "threads": "-3", "gpu_layers": "-2"}

    @pytest.fixture(autouse=True)
    def _fetched(self, models: dict[str, list[Path]]) -> None:
        pass


@pytest.mark.model
class TestLlamaCppWithSlots(TestLlamaCpp):
    spec = "smollm2-135m?context=1024&slots=4"
    deterministic = False
