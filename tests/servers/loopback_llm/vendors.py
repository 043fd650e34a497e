"""What the vendors' protocols share beyond requests and answers: error objects, headers, keys."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Protocol

from .limiter import Standing
from .wire import Json, Payload, Refused, encode, sse

_OPENAI_KINDS = {400: "invalid_request_error", 401: "invalid_request_error", 403: "permission_error"}
_OPENAI_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_ANTHROPIC_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GOOGLE_STATES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class Vendor(Protocol):
    """One vendor's ways."""

    name: str
    request_id_header: str

    def error(self, refused: Refused, request_id: str) -> Json:
        """The error object as this vendor writes it."""

    def rate_headers(self, standing: Standing) -> dict[str, str]:
        """What the headers of every answer say about the limits."""

    def key_of(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """The key that came with a request, or an empty text."""

    def error_frame(self) -> bytes:
        """How a stream says that it failed."""


def failure(vendor: Vendor, refused: Refused, request_id: str) -> Payload:
    """A refusal as it goes out, with its headers."""
    headers = {}
    if refused.retry_after is not None and vendor.name != "google":  # Google says it in the body
        headers["retry-after"] = str(math.ceil(refused.retry_after))
        headers["retry-after-ms"] = str(int(refused.retry_after * 1000))
    return Payload(body=encode(vendor.error(refused, request_id)), status=refused.status, headers=headers)


def http_date(seconds: float) -> str:
    """So many seconds from now, as HTTP writes dates."""
    return formatdate(time.time() + seconds, usegmt=True)


def masked(key: str) -> str:
    """A key as vendors quote it in errors: its beginning and end."""
    return f"{key[:7]}{'*' * 8}{key[-4:]}" if len(key) > 11 else "*" * len(key)


class OpenAI:
    """OpenAI, Azure and the many servers that speak as they do."""

    name = "openai"
    request_id_header = "x-request-id"

    def error(self, refused: Refused, request_id: str) -> Json:
        """`{"error": {"message", "type", "param", "code"}}`."""
        kind = _OPENAI_KINDS.get(refused.status) or ("server_error" if refused.status >= 500 else "requests")
        code = refused.code or _OPENAI_CODES.get(refused.status)
        return {"error": {"message": refused.message, "type": kind, "param": None, "code": code}}

    def rate_headers(self, standing: Standing) -> dict[str, str]:
        """`x-ratelimit-…`; the time to a reset as in `6m0s`, `1s`, `20ms`."""
        return {
            "x-ratelimit-limit-requests": str(standing.limit),
            "x-ratelimit-remaining-requests": str(standing.remaining),
            "x-ratelimit-reset-requests": _span(standing.reset),
            "x-ratelimit-limit-tokens": str(standing.token_limit),
            "x-ratelimit-remaining-tokens": str(standing.token_remaining),
            "x-ratelimit-reset-tokens": _span(standing.token_reset),
        }

    def key_of(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """`Authorization: Bearer`, or Azure's `api-key`."""
        return headers.get("Authorization", "").removeprefix("Bearer ") or headers.get("api-key", "")

    def error_frame(self) -> bytes:
        """An error object in place of a chunk."""
        return sse({"error": {"message": "The server had an error", "type": "server_error", "code": None}})


class Anthropic:
    """Anthropic."""

    name = "anthropic"
    request_id_header = "request-id"

    def error(self, refused: Refused, request_id: str) -> Json:
        """`{"type": "error", "error": {"type", "message"}, "request_id"}`."""
        kind = refused.code or _ANTHROPIC_KINDS.get(refused.status, "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": refused.message},
            "request_id": request_id,
        }

    def rate_headers(self, standing: Standing) -> dict[str, str]:
        """`anthropic-ratelimit-…`; resets as dates."""
        head = "anthropic-ratelimit"
        return {
            f"{head}-requests-limit": str(standing.limit),
            f"{head}-requests-remaining": str(standing.remaining),
            f"{head}-requests-reset": _rfc3339(standing.reset),
            f"{head}-tokens-limit": str(standing.token_limit),
            f"{head}-tokens-remaining": str(standing.token_remaining),
            f"{head}-tokens-reset": _rfc3339(standing.token_reset),
        }

    def key_of(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """`x-api-key`, or a bearer token."""
        return headers.get("x-api-key", "") or headers.get("Authorization", "").removeprefix("Bearer ")

    def error_frame(self) -> bytes:
        """An event called `error`."""
        error = {"type": "overloaded_error", "message": "Overloaded"}
        return sse({"type": "error", "error": error}, event="error")


class Google:
    """Google's Gemini API."""

    name = "google"
    request_id_header = "x-request-id"

    def error(self, refused: Refused, request_id: str) -> Json:
        """`{"error": {"code", "message", "status", "details"}}`; when to come back is a detail."""
        state = refused.code or _GOOGLE_STATES.get(refused.status, "UNKNOWN")
        error: Json = {"code": refused.status, "message": refused.message, "status": state}
        if refused.retry_after is not None:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            error["details"] = [{"@type": kind, "retryDelay": f"{refused.retry_after:.9g}s"}]
        return {"error": error}

    def rate_headers(self, standing: Standing) -> dict[str, str]:
        """None: Google does not tell."""
        return {}

    def key_of(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """`x-goog-api-key`, or `key` in the query."""
        return headers.get("x-goog-api-key", "") or query.get("key", "")

    def error_frame(self) -> bytes:
        """An error object in place of a chunk."""
        return sse({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})


def _span(seconds: float) -> str:
    if seconds < 1:
        return f"{int(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:.3g}s"


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


OPENAI, ANTHROPIC, GOOGLE = OpenAI(), Anthropic(), Google()
