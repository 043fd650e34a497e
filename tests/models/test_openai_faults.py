"""OpenAI's protocol against a server that misbehaves on command, and an environment that leads elsewhere."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from http_probe import probing
from openai_models import asked, chat_answer, made, opened

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.core.model import Completion
from pmbench.models.answers import accept
from pmbench.models.backend import Limits
from pmbench.models.serving.endpoints import Endpoint

pytestmark = pytest.mark.usefixtures("plain_environment")

KEY = "sk-test-0123456789abcdef"
APIS = pytest.mark.parametrize("api", ["chat", "responses"])


def ask(server, api="chat", request=None, seconds=10.0, more="", do="chat"):
    """The answer of one request, or the error that it raises."""

    async def whole():
        async with opened(f"openai:m?base_url={server.v1}&api={api}{more}") as model:
            try:
                async with asyncio.timeout(seconds):
                    return await getattr(model, do)(request or asked())
            except (RequestFailed, ModelUnavailable, TimeoutError) as error:
                return error

    return asyncio.run(whole())


def outcome(answer):
    if isinstance(answer, Completion):
        try:
            return "answer", accept(answer).finish
        except RequestFailed as error:
            return outcome(error)
    if isinstance(answer, RequestFailed):
        return answer.kind, answer.retryable
    return type(answer).__name__


@APIS
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": 400}, ("invalid", False)),
        ({"kind": 400, "code": "context_length_exceeded"}, ("too-long", False)),
        ({"kind": 401}, "ModelUnavailable"),
        ({"kind": 402}, "ModelUnavailable"),
        ({"kind": 403}, "ModelUnavailable"),
        ({"kind": 404}, "ModelUnavailable"),
        ({"kind": 413}, ("too-long", False)),
        ({"kind": 422}, ("invalid", False)),
        ({"kind": 429}, ("rate-limit", True)),
        ({"kind": 429, "code": "insufficient_quota"}, "ModelUnavailable"),
        ({"kind": 500}, ("server", True)),
        ({"kind": 503}, ("overloaded", True)),
        ({"kind": 529}, ("overloaded", True)),
        ({"kind": "html"}, ("not-json", True)),
        ({"kind": "html", "status": 502}, ("server", True)),
        ({"kind": "redirect", "to": "http://127.0.0.9/", "status": 302}, "ModelUnavailable"),
        ({"kind": "redirect", "to": "/v1/models", "status": 308}, "ModelUnavailable"),
        ({"kind": "error_under_200"}, ("error", True)),
        ({"kind": "empty_answers"}, ("no-answer", True)),
        ({"kind": "null_content"}, ("null", True)),
        ({"kind": "empty_text"}, ("answer", "stop")),
        ({"kind": "content_filter"}, ("answer", "refused")),
        ({"kind": "prompt_blocked"}, ("answer", "refused")),
        ({"kind": "refusal"}, ("answer", "refused")),
        ({"kind": "length_without_text"}, ("cut-off", False)),
        ({"kind": "wrong_model"}, ("answer", "stop")),
        ({"kind": "truncated_json"}, ("not-json", True)),
        ({"kind": "cut_body"}, ("connection", True)),
        ({"kind": "reset"}, ("connection", True)),
        ({"kind": "disconnect"}, ("connection", True)),
        ({"kind": "slow", "ms": 100}, ("answer", "stop")),
    ],
    ids=lambda value: "-".join(map(str, value.values())).replace("/", "") if isinstance(value, dict) else "",
)
def test_every_fault_is_understood_and_asked_once(llm_server, api, fault, expected):
    llm_server.control(faults=[{"quote": True, **fault}])
    answer = ask(llm_server, api, asked("Mrs Fernandez"))
    assert outcome(answer) == expected
    assert "Fernandez" not in str(answer)
    assert llm_server.stats()["requests"] == 1


@APIS
@pytest.mark.parametrize("fault", ["hung", "stalled", "drip"])
def test_a_deadline_ends_what_never_ends_and_the_model_stays_usable(llm_server, api, fault):
    async def whole():
        async with opened(f"openai:m?base_url={llm_server.v1}&api={api}") as model:
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.3):
                        await model.chat(asked())
            llm_server.control()
            return await asyncio.gather(*(model.chat(asked(f"item {n}")) for n in range(64)))

    llm_server.control(faults=[{"kind": fault, "ms": 100}])
    assert len({answer.text for answer in asyncio.run(whole())}) == 64


def test_when_to_come_back_in_each_of_its_forms(llm_server):
    for fault, low, high in (
        ({"retry_after": 7}, 7, 7),
        ({"retry_after": 7, "retry_after_ms": 250}, 0.25, 0.25),
        ({"retry_after": 30, "retry_after_date": True}, 25, 30),
    ):
        llm_server.control(faults=[{"kind": 429, **fault}])
        assert low <= ask(llm_server).retry_after <= high
    llm_server.control(faults=[{"kind": 429}])
    assert ask(llm_server).retry_after is None


@pytest.mark.parametrize("refused", [False, True])
def test_limits_are_handed_on_from_answers_and_refusals(llm_server, refused):
    llm_server.control(
        rate_limit={"per_second": 50, "burst": 9, "tokens_per_second": 1000},
        faults=[{"kind": 429}] if refused else [],
    )
    heard = []

    async def whole():
        async with opened(f"openai:m?base_url={llm_server.v1}") as model:
            model.hear = heard.append
            try:
                await model.chat(asked())
            except RequestFailed:
                assert refused

    asyncio.run(whole())
    assert len(heard) == 1 and isinstance(heard[0], Limits) and heard[0].requests is not None


def test_an_answer_of_ten_megabytes(llm_server):
    llm_server.control(faults=[{"kind": "big", "megabytes": 10}])
    assert len(ask(llm_server).text) == 10_000_000


def test_64_at_once(llm_server):
    llm_server.control(latency=100)

    async def whole():
        async with opened(f"openai:m?base_url={llm_server.v1}") as model:
            return await asyncio.gather(*(model.chat(asked(f"item {n}")) for n in range(256)))

    assert len(asyncio.run(whole())) == 256
    assert 64 <= llm_server.stats()["most_in_flight"] <= 256


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_take_nothing_to_another_host(llm_server, llm_servers, status):
    other = llm_servers("127.0.0.2")
    llm_server.control(faults=[{"kind": "redirect", "to": f"{other.v1}/chat/completions", "status": status}])
    refused = ask(llm_server)
    assert isinstance(refused, ModelUnavailable) and "?base_url=" in str(refused)
    assert (other.stats()["connections"], other.stats()["bytes"]) == (0, 0)


def test_a_name_that_stands_for_another_address_now_gets_nothing(llm_server):
    async def whole():
        model = made(f"openai:m?base_url={llm_server.v1}")
        model.endpoint = Endpoint(llm_server.v1, llm_server.url, "loopback", frozenset({"127.0.0.9"}))
        await model.open()
        try:
            await model.chat(asked())
        finally:
            await model.close()

    with pytest.raises(
        ModelUnavailable, match=r"model openai:m.*(stands for another address now|nothing listens at)"
    ):
        asyncio.run(whole())
    assert llm_server.stats()["connections"] == 0


LEADING = {
    "HTTP_PROXY": "{url}",
    "HTTPS_PROXY": "{url}",
    "ALL_PROXY": "{url}",
    "http_proxy": "{url}",
    "OPENAI_BASE_URL": "{v1}",
    "AZURE_OPENAI_ENDPOINT": "{url}",
    "OPENAI_API_KEY": KEY,
    "OPENAI_ADMIN_KEY": KEY,
    "AZURE_OPENAI_API_KEY": KEY,
    "AZURE_OPENAI_AD_TOKEN": KEY,
    "OPENAI_ORG_ID": "org-of-mine",
    "OPENAI_PROJECT_ID": "project-of-mine",
    "OPENAI_CUSTOM_HEADERS": f"Authorization: Bearer {KEY}\nX-Mine: project-of-mine",
    "OPENAI_API_VERSION": "1999-01-01",
    "OPENAI_LOG": "debug",
}


@pytest.mark.parametrize("more", ["", "&api=responses", "azure"])
def test_nothing_of_the_environment_leads_elsewhere_or_goes_along(llm_servers, monkeypatch, more):
    elsewhere = llm_servers()
    for name, value in LEADING.items():
        monkeypatch.setenv(name, value.format(url=elsewhere.url, v1=elsewhere.v1))

    async def whole():
        async with probing(answer=chat_answer()) as probe:
            where = f"base_url={probe.url}/v1{more}"
            if more == "azure":
                where = f"azure={probe.url}&api_version=2024-10-21"
            async with opened(f"openai:m?{where}") as model:
                try:
                    await model.chat(asked())
                except RequestFailed:
                    assert more == "&api=responses"  # the probe's answer is one of Chat Completions
            return probe.head

    head = asyncio.run(whole())
    for secret in (KEY, "org-of-mine", "project-of-mine", "1999"):
        assert secret not in head
    if more == "azure":
        assert head.startswith("POST /openai/deployments/m/chat/completions?api-version=2024-10-21 ")
        assert "api-key: none" in head.lower()
    else:
        assert "authorization: bearer none" in head.lower()
    assert elsewhere.stats()["connections"] == 0


PROGRAM = """
import asyncio, logging, sys
sys.path.insert(0, sys.argv[2])
from openai_models import asked, opened

