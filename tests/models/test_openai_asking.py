"""The backend `openai`: what it asks, checked against the library, and what it claims to be able to do."""

from __future__ import annotations

import asyncio

import openai
import pytest
from http_probe import probing
from openai_models import asked, made, opened

from pmbench.core.errors import ConfigError, RequestFailed
from pmbench.models.backend import FEATURES, Price
from pmbench.models.backends.openai.wire import is_reasoning

pytestmark = pytest.mark.usefixtures("plain_environment")

HERE = "base_url=http://127.0.0.1:9/v1"
AZURE = "azure=https://clinic.openai.azure.com&api_version=2024-10-21"
SCHEMA = {
    "type": "object",
    "properties": {"match": {"type": "boolean"}},
    "required": ["match"],
    "additionalProperties": False,
}
YES_NO = ("yes", "no")


def run(spec, do):
    async def whole():
        async with opened(spec) as model:
            return await do(model)

    return asyncio.run(whole())


def test_a_request_to_another_server():
    request = asked(max_tokens=9, temperature=0.5, stop=("END",), schema=SCHEMA, seed=3)
    body = made(f"openai:m?{HERE}").body(request)
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello"}],
        "seed": request.engine_seed,
        "max_tokens": 9,
        "temperature": 0.5,
        "stop": ["END"],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        },
    }
    assert "chat_template_kwargs" not in body
    for thinking in ("on", "off"):
        told = made(f"openai:m?{HERE}&thinking={thinking}").body(asked())["chat_template_kwargs"]
        assert told == {"enable_thinking": thinking == "on"}


def test_a_request_to_the_vendor():
    body = made("openai:gpt-4o").body(asked(max_tokens=9))
    assert body["max_completion_tokens"] == 9 and "max_tokens" not in body and body["temperature"] == 0.0
    assert body["store"] is False  # nothing is to be kept there
    reasoning = made("openai:o4-mini?reasoning=low").body(asked())
    assert reasoning["reasoning_effort"] == "low" and "temperature" not in reasoning
    assert reasoning["max_completion_tokens"] == 512 + 2048  # what it reasons for counts, so it has room
    assert made("openai:o4-mini").seconds(asked()) == 30 + (512 + 4096) / 20
    azure = made(f"openai:deployment?{AZURE}").body(asked(max_tokens=9))
    assert azure["max_completion_tokens"] == 9 and "store" not in azure


def test_a_request_by_responses():
    request = asked(max_tokens=99, schema=SCHEMA)
    body = made("openai:o4-mini?api=responses&reasoning=low&summary=on").body(request)
    assert body == {
        "model": "o4-mini",
        "input": [{"role": "user", "content": "Hello"}],
        "max_output_tokens": 99 + 2048,
        "store": False,
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}},
    }
    assert made("openai:gpt-4o?api=responses").body(asked())["temperature"] == 0.0


def test_a_choice_asks_for_one_token_without_thinking():
    request = asked(options=YES_NO, temperature=0.7)
    body = made(f"openai:m?{HERE}&thinking=on").body(request)
    told = {name: body[name] for name in ("max_tokens", "temperature", "logprobs", "top_logprobs")}
    assert told == {"max_tokens": 1, "temperature": 0.0, "logprobs": True, "top_logprobs": 20}
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    body = made("openai:gpt-4o?api=responses").body(request)
    assert body["include"] == ["message.output_text.logprobs"] and body["top_logprobs"] == 20
    assert body["max_output_tokens"] == 16 and "chat_template_kwargs" not in body


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("model", ["gpt-4o", "o4-mini?reasoning=high"])
@pytest.mark.parametrize("options", [(), YES_NO])
def test_the_librarys_own_methods_send_the_same(api, model, options):
    """Every field is one that the library knows, and its own method makes the same body of it."""
    spec = f"openai:{model}{'&' if '?' in model else '?'}api={api}"
    if options and "o4" in model:
        spec += "&logprobs=on"
    body = made(spec).body(asked(max_tokens=50, schema=SCHEMA, options=options))

    async def whole():
        async with probing(answer={"id": "1", "choices": [], "output": []}) as probe:
            async with openai.AsyncOpenAI(base_url=f"{probe.url}/v1", api_key="k") as client:
                create = client.chat.completions.create if api == "chat" else client.responses.create
                await create(**body)
            return probe.body, probe.head

    sent, head = asyncio.run(whole())
    assert sent == body and head.startswith(f"POST /v1{made(spec).dialect.path} ")


