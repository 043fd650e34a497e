"""The conformance suite against `google`: with and without log-probabilities, and vectors."""

from __future__ import annotations

from typing import ClassVar

from served_suite import SERVED_BAD_OPTIONS, SERVED_NOT_DECIDING, ServedSuite


class GoogleSuite(ServedSuite):
    deciding: ClassVar = {
        "base_url": ("http://127.0.0.1:1", "http://127.0.0.1:2"),
        "thinking": ("off", "2048"),
        "api_version": ("v1", "v1beta"),
    }
    # Which kind of answer is asked for is in the key of the store, beside the identity.
    not_deciding: ClassVar = SERVED_NOT_DECIDING | {"logprobs": ("on", "off")}
    bad_options: ClassVar = SERVED_BAD_OPTIONS | {"thinking": "lots"}


class TestGemini(GoogleSuite):
    model = "google:gemini-2.0-flash"


class TestGeminiByLogprobs(GoogleSuite):
    model = "google:gemini-2.0-flash?logprobs=on"


class TestGeminiEmbeddings(GoogleSuite):
    model = "google:gemini-embedding-001"
