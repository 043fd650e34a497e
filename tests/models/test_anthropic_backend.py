"""The backend `anthropic`: what is sent, what is read, and what it says of itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from http_probe import probing
from vendor_models import CLAUDE, asked, at, chat, made, opened, turns

from pmbench.core.errors import ConfigError, RequestFailed
from pmbench.core.model import Usage
from pmbench.models.answers import accept, is_blank
from pmbench.models.backend import Price
from pmbench.models.backends.anthropic import wire

pytestmark = pytest.mark.usefixtures("plain_environment")

SCHEMA = {
    "type": "object",
    "properties": {"grade": {"type": "integer", "minimum": 1, "maximum": 5}},
    "required": ["grade"],
}
OLD = "anthropic:claude-3-haiku-20240307"
NEW = "anthropic:claude-opus-5-5"


def body(spec: str, request: Any = None) -> dict[str, Any]:
    sent: dict[str, Any] = made(spec).body(asked("Hello") if request is None else request)
    return sent


def answer(content: Any, stop: Any = "end_turn", **more: Any) -> dict[str, Any]:
    return {"type": "message", "model": "m", "content": content, "stop_reason": stop, **more}


def text(said: Any) -> dict[str, Any]:
    return {"type": "text", "text": said}


def test_an_answer_has_text_finish_usage_and_identifiers(llm_server):
    llm_server.control(answers={"capital": "Paris is the capital."})
    done = chat(CLAUDE, llm_server, asked("The capital?"))
    assert (done.text, done.finish, done.reasoning) == ("Paris is the capital.", "stop", "")
    assert done.usage.prompt_tokens > 0 and done.usage.completion_tokens == 4
    assert done.raw["model"] == "claude-sonnet-4-5" and done.raw["request_id"].startswith("req_")


def test_a_request_says_what_was_asked_and_nothing_else():
    request = turns(
        ("system", "Be brief."),
        ("user", "Hello"),
        ("assistant", "Yes?"),
        ("system", "Be kind."),
        ("user", "Bye"),
        temperature=0.7,
        stop=("END",),
        max_tokens=99,
        seed=5,
    )
    assert body(CLAUDE, request) == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 99,
        "system": "Be brief.\n\nBe kind.",
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Yes?"},
            {"role": "user", "content": "Bye"},
        ],
        "temperature": 0.7,
        "stop_sequences": ["END"],
    }


def test_what_arrives_is_what_the_body_says():
    """Byte for byte, by the library's own request: a batch job is made of the same body."""

    async def whole() -> tuple[Any, Any]:
        async with probing(answer=answer([text("Yes.")])) as probe, opened(at(CLAUDE, probe)) as backend:
            done = await backend.chat(asked("Hello"))
            assert done.text == "Yes."
            assert probe.head.startswith("POST /v1/messages HTTP/1.1") and probe.header("anthropic-version")
            return probe.body, backend.body(asked("Hello"))

    arrived, said = asyncio.run(whole())
    assert arrived == json.loads(json.dumps(said))


def test_an_address_may_end_with_v1_as_other_servers_do(llm_server):
    assert chat(CLAUDE, llm_server).text

    async def whole() -> Any:
        async with opened(f"{CLAUDE}?base_url={llm_server.url}/v1") as backend:
            return await backend.chat(asked())

    assert asyncio.run(whole()).text


def test_stop_texts_and_limits(llm_server):
    llm_server.control(answers={"capital": "Paris is the capital. END of it."})
    stopped = chat(CLAUDE, llm_server, asked("The capital?", stop=("END",)))
    assert (stopped.text, stopped.finish) == ("Paris is the capital. ", "stop")
    cut = chat(CLAUDE, llm_server, asked("The capital?", max_tokens=2))
    assert (cut.text, cut.finish) == ("Paris is", "length")


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (turns(("system", "Be brief.")), "invalid"),
        (asked(max_tokens=0), "invalid"),
        (asked(stop=("END", "\n\n")), "unsupported"),
    ],
)
def test_what_can_be_put_to_no_server_fails_before_it_is_sent(llm_server, request_, kind):
    with pytest.raises(RequestFailed) as caught:
        chat(CLAUDE, llm_server, request_)
    assert caught.value.kind == kind and llm_server.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-3-5-sonnet-20241022", (3, 5)),
        ("claude-3-opus-20240229", (3, 0)),
        ("claude-2.1", (2, 1)),
        ("claude-instant-1.2", (1, 2)),
        ("claude-sonnet-4-20250514", (4, 0)),
        ("claude-opus-4-1-20250805", (4, 1)),
        ("claude-haiku-4-5", (4, 5)),
        ("claude-opus-4-10", (4, 10)),
        ("claude-fable-5-2", (5, 2)),
        ("us.anthropic.claude-opus-4-7-v1:0", (4, 7)),
        ("claude-mythos-preview", (99, 0)),
        ("qwen3-8b", None),
    ],
)
def test_the_generation_of_a_model_is_in_its_name(name, version):
    assert wire.version(name) == version


