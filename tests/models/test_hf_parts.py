"""The parts of `hf` by themselves: who shares a batch, rows that come and go, beginnings that are kept."""

from __future__ import annotations

import random

import hf_models  # noqa: F401 - it sets how many threads torch may use
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench.models.backends.hf.cache import Beginnings, Rows
from pmbench.models.backends.hf.groups import common, plan
from pmbench.models.backends.hf.memory import Budget, out_of_memory

WORDS = st.lists(st.integers(0, 2), min_size=1, max_size=70)


def tokens(*ids: int) -> np.ndarray:
    return np.asarray(ids, np.int32)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 70), WORDS), max_size=25),
    st.integers(1, 6),
    st.integers(1, 200),
    st.booleans(),
)
def test_a_plan_has_every_prompt_once_within_its_bounds(
    asked: list[tuple[int, list[int]]], rows: int, most: int, share: bool
) -> None:
    prompts = [tokens(*([7] * same), *rest) for same, rest in asked]
    batches = plan(prompts, rows=rows, tokens=most, start=20, share=share)
    assert sorted(place for batch in batches for place in batch.members) == list(range(len(prompts)))
    for batch in batches:
        members = [prompts[place] for place in batch.members]
        assert 1 <= len(members) <= rows
        longest = max(len(prompt) - batch.shared for prompt in members)
        assert longest >= 1, "of every prompt something is left to compute"
        assert len(members) == 1 or len(members) * longest <= most
        assert all((prompt[: batch.shared] == members[0][: batch.shared]).all() for prompt in members)
        assert share or batch.shared == 0


def test_prompts_with_a_long_beginning_in_common_go_together() -> None:
    random.seed(1)
    system = [1] * 40
    firsts = {name: [ord(name)] * 100 for name in "abc"}
    asked = [(name, n) for name in firsts for n in range(8)]
    random.shuffle(asked)
    prompts = [tokens(*system, *firsts[name], 90 + n, *[5] * (20 + n)) for name, n in asked]
    batches = plan(prompts, rows=8, tokens=10_000, start=64)
    assert len(batches) == 3
    assert all(batch.shared == 140 for batch in batches)
    for batch in batches:
        assert len({asked[place][0] for place in batch.members}) == 1
    # Where a batch of its own costs more than it saves, only what all have in common is shared.
    (one,) = plan(prompts, rows=24, tokens=10_000, start=2000)
    assert one.shared == 40
    lengths = [len(prompts[place]) for place in one.members]
    assert lengths == sorted(lengths, reverse=True)


def test_what_two_prompts_have_in_common() -> None:
    assert common(tokens(1, 2, 3), tokens(1, 2, 4, 5)) == 2
    assert common(tokens(1, 2), tokens(1, 2, 3)) == 2
    assert common(tokens(9), tokens(1)) == 0


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False))
def test_rows_keep_what_is_theirs_whoever_comes_and_goes(chance: random.Random) -> None:
    """Against plain lists: each row's keys are its own tokens, in order, at the right end of its columns."""
    rows, plain, new = Rows(), list[list[int]](), 0
    for _ in range(30):
        what = chance.choice(["admit", "step", "leave"])
        if what == "admit" and len(plain) < 9:
            count, width = chance.randint(1, 3), chance.randint(1, 40)
            lengths = [chance.randint(1, width) for _ in range(count)]
            fresh = [[new + 100 * n + k for k in range(length)] for n, length in enumerate(lengths)]
            new += 1000
            keys = torch.full((count, 2, width, 3), float("nan"))
            for n, row in enumerate(fresh):
                keys[n, :, : len(row)] = torch.tensor(row, dtype=torch.float32)[None, :, None]
            chosen = sorted(chance.sample(range(count), chance.randint(1, count)))
            rows.admit([(keys, -keys), (keys, -keys)], chosen, [lengths[n] for n in chosen])
            plain += [fresh[n] for n in chosen]
        elif what == "step" and plain:
            states = (
                torch.arange(len(plain), dtype=torch.float32)[:, None, None, None].expand(-1, 2, 1, 3) + new
            )
            for layer in range(2):
                rows.cache.update(states, -states, layer)
            rows.grow()
            plain = [[*row, new + n] for n, row in enumerate(plain)]
            new += 1000
        elif what == "leave" and plain:
            gone = chance.sample(range(len(plain)), chance.randint(1, len(plain)))
            rows.leave(gone)
            for row in sorted(gone, reverse=True):
                plain[row] = plain[-1]
                plain.pop()
        assert rows.lengths == [len(row) for row in plain]
        for layer in rows.cache.layers:
            assert layer.keys.shape[-2] == rows.width
            assert torch.isfinite(layer.keys).all(), "what a mask keeps out must still be a number"
            for n, row in enumerate(plain):
                assert layer.keys[n, 1, -len(row) :, 2].tolist() == row
                assert layer.values[n, 0, -len(row) :, 0].tolist() == [-value for value in row]


def test_the_mask_of_rows() -> None:
    rows = Rows()
    keys = torch.zeros(2, 1, 4, 1)
    rows.admit([(keys, keys)], [0, 1], [4, 2])
    mask = rows.mask(torch.device("cpu"))
    assert mask is not None
    assert mask.tolist() == [[True] * 5, [False, False, True, True, True]]
    rows.leave([1])
    assert rows.mask(torch.device("cpu")) is None


def pairs(length: int, value: float = 0.0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(torch.full((1, 1, length, 1), value),) * 2]


def test_the_beginnings_used_last_are_kept() -> None:
    kept = Beginnings(100)
    one, other, third = (tokens(*[n] * 40) for n in (1, 2, 3))
    kept.keep(one, pairs(40, 1.0))
    kept.keep(other, pairs(40, 2.0))
    length, found = kept.find(tokens(*[1] * 60), 59)
    assert (length, found[0][0].shape[2], float(found[0][0].max())) == (40, 40, 1.0)
    assert kept.find(tokens(*[1] * 36, 9, 9), 37)[0] == 36, "part of a beginning is one too"
    assert kept.find(tokens(*[1] * 30, 9, 9), 37)[0] == 0, "but none that is too short to be worth it"
    kept.keep(third, pairs(40))
    assert kept.find(tokens(*[2] * 60), 59)[0] == 0
    assert kept.find(tokens(*[1] * 60), 59)[0] == 40
    kept.keep(tokens(*[4] * 200), pairs(200))
    assert kept.find(tokens(*[4] * 60), 59)[0] == 0, "one that is too long is not kept"
    kept.clear()
    assert kept.find(tokens(*[1] * 60), 59)[0] == 0


def test_what_counts_as_too_little_memory() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60)
    assert out_of_memory(caught.value)
    assert out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert not out_of_memory(RuntimeError("shapes do not fit"))
    budget = Budget(32, 10_000, 2048, 1250, 64)
    budget.halve(12, 3000)
    assert (budget.rows, budget.tokens, budget.prefill, budget.kept) == (6, 1500, 1500, 625)
    for _ in range(20):
        budget.halve(budget.rows, budget.tokens)
    assert (budget.rows, budget.tokens) == (1, 1)
