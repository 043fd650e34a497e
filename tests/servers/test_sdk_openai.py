"""OpenAI's protocol, by OpenAI's own library."""

import asyncio
import json
import math

import openai
import pytest
from pydantic import BaseModel
from sdk_clients import KEY, openai_client


def run(server, do, **more):
    async def whole():
        async with openai_client(server.url, **more) as client:
            return await do(client)

    return asyncio.run(whole())


def chat(text="Hello", **more):
    return lambda client: client.chat.completions.create(
        model="loopback-small", messages=[{"role": "user", "content": text}], **more
    )


def test_equal_messages_have_equal_answers_and_other_messages_others(llm_server):
    first, again, other = (run(llm_server, chat(t)) for t in ("Hello", "Hello", "Goodbye"))
    assert first.choices[0].message.content == again.choices[0].message.content
    assert first.choices[0].message.content != other.choices[0].message.content
    assert first.id == again.id != other.id
    assert first.model == "loopback-small" and first.system_fingerprint == "fp_loopback_1"
    assert first.choices[0].finish_reason == "stop"


def test_samples_differ_and_so_do_seeds(llm_server):
    done = run(llm_server, chat(n=3))
    assert len({c.message.content for c in done.choices}) == 3 and [c.index for c in done.choices] == [
        0,
        1,
        2,
    ]
    assert done.choices[0].message.content == run(llm_server, chat()).choices[0].message.content
    assert run(llm_server, chat(seed=1)) != run(llm_server, chat(seed=2))


def test_a_stream_says_the_same_as_the_whole(llm_server):
    async def streamed(client):
        texts, finish, usage = ["", ""], [None, None], None
        async for chunk in await chat(n=2, stream=True, stream_options={"include_usage": True})(client):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                texts[choice.index] += choice.delta.content or ""
                finish[choice.index] = choice.finish_reason or finish[choice.index]
        return texts, finish, usage

    texts, finish, usage = run(llm_server, streamed)
    whole = run(llm_server, chat(n=2))
    assert texts == [c.message.content for c in whole.choices]
    assert finish == ["stop", "stop"] and usage == whole.usage


def test_scripted_answers_stop_texts_and_limits(llm_server):
    llm_server.control(answers={"capital": "Paris is the capital. END of it."})
    text = "What is the capital of France?"
    assert run(llm_server, chat(text)).choices[0].message.content == "Paris is the capital. END of it."
    assert run(llm_server, chat(text, stop=["END"])).choices[0].message.content == "Paris is the capital. "
    cut = run(llm_server, chat(text, max_tokens=2)).choices[0]
    assert (cut.message.content, cut.finish_reason) == ("Paris is", "length")


def test_usage_tells_cached_and_reasoning_tokens(llm_server):
    llm_server.control(prompt_cache=True)
    long = [{"role": "system", "content": "rules " * 100}, {"role": "user", "content": "one"}]

    def ask(client, last):
        return client.chat.completions.create(
            model="m", messages=[long[0], {"role": "user", "content": last}]
        )

    first = run(llm_server, lambda c: ask(c, "one")).usage
    second = run(llm_server, lambda c: ask(c, "two")).usage
    assert first.prompt_tokens_details.cached_tokens == 0
    assert (
        second.prompt_tokens_details.cached_tokens == 154
    )  # 600 characters at 4 a token, and 4 for the turn
    thought = run(llm_server, chat(reasoning_effort="high")).usage
    assert thought.completion_tokens_details.reasoning_tokens == 128
    assert (
        thought.completion_tokens > 128
        and thought.total_tokens == thought.prompt_tokens + thought.completion_tokens
    )


def test_reasoning_counts_against_the_limit_and_can_eat_it(llm_server):
    done = run(llm_server, chat(reasoning_effort="high", max_completion_tokens=100))
    assert done.choices[0].message.content == "" and done.choices[0].finish_reason == "length"


def test_reasoning_text_under_the_name_that_other_servers_give_it(llm_server):
    assert not run(llm_server, chat(reasoning_effort="low")).choices[0].message.model_extra
    llm_server.control(reasoning_field="reasoning_content")
    done = run(llm_server, chat(reasoning_effort="low"))
    assert len(done.choices[0].message.reasoning_content.split()) > 3

    async def streamed(client):
        found = [
            c.delta.reasoning_content
            async for chunk in await chat(reasoning_effort="low", stream=True)(client)
            for c in chunk.choices
            if "reasoning_content" in (c.delta.model_extra or {})
        ]
        return "".join(found)

    assert run(llm_server, streamed) == done.choices[0].message.reasoning_content


