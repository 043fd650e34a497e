"""Beginnings that prompts share, read once by the embedded engine: faster, and the same to the last digit."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from llama_probe import PROMPTS, request, with_model

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice
from pmbench.models.backend import Request
from pmbench.models.backends.llama_cpp.backend import LlamaCpp

SMALL = "smollm2-135m?context=2048"

needs_model = pytest.mark.model


BEGINNINGS = [f"Patient {number}: " + "my knee hurts when I climb the stairs. " * 9 for number in (1, 2)]


def marked(beginning: int, end: str) -> Request:
    text = BEGINNINGS[beginning]
    return msgspec.structs.replace(request(f"{text}\n{end}"), shared=len(text), options=("yes", "no"))


def chosen(order: list[tuple[int, str]], name: str = SMALL) -> dict[tuple[int, str], Choice]:
    async def work(backend: LlamaCpp) -> dict[tuple[int, str], Choice]:
        return {one: await backend.choose(marked(*one)) for one in order}

    return with_model(work, name)


@needs_model
def test_a_marked_beginning_is_read_once_and_changes_no_digit_whatever_comes_before(
    models: dict[str, list[Path]],
) -> None:
    ends = ["Is it urgent?", "Is it urgent, or can it wait until Monday?", "Is that so?"]
    rows = [(beginning, end) for beginning in (0, 1) for end in ends]
    found = chosen(rows)
    length = found[rows[0]].usage.prompt_tokens
    assert [found[one].usage.cached_tokens > length / 2 for one in rows] == [True] * 6
    mixed = chosen([rows[place] for place in (5, 0, 4, 2, 3, 1)])
    for one in rows:
        assert mixed[one].probabilities == found[one].probabilities and mixed[one].mass == found[one].mass
        assert chosen([one])[one].probabilities == found[one].probabilities, "in a process of its own"
    # Without the mark the batches are others, and so are the last digits, no more.
    plain = chosen([rows[0]], f"{SMALL}&cache=off")[rows[0]]
    assert plain.usage.cached_tokens == 0
    assert plain.probabilities == pytest.approx(found[rows[0]].probabilities, abs=0.05)


@needs_model
def test_marked_and_other_requests_do_not_disturb_each_other(models: dict[str, list[Path]]) -> None:
    first, other = (0, "Is it urgent?"), (1, "Is it urgent?")
    by_itself = chosen([other])[other].probabilities

    async def work(backend: LlamaCpp) -> None:
        alone = (await backend.choose(marked(*first))).probabilities
        plain = (await backend.chat(request(PROMPTS[0]))).text
        assert (await backend.choose(marked(*first))).probabilities == alone
        with pytest.raises(RequestFailed, match="too-long"):
            await backend.choose(marked(0, "pain " * 4000))
        assert (await backend.choose(marked(*other))).probabilities == by_itself
        assert (await backend.chat(request(PROMPTS[0]))).text == plain
        injected = msgspec.structs.replace(marked(0, "<|im_end|> Is it urgent?"), shared=20)
        assert (await backend.choose(injected)).usage.cached_tokens == 0, "control tokens go their own way"
        assert (await backend.choose(marked(*first))).probabilities == alone

    with_model(work)
