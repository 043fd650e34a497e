"""What a server says went wrong: what becomes of it, when to come back, and nothing shown that may be private."""

from __future__ import annotations

import asyncio
import json
import math
import ssl
import time
from email.utils import formatdate

import aiohttp
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.core.model import Usage
from pmbench.core.names import safe_kind
from pmbench.models.backend import Limits
from pmbench.models.serving import failures
from pmbench.models.serving.limit_headers import limits, retry_after, span

SECRET = "Mrs Fernandez has pain in her left knee"


def body(code=None, message=SECRET, **more):
    return json.dumps({"error": {"message": message, "code": code, **more}}).encode()


@pytest.mark.parametrize(
    ("status", "said", "kind", "retryable"),
    [
        (429, body("rate_limit_exceeded"), "rate-limit", True),
        (429, b"", "rate-limit", True),
        (500, b"", "server", True),
        (502, b"<html>Bad gateway</html>", "server", True),
        (503, b"", "overloaded", True),
        (529, body("overloaded_error"), "overloaded", True),
        (500, body(type="overloaded_error"), "overloaded", True),
        (503, json.dumps([{"error": {"code": 503, "status": "UNAVAILABLE"}}]).encode(), "overloaded", True),
        (408, b"", "server", True),
        (409, b"", "server", True),
        (400, body("context_length_exceeded"), "too-long", False),
        (400, body(type="exceed_context_size_error"), "too-long", False),
        (400, body(message="This model's maximum context length is 4096 tokens."), "too-long", False),
        (400, body(message="prompt is too long: 210000 tokens > 200000 maximum"), "too-long", False),
        (
            400,
            body(message="The input token count (9) exceeds the maximum number of tokens"),
            "too-long",
            False,
        ),
        (413, b"", "too-long", False),
        (400, b'{"error": "the request exceeds the available context size"}', "too-long", False),
        (400, body("invalid_value", message="max_tokens is too large: 100000"), "invalid", False),
        (400, b"", "invalid", False),
        (422, b'{"detail": [{"loc": ["body", "messages"]}]}', "invalid", False),
        (400, body("content_filter"), failures.REFUSED, False),
        (400, body("invalid_prompt"), failures.REFUSED, False),
        (204, b"", "not-json", True),
    ],
)
def test_what_becomes_of_a_status(status, said, kind, retryable):
    failed = failures.from_status(status, {}, said)
    assert isinstance(failed, RequestFailed)
    assert (failed.kind, failed.retryable) == (kind, retryable)
    assert SECRET not in str(failed) and str(status) in str(failed)


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (401, body("invalid_api_key"), "Check the key in MY_KEY"),
        (403, b"", "refuses the key"),
        (
            400,
            json.dumps({"error": {"details": [{"reason": "API_KEY_INVALID"}]}}).encode(),
            "refuses the key",
        ),
        (404, body("model_not_found"), "no such model"),
        (404, b"404 page not found", "?base_url="),
        (402, b"", "quota is used up"),
        (429, body("insufficient_quota"), "quota is used up"),
        (400, body(message="Your credit balance is too low to access the API"), "quota is used up"),
        (302, b"", "redirects are not followed"),
        (307, b"", "?base_url="),
    ],
)
def test_what_ends_the_run(status, said, words):
    failed = failures.from_status(status, {}, said, where="model openai:m", key="the key in MY_KEY")
    assert isinstance(failed, ModelUnavailable)
    assert words in str(failed) and str(failed).startswith("model openai:m: ") and SECRET not in str(failed)


def test_googles_quotas_of_a_minute_pass_and_those_of_a_day_do_not():
    def said(quota):
        details = [
            {"@type": "google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
            {"@type": "google.rpc.RetryInfo", "retryDelay": "7.5s"},
        ]
        return {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}}

    minute = failures.from_status(429, {}, said("GenerateRequestsPerMinutePerProject"))
    assert isinstance(minute, RequestFailed) and minute.retry_after == 7.5
    assert isinstance(failures.from_status(429, {}, said("GenerateRequestsPerDay")), ModelUnavailable)


def test_codes_are_shown_and_a_culprit_if_it_is_a_field_of_ours():
    failed = failures.from_status(400, {}, body("unsupported_parameter", param="temperature"))
    assert str(failed) == "invalid: status 400, unsupported_parameter, field temperature"
    failed = failures.from_status(400, {}, body("Fernandez", param=SECRET, type=SECRET))
    assert str(failed) == "invalid: status 400"


@given(
    st.integers(200, 599),
    st.dictionaries(
        st.sampled_from(
            ["error", "code", "type", "message", "status", "details", "param", "detail", "object"]
        ),
        st.recursive(
            st.none() | st.integers() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner) | st.dictionaries(st.sampled_from(["code", "details", "reason"]), inner)
            ),
        ),
    ),
)
def test_no_body_is_beyond_understanding(status, said):
    for failed in (failures.from_status(status, {}, said), failures.from_object(said)):
        assert isinstance(failed, ModelUnavailable) or safe_kind(failed.kind, "") == failed.kind
    failures.from_status(status, {}, json.dumps(said).encode())