@pytest.mark.parametrize(
    ("spec", "features"),
    [
        (OLD, {"temperature", "stop", "thinking"}),
        (CLAUDE, {"temperature", "stop", "thinking", "schema"}),
        (f"{CLAUDE}?thinking=2048", {"stop", "thinking", "schema"}),
        (NEW, {"stop", "thinking", "schema"}),
        (f"{NEW}?sampling=on", {"temperature", "stop", "thinking", "schema"}),
        ("anthropic:qwen3-8b?base_url=http://127.0.0.1:9", {"temperature", "stop", "thinking"}),
    ],
)
def test_no_feature_is_claimed_that_the_model_has_not(spec, features):
    backend = made(spec)
    assert backend.features - {"batch-api"} == features and backend.offers == {"chat"}
    if "temperature" not in features:
        assert "temperature" not in body(spec)
        with pytest.raises(RequestFailed, match="unsupported"):
            body(spec, asked(temperature=0.5))
    if "schema" not in features:
        with pytest.raises(RequestFailed, match="unsupported"):
            body(spec, asked(schema=SCHEMA))


def test_a_schema_is_sent_as_anthropic_takes_it(llm_server):
    """What it does not take, such as bounds of a number, goes into descriptions, by its library's rule."""
    shape = body(CLAUDE, asked(schema=SCHEMA))["output_config"]["format"]
    grade = shape["schema"]["properties"]["grade"]
    assert shape["type"] == "json_schema" and shape["schema"]["additionalProperties"] is False
    assert "minimum" not in grade and "minimum" in grade["description"]
    assert "minimum" in SCHEMA["properties"]["grade"], "the judge's own schema is left as it was"
    assert set(json.loads(chat(CLAUDE, llm_server, asked(schema=SCHEMA)).text)) == {"grade"}
    with pytest.raises(RequestFailed, match="unsupported"):
        body(CLAUDE, asked(schema={"properties": {}}))


def test_a_budget_of_thinking_comes_on_top_of_the_answer(llm_server):
    spec = f"{CLAUDE}?thinking=2048"
    sent = body(spec, asked(max_tokens=100))
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2048} and sent["max_tokens"] == 2148
    done = chat(spec, llm_server, asked(max_tokens=100))
    assert done.reasoning and done.text and done.reasoning not in done.text
    assert done.usage.reasoning_tokens == 1024 < done.usage.completion_tokens
    assert made(spec).seconds(asked(max_tokens=100)) > made(CLAUDE).seconds(asked(max_tokens=100))


def test_newer_models_think_as_much_as_they_like(llm_server):
    on, unasked, off = (body(f"{NEW}{how}") for how in ("?thinking=on&effort=low", "", "?thinking=off"))
    assert on["thinking"]["type"] == "adaptive" and on["output_config"] == {"effort": "low"}
    assert "thinking" not in unasked and "output_config" not in unasked
    assert off["thinking"] == {"type": "disabled"}
    assert on["max_tokens"] == unasked["max_tokens"] > 4096 > off["max_tokens"] == 512
    assert chat(f"{NEW}?thinking=on&effort=low", llm_server).usage.reasoning_tokens == 32


@pytest.mark.parametrize("spec", [f"{NEW}?thinking=2048", f"{OLD}?thinking=on"])
def test_thinking_that_a_model_refuses_is_said_at_once(spec):
    with pytest.raises(ConfigError, match=r"option `thinking`.*Give"):
        made(spec)


@pytest.mark.parametrize("thinking", ["1023", "-1", "lots", "٢٠٤٨", "1e4", ""])
def test_thinking_that_is_none_is_refused(thinking):
    with pytest.raises(msgspec.ValidationError, match="from 1024 upwards"):
        made(f"{CLAUDE}?thinking={thinking}")


