"""The conformance suite against `hf`: a chat model alone and in batches, a reward model, an embedder."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import hf_models
import pytest

from pmbench.testing import BackendSuite

pytest.importorskip("torch")
pytest.importorskip("transformers")


class HfSuite(BackendSuite):
    bad_options: ClassVar = {"batch": "-1", "context": "-1", "device": "abacus"}
    # Of a folder there is one revision; of a repository on the hub the commit that it stands for is in the identity.
    not_deciding: ClassVar = {"revision": ("", "main")}

    @property
    def deciding(self) -> dict[str, tuple[str, str]]:
        adapter = hf_models.adapter()
        template = self.folder / "chat_template.jinja"
        return {
            "kind": ("auto", "embed"),
            "adapter": ("", str(adapter)),
            "dtype": ("float32", "bfloat16"),
            "device": ("cpu", "cuda"),
            "thinking": ("on", "off"),
            "batch": ("1", "8"),
            "context": ("512", "1024"),
            "prefix": ("on", "off"),
            "template": ("", str(template)),
        }

    @property
    def folder(self) -> Path:
        return hf_models.chat_model()


@pytest.mark.model
class TestHfAlone(HfSuite):
    deterministic = True
    control_tokens = ("<|im_end|>", "<|im_start|>", "<|endoftext|>")

    @property
    def spec(self) -> str:
        return f"hf:{self.folder}?batch=1&context=1024"


@pytest.mark.model
class TestHfInBatches(HfSuite):
    @property
    def spec(self) -> str:
        return f"hf:{self.folder}?context=1024"


@pytest.mark.model
class TestHfReward(HfSuite):
    @property
    def spec(self) -> str:
        return f"hf:{hf_models.reward_model()}"


@pytest.mark.model
class TestHfEmbedder(HfSuite):
    @property
    def spec(self) -> str:
        return f"hf:{hf_models.tiny_model()}?kind=embed"
