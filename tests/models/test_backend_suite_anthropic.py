"""The conformance suite against `anthropic`, at the loopback server."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from pmbench.testing import BackendSuite


@pytest.mark.usefixtures("plain_environment", "llm_server")
class TestAnthropic(BackendSuite):
    spec = "anthropic:claude-sonnet-4-5"
    deterministic = True
    varies = False
    deciding: ClassVar = {
        "thinking": ("off", "2048"),
        "effort": ("low", "high"),
        "sampling": ("on", "off"),
        "base_url": ("http://127.0.0.1:1", "http://127.0.0.1:2"),
    }
    not_deciding: ClassVar = {
        "timeout": ("5", "9"),
        "cache": ("on", "off"),
        "key": ("ONE", "OTHER"),
        "batches": ("on", "auto"),
    }
    bad_options: ClassVar = {"thinking": "5", "timeout": "-1", "base_url": "nowhere", "key": "sk-1"}

    @pytest.fixture(autouse=True)
    def _served(self, one_llm_server: Any) -> None:
        type(self).spec = f"anthropic:claude-sonnet-4-5?base_url={one_llm_server.url}"


class TestAnthropicNewer(TestAnthropic):
    """A model that takes no temperature."""

    deciding: ClassVar = TestAnthropic.deciding | {"thinking": ("off", "on")}

    @pytest.fixture(autouse=True)
    def _served(self, one_llm_server: Any) -> None:
        type(self).spec = f"anthropic:claude-opus-5-5?thinking=off&cache=on&base_url={one_llm_server.url}"
