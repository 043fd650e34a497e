"""The backend `openai`: what it asks, how it reads answers, what it claims; against the library and real servers."""

from __future__ import annotations

import asyncio
import contextlib
import json

import numpy as np
import openai
import pytest
from http_probe import probing
from hypothesis import given
from hypothesis import strategies as st
from openai_models import asked, chat_answer, made, opened

from pmbench.core.errors import ConfigError, ModelUnavailable, RequestFailed
from pmbench.core.model import Completion, Usage
from pmbench.models.answers import accept
from pmbench.models.backend import FEATURES, Price
from pmbench.models.backends.openai_wire import is_reasoning
from pmbench.models.catalogue import backend_for
from pmbench.models.received import received

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


# What is asked


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
    azure = made(f"openai:deployment?{AZURE}").body(asked(max_tokens=9))
    assert azure["max_completion_tokens"] == 9 and "store" not in azure


def test_a_request_by_responses():
    request = asked(max_tokens=99, schema=SCHEMA)
    body = made("openai:o4-mini?api=responses&reasoning=low&summary=on").body(request)
    assert body == {
        "model": "o4-mini",
        "input": [{"role": "user", "content": "Hello"}],
        "max_output_tokens": 99,
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
        ("gpt-4o", {"chat", "choose"}, set()),
        ("gpt-4o?api=responses", {"chat", "choose"}, {"seed", "stop"}),
        ("o4-mini", {"chat"}, {"logprobs", "temperature", "stop"}),
        ("gpt-5.2?reasoning=none", {"chat", "choose"}, set()),
        ("o4-mini?api=responses", {"chat"}, {"logprobs", "temperature", "stop", "seed"}),
        ("gpt-5-mini?logprobs=on", {"chat", "choose"}, {"temperature", "stop"}),
        (f"mine?{AZURE}", {"chat", "choose"}, set()),
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


def test_what_is_not_claimed_is_refused_when_it_is_asked_for():
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
            run(f"openai:m?{HERE}&logprobs=off", do)
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


def test_prices_are_the_vendors():
    assert made("openai:gpt-4o").price == made(f"openai:gpt-4o?{AZURE}").price == Price("openai", "gpt-4o")
    assert made(f"openai:gpt-4o?{HERE}").price is None


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


# How answers are read


def read(payload, spec=f"m?{HERE}", headers=None):
    return made(f"openai:{spec}").read(payload, headers or {})


def test_usage_and_identifiers_of_chat_completions():
    payload = chat_answer() | {
        "system_fingerprint": "fp_1",
        "usage": {
            "prompt_tokens": 20,
            "completion_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 5},
            "completion_tokens_details": {"reasoning_tokens": 25},
        },
    }
    done = read(payload, headers={"x-request-id": "req_1"})
    assert done.usage == Usage(20, 30, 5, 25)
    assert done.raw == {"model": "m", "fingerprint": "fp_1", "request_id": "req_1"}


@pytest.mark.parametrize(
    ("payload", "text", "finish", "reasoning"),
    [
        (chat_answer(), "Yes.", "stop", ""),
        (chat_answer(finish="length"), "Yes.", "length", ""),
        (chat_answer(finish=None), "Yes.", "stop", ""),
        (chat_answer(finish="abort"), "Yes.", "error", ""),
        (chat_answer(None, refusal="I cannot."), "I cannot.", "refused", ""),
        (chat_answer("Part", finish="content_filter"), "Part", "refused", ""),
        (chat_answer(None, finish="content_filter"), "", "refused", ""),
        (chat_answer(None, finish="length", reasoning_content="Hm"), "", "length", "Hm"),
        (chat_answer(reasoning="Hm"), "Yes.", "stop", "Hm"),
        (chat_answer(None), None, "stop", ""),
        (
            chat_answer([{"type": "thinking", "thinking": []}, {"type": "text", "text": "Yes."}]),
            "Yes.",
            "stop",
            "",
        ),
    ],
)
def test_answers_of_chat_completions(payload, text, finish, reasoning):
    done = read(payload)
    assert (done.text, done.finish, done.reasoning) == (text, finish, reasoning)


def response(*output, status="completed", **more):
    return {"status": status, "model": "m", "output": list(output), **more}


def message(*parts):
    return {"type": "message", "content": list(parts)}


TEXT = {"type": "output_text", "text": "Yes."}
THOUGHT = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}


