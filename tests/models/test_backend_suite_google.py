"""The conformance suite against `google`, at the loopback server."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from pmbench.testing import BackendSuite


@pytest.mark.usefixtures("plain_environment", "llm_server")
class TestGoogle(BackendSuite):
    spec = "google:gemini-2.0-flash"
    deterministic = True
    deciding: ClassVar = {
        "thinking": ("off", "512"),
        "logprobs": ("on", "off"),
        "base_url": ("http://127.0.0.1:1", "http://127.0.0.1:2"),
    }
    not_deciding: ClassVar = {"timeout": ("5", "9"), "key": ("ONE", "OTHER")}
    bad_options: ClassVar = {"thinking": "lots", "timeout": "-1", "base_url": "nowhere", "key": "sk-1"}

    @pytest.fixture(autouse=True)
    def _served(self, one_llm_server: Any) -> None:
        type(self).spec = f"google:gemini-2.0-flash?base_url={one_llm_server.url}"


class TestGoogleEmbedding(TestGoogle):
    @pytest.fixture(autouse=True)
    def _served(self, one_llm_server: Any) -> None:
        type(self).spec = f"google:gemini-embedding-001?base_url={one_llm_server.url}"


class TestGoogleByLogprobs(TestGoogle):
    """Choices by log-probabilities."""

    @pytest.fixture(autouse=True)
    def _served(self, one_llm_server: Any, llm_server: Any) -> None:
        llm_server.control(choices={"Yes or No": {"Yes": 0.6, "No": 0.3}})
        type(self).spec = f"google:gemini-2.0-flash?logprobs=on&base_url={one_llm_server.url}"