async def whole():
    async with opened(sys.argv[1]) as model:
        print((await model.chat(asked("Mrs Fernandez"))).finish)

asyncio.run(whole())
print(logging.getLogger("openai").getEffectiveLevel() >= logging.INFO, len(logging.getLogger().handlers))
"""


def test_a_variable_for_logs_switches_nothing_on(llm_server, monkeypatch):
    """In a process of its own: the library reads the variable when it is imported."""
    monkeypatch.setenv("OPENAI_LOG", "debug")
    spec, here = f"openai:m?base_url={llm_server.v1}", str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, spec, here], capture_output=True, text=True, timeout=120
    )
    assert (done.stdout.split(), done.stderr) == (["stop", "True", "0"], "")


@pytest.mark.parametrize(
    "fault", [401, 429, 500, "hung", "disconnect", "truncated_json", "error_under_200", None]
)
def test_neither_key_nor_words_are_in_errors_or_logs(llm_server, monkeypatch, caplog, fault):
    monkeypatch.setenv("MY_KEY", KEY)
    llm_server.control(faults=[{"kind": fault, "quote": True}] if fault else [])
    caplog.set_level(logging.DEBUG)
    answer = ask(llm_server, request=asked("Mrs Fernandez"), more="&key=MY_KEY", seconds=0.5)
    told = caplog.text
    if isinstance(answer, BaseException):
        told += f"{answer} {answer!r} {answer.__dict__} {''.join(traceback.format_exception(answer))}"
        assert not hasattr(answer.__context__, "request") and not hasattr(answer.__cause__, "request")
    assert KEY not in told and KEY[:7] not in told and "Fernandez" not in told
    if fault == 401:
        assert "Check the key in MY_KEY" in told


def test_the_key_that_was_named_goes_to_the_server_and_a_wrong_one_is_told(llm_server, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    llm_server.control(key=KEY)
    assert ask(llm_server, more="&key=MY_KEY").finish == "stop"
    assert isinstance(ask(llm_server), ModelUnavailable)


@APIS
def test_faults_of_a_choice(llm_server, api):
    def choose(**plan):
        llm_server.control(options=["yes", "no"], **plan)
        request = asked("Is it so?", options=("yes", "no"))
        return ask(llm_server, api, request, do="choose")

    assert sum(choose().probabilities) == pytest.approx(1)
    assert outcome(choose(faults=[{"kind": "null_content"}])) == ("null", True)
    assert outcome(choose(faults=[{"kind": "empty_text"}])) == ("null", True)
    assert outcome(choose(faults=[{"kind": "refusal"}])) == ("refused", False)
    assert outcome(choose(faults=[{"kind": "content_filter"}])) == ("refused", False)
    assert outcome(choose(faults=[{"kind": "prompt_blocked"}])) == ("refused", False)
    assert outcome(choose(faults=[{"kind": "empty_answers"}])) == ("no-answer", True)
    assert outcome(choose(answers={"Is it so?": "perhaps"}, faults=[])) == "Choice"
    assert outcome(choose(choices={"Is it so?": {"perhaps": 0.9}})) == ("no-mass", False)
