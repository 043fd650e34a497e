"""Anthropic's protocol, by Anthropic's own library."""

import asyncio

import anthropic
import pytest
from sdk_clients import anthropic_client


def run(server, do, **more):
    async def whole():
        async with anthropic_client(server.url, **more) as client:
            return await do(client)

    return asyncio.run(whole())


def message(text="Hello", max_tokens=100, **more):
    return lambda client: client.messages.create(
        model="loopback-large", max_tokens=max_tokens, messages=[{"role": "user", "content": text}], **more
    )


def test_equal_messages_have_equal_answers(llm_server):
    first, again, other = (run(llm_server, message(t)) for t in ("Hello", "Hello", "Goodbye"))
    assert first == again and first.content[0].text != other.content[0].text
    assert (first.stop_reason, first.model, first.content[0].type) == ("end_turn", "loopback-large", "text")
    assert first._request_id.startswith("req_")


def test_a_stream_says_the_same_as_the_whole(llm_server):
    async def streamed(client):
        async with client.messages.stream(
            model="loopback-large",
            max_tokens=5000,
            messages=[{"role": "user", "content": "Hello"}],
            thinking={"type": "enabled", "budget_tokens": 2000},
        ) as stream:
            return await stream.get_final_message()

    whole = run(llm_server, message(max_tokens=5000, thinking={"type": "enabled", "budget_tokens": 2000}))
    final = run(llm_server, streamed)
    assert [b.type for b in final.content] == ["thinking", "text"]
    assert [b.model_dump(exclude={"citations"}) for b in final.content] == [
        b.model_dump(exclude={"citations"}) for b in whole.content
    ]
    assert final.usage.output_tokens == whole.usage.output_tokens and final.stop_reason == whole.stop_reason


def test_thinking_counts_and_comes_first(llm_server):
    done = run(llm_server, message(max_tokens=5000, thinking={"type": "enabled", "budget_tokens": 2048}))
    assert [b.type for b in done.content] == ["thinking", "text"] and done.content[0].signature
    assert done.usage.output_tokens_details.thinking_tokens == 1024 < done.usage.output_tokens
    adaptive = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
    assert run(llm_server, message(**adaptive)).usage.output_tokens_details.thinking_tokens == 32
    eaten = run(llm_server, message(max_tokens=20, **adaptive))
    assert ([b.type for b in eaten.content], eaten.stop_reason) == (["thinking"], "max_tokens")
    with pytest.raises(anthropic.BadRequestError, match="1024"):
        run(llm_server, message(thinking={"type": "enabled", "budget_tokens": 5}))


def test_what_is_marked_is_written_to_the_cache_and_read_from_it(llm_server):
    system = [{"type": "text", "text": "rules " * 100, "cache_control": {"type": "ephemeral"}}]
    first, second = (run(llm_server, message(t, system=system)).usage for t in ("one", "two"))
    assert (first.cache_creation_input_tokens, first.cache_read_input_tokens) == (154, 0)
    assert (second.cache_creation_input_tokens, second.cache_read_input_tokens) == (0, 154)
    assert first.input_tokens == second.input_tokens == 5  # three letters and the turn
    assert first.cache_creation.ephemeral_5m_input_tokens == 154


def test_stop_sequences_limits_and_structured_output(llm_server):
    llm_server.control(answers={"capital": "Paris is the capital. END of it."})
    stopped = run(llm_server, message("The capital?", stop_sequences=["END"]))
    assert (stopped.content[0].text, stopped.stop_reason, stopped.stop_sequence) == (
        "Paris is the capital. ",
        "stop_sequence",
        "END",
    )
    cut = run(llm_server, message("The capital?", max_tokens=2))
    assert (cut.content[0].text, cut.stop_reason) == ("Paris is", "max_tokens")
    schema = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
    shaped = run(llm_server, message(output_config={"format": {"type": "json_schema", "schema": schema}}))
    assert shaped.content[0].text.startswith('{"grade":')


def test_models_and_token_counts(llm_server):
    assert [m.id for m in run(llm_server, lambda c: c.models.list()).data] == [
        "loopback-small",
        "loopback-large",
    ]
    assert run(llm_server, lambda c: c.models.retrieve("loopback-small")).id == "loopback-small"
    count = run(
        llm_server,
        lambda c: c.messages.count_tokens(model="m", messages=[{"role": "user", "content": "12345678"}]),
    )
    assert count.input_tokens == 2


def requests(count=4):
    return [
        {
            "custom_id": f"c{i}",
            "params": {
                "model": "m",
                "max_tokens": 50,
                "messages": [{"role": "user", "content": f"item {i}"}],
            },
        }
        for i in range(count)
    ]


def test_a_batch_is_submitted_polled_and_collected_in_another_order(llm_server):
    llm_server.control(batches={"polls": 1}, faults=[{"kind": 529, "contains": "item 1", "batch": True}])

    async def whole(client):
        job = await client.messages.batches.create(requests=requests())
        states = [job.processing_status]
        for _ in range(2):
            job = await client.messages.batches.retrieve(job.id)
            states.append(job.processing_status)
        results = [r async for r in await client.messages.batches.results(job.id)]
        return job, states, results

    job, states, results = run(llm_server, whole)
    assert states == ["in_progress", "in_progress", "ended"]
    assert [(r.custom_id, r.result.type) for r in results] == [
        ("c3", "succeeded"),
        ("c2", "succeeded"),
        ("c1", "errored"),
        ("c0", "succeeded"),
    ]
    assert results[2].result.error.error.type == "overloaded_error"
    assert results[0].result.message.content[0].text
    assert (job.request_counts.succeeded, job.request_counts.errored) == (3, 1)


@pytest.mark.parametrize(
    ("ends", "kind"), [("expired", "expired"), ("cancelled", "canceled"), ("failed", "errored")]
)
def test_a_batch_that_does_not_complete(llm_server, ends, kind):
    llm_server.control(batches={"ends": ends})

    async def whole(client):
        job = await client.messages.batches.create(requests=requests())
        job = await client.messages.batches.retrieve(job.id)
        return job, [r.result.type async for r in await client.messages.batches.results(job.id)]

    job, kinds = run(llm_server, whole)
    assert job.processing_status == "ended" and kinds.count(kind) == (4 if ends == "failed" else 2)


def test_results_before_the_end_are_an_error_of_the_library(llm_server):
    llm_server.control(batches={"polls": 5})

    async def whole(client):
        job = await client.messages.batches.create(requests=requests())
        await client.messages.batches.results(job.id)

    with pytest.raises(anthropic.AnthropicError, match="No `results_url`"):
        run(llm_server, whole)


def test_bad_requests_are_refused(llm_server):
    with pytest.raises(anthropic.BadRequestError):
        run(llm_server, lambda c: c.messages.create(model="m", max_tokens=5, messages=[]))
    llm_server.control(key="another")
    with pytest.raises(anthropic.AuthenticationError):
        run(llm_server, message())