def test_logprobs_are_there_when_asked_for_and_are_probabilities(llm_server):
    assert run(llm_server, chat()).choices[0].logprobs is None
    choice = run(llm_server, chat(logprobs=True, top_logprobs=5)).choices[0]
    tokens = choice.logprobs.content
    assert "".join(t.token for t in tokens) == choice.message.content
    for token in tokens:
        assert token.token == token.top_logprobs[0].token and token.logprob == token.top_logprobs[0].logprob
        assert sum(math.exp(t.logprob) for t in token.top_logprobs) <= 1
        assert len(token.top_logprobs) == 5 and bytes(token.bytes).decode() == token.token


def test_a_choice_spreads_over_the_options_and_their_variants(llm_server):
    llm_server.control(options=["A", "B"], choices={"Is it": {"yes": 0.7, "no": 0.2}})
    choice = run(llm_server, chat("Is it?", logprobs=True, top_logprobs=20, max_tokens=1)).choices[0]
    shares = {t.token: math.exp(t.logprob) for t in choice.logprobs.content[0].top_logprobs}
    assert choice.message.content == "yes"
    assert sum(p for t, p in shares.items() if t.strip().lower() == "yes") == pytest.approx(0.7)
    assert sum(p for t, p in shares.items() if t.strip().lower() == "no") == pytest.approx(0.2)
    assert set(shares) >= {"yes", " yes", "YES", " YES", " the"} and sum(shares.values()) <= 1

    found = set()
    for i in range(20):
        choice = run(llm_server, chat(f"Which, {i}", logprobs=True, top_logprobs=20, max_tokens=1)).choices[0]
        found.add(choice.message.content)
        top = {t.token: math.exp(t.logprob) for t in choice.logprobs.content[0].top_logprobs}
        assert sum(p for t, p in top.items() if t.strip().upper() in "AB") == pytest.approx(0.97)
    assert found == {"A", "B"}


class Verdict(BaseModel):
    label: str
    grade: int
    reasons: list[str]
    sure: bool | None


def test_structured_output_follows_the_schema(llm_server):
    def ask(client):
        return client.chat.completions.parse(
            model="m", messages=[{"role": "user", "content": "Judge"}], response_format=Verdict
        )

    parsed = run(llm_server, ask).choices[0].message.parsed
    assert isinstance(parsed, Verdict) and parsed == run(llm_server, ask).choices[0].message.parsed


def test_responses_whole_and_streamed(llm_server):
    async def both(client):
        asked = {"model": "m", "input": "Hello", "reasoning": {"effort": "low", "summary": "auto"}}
        whole = await client.responses.create(**asked)
        events = [event async for event in await client.responses.create(**asked, stream=True)]
        return whole, events

    whole, events = run(llm_server, both)
    assert (
        whole.status == "completed"
        and whole.output_text
        and whole.usage.output_tokens_details.reasoning_tokens == 32
    )
    assert whole.output[0].type == "reasoning" and whole.output[0].summary[0].text
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == whole.output_text
    assert events[-1].type == "response.completed" and events[-1].response == whole
    assert [e.sequence_number for e in events] == list(range(len(events)))


def test_responses_logprobs_limits_and_schemas(llm_server):
    def ask(**more):
        return lambda client: client.responses.create(model="m", input="Hello", **more)

    done = run(llm_server, ask(top_logprobs=3, include=["message.output_text.logprobs"]))
    logprobs = done.output[0].content[0].logprobs
    assert "".join(t.token for t in logprobs) == done.output_text and len(logprobs[0].top_logprobs) == 3
    cut = run(llm_server, ask(max_output_tokens=2))
    assert (cut.status, cut.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    parsed = run(llm_server, lambda c: c.responses.parse(model="m", input="Judge", text_format=Verdict))
    assert isinstance(parsed.output_parsed, Verdict)


def test_embeddings_in_both_encodings_are_unit_vectors_and_near_when_words_are_shared(llm_server):
    def ask(**more):
        return lambda client: client.embeddings.create(
            model="e", input=["a sore throat", "the sore throat", "blue bicycles"], **more
        )

    packed = [d.embedding for d in run(llm_server, ask()).data]  # the library asks for base64 by itself
    plain = [d.embedding for d in run(llm_server, ask(encoding_format="float")).data]
    assert packed[0] == pytest.approx(plain[0], abs=1e-6)
    assert [sum(v * v for v in e) for e in plain] == pytest.approx([1, 1, 1])

    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert cosine(plain[0], plain[1]) > cosine(plain[0], plain[2])
    assert len(run(llm_server, ask(dimensions=8)).data[0].embedding) == 8


def test_models_are_listed_and_an_unknown_one_is_not_found(llm_server):
    assert [m.id for m in run(llm_server, lambda c: c.models.list()).data] == [
        "loopback-small",
        "loopback-large",
    ]
    with pytest.raises(openai.NotFoundError):
        run(llm_server, lambda c: c.models.retrieve("nothing"))


def batch_lines(count):
    for i in range(count):
        body = {"model": "m", "messages": [{"role": "user", "content": f"item {i}"}]}
        yield json.dumps(
            {"custom_id": f"c{i}", "method": "POST", "url": "/v1/chat/completions", "body": body}
        )


async def submit(client, count=4):
    content = "\n".join(batch_lines(count)).encode()
    uploaded = await client.files.create(file=("in.jsonl", content), purpose="batch")
    assert (await client.files.content(uploaded.id)).content == content
    return await client.batches.create(
        input_file_id=uploaded.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"run": "1"},
    )