@pytest.mark.parametrize(
    ("payload", "text", "finish", "reasoning"),
    [
        (response(message(TEXT)), "Yes.", "stop", ""),
        (response(THOUGHT, message(TEXT, TEXT)), "Yes.Yes.", "stop", "Hm"),
        (response(THOUGHT), None, "stop", "Hm"),
        (response(message({"type": "output_text", "text": None})), None, "stop", ""),
        (response(message({"type": "refusal", "refusal": "I cannot."})), "I cannot.", "refused", ""),
        (
            response(THOUGHT, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "",
            "length",
            "Hm",
        ),
        (response(status="incomplete", incomplete_details={"reason": "content_filter"}), "", "refused", ""),
        (response(message(TEXT), status="in_progress"), "Yes.", "error", ""),
        (response(status="failed"), "", "error", ""),
    ],
)
def test_answers_of_responses(payload, text, finish, reasoning):
    done = read(payload, "m?api=responses")
    assert (done.text, done.finish, done.reasoning) == (text, finish, reasoning)


FIELDS = (
    "choices message content finish_reason usage prompt_tokens output type text logprobs top_logprobs token"
)
MORE_FIELDS = "logprob error code status summary data model incomplete_details reason refusal"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(f"{FIELDS} {MORE_FIELDS}".split()), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["choices", "output", "usage", "error", "status", "model"]), JSON))
def test_no_answer_is_beyond_understanding(payload):
    """Whatever a server sends is an answer that can be stored, or a failure that is known."""
    for api in ("chat", "responses"):
        model = made(f"openai:m?{HERE}&api={api}")
        for do in (
            lambda model=model: accept(received(model.read(payload, {}), Completion)),
            lambda model=model: model.dialect.read_choice(payload, YES_NO),
        ):
            with contextlib.suppress(RequestFailed, ModelUnavailable):
                do()


def test_a_choice_sums_variants_and_a_server_without_log_probabilities_is_told():
    entries = [
        {"token": token, "logprob": logprob}
        for token, logprob in ((" Yes", -0.5), ("yes", -2.0), ("NO", -3.0), ("maybe", -1.5), ("<x>", None))
    ]
    payload = chat_answer("Yes")
    payload["choices"][0]["logprobs"] = {"content": [{"token": " Yes", "top_logprobs": entries}]}
    choice = made(f"openai:m?{HERE}").dialect.read_choice(payload, YES_NO)
    yes, no = np.exp(-0.5) + np.exp(-2.0), np.exp(-3.0)
    assert choice.probabilities == pytest.approx((yes / (yes + no), no / (yes + no)))
    assert choice.mass == pytest.approx(yes + no) and choice.exact

    with pytest.raises(ModelUnavailable, match=r"gives no log-probabilities.*\?logprobs=off"):
        made(f"openai:m?{HERE}").dialect.read_choice(chat_answer("Yes"), YES_NO)
    with pytest.raises(RequestFailed, match="cut-off"):
        thinking = chat_answer("", finish="length", reasoning_content="Okay")
        made(f"openai:m?{HERE}").dialect.read_choice(thinking, YES_NO)


def test_half_a_surrogate_pair_and_numbers_that_json_lacks_are_read():
    async def whole(answer):
        async with probing(answer=answer) as probe, opened(f"openai:m?base_url={probe.url}/v1") as model:
            return await model.chat(asked())

    half = json.dumps(chat_answer("\ud83d whole")).encode()
    assert received(asyncio.run(whole(half)), Completion).text == "\ufffd whole"
    odd = json.dumps(chat_answer() | {"timings": float("nan")}).encode()
    assert asyncio.run(whole(odd)).text == "Yes."


# Against a server


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_chats_chooses_and_keeps_to_schemas(llm_server, api):
    spec = f"openai:m?base_url={llm_server.v1}&api={api}"
    first, again, other = (run(spec, lambda m, t=t: m.chat(asked(t))) for t in ("Hello", "Hello", "Goodbye"))
    assert first.text == again.text != other.text and first.usage.completion_tokens > 0
    assert set(json.loads(run(spec, lambda m: m.chat(asked(schema=SCHEMA))).text)) == {"match"}
    llm_server.control(choices={"Is it": {"yes": 0.6, "no": 0.3}})
    choice = run(spec, lambda m: m.choose(asked("Is it so?", options=YES_NO)))
    assert choice.probabilities == pytest.approx((2 / 3, 1 / 3)) and choice.mass == pytest.approx(0.9)


def test_seeds_stop_texts_limits_and_thinking(llm_server):
    llm_server.control(answers={"capital": "Paris is the capital. END"}, reasoning_field="reasoning_content")
    spec = f"openai:m?base_url={llm_server.v1}&reasoning=low"
    texts = {run(spec, lambda m, s=s: m.chat(asked(temperature=1.0, sample=s))).text for s in range(4)}
    assert len(texts) == 4
    done = run(spec, lambda m: m.chat(asked("The capital?", stop=("END",))))
    assert done.text == "Paris is the capital. " and done.usage.reasoning_tokens == 32 and done.reasoning
    cut = run(spec, lambda m: m.chat(asked("The capital?", max_tokens=34)))
    assert (cut.text, cut.finish) == ("Paris is", "length")


