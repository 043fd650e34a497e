"""The conformance suite against `openai`: both interfaces, with and without log-probabilities, and vectors."""

from __future__ import annotations

from typing import ClassVar

from served_suite import SERVED_NOT_DECIDING, ServedSuite

AZURE = {"azure": "https://mine.openai.azure.com", "base_url": "", "api_version": "2024-10-21"}


class OpenAISuite(ServedSuite):
    path = "/v1"
    deciding: ClassVar = {
        "base_url": ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"),
        "api": ("chat", "responses"),
        "azure": (AZURE, AZURE | {"azure": "https://other.openai.azure.com"}),
        "api_version": (AZURE, AZURE | {"api_version": "2025-01-01"}),
        "reasoning": ("low", "high"),
        "summary": ({"api": "responses", "summary": "on"}, {"api": "responses", "summary": "off"}),
        "thinking": ({"api": "chat", "thinking": "on"}, {"api": "chat", "thinking": "off"}),
    }
    # Which kind of answer is asked for is in the key of the store, beside the identity.
    not_deciding: ClassVar = SERVED_NOT_DECIDING | {
        "kind": ("chat", "embed"),
        "logprobs": ({"api": "chat", "logprobs": "on"}, {"api": "chat", "logprobs": "off"}),
        "batches": ("auto", "on"),
    }


class TestOpenAIChat(OpenAISuite):
    model = "openai:loopback-small"


class TestOpenAIChatInWords(OpenAISuite):
    model = "openai:loopback-small?logprobs=off"


class TestOpenAIResponses(OpenAISuite):
    model = "openai:loopback-small?api=responses"
    varies = False  # this interface has no seed, and the server's answers follow from the messages


class TestOpenAIEmbeddings(OpenAISuite):
    model = "openai:loopback-small?kind=embed"
