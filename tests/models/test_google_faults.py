"""The backend `google` against a server that misbehaves, and in surroundings that lead elsewhere."""

from __future__ import annotations

import asyncio
import os

import pytest
import vendor_faults as faults
from google.genai import errors
from vendor_models import GEMINI, KEY, asked, chat, made

from pmbench.core.errors import ModelUnavailable, RequestFailed

SPEC = f"{GEMINI}?key=LOOPBACK_KEY"


@pytest.fixture(autouse=True)
def _key(plain_environment, monkeypatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", KEY)


@pytest.mark.parametrize("fault", list(faults.FAILURES))
def test_each_fault_of_the_server_is_a_failure_of_its_kind(llm_server, fault):
    faults.fails_with(SPEC, llm_server, fault)


@pytest.mark.parametrize("status", list(faults.UNAVAILABLE))
def test_what_no_further_request_can_escape_ends_the_run(llm_server, status):
    faults.ends_the_run(SPEC, llm_server, {"kind": status}, faults.UNAVAILABLE[status])


def test_a_key_that_is_refused_with_status_400_ends_the_run(llm_server):
    """Google's own way; what tells it is the reason in a detail."""
    error = {"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}
    failed = made(SPEC).understood(errors.ClientError(400, {"error": error}, None))
    assert isinstance(failed, ModelUnavailable) and "refuses the key" in str(failed)


def test_a_quota_of_the_day_ends_the_run_and_one_of_the_minute_passes():
    def failed(quota):
        details = [{"violations": [{"quotaId": f"GenerateRequestsPer{quota}PerProjectPerModel"}]}]
        details += [{"retryDelay": "36s"}]
        error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}
        return made(SPEC).understood(errors.ClientError(429, {"error": error}, None))

    passing = failed("Minute")
    assert isinstance(failed("Day"), ModelUnavailable) and isinstance(passing, RequestFailed)
    assert (passing.kind, passing.retry_after) == ("rate-limit", 36.0)


def test_a_prompt_that_is_too_long_is_told_from_another_bad_request(llm_server):
    words = "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."
    llm_server.control(faults=[{"kind": 400, "message": words}])
    with pytest.raises(RequestFailed) as caught:
        chat(SPEC, llm_server)
    assert (caught.value.kind, caught.value.retryable) == ("too-long", False)


@pytest.mark.parametrize("fault", list(faults.ANSWERS))
def test_what_is_no_failure_of_the_server_is_handed_on_as_it_is(llm_server, fault):
    llm_server.control(faults=[{"kind": fault}])
    done = chat(SPEC, llm_server)
    assert (done.text, done.finish) == faults.ANSWERS[fault]
    assert done.usage.prompt_tokens > 0


@pytest.mark.parametrize("status", [429, 503])
def test_when_to_come_back_is_read(llm_server, status):
    llm_server.control(faults=[{"kind": status, "retry_after": 3}])
    with pytest.raises(RequestFailed) as caught:
        chat(SPEC, llm_server)
    assert caught.value.retry_after == 3.0


def test_a_server_that_names_another_model_is_quoted(llm_server):
    llm_server.control(faults=[{"kind": "wrong_model"}])
    assert chat(SPEC, llm_server).raw["model"] == "not-gemini-2.0-flash"


def test_ten_megabytes_are_an_answer(llm_server):
    llm_server.control(faults=[{"kind": "big", "megabytes": 10}])
    assert len(chat(SPEC, llm_server).text) == 10_000_000


def test_two_megabytes_are_a_question(llm_server):
    assert chat(SPEC, llm_server, asked("x" * 2_000_000)).text


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(llm_server, llm_servers, status):
    faults.goes_nowhere_else(
        SPEC, llm_server, llm_servers("127.0.0.2"), "/v1/models/x:generateContent", status
    )


def test_variables_of_the_environment_change_nothing(llm_server, llm_servers, monkeypatch):
    """Proxies, another server, another key, another of Google's services: words or key would go elsewhere."""
    elsewhere = llm_servers("127.0.0.2")
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, elsewhere.url)
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "smuggled")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "smuggled")
    monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", "httpx")
    monkeypatch.setenv("GOOGLE_API_KEY", "smuggled")
    monkeypatch.setenv("GEMINI_API_KEY", "smuggled")
    llm_server.control(key=KEY)
    assert chat(SPEC, llm_server).text
    stats = llm_server.stats()
    assert elsewhere.stats()["connections"] == 0
    assert list(stats["by_path"]) == ["/v1/models/gemini-2.0-flash:generateContent"]
    assert os.environ["GOOGLE_CLOUD_PROJECT"] == "smuggled", "the environment is left as it was"


def test_another_server_than_the_vendors_is_not_sent_the_vendors_key(llm_server, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    llm_server.control(key="none")
    assert chat(GEMINI, llm_server).text


@pytest.mark.parametrize("status", [400, 500])
def test_no_text_and_no_key_in_errors_and_logs(llm_server, caplog, status):
    faults.quotes_nothing(SPEC, llm_server, caplog, status)


def test_a_part_of_the_key_that_a_server_quotes_is_not_handed_on(llm_server, caplog):
    faults.a_wrong_key(SPEC, llm_server, caplog)


@pytest.mark.parametrize("fault", ["hung", "stalled", "drip"])
def test_a_deadline_leaves_the_pool_usable(llm_server, fault):
    faults.a_deadline_leaves_the_pool_usable(SPEC, llm_server, fault)


@pytest.mark.parametrize("fault", list(faults.FACADE))
def test_each_kind_is_counted_as_what_it_is(llm_server, tmp_path, fault):
    found = faults.through_the_facade(f"{SPEC}&timeout=0.4", llm_server, tmp_path, fault)
    assert found == faults.FACADE[fault]


def test_sixty_four_requests_are_in_flight_at_once(llm_server):
    faults.sixty_four_at_once(SPEC, llm_server)


def test_a_missing_key_is_said_before_anything_is_sent():
    assert "no key in GEMINI_API_KEY or GOOGLE_API_KEY" in made(GEMINI).unavailable()
    with pytest.raises(ModelUnavailable, match="keyring set pmbench GEMINI_API_KEY"):
        asyncio.run(made(GEMINI).open())


def test_a_model_that_is_not_open_answers_nothing():
    with pytest.raises(RequestFailed, match="closed"):
        asyncio.run(made(GEMINI).chat(asked()))
