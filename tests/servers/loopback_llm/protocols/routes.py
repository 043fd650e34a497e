"""Which path leads to which endpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .anthropic_batches import AnthropicBatches
from .anthropic_messages import AnthropicCount, AnthropicMessages
from .endpoint import Endpoint, ModelEndpoint
from .google_generate import GoogleCount, GoogleEmbed, GoogleGenerate, GoogleModels
from .openai_batches import OpenAIBatches, OpenAIFiles
from .openai_chat import OpenAIChat
from .openai_lists import AnthropicModels, OpenAIEmbeddings, OpenAIModels
from .openai_responses import OpenAIResponses

Route = tuple[Endpoint | ModelEndpoint, dict[str, str]]

_AZURE = r"/openai/deployments/(?P<model>[^/]+)"
_ROOT = r"(?:/openai)?/v1"
_GOOGLE = r"/v1(?:beta|alpha)?/models/(?P<model>[^/:]+)"
_TABLE: tuple[tuple[str, str, Endpoint | ModelEndpoint], ...] = (
    ("POST", rf"(?:{_ROOT}|{_AZURE})/chat/completions", OpenAIChat()),
    ("POST", rf"{_ROOT}/responses", OpenAIResponses()),
    ("POST", rf"(?:{_ROOT}|{_AZURE})/embeddings", OpenAIEmbeddings()),
    (
        "GET POST DELETE",
        r"(?:/openai)?(?:/v1)?/files(?:/(?P<file>[^/]+)(?P<content>/content)?)?",
        OpenAIFiles(),
    ),
    ("GET POST", r"(?:/openai)?(?:/v1)?/batches(?:/(?P<job>[^/]+)(?P<cancel>/cancel)?)?", OpenAIBatches()),
    ("POST", r"/v1/messages", AnthropicMessages()),
    ("POST", r"/v1/messages/count_tokens", AnthropicCount()),
    (
        "GET POST",
        r"/v1/messages/batches(?:/(?P<job>[^/]+)(?:(?P<results>/results)|(?P<cancel>/cancel))?)?",
        AnthropicBatches(),
    ),
    ("POST", rf"{_GOOGLE}:(?P<method>generateContent|streamGenerateContent)", GoogleGenerate()),
    ("POST", rf"{_GOOGLE}:(?P<method>embedContent|batchEmbedContents)", GoogleEmbed()),
    ("POST", rf"{_GOOGLE}:countTokens", GoogleCount()),
    ("GET", r"/v1(?:beta|alpha)/models(?:/(?P<model>[^/:]+))?", GoogleModels()),
)
_ANTHROPIC_MODELS, _GOOGLE_MODELS, _OPENAI_MODELS = AnthropicModels(), GoogleModels(), OpenAIModels()
_COMPILED = [(frozenset(methods.split()), re.compile(path), endpoint) for methods, path, endpoint in _TABLE]
_MODELS = re.compile(rf"{_ROOT}/models(?:/(?P<model>[^/]+))?")
_found: dict[tuple[str, str], Route | None] = {}


def find(method: str, path: str, headers: Mapping[str, str]) -> Route | None:
    """The endpoint of a request and what its pattern took out of the path; None when there is none."""
    if method == "GET" and (match := _MODELS.fullmatch(path)):
        # All three vendors have this path; a header that each one's own library always sends tells them apart.
        if "anthropic-version" in headers:
            return _ANTHROPIC_MODELS, _taken(match)
        return (_GOOGLE_MODELS if "x-goog-api-key" in headers else _OPENAI_MODELS), _taken(match)
    key = (method, path)
    if key not in _found:
        if len(_found) > 4096:  # paths with ids come in any number
            _found.clear()
        _found[key] = _search(method, path)
    return _found[key]


def _search(method: str, path: str) -> Route | None:
    for methods, pattern, endpoint in _COMPILED:
        match = pattern.fullmatch(path)
        if match and method in methods:
            return endpoint, _taken(match)
    return None


def _taken(match: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in match.groupdict().items() if value is not None}
