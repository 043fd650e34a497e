"""The backend `openai`: how it reads answers, and how it does against real servers."""

from __future__ import annotations

import asyncio
import contextlib
import json

import numpy as np
import pytest
from http_probe import probing
from hypothesis import given
from hypothesis import strategies as st
from openai_models import asked, chat_answer, made, opened

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.core.model import Completion, Usage
from pmbench.models.answers import accept
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
