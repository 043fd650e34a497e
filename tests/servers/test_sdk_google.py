"""Google's protocol, by Google's own library."""

import asyncio
import math

import pytest
from google.genai import errors, types
from pydantic import BaseModel
from sdk_clients import close_google, google_client


def run(server, do, **more):
    async def whole():
        client = google_client(server.url, **more)
        try:
            return await do(client.aio)
        finally:
            await close_google(client)

    return asyncio.run(whole())


def generate(text="Hello", **config):
    return lambda client: client.models.generate_content(
        model="loopback-small", contents=text, config=types.GenerateContentConfig(**config)
    )


def test_equal_messages_have_equal_answers(llm_server):
    first, again, other = (run(llm_server, generate(t)) for t in ("Hello", "Hello", "Goodbye"))
    assert first.text == again.text != other.text
    assert first.candidates[0].finish_reason is types.FinishReason.STOP
    assert first.model_version == "loopback-small" and first.response_id == again.response_id
    # A plain dictionary, whose keys are spelt as the transport likes.
    assert {k.lower(): v for k, v in first.sdk_http_response.headers.items()}["x-request-id"].startswith(
        "req_"
    )


def test_a_stream_says_the_same_as_the_whole(llm_server):
    config = {"candidate_count": 1, "thinking_config": {"thinking_budget": 100, "include_thoughts": True}}

    async def streamed(client):
        chunks = client.models.generate_content_stream(
            model="loopback-small", contents="Hello", config=types.GenerateContentConfig(**config)
        )
        parts = [part async for chunk in await chunks for part in chunk.candidates[0].content.parts or []]
        return "".join(p.text for p in parts if not p.thought), "".join(p.text for p in parts if p.thought)

    whole = run(llm_server, generate(**config))
    said = [(p.thought, p.text) for p in whole.candidates[0].content.parts]
    assert run(llm_server, streamed) == (whole.text, said[0][1]) and said[0][0]


def test_thoughts_are_counted_beside_the_answer(llm_server):
    usage = run(llm_server, generate(thinking_config={"thinking_budget": 200})).usage_metadata
    assert usage.thoughts_token_count == 100
    assert usage.total_token_count == usage.prompt_token_count + usage.candidates_token_count + 100
    level = run(llm_server, generate(thinking_config={"thinking_level": "low"})).usage_metadata
    assert level.thoughts_token_count == 32
    eaten = run(llm_server, generate(thinking_config={"thinking_budget": 200}, max_output_tokens=50))
    assert eaten.text is None and eaten.candidates[0].finish_reason is types.FinishReason.MAX_TOKENS


def test_system_instructions_stop_limits_and_candidates(llm_server):
    llm_server.control(answers={"capital": "Paris is the capital. END of it."})
    assert run(llm_server, generate("The capital?", stop_sequences=["END"])).text == "Paris is the capital. "
    cut = run(llm_server, generate("The capital?", max_output_tokens=2))
    assert (cut.text, cut.candidates[0].finish_reason) == ("Paris is", types.FinishReason.MAX_TOKENS)
    assert run(llm_server, generate()).text != run(llm_server, generate(system_instruction="Be brief")).text
    several = run(llm_server, generate(candidate_count=3)).candidates
    assert len({c.content.parts[0].text for c in several}) == 3


def test_logprobs(llm_server):
    llm_server.control(choices={"Is it": {"yes": 0.7, "no": 0.2}})
    asked = generate("Is it?", response_logprobs=True, logprobs=10, max_output_tokens=1)
    result = run(llm_server, asked).candidates[0].logprobs_result
    assert result.chosen_candidates[0].token == "yes"
    shares = {c.token: math.exp(c.log_probability) for c in result.top_candidates[0].candidates}
    assert sum(p for t, p in shares.items() if t.strip().lower() == "yes") == pytest.approx(0.7)


class Verdict(BaseModel):
    label: str
    grade: int


def test_structured_output_by_both_kinds_of_schema(llm_server):
    shaped = run(llm_server, generate(response_mime_type="application/json", response_schema=Verdict))
    assert isinstance(shaped.parsed, Verdict)
    schema = Verdict.model_json_schema()
    shaped = run(llm_server, generate(response_mime_type="application/json", response_json_schema=schema))
    assert Verdict.model_validate_json(shaped.text)


def test_embeddings_counts_and_models(llm_server):
    def embed(contents, **config):
        return lambda c: c.models.embed_content(
            model="e", contents=contents, config=types.EmbedContentConfig(**config)
        )

    two = run(llm_server, embed(["a sore throat", "a sore throat"])).embeddings
    assert two[0].values == two[1].values and sum(v * v for v in two[0].values) == pytest.approx(1)
    assert len(run(llm_server, embed("text", output_dimensionality=8)).embeddings[0].values) == 8
    assert run(llm_server, lambda c: c.models.count_tokens(model="m", contents="12345678")).total_tokens == 2
    assert run(llm_server, lambda c: c.models.get(model="loopback-small")).name == "models/loopback-small"
    with pytest.raises(errors.ClientError, match="NOT_FOUND"):
        run(llm_server, lambda c: c.models.get(model="nothing"))


def test_when_to_come_back_is_a_detail_of_the_error(llm_server):
    llm_server.control(faults=[{"kind": 429, "retry_after": 7}])
    with pytest.raises(errors.ClientError) as caught:
        run(llm_server, generate())
    assert caught.value.details["error"]["details"][0]["retryDelay"] == "7s"
    assert (caught.value.code, caught.value.status) == (429, "RESOURCE_EXHAUSTED")
