"""The backend `google`: what is sent, what is read, and what it says of itself."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from http_probe import probing
from vendor_models import GEMINI, asked, at, chat, made, opened, turns

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.core.model import Usage
from pmbench.models.answers import accept
from pmbench.models.backend import Price
from pmbench.models.backends.google import wire

pytestmark = pytest.mark.usefixtures("plain_environment")

SCHEMA = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
THINKER = "google:gemini-2.5-flash"
EMBEDDER = "google:gemini-embedding-001"


def answer(parts: Any, reason: Any = "STOP", **more: Any) -> dict[str, Any]:
    content = {} if parts is None else {"content": {"role": "model", **({"parts": parts} if parts else {})}}
    return {"candidates": [{**content, "finishReason": reason}], "modelVersion": "m-001", **more}


def sent(spec: str, request: Any, reply: Any = None, method: str = "chat") -> tuple[Any, Any]:
    """What arrived at a server, and what came of its reply."""

    async def whole() -> tuple[Any, Any]:
        async with (
            probing(answer=answer([{"text": "Yes."}]) if reply is None else reply) as probe,
            opened(at(spec, probe)) as backend,
        ):
            done = await getattr(backend, method)(request)
            assert probe.head.startswith("POST /v1/models/")
            return probe.body, done

    return asyncio.run(whole())


def choose(spec: str, server: Any, request: Any) -> Any:
    async def whole() -> Any:
        async with opened(at(spec, server)) as backend:
            return await backend.choose(request)

    return asyncio.run(whole())


def embed(server: Any, texts: list[str], spec: str = EMBEDDER) -> Any:
    async def whole() -> Any:
        async with opened(at(spec, server)) as backend:
            return await backend.embed(texts)

    return asyncio.run(whole())


def test_an_answer_has_text_finish_usage_and_identifiers(llm_server):
    llm_server.control(answers={"capital": "Paris is the capital."})
    done = chat(GEMINI, llm_server, asked("The capital?"))
    assert (done.text, done.finish, done.reasoning) == ("Paris is the capital.", "stop", "")
    assert done.usage.prompt_tokens > 0 and done.usage.completion_tokens == 4
    assert done.raw["model"] == "gemini-2.0-flash" and done.raw["request_id"].startswith("req_")


def test_a_request_says_what_was_asked_and_nothing_else():
    request = turns(
        ("system", "Be brief."),
        ("user", "Hello"),
        ("assistant", "Yes?"),
        ("user", "Bye"),
        temperature=0.7,
        stop=("END", "\n\n"),
        max_tokens=99,
        schema=SCHEMA,
        seed=5,
    )
    arrived, _ = sent(GEMINI, request)
    assert arrived == {
        "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Hello"}]},
            {"role": "model", "parts": [{"text": "Yes?"}]},
            {"role": "user", "parts": [{"text": "Bye"}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 99,
            "temperature": 0.7,
            "seed": request.engine_seed,
            "stopSequences": ["END", "\n\n"],
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    }


def test_seeds_samples_stop_texts_and_limits(llm_server):
    drawn = {chat(GEMINI, llm_server, asked("Hello", seed=s, sample=n)).text for s in (1, 2) for n in (0, 1)}
    assert len(drawn) == 4
    llm_server.control(answers={"capital": "Paris is the capital. END of it."})
    stopped = chat(GEMINI, llm_server, asked("The capital?", stop=("END",)))
    assert (stopped.text, stopped.finish) == ("Paris is the capital. ", "stop")
    cut = chat(GEMINI, llm_server, asked("The capital?", max_tokens=2))
    assert (cut.text, cut.finish) == ("Paris is", "length")
    assert set(json.loads(chat(GEMINI, llm_server, asked("Grade", schema=SCHEMA)).text)) == {"grade"}


@pytest.mark.parametrize("request_", [turns(("system", "Be brief.")), asked(max_tokens=0)])
def test_what_can_be_put_to_no_server_fails_before_it_is_sent(llm_server, request_):
    with pytest.raises(RequestFailed, match="invalid"):
        chat(GEMINI, llm_server, request_)
    assert llm_server.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("spec", "thinking", "most"),
    [
        (GEMINI, None, 100),
        (THINKER, None, 4196),
        (f"{THINKER}?thinking=off", {"thinking_budget": 0}, 100),
        (f"{THINKER}?thinking=200", {"include_thoughts": True, "thinking_budget": 200}, 300),
        (f"{THINKER}?thinking=on", {"include_thoughts": True, "thinking_budget": -1}, 4196),
        ("google:gemini-3-pro?thinking=low", {"include_thoughts": True, "thinking_level": "LOW"}, 4196),
    ],
)
def test_thinking_has_tokens_of_its_own(spec, thinking, most):
    # The library leaves these names as they are; Google takes them in both spellings.
    arrived, _ = sent(spec, asked("Hello", max_tokens=100))
    config = arrived["generationConfig"]
    assert (config.get("thinkingConfig"), config["maxOutputTokens"]) == (thinking, most)


def test_thoughts_are_kept_apart_and_counted_as_part_of_the_answer(llm_server):
    done = chat(f"{THINKER}?thinking=200", llm_server, asked("Hello", max_tokens=100))
    assert done.reasoning and done.text and done.reasoning not in done.text
    assert done.usage.reasoning_tokens == 100 < done.usage.completion_tokens


@pytest.mark.parametrize("thinking", ["0", "-1", "lots", "1e3"])
def test_thinking_that_is_none_is_refused(thinking):
    with pytest.raises(msgspec.ValidationError, match="a number of tokens"):
        made(f"{GEMINI}?thinking={thinking}")


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("gemini-2.0-flash", False),
        ("gemini-1.5-pro", False),
        ("gemini-2.5-flash-lite", True),
        ("gemini-3-pro-preview", True),
        ("gemini-3.8-flash", True),
        ("gemini-flash-latest", True),
        ("gemma-3-27b-it", False),
    ],
)
def test_which_models_think_by_themselves_is_in_their_name(model, thinks):
    assert wire.thinks_by_itself(model) == thinks


def test_a_model_chooses_by_words_unless_log_probabilities_are_asked_for():
    assert made(GEMINI).offers == {"chat"} and "logprobs" not in made(GEMINI).features
    by_logprobs = made(f"{GEMINI}?logprobs=on")
    assert by_logprobs.offers == {"chat", "choose"} and "logprobs" in by_logprobs.features
    with pytest.raises(RequestFailed, match="unsupported"):
        asyncio.run(made(GEMINI).choose(asked(options=("yes", "no"))))


def test_a_choice_is_made_by_the_first_tokens_log_probabilities(llm_server):
    llm_server.control(choices={"Is it": {"yes": 0.6, "no": 0.2}})
    request = asked("Is it?", options=("no", "yes"), max_tokens=1)
    choice = choose(f"{GEMINI}?logprobs=on", llm_server, request)
    assert choice.probabilities == pytest.approx((0.25, 0.75)) and choice.mass == pytest.approx(0.8)
    assert choice.exact and choice.usage.prompt_tokens > 0
    arrived, _ = sent(f"{GEMINI}?logprobs=on", request, choice_answer([("yes", -0.1)]), "choose")
    config = arrived["generationConfig"]
    assert (config["responseLogprobs"], config["logprobs"], config["temperature"]) == (True, 20, 0.0)


def choice_answer(tokens: list[tuple[str, float]], **more: Any) -> dict[str, Any]:
    top = [{"token": token, "logProbability": logprob} for token, logprob in tokens]
    reply = answer([{"text": "yes"}], "MAX_TOKENS", **more)
    reply["candidates"][0]["logprobsResult"] = {"topCandidates": [{"candidates": top}]}
    return reply


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (answer([{"text": "yes"}], "MAX_TOKENS"), ModelUnavailable, "Leave out .logprobs=on"),
        (answer(None, "SAFETY"), RequestFailed, "refused"),
        (answer([], "MAX_TOKENS"), RequestFailed, "cut-off"),
        (choice_answer([("maybe", -0.1)]), RequestFailed, "no-mass"),
    ],
)
def test_a_choice_that_cannot_be_read(reply, error, words):
    backend = made(f"{GEMINI}?logprobs=on")
    with pytest.raises(error, match=words):
        wire.read_choice(reply | {"usageMetadata": {"promptTokenCount": 3}}, ("yes", "no"), backend.manner)


@pytest.mark.parametrize(
    ("parts", "reason", "said", "finish"),
    [
        ([{"text": "a"}, {"text": "b"}], "STOP", "ab", "stop"),
        ([{"text": "hm", "thought": True}, {"text": "a"}], "STOP", "a", "stop"),
        ([{"text": "a"}], "MAX_TOKENS", "a", "length"),
        ([{"text": "a"}], "CONTINUATION", "a", "length"),
        ([{"text": "hm", "thought": True}], "MAX_TOKENS", "", "length"),
        ([], "MAX_TOKENS", "", "length"),
        ([], "STOP", "", "stop"),
        (None, "STOP", None, "stop"),
        (None, "SAFETY", "", "refused"),
        ([{"text": "a"}], "SAFETY", "a", "refused"),
        (None, "RECITATION", "", "refused"),
        (None, "SPII", "", "refused"),
        (None, "BLOCKLIST", "", "refused"),
        (None, "PROHIBITED_CONTENT", "", "refused"),
        (None, "OTHER", "", "error"),
        ([{"text": "a"}], "MALFORMED_RESPONSE", "a", "error"),
        ([{"text": "a"}], None, "a", "error"),
    ],
)
def test_what_an_answer_can_be(parts, reason, said, finish):
    done = made(GEMINI).read(answer(parts, reason), {})
    assert (done.text, done.finish) == (said, finish)


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"candidates": []}, "no-answer"),
        ({}, "no-answer"),
        (answer(None), "null"),
        (answer([], "MAX_TOKENS"), "cut-off"),
        (answer(None, "OTHER"), "error"),
        ({"error": {"code": 500, "message": "x", "status": "INTERNAL"}}, "error"),
        ({"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}, "overloaded"),
        ({"error": {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED"}}, "rate-limit"),
    ],
)
def test_each_answer_that_is_none_has_a_kind_of_its_own(payload, kind):
    with pytest.raises(RequestFailed) as caught:
        accept(made(GEMINI).read(payload, {}))
    assert caught.value.kind == kind


def test_a_blocked_prompt_is_a_refusal_and_a_limited_account_ends_the_run():
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    done = made(GEMINI).read(blocked | {"usageMetadata": {"promptTokenCount": 7}}, {})
    assert (done.text, done.finish, done.usage.prompt_tokens) == ("", "refused", 7)
    with pytest.raises(ModelUnavailable, match="limited"):
        made(GEMINI).read(answer(None, "PUP_LIMITED_DISABLED"), {})


def test_thoughts_are_added_to_the_answers_tokens():
    told = {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 20,
    }
    done = made(GEMINI).read(answer([{"text": "a"}], usageMetadata=told, responseId="r1"), {})
    assert done.usage == Usage(10, 23, 4, 20) and done.raw == {"model": "m-001", "request_id": "r1"}


def test_vectors_are_of_unit_length_one_for_each_text(llm_server):
    texts = ["a sore throat", "the sore throat", "blue bicycles", "a sore throat"]
    vectors = embed(llm_server, texts)
    assert vectors.shape == (4, 32) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4))
    assert (vectors[0] == vectors[3]).all() and vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert embed(llm_server, []).shape[0] == 0
    many = embed(llm_server, [f"text {number}" for number in range(250)])
    assert many.shape == (250, 32) and llm_server.stats()["requests"] == 4


@pytest.mark.parametrize("model", ["gemini-embedding-2", "text-embedding-004"])
def test_models_that_take_pictures_too_still_give_one_vector_for_each_text(llm_server, model):
    assert embed(llm_server, ["one", "two", ""], f"google:{model}").shape == (3, 32)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ({"error": {"code": 500, "message": "x"}}, "error"),
        ({"embeddings": []}, "error"),
        ({"embeddings": [{"values": [1.0, 0.0]}]}, "invalid-answer"),
        ({"embeddings": [{"values": [1.0]}, {"values": [1.0, 2.0]}]}, "invalid-answer"),
        ({"embeddings": [{"values": [0.0, 0.0]}, {"values": [1.0, 2.0]}]}, "invalid-answer"),
        ({"embeddings": [{"values": [math.pi, 1e39]}, {"values": [1.0, 2.0]}]}, "invalid-answer"),
        (b"<html>", "not-json"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_vectors_that_are_none_are_failures(reply, kind):
    async def whole() -> None:
        async with probing(answer=reply) as probe, opened(at(EMBEDDER, probe)) as backend:
            await backend.embed(["one", "two"])

    with pytest.raises(RequestFailed) as caught:
        asyncio.run(whole())
    assert caught.value.kind == kind


def test_a_model_that_embeds_does_not_chat_and_the_other_way_round():
    assert made(EMBEDDER).offers == {"embed"} and made(EMBEDDER).features == frozenset()
    with pytest.raises(RequestFailed, match="cannot chat"):
        asyncio.run(made(EMBEDDER).chat(asked()))
    with pytest.raises(RequestFailed, match="cannot embed"):
        asyncio.run(made(GEMINI).embed(["one"]))


def test_no_feature_is_claimed_that_the_model_has_not():
    assert made(GEMINI).features == {"temperature", "seed", "stop", "schema", "thinking"}


def test_what_decides_an_answer_is_in_its_identity_and_nothing_else():
    def identity(spec: str) -> Any:
        return made(spec).identity()

    usual = identity(GEMINI)
    assert usual["endpoint"] == "https://generativelanguage.googleapis.com:443"
    for same in ("?timeout=5", "?key=OTHER", "?logprobs=off", "?logprobs=on"):
        assert identity(GEMINI + same) == usual
    others = [identity(s) for s in (THINKER, f"{GEMINI}?thinking=9", f"{GEMINI}?api_version=v1beta")]
    others += [identity(f"{GEMINI}?base_url=http://127.0.0.1:9")]
    assert len({json.dumps(said) for said in [usual, *others]}) == 5


def test_only_the_vendors_own_server_has_its_price_and_is_never_local():
    own, other = made(GEMINI), made(f"{GEMINI}?base_url=http://127.0.0.1:9")
    assert own.price == Price("google", "gemini-2.0-flash") and not own.local
    assert other.price is None or other.price.provider not in ("anthropic", "google")
    assert other.local


def test_a_name_that_moved_is_not_followed(llm_server, monkeypatch):
    """The endpoint was looked up; now its name stands for an address that was not seen then."""
    backend = made(at(GEMINI, llm_server))
    seen = msgspec.structs.replace(backend.endpoint, addresses=frozenset({"127.0.0.9"}))
    backend.__dict__["endpoint"] = seen

    async def whole() -> None:
        await backend.open()
        try:
            await backend.chat(asked())
        finally:
            await backend.close()

    with pytest.raises(ModelUnavailable, match=r"stands for another address now|nothing listens at"):
        asyncio.run(whole())
    assert llm_server.stats()["connections"] == 0


def test_without_any_of_googles_packages_the_extra_is_named(monkeypatch):
    def absent(name, package=None):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib.util, "find_spec", absent)
    assert "pmbench[google]" in made(GEMINI).unavailable()