def test_the_beginnings_of_prompts_are_marked_when_asked_to(llm_server):
    """Questions after the same draft pay for it once."""
    spec, draft = f"{CLAUDE}?cache=on", "the draft " * 100
    questions = [
        turns(("system", "rules " * 50), ("user", draft), ("assistant", "Yes?"), ("user", f"Is it {n}?"))
        for n in range(2)
    ]
    sent = body(spec, questions[0])
    marks = [json.dumps(part).count("cache_control") for part in (sent["system"], *sent["messages"])]
    assert marks == [1, 0, 1, 0]
    plain = body(CLAUDE, questions[0])
    assert "cache_control" not in json.dumps(plain) and plain["messages"][1]["content"] == "Yes?"
    assert body(spec)["messages"] == [{"role": "user", "content": "Hello"}]
    first, second = (chat(spec, llm_server, question).usage for question in questions)
    assert first.written_tokens == second.cached_tokens > 0 == first.cached_tokens == second.written_tokens
    assert first.prompt_tokens == second.prompt_tokens > first.written_tokens


@pytest.mark.parametrize(
    ("content", "stop", "said", "finish"),
    [
        ([text("a"), text("b")], "end_turn", "ab", "stop"),
        ([text("a")], "stop_sequence", "a", "stop"),
        ([text("a")], "max_tokens", "a", "length"),
        ([text("a")], "model_context_window_exceeded", "a", "length"),
        ([text("a")], "refusal", "a", "refused"),
        ([], "refusal", "", "refused"),
        (None, "refusal", "", "refused"),
        ([], "max_tokens", "", "length"),
        ([{"type": "thinking", "thinking": "hm"}], "max_tokens", "", "length"),
        ([{"type": "thinking", "thinking": "hm"}], "end_turn", "", "stop"),
        ([{"type": "redacted_thinking", "data": "x"}, text("a")], "end_turn", "a", "stop"),
        ([text("")], "end_turn", "", "stop"),
        (None, "end_turn", None, "stop"),
        ([text(None)], "end_turn", None, "stop"),
        ([text("a")], "pause_turn", "a", "error"),
        ([text("a")], None, "a", "error"),
    ],
)
def test_what_an_answer_can_be(content, stop, said, finish):
    done = made(CLAUDE).read(answer(content, stop), {})
    assert (done.text, done.finish) == (said, finish)


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (answer([]), "no-answer"),
        ({}, "null"),
        (answer(None), "null"),
        (answer([], "max_tokens"), "cut-off"),
        (answer([text("a")], "pause_turn"), "error"),
        ({"type": "error", "error": {"type": "api_error", "message": "x"}}, "error"),
        ({"error": {"type": "rate_limit_error"}}, "rate-limit"),
    ],
)
def test_each_answer_that_is_none_has_a_kind_of_its_own(payload, kind):
    with pytest.raises(RequestFailed) as caught:
        accept(made(CLAUDE).read(payload, {}))
    assert caught.value.kind == kind or (payload == {} and caught.value.kind == "error")
    assert is_blank(made(CLAUDE).read(answer([text(" ")]), {}))


def test_usage_is_whole_and_the_prompts_three_parts_add_up():
    told = {
        "input_tokens": 5,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 40},
    }
    done = made(CLAUDE).read(answer([text("a")], usage=told), {"request-id": "req_1"})
    assert done.usage == Usage(125, 50, 100, 40, 20) and done.raw == {"model": "m", "request_id": "req_1"}
    nothing = dict.fromkeys(told) | {"output_tokens": -1}
    assert made(CLAUDE).read(answer([text("a")], usage=nothing), {}).usage == Usage()


def test_what_decides_an_answer_is_in_its_identity_and_nothing_else():
    def identity(spec: str) -> Any:
        return made(spec).identity()

    usual = identity(CLAUDE)
    assert usual["engine"] == "anthropic" and usual["endpoint"] == "https://api.anthropic.com:443"
    for same in ("?cache=on", "?timeout=5", "?key=OTHER"):
        assert identity(CLAUDE + same) == usual
    others = [identity(s) for s in (NEW, f"{CLAUDE}?thinking=2048", f"{CLAUDE}?effort=low")]
    others += [identity(f"{CLAUDE}?sampling=off"), identity(f"{CLAUDE}?base_url=http://127.0.0.1:9")]
    assert all(isinstance(value, str) for said in others for value in said.values())
    assert len({json.dumps(said) for said in [usual, *others]}) == 6


def test_only_the_vendors_own_server_has_its_price_and_is_never_local():
    own, other = made(CLAUDE), made(f"{CLAUDE}?base_url=http://127.0.0.1:9")
    assert own.price == Price("anthropic", "claude-sonnet-4-5") and not own.local
    assert other.price is None or other.price.provider not in ("anthropic", "google")
    assert other.local