def test_samples_and_attempts_have_seeds_of_their_own():
    model = made(f"openai:m?{HERE}")
    seeds = [model.body(asked(sample=s, attempt=a))["seed"] for s in (0, 1) for a in (0, 1)]
    assert len(set(seeds)) == 4


# What it claims


@pytest.mark.parametrize(
    ("spec", "offers", "lacks"),
    [
        (f"m?{HERE}", {"chat", "choose"}, set()),
        (f"m?{HERE}&logprobs=off", {"chat"}, {"logprobs"}),
        (f"o4-mini?{HERE}", {"chat", "choose"}, set()),  # a name on another server says nothing
        ("gpt-4o", {"chat", "choose"}, {"thinking"}),
        ("gpt-4o?api=responses", {"chat", "choose"}, {"seed", "stop", "thinking"}),
        ("o4-mini", {"chat"}, {"logprobs", "temperature", "stop"}),
        ("gpt-5.2?reasoning=none", {"chat", "choose"}, {"thinking"}),
        ("o4-mini?api=responses", {"chat"}, {"logprobs", "temperature", "stop", "seed"}),
        ("gpt-5-mini?logprobs=on", {"chat", "choose"}, {"temperature", "stop"}),
        (f"mine?{AZURE}", {"chat", "choose"}, {"thinking"}),
        (f"mine?{AZURE}&reasoning=low", {"chat"}, {"logprobs", "temperature", "stop"}),
        ("text-embedding-3-small", {"embed"}, None),
        (f"bge-m3?{HERE}&kind=embed", {"embed"}, None),
        (f"nomic-embed-text?{HERE}&kind=chat", {"chat", "choose"}, set()),
    ],
)
def test_what_it_offers_and_can_do(spec, offers, lacks):
    model = made(f"openai:{spec}")
    can = {"temperature", "seed", "stop", "schema", "logprobs", "thinking"}
    assert model.offers == offers and model.features <= FEATURES.keys()
    assert model.features - {"batch-api"} == (set() if lacks is None else can - lacks)
    own = HERE not in spec and AZURE not in spec
    assert ("batch-api" in model.features) == (own and "embed" not in offers)


def test_what_is_not_claimed_is_refused_when_it_is_asked_for(llm_server):
    for more in ({"temperature": 0.5}, {"stop": ("END",)}):
        with pytest.raises(RequestFailed, match="unsupported"):
            made("openai:o4-mini").body(asked(**more))
    with pytest.raises(RequestFailed, match="unsupported"):
        made("openai:gpt-4o?api=responses").body(asked(stop=("END",)))
    with pytest.raises(RequestFailed, match="invalid"):
        made("openai:gpt-4o").body(asked(max_tokens=0))
    for do in (
        lambda m: m.choose(asked(options=YES_NO)),
        lambda m: m.embed(["a"]),
        lambda m: m.reward(asked()),
    ):
        with pytest.raises(RequestFailed, match="unsupported"):
            run(f"openai:m?base_url={llm_server.v1}&logprobs=off", do)
    with pytest.raises(RequestFailed, match="closed"):
        asyncio.run(made(f"openai:m?{HERE}").chat(asked()))


@pytest.mark.parametrize(
    "name", ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.1", "gpt-5-nano", "ft:o4-mini:me"]
)
def test_names_of_reasoning_models(name):
    assert is_reasoning(name)


@pytest.mark.parametrize(
    "name", ["gpt-4o", "gpt-4.1", "o1000", "gpt-5-chat-latest", "gpt-55", "omni", "ft:gpt-4o:o1"]
)
def test_names_of_others(name):
    assert not is_reasoning(name)


def test_prices_are_the_vendors_or_those_of_the_server_itself():
    assert made("openai:gpt-4o").price == made(f"openai:gpt-4o?{AZURE}").price == Price("openai", "gpt-4o")
    assert made(f"openai:gpt-4o?{HERE}").price == Price("http://127.0.0.1:9/v1", "gpt-4o")


@pytest.mark.parametrize(
    "options",
    [
        "azure=https://a.openai.azure.com",
        "api_version=2024-10-21",
        f"{HERE}&{AZURE}",
        "summary=on",
        "thinking=off",
        f"{AZURE}&thinking=on",
        "api=assistants",
        "reasoning=enormous",
        f"{HERE}&api=responses&thinking=on",
    ],
)
def test_options_that_contradict_each_other_or_are_none(options):
    with pytest.raises((ConfigError, ValueError)):
        made(f"openai:m?{options}")
