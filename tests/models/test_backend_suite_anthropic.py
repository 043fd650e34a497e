"""The conformance suite against `anthropic`: Claude that samples, that thinks by itself, and that does not."""

from __future__ import annotations

from typing import ClassVar

from served_suite import SERVED_BAD_OPTIONS, SERVED_NOT_DECIDING, ServedSuite


class AnthropicSuite(ServedSuite):
    varies = False  # the protocol has no seed, and the server's answers follow from the messages
    deciding: ClassVar = {
        "base_url": ("http://127.0.0.1:1", "http://127.0.0.1:2"),
        "thinking": ("off", "auto"),
        "effort": ("low", "high"),
        "sampling": ("on", "off"),
    }
    not_deciding: ClassVar = SERVED_NOT_DECIDING | {"cache": ("on", "off"), "batches": ("auto", "on")}
    bad_options: ClassVar = SERVED_BAD_OPTIONS | {"thinking": "5"}


class TestClaudeThatSamples(AnthropicSuite):
    model = "anthropic:claude-sonnet-4-5"
    deciding: ClassVar = AnthropicSuite.deciding | {"thinking": ("off", "2048")}


class TestClaudeWithMarks(AnthropicSuite):
    model = "anthropic:claude-sonnet-4-5?cache=on"


class TestClaudeThatThinks(AnthropicSuite):
    model = "anthropic:claude-opus-5"
    exact_limit = False


class TestClaudeToldNotToThink(AnthropicSuite):
    model = "anthropic:claude-opus-5?thinking=off"