def test_summaries_of_reasoning(llm_server):
    spec = f"openai:m?base_url={llm_server.v1}&api=responses&reasoning=low"
    assert run(f"{spec}&summary=on", lambda m: m.chat(asked())).reasoning
    assert not run(spec, lambda m: m.chat(asked())).reasoning


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_azure_by_its_own_client(llm_server, monkeypatch, api):
    monkeypatch.setenv("MY_KEY", "azure-key")
    llm_server.control(key="azure-key")
    spec = f"openai:deployment?azure={llm_server.url}&api_version=2025-04-01-preview&key=MY_KEY&api={api}"
    path = "/openai/deployments/deployment/chat/completions" if api == "chat" else "/openai/responses"
    try:
        assert run(spec, lambda m: m.chat(asked())).finish == "stop"
    except ModelUnavailable:
        assert api == "responses"  # this server has no such path; what counts is which one was asked for
    assert list(llm_server.stats()["by_path"]) == [path]


def test_embeddings_in_the_order_of_the_texts(llm_server):
    texts = [f"text {n}" for n in range(600)] + [""]
    spec = f"openai:some-embedder?base_url={llm_server.v1}"
    vectors = run(spec, lambda m: m.embed(texts))
    assert vectors.shape == (601, 32) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(601), abs=1e-6)
    assert llm_server.stats()["by_path"] == {"/v1/embeddings": 3}
    one = run(spec, lambda m: m.embed(["text 599"]))
    assert vectors[599] == pytest.approx(one[0], abs=1e-6)
    assert run(spec, lambda m: m.embed([])).shape[0] == 0


def test_vectors_in_another_order_or_that_are_none():
    async def whole(data):
        async with (
            probing(answer={"data": data}) as probe,
            opened(f"openai:embed?base_url={probe.url}/v1") as model,
        ):
            return await model.embed(["a", "b"])

    def rows(*vectors):
        return [{"index": i, "embedding": v} for i, v in enumerate(vectors)]

    swapped = asyncio.run(whole(rows([3, 4], [0, 2])[::-1]))
    assert swapped == pytest.approx(np.array([[0.6, 0.8], [0, 1]]))
    for bad in (
        [],
        rows([1, 0]),
        rows([1, 0], [0, 0]),
        rows([1, 0], [1]),
        rows([1], ["x"]),
        rows(None, None),
    ):
        with pytest.raises(RequestFailed, match=r"no-answer|invalid-answer"):
            asyncio.run(whole(bad))
    with pytest.raises(RequestFailed, match="invalid-answer"):
        asyncio.run(whole([{"index": 0, "embedding": [1]}] * 2))


@pytest.mark.model
def test_a_real_model_behind_a_real_server(models):
    """llama.cpp's own server over HTTP, and the same weights in this process without it."""
    question = "What is the capital of France? Answer with its name only."
    choice = asked(question, options=("Paris", "The"))

    async def without():
        own = backend_for("smollm2-135m?context=512&threads=1")
        await own.open()
        try:
            return await own.choose(choice)
        finally:
            await own.close()

    async def over(url):
        async with opened(f"openai:smollm2?base_url={url}/v1") as model:
            assert model.local
            done = await model.chat(asked(question, max_tokens=12))
            assert "Paris" in done.text and done.usage.completion_tokens > 0 and done.raw["model"]
            cut = await model.chat(asked(question, max_tokens=12, stop=("Par",)))
            assert cut.text == done.text.partition("Par")[0] and cut.finish == "stop"
            assert (await model.chat(asked(question, max_tokens=2))).finish == "length"
            hot = {"max_tokens": 8, "temperature": 1.5}
            texts = [(await model.chat(asked(question, sample=s, **hot))).text for s in (0, 1, 0)]
            assert texts[0] == texts[2] != texts[1]
            kept = await model.chat(asked("Does 2 equal 2?", max_tokens=40, schema=SCHEMA))
            assert set(json.loads(kept.text)) == {"match"}
            with pytest.raises(RequestFailed, match="too-long"):
                await model.chat(asked("word " * 2000))
            return await model.choose(choice)

    direct = asyncio.run(without())
    import xllamacpp  # after the backend has: it has a way of its own to load it

    given = xllamacpp.CommonParams()
    given.model.path = str(models["smollm2-135m"][0])
    given.n_ctx, given.n_parallel = 512, 1
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    given.use_jinja, given.verbosity = True, -1
    server = xllamacpp.Server(given)
    served = asyncio.run(over(server.listening_address))
    assert served.exact and served.mass == pytest.approx(direct.mass, abs=0.02)
    assert served.probabilities == pytest.approx(direct.probabilities, abs=0.02)
