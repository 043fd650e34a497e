"""Answers of `hf`: those of transformers itself, in whatever company, and ended where they should."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import hf_models
import pytest
import torch
from hf_work import PROMPTS, backend, chats, request, user, with_hf

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Completion
from pmbench.models.backend import Request
from pmbench.models.backends.hf.backend import Hf


@pytest.fixture(scope="module")
def tiny() -> Path:
    return hf_models.tiny_model()


def by_transformers(folder: Path, texts: list[str], tokens: int) -> list[str]:
    """Greedy answers, one after the other, by transformers' own `generate`."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    found = []
    for text in texts:
        prompt = tokenizer.apply_chat_template(
            [user(text)], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        ids = model.generate(**prompt, max_new_tokens=tokens, do_sample=False)
        found.append(tokenizer.decode(ids[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True))
    return found


def test_greedy_answers_are_those_of_transformers(tiny: Path) -> None:
    expected = by_transformers(tiny, list(PROMPTS), 24)

    async def work(opened: Hf) -> list[Completion]:
        return await chats(opened, PROMPTS)

    for options in ({}, {"batch": 1}, {"batch": 3}, {"prefix": "off"}):
        answers = with_hf(tiny, work, **options)
        assert [answer.text for answer in answers] == expected
        assert all(answer.finish == "length" for answer in answers)
        assert [answer.usage.completion_tokens for answer in answers] == [24] * len(PROMPTS)


@pytest.mark.model
def test_a_real_model_answers_as_in_transformers() -> None:
    folder, texts = hf_models.chat_model(), list(PROMPTS[:4])
    expected = by_transformers(folder, texts, 12)

    async def work(opened: Hf) -> list[Completion]:
        return await chats(opened, texts, max_tokens=12)

    assert [answer.text for answer in with_hf(folder, work)] == expected


def test_answers_of_different_lengths_share_a_batch_and_none_waits_for_the_longest(tiny: Path) -> None:
    lengths = [1, 2, 40, 3, 17, 1, 5, 24]
    done: list[int] = []

    async def one(opened: Hf, place: int) -> Completion:
        answer = await opened.chat(request(PROMPTS[place], max_tokens=lengths[place]))
        done.append(place)
        return answer

    async def work(opened: Hf) -> list[Completion]:
        return await asyncio.gather(*[one(opened, place) for place in range(len(PROMPTS))])

    answers = with_hf(tiny, work)
    assert [answer.usage.completion_tokens for answer in answers] == lengths
    assert done[-1] == 2
    assert done[0] in (0, 5)
    longest = by_transformers(tiny, list(PROMPTS), 40)
    for place, answer in enumerate(answers):
        assert longest[place].startswith(answer.text)


def test_new_requests_join_a_running_batch(tiny: Path) -> None:
    async def work(opened: Hf) -> tuple[list[str], list[Completion]]:
        order: list[str] = []

        async def named(name: str, text: str, tokens: int) -> Completion:
            answer = await opened.chat(request(text, max_tokens=tokens))
            order.append(name)
            return answer

        long = asyncio.create_task(named("long", PROMPTS[2], 600))
        await asyncio.sleep(0.05)
        short = await named("short", PROMPTS[3], 24)
        return order, [await long, short]

    order, (long, short) = with_hf(tiny, work)
    assert order == ["short", "long"] or not order  # the short one does not wait until the long one has ended
    expected = by_transformers(tiny, [PROMPTS[2], PROMPTS[3]], 24)
    assert short.text == expected[1]
    assert long.text.startswith(expected[0])


def test_stop_texts_end_an_answer_and_are_not_in_it(tiny: Path) -> None:
    async def work(opened: Hf) -> None:
        (whole,) = await chats(opened, PROMPTS[:1], max_tokens=40)
        # Stop texts that begin and end in the middle of tokens, alone and beside answers without any.
        for start, end in ((7, 12), (20, 21), (33, 60)):
            stop = whole.text[start:end]
            stopped, free = await asyncio.gather(
                opened.chat(request(PROMPTS[0], max_tokens=40, stop=("never so", stop))),
                opened.chat(request(PROMPTS[1], max_tokens=40)),
            )
            assert stopped.text == whole.text[: whole.text.index(stop)]
            assert stopped.finish == "stop"
            assert stopped.usage.completion_tokens < whole.usage.completion_tokens
            assert free.finish == "length"

    with_hf(tiny, work)


def test_a_sample_depends_on_its_seed_and_not_on_its_company(tiny: Path) -> None:
    def ask(opened: Hf, sample: int, text: str = PROMPTS[4]) -> Any:
        return opened.chat(request(text, temperature=0.9, sample=sample))

    async def work(opened: Hf) -> None:
        alone = [(await ask(opened, sample)).text for sample in range(4)]
        crowd = await asyncio.gather(
            *[ask(opened, sample) for sample in (2, 0)],
            *[ask(opened, 9, text) for text in PROMPTS],
            *[ask(opened, sample) for sample in (3, 1)],
            *[opened.chat(request(text)) for text in PROMPTS],
        )
        assert [crowd[place].text for place in (1, -9, 0, -10)] == alone
        assert len(set(alone)) == 4

    with_hf(tiny, work)


def test_samples_have_the_probabilities_of_the_model() -> None:
    from pmbench.models.backends.hf.writing import Writing, next_tokens

    class NoSpeech:
        def answer(self, ids: list[int]) -> tuple[str, str]:
            return "", ""

    logits = torch.tensor([[0.0, 1.0, -1.0, 2.0]]).expand(4000, -1)
    writings = [
        Writing(request("x", temperature=0.5, sample=n), NoSpeech(), frozenset(), 9)  # type: ignore[arg-type]
        for n in range(4000)
    ]
    drawn = next_tokens(logits, writings)
    expected = torch.softmax(logits[0].double() / 0.5, dim=-1)
    for token in range(4):
        share = drawn.count(token) / len(drawn)
        assert share == pytest.approx(float(expected[token]), abs=0.02)


def test_the_context_is_the_end(tiny: Path) -> None:
    async def work(opened: Hf) -> None:
        (answer,) = await chats(opened, PROMPTS[:1], max_tokens=500)
        assert answer.finish == "length"
        assert answer.raw == {"model": tiny.name, "cut": "context"}
        assert answer.usage.prompt_tokens + answer.usage.completion_tokens == 64
        with pytest.raises(RequestFailed, match=r"too-long: a prompt of \d+ tokens, a context of 64"):
            await opened.chat(request("word " * 100))
        with pytest.raises(RequestFailed, match="invalid"):
            await opened.chat(request("x", max_tokens=0))
        with pytest.raises(RequestFailed, match="unsupported"):
            await opened.chat(request("x", schema={"type": "object"}))

    with_hf(tiny, work, context=64)


def test_who_does_not_wait_any_more_is_not_worked_for(tiny: Path) -> None:
    async def work(opened: Hf) -> None:
        endless = [asyncio.create_task(opened.chat(request(text, max_tokens=1900))) for text in PROMPTS]
        await asyncio.sleep(0.2)
        for task in endless:
            task.cancel()
        await asyncio.gather(*endless, return_exceptions=True)
        # The next one is alone: what was cancelled has left.
        answer = await opened.chat(request(PROMPTS[0], max_tokens=3))
        assert answer.usage.completion_tokens == 3
        worker: Any = opened._worker
        while worker._working:
            await asyncio.sleep(0.01)
        assert len(worker._engine._rows) == 0

    with_hf(tiny, work)


def test_closing_ends_what_is_under_way(tiny: Path) -> None:
    async def run() -> list[Any]:
        opened = backend(tiny)
        await opened.open()
        tasks = [asyncio.create_task(opened.chat(request(text, max_tokens=1900))) for text in PROMPTS]
        await asyncio.sleep(0.2)
        await opened.close()
        return await asyncio.gather(*tasks, return_exceptions=True)

    ended = asyncio.run(run())
    assert {str(error) for error in ended} == {"closed: the model was closed during the request"}
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pmbench-hf")]


def test_it_opens_again_after_closing_and_in_another_loop(tiny: Path) -> None:
    opened = backend(tiny)

    async def run() -> str:
        await opened.open()
        text = (await opened.chat(request(PROMPTS[0]))).text
        await opened.close()
        with pytest.raises(RequestFailed, match="closed"):
            await opened.chat(request(PROMPTS[0]))
        return text

    assert asyncio.run(run()) == asyncio.run(run())


class Scarce:
    """Lets no more than so many tokens through a model at once, as a device with little memory would.

    The rows of a step count with all their tokens.
    """

    def __init__(self, opened: Hf, most: int) -> None:
        engine: Any = opened._worker._engine  # type: ignore[union-attr]
        self.most, self.refused, self._engine = most, 0, engine
        engine._reader._model.model.register_forward_pre_hook(self, with_kwargs=True)

    def __call__(self, _module: Any, _given: Any, named: dict[str, Any]) -> None:
        rows, columns = named["input_ids"].shape
        past = named["cache"].get_seq_length()
        if rows * (columns + past) > self.most:
            self.refused += 1
            raise torch.OutOfMemoryError("CUDA out of memory (told by a test)")


def test_too_little_memory_makes_batches_smaller_and_loses_nothing(tiny: Path) -> None:
    expected = by_transformers(tiny, list(PROMPTS), 40)

    async def work(opened: Hf) -> None:
        scarce = Scarce(opened, 330)
        answers = await chats(opened, PROMPTS, max_tokens=40)
        assert [answer.text for answer in answers] == expected
        assert scarce.refused > 1
        before = scarce.refused
        choices = await asyncio.gather(
            *[opened.choose(request(text, options=("Yes", "No", "The", "a"))) for text in PROMPTS],
            return_exceptions=True,
        )
        assert not [c for c in choices if isinstance(c, RequestFailed) and c.kind == "memory"]
        assert scarce.refused == before, "what did not fit once is not tried again"
        scarce.most = 50
        with pytest.raises(RequestFailed, match="memory: not enough memory"):
            await opened.chat(request(PROMPTS[2]))
        assert (await opened.chat(request(PROMPTS[3], max_tokens=4))).text

    with_hf(tiny, work)


@pytest.mark.parametrize("kind", ["chat", "choose"])
def test_a_fault_of_the_engine_fails_what_was_in_it_and_nothing_later(tiny: Path, kind: str) -> None:
    faults = iter([False, True, False, False])

    def break_once(*_: Any) -> None:
        if next(faults, False):
            raise KeyError("SECRET of a prompt")

    async def work(opened: Hf) -> None:
        engine: Any = opened._worker._engine  # type: ignore[union-attr]
        engine._reader._model.model.register_forward_pre_hook(break_once)
        given: dict[str, Any] = {"options": ("Yes", "No")} if kind == "choose" else {"max_tokens": 4}
        asked = [getattr(opened, kind)(request(text, **given)) for text in PROMPTS]
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert "server: the engine failed (KeyError)" in {str(error) for error in ended}
        assert "SECRET" not in repr(ended)
        assert (await opened.chat(request(PROMPTS[0], max_tokens=4))).text

    with_hf(tiny, work, batch=4)


def test_answers_that_memory_has_no_room_for_wait_for_those_before_them(tiny: Path) -> None:
    expected = by_transformers(tiny, list(PROMPTS), 12)
    most = 0

    async def work(opened: Hf) -> list[Completion]:
        engine: Any = opened._worker._engine  # type: ignore[union-attr]
        engine.budget.tokens = 260

        def look(*_: Any) -> None:
            nonlocal most
            most = max(most, len(engine._rows) * engine._rows.width)

        engine._reader._model.register_forward_pre_hook(look)
        return await chats(opened, PROMPTS, max_tokens=12)

    assert [answer.text for answer in with_hf(tiny, work)] == expected
    assert 100 < most <= 260


def test_an_adapter_changes_answers(tmp_path: Path) -> None:
    folder = hf_models.chat_model()

    async def work(opened: Hf) -> str:
        (answer,) = await chats(opened, PROMPTS[:1], max_tokens=8)
        return str(answer.text)

    adapter = hf_models.adapter()
    assert with_hf(folder, work, adapter=str(adapter)) != with_hf(folder, work)
    assert backend(folder, adapter=str(adapter)).identity()["adapter"]


def test_messages_that_the_template_refuses(tmp_path: Path, tiny: Path) -> None:
    picky = tmp_path / "picky.jinja"
    picky.write_text(
        "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system: ' + m['content']) }}"
        "{% endif %}{{ m['content'] }}{% endfor %}"
    )

    async def work(opened: Hf) -> None:
        assert (await opened.chat(request("fine"))).finish
        with pytest.raises(RequestFailed) as caught:
            await opened.chat(Request(({"role": "system", "content": "SECRET"}, user("x"))))
        assert caught.value.kind == "invalid"
        assert "SECRET" not in str(caught.value)

    with_hf(tiny, work, template=str(picky))