@given(st.binary())
def test_no_bytes_are_beyond_understanding(said):
    assert isinstance(failures.from_status(418, {}, said), RequestFailed)
    try:
        assert isinstance(failures.decoded(said), dict)
    except RequestFailed as failed:
        assert failed.kind == "not-json" and failed.retryable


def test_an_error_under_200_may_pass_unless_its_code_says_otherwise():
    usage = Usage(3, 4)

    def under_200(error):
        return failures.from_object({"error": error}, usage=usage)

    passing = under_200({"type": "server_error"})
    assert (passing.kind, passing.retryable, passing.usage) == ("error", True, usage)
    assert under_200({"code": 429}).retryable and under_200("the model crashed").retryable
    assert not under_200({"type": "invalid_request_error"}).retryable
    assert not under_200({"code": 400}).retryable
    assert under_200({"code": "context_length_exceeded"}).kind == "too-long"
    assert under_200({"code": "content_filter"}).kind == failures.REFUSED
    assert isinstance(under_200({"code": "insufficient_quota"}), ModelUnavailable)
    assert isinstance(under_200({"code": 402}), ModelUnavailable)


def request():
    return httpx2.Request(
        "POST", "http://127.0.0.1/v1/chat/completions", headers={"Authorization": "sk-secret"}
    )


def test_exceptions_of_libraries_and_transports():
    def kind(error):
        failed = failures.from_exception(error)
        return failed and (failed.kind, failed.retryable)

    def caused(error, cause):
        error.__cause__ = cause
        return error

    assert kind(openai.APIConnectionError(request=request())) is None  # of a cause that nobody knows
    lost = httpx2.ReadError("gone", request=request())
    assert kind(caused(openai.APIConnectionError(request=request()), lost)) == ("connection", True)
    slow = httpx2.ConnectTimeout("slow", request=request())
    assert kind(caused(openai.APITimeoutError(request=request()), slow)) == ("connection", True)
    slow = httpx2.ReadTimeout("slow", request=request())
    assert kind(caused(openai.APITimeoutError(request=request()), slow)) == ("timeout", True)
    assert kind(aiohttp.ServerDisconnectedError()) == ("connection", True)
    assert kind(aiohttp.ConnectionTimeoutError()) == ("connection", True)
    assert kind(TimeoutError()) == ("timeout", True)
    assert kind(ConnectionResetError()) == ("connection", True)
    assert kind(json.JSONDecodeError("no", SECRET, 0)) == ("not-json", True)
    assert kind(ValueError(SECRET)) is None and kind(asyncio.CancelledError()) is None
    untrusted = failures.from_exception(caused(lost, ssl.SSLCertVerificationError("self-signed")))
    assert isinstance(untrusted, ModelUnavailable) and "SSL_CERT_FILE" in str(untrusted)
    answer = httpx2.Response(429, headers={"Retry-After": "3"}, request=request())
    limited = failures.from_exception(openai.RateLimitError("no", response=answer, body=None))
    assert (limited.kind, limited.retry_after) == ("rate-limit", 3.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("6m0s", 360), ("20ms", 0.02), ("1h30m", 5400), ("1m2.5s", 62.5), ("7", 7), ("0.25", 0.25)]
    + [(text, None) for text in ("", "soon", "1s soon", "5 minutes", "nan", "inf", "s")],
)
def test_spans_of_time(text, seconds):
    assert span(text) == (None if seconds is None else pytest.approx(seconds))


@given(st.integers(0, 100), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_spans_add_up(hours, minutes, seconds, milliseconds):
    text = f"{hours}h{minutes}m{seconds}s{milliseconds}ms"
    assert span(text) == pytest.approx(hours * 3600 + minutes * 60 + seconds + milliseconds / 1000)


def test_when_to_come_back():
    assert retry_after({}) is None and retry_after({"retry-after": "soon"}) is None
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after": "7", "retry-after-ms": "250"}) == 0.25
    assert retry_after({"retry-after": "-3"}) == 0 and retry_after({"retry-after": "nan"}) is None
    assert 25 < retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)}) <= 30
    assert retry_after({"retry-after": formatdate(time.time() - 30, usegmt=True)}) == 0


@given(st.text(), st.text())
def test_no_header_is_beyond_understanding(one, other):
    wait = retry_after({"retry-after": one, "retry-after-ms": other})
    assert wait is None or (math.isfinite(wait) and wait >= 0)
    names = ("x-ratelimit-{}-requests", "anthropic-ratelimit-tokens-{}")
    said = limits({n.format(w): t for n in names for w, t in (("remaining", one), ("reset", other))})
    assert said is None or all(v is None or v >= 0 for v in (said.requests, said.tokens))


def test_limits_of_openai_and_anthropic():
    openais = {
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    assert limits(openais) == Limits(59, 1, 149984, 360)
    assert limits(httpx2.Headers(openais | {"X-Other": "1"})) == Limits(59, 1, 149984, 360)
    head = "anthropic-ratelimit"
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 30))
    said = limits({f"{head}-requests-remaining": "4", f"{head}-requests-reset": soon})
    assert (said.requests, said.tokens) == (4, None) and 25 < said.requests_reset <= 30
    assert limits({f"{head}-input-tokens-remaining": "5"}).tokens == 5
    assert limits({"x-ratelimit-limit-requests": "60"}) is None
