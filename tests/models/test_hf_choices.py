"""Choices of `hf`: the probabilities that the same weights have in transformers, with and without reuse."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

import hf_models
import pytest
import torch
from hf_work import PROMPTS, backend, request, user, with_hf

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice
from pmbench.models.backend import Request
from pmbench.models.backends.hf.backend import Hf
from pmbench.models.first_token import TOP

OPTIONS = ("Yes", "No", "The", "It")


def directly(folder: Path, texts: Sequence[str], options: Sequence[str]) -> list[tuple[list[float], float]]:
    """Probability of each option by the rule, written out: every first token of the vocabulary that is an option

    but for spaces around it and letter case, or that begins one option only. Of the most probable tokens.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    found = []
    for text in texts:
        prompt = tokenizer.apply_chat_template(
            [user(text)], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with torch.no_grad():
            logits = model(**prompt).logits[0, -1].double()
        chances = torch.softmax(logits, dim=-1)
        sums = [0.0] * len(options)
        for token in chances.topk(TOP).indices.tolist():
            word = tokenizer.decode([token]).strip().lower()
            fits = [n for n, option in enumerate(options) if option.lower() == word]
            if not fits and word not in ("a", "i", ""):
                fits = [n for n, option in enumerate(options) if option.lower().startswith(word)]
            if len(fits) == 1:
                sums[fits[0]] += float(chances[token])
        found.append(([value / sum(sums) for value in sums], sum(sums)))
    return found


async def ask(opened: Hf, texts: Sequence[str], options: Sequence[str] = OPTIONS) -> list[Choice]:
    return await asyncio.gather(*[opened.choose(request(text, options=tuple(options))) for text in texts])


@pytest.mark.model
def test_probabilities_are_those_of_the_same_weights_in_transformers() -> None:
    folder = hf_models.chat_model()
    expected = directly(folder, PROMPTS, OPTIONS)

    async def work(opened: Hf) -> list[Choice]:
        return await ask(opened, PROMPTS)

    for choice, (probabilities, mass) in zip(with_hf(folder, work), expected, strict=True):
        assert choice.exact
        assert choice.probabilities == pytest.approx(probabilities, abs=1e-4)
        assert choice.mass == pytest.approx(mass, rel=1e-3)


def inbox(messages: int) -> list[str]:
    """Comparisons of every message with each other one: they begin alike with the first of the two."""
    said = [
        f"Message of patient {n}. "
        + " ".join(f"It has been {n + k} days since the {k}th pill." for k in range(6))
        for n in range(messages)
    ]
    return [
        f"Which is more urgent?\n\nA: {said[a]}\n\nB: {said[b]}\n\nAnswer A or B."
        for a in range(messages)
        for b in range(messages)
        if a != b
    ]


def test_reuse_of_common_beginnings_changes_no_more_than_last_digits() -> None:
    folder, texts = hf_models.tiny_chooser(), inbox(5)

    async def work(opened: Hf) -> list[Choice]:
        # The inbox is asked twice: what is kept from the first time is used the second time.
        return [*await ask(opened, texts), *await ask(opened, texts)]

    plain = with_hf(folder, work, prefix="off")
    reused = with_hf(folder, work)
    assert not any(choice.usage.cached_tokens for choice in plain)
    cached = sum(choice.usage.cached_tokens for choice in reused)
    assert cached > 0.5 * sum(choice.usage.prompt_tokens for choice in reused)
    for one, other in zip(plain, reused, strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)
        assert math.log(one.mass) == pytest.approx(math.log(other.mass), abs=1e-4)


def test_one_request_after_the_other_finds_the_beginning_of_the_last(tmp_path: Path) -> None:
    texts = inbox(3)

    async def work(opened: Hf) -> list[int]:
        return [(await ask(opened, [text]))[0].usage.cached_tokens for text in texts]

    folder = hf_models.tiny_chooser()
    cached = with_hf(folder, work)
    assert cached[0] == 0
    assert all(count >= 32 for count in cached[1:])
    # Each request alone: nothing of another one decides its answer.
    assert not any(with_hf(folder, work, batch=1))
    assert all(with_hf(folder, work, batch=1, prefix="on")[1:])


def test_alone_an_answer_has_the_same_bits_whatever_came_before() -> None:
    async def forwards(opened: Hf) -> list[Choice]:
        return [(await ask(opened, [text]))[0] for text in PROMPTS]

    async def backwards(opened: Hf) -> list[Choice]:
        return [(await ask(opened, [text]))[0] for text in reversed(PROMPTS)]

    folder = hf_models.tiny_chooser()
    there, back = with_hf(folder, forwards, batch=1), with_hf(folder, backwards, batch=1)
    assert [choice.probabilities for choice in there] == [choice.probabilities for choice in reversed(back)]


def test_a_choice_that_cannot_be_made_fails_alone() -> None:
    async def work(opened: Hf) -> None:
        good, bad, long = await asyncio.gather(
            opened.choose(request(PROMPTS[0], options=OPTIONS)),
            opened.choose(request(PROMPTS[1], options=("zzzzqqqq", "qqqqzzzz"))),
            opened.choose(request("word " * 3000, options=("A", "B"))),
            return_exceptions=True,
        )
        assert isinstance(good, Choice)
        assert sum(good.probabilities) == pytest.approx(1.0)
        assert good.usage.completion_tokens == 1
        assert isinstance(bad, RequestFailed)
        assert bad.kind == "no-mass"
        assert isinstance(long, RequestFailed)
        assert long.kind == "too-long"

    with_hf(hf_models.tiny_chooser(), work)


def test_numbers_that_overflow_are_no_choice_and_no_answer(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = hf_models.copy_of(hf_models.tiny_chooser(), tmp_path / "broken")
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"] * float("nan")
    (folder / "model.safetensors").unlink()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    async def work(opened: Hf) -> None:
        with pytest.raises(RequestFailed, match="not-a-number"):
            await opened.choose(request("x", options=("A", "B")))
        with pytest.raises(RequestFailed, match="not-a-number"):
            await opened.chat(request("x", temperature=1.0))

    with_hf(folder, work)


@pytest.mark.parametrize("kind", ["reward", "embed"])
def test_rewards_and_vectors_are_those_of_transformers(kind: str) -> None:
    """Batches of unlike lengths, in which padding is the very token that ends a turn."""
    from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

    folder = hf_models.reward_model()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    classes = {"reward": AutoModelForSequenceClassification, "embed": AutoModel}
    model = classes[kind].from_pretrained(folder, dtype=torch.float32).eval()

    def ids(text: str) -> torch.Tensor:
        if kind == "embed":
            return torch.as_tensor(tokenizer(text, return_tensors="pt")["input_ids"])
        turns = [user(text), {"role": "assistant", "content": "Take care."}]
        found = tokenizer.apply_chat_template(turns, return_tensors="pt", return_dict=True)
        return torch.as_tensor(found["input_ids"])

    async def work(opened: Hf) -> list[list[float]]:
        assert opened.offers == {kind}
        assert opened.unavailable() == ""
        with pytest.raises(RequestFailed, match=f"this model offers {kind}"):
            await opened.chat(request("x"))
        if kind == "embed":
            assert (await opened.embed([])).shape == (0, 64)
            with pytest.raises(RequestFailed, match="too-long"):
                await opened.embed(["word " * 3000])
            return [[float(x) for x in row] for row in await opened.embed(PROMPTS)]
        asked = [Request((user(text), {"role": "assistant", "content": "Take care."})) for text in PROMPTS]
        return [[value] for value in await asyncio.gather(*[opened.reward(one) for one in asked])]

    for options in ({}, {"batch": 3}):
        found = with_hf(folder, work, kind=kind, **options)
        for text, values in zip(PROMPTS, found, strict=True):
            with torch.no_grad():
                if kind == "reward":
                    expected = model(input_ids=ids(text)).logits[0]
                else:
                    states = model(input_ids=ids(text)).last_hidden_state[0].mean(dim=0)
                    expected = states / states.norm()
            assert values == pytest.approx(expected.tolist(), abs=1e-5)


def test_too_little_memory_for_rewards_makes_batches_smaller() -> None:
    def refuse(_module: object, given: tuple[object, ...], named: dict[str, torch.Tensor]) -> None:
        if named["input_ids"].shape[0] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory (told by a test)")

    async def work(opened: Hf) -> list[float]:
        engine = opened._worker._engine  # type: ignore[union-attr]
        engine._model.register_forward_pre_hook(refuse, with_kwargs=True)  # type: ignore[union-attr]
        return list(await asyncio.gather(*[opened.reward(request(text)) for text in PROMPTS]))

    async def freely(opened: Hf) -> list[float]:
        return list(await asyncio.gather(*[opened.reward(request(text)) for text in PROMPTS]))

    folder = hf_models.reward_model()
    assert with_hf(folder, work) == pytest.approx(with_hf(folder, freely), abs=1e-5)


def test_a_reward_model_is_known_by_its_architecture() -> None:
    assert backend(hf_models.reward_model()).offers == {"reward"}
    assert backend(hf_models.tiny_chooser()).offers == {"chat", "choose"}