async def lines_of(client, file_id):
    return [json.loads(line) for line in (await client.files.content(file_id)).text.splitlines()]


def test_a_batch_is_submitted_polled_and_collected_in_another_order(llm_server):
    llm_server.control(batches={"polls": 2}, faults=[{"kind": 500, "contains": "item 1", "batch": True}])

    async def whole(client):
        job = await submit(client)
        states = [job.status]
        for _ in range(3):
            job = await client.batches.retrieve(job.id)
            states.append(job.status)
        done, bad = await lines_of(client, job.output_file_id), await lines_of(client, job.error_file_id)
        direct = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "item 3"}]
        )
        return job, states, done, bad, direct

    job, states, done, bad, direct = run(llm_server, whole)
    assert states == ["in_progress", "in_progress", "in_progress", "completed"] and job.metadata == {
        "run": "1"
    }
    assert [r["custom_id"] for r in done] == ["c3", "c2", "c0"]
    assert (
        done[0]["response"]["body"]["choices"][0]["message"]["content"] == direct.choices[0].message.content
    )
    assert [(r["custom_id"], r["response"]["status_code"]) for r in bad] == [("c1", 500)]
    assert (job.request_counts.total, job.request_counts.completed, job.request_counts.failed) == (4, 3, 1)
    stats = llm_server.stats()
    assert stats["batch_items"] == 4 and [line[1] for line in stats["batch_log"]] == [200, 500, 200, 200]
    assert stats["by_path"]["/v1/chat/completions"] == 1  # items are not requests


@pytest.mark.parametrize(("ends", "good", "bad"), [("expired", 2, 2), ("cancelled", 2, 2), ("failed", 0, 0)])
def test_a_batch_that_does_not_complete(llm_server, ends, good, bad):
    llm_server.control(batches={"ends": ends})

    async def whole(client):
        job = await client.batches.retrieve((await submit(client)).id)
        files = [await lines_of(client, f) if f else [] for f in (job.output_file_id, job.error_file_id)]
        return job, *files

    job, done, errors = run(llm_server, whole)
    assert job.status == ends and (len(done), len(errors)) == (good, bad)
    assert {e["error"]["code"] for e in errors} == ({f"batch_{ends}"} if bad else set())
    assert bool(job.errors) == (ends == "failed")


def test_a_batch_can_be_cancelled_and_listed(llm_server):
    llm_server.control(batches={"polls": 9})

    async def whole(client):
        job = await submit(client)
        cancelled = await client.batches.cancel(job.id)
        return cancelled, await client.batches.retrieve(job.id), await client.batches.list()

    cancelled, then, listed = run(llm_server, whole)
    assert (cancelled.status, then.status, [b.id for b in listed.data]) == (
        "cancelling",
        "cancelled",
        [then.id],
    )


def test_azure_has_its_own_paths_and_key(llm_server):
    llm_server.control(key=KEY)

    async def whole():
        azure = openai.AsyncAzureOpenAI(azure_endpoint=llm_server.url, api_key=KEY, api_version="2026-01-01")
        async with azure as client:
            done = await client.chat.completions.create(
                model="gpt-x", messages=[{"role": "user", "content": "Hi"}]
            )
            vector = await client.embeddings.create(model="emb", input="Hi")
        return done, vector

    done, vector = asyncio.run(whole())
    assert done.model == "gpt-x" and vector.model == "emb"
    paths = {"/openai/deployments/gpt-x/chat/completions": 1, "/openai/deployments/emb/embeddings": 1}
    assert llm_server.stats()["by_path"] == paths


def test_a_wrong_key_is_refused_with_a_part_of_it_in_the_message(llm_server):
    llm_server.control(key="another")
    with pytest.raises(openai.AuthenticationError) as caught:
        run(llm_server, chat())
    assert KEY not in str(caught.value) and KEY[:7] in str(caught.value)


def test_bad_requests_are_refused(llm_server):
    with pytest.raises(openai.BadRequestError):
        run(llm_server, lambda c: c.chat.completions.create(model="m", messages=[]))
    with pytest.raises(openai.BadRequestError):
        run(llm_server, chat(reasoning_effort="enormous"))
    with pytest.raises(openai.NotFoundError):
        run(llm_server, lambda c: c.images.generate(prompt="a cat"))
