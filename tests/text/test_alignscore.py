"""AlignScore reads the published checkpoint's layout and computes what the published code computes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_encoders import alignscore_parts, alignscore_state, save_checkpoint, small_bert, small_roberta

from pmbench.core.errors import ConfigError, ModelUnavailable
from pmbench.text.alignscore import AlignScorer, context_chunks
from pmbench.text.punkt import english_punkt

CONTEXT = (
    "Metformin was held for the kidney injury. Dr. Lee saw her at 5 p.m. on Monday. Creatinine fell to 1.2."
)
CLAIM = "Metformin was stopped. Your kidneys are better."


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_roberta(tmp_path_factory.mktemp("backbone"), positions=130)


@pytest.fixture(scope="module")
def parts(backbone: Path) -> dict[str, Any]:
    return alignscore_parts(backbone)


@pytest.fixture(scope="module")
def checkpoint(parts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(
        alignscore_state(parts), tmp_path_factory.mktemp("checkpoint") / "AlignScore-base.ckpt"
    )


@pytest.fixture(scope="module")
def scorer(checkpoint: Path, backbone: Path) -> AlignScorer:
    return AlignScorer(checkpoint, backbone, device="cpu", batch=3)


def aligned(parts: dict[str, Any], backbone: Path, piece: str, sentence: str) -> float:
    """The share of the first of three outputs, padded to the full length as in the published code."""
    import torch
    from transformers import AutoTokenizer

    tokeniser = AutoTokenizer.from_pretrained(str(backbone))
    given = tokeniser(
        [piece],
        [sentence],
        truncation="only_first",
        padding="max_length",
        max_length=128,
        return_tensors="pt",
    )
    with torch.no_grad():
        state = parts["base_model"](input_ids=given["input_ids"], attention_mask=given["attention_mask"])
        return float(torch.softmax(parts["tri_layer"](state.pooler_output), dim=-1)[0, 0])


def test_one_piece_and_one_sentence(scorer: AlignScorer, parts: dict[str, Any], backbone: Path) -> None:
    piece, sentence = "The drip was stopped.", "Your drip was stopped."
    wanted = aligned(parts, backbone, piece, sentence)
    assert scorer.score([(piece, sentence)]) == pytest.approx([wanted], abs=1e-6)
    assert 0.02 < wanted < 0.98


def test_the_best_piece_and_the_mean_of_the_sentences(
    scorer: AlignScorer, parts: dict[str, Any], backbone: Path
) -> None:
    """Three pieces of about 350 words: each sentence takes its best one. Long pieces are cut, and counted."""
    words = " ".join(["word"] * 250)
    context = f"{words} one. {words} two. {words} three."
    pieces = [f"{words} {number}." for number in ("one", "two", "three")]
    found = scorer.sentences(context, CLAIM)
    assert found.sentences == ["Metformin was stopped.", "Your kidneys are better."]
    wanted = [
        max(aligned(parts, backbone, piece, sentence) for piece in pieces) for sentence in found.sentences
    ]
    assert found.scores == pytest.approx(wanted, abs=1e-6)
    assert found.mean == pytest.approx(sum(wanted) / 2, abs=1e-6)
    assert found.cut == 6


def test_a_claim_that_fills_the_input_alone_is_cut_too(scorer: AlignScorer) -> None:
    found = scorer.sentences("A short context.", "word" * 100 + ".")
    assert found.cut == 1
    assert 0 <= found.mean <= 1


def test_the_same_whatever_shares_the_batch(scorer: AlignScorer, checkpoint: Path, backbone: Path) -> None:
    pairs = [
        (CONTEXT, CLAIM),
        ("Short.", CLAIM),
        (CONTEXT, "Dr. Lee saw you."),
        ("", "Something. Else."),
        (CONTEXT, CLAIM),
    ]
    together = scorer.score(pairs)
    assert together == pytest.approx([scorer.score([pair])[0] for pair in pairs], abs=1e-6)
    assert AlignScorer(checkpoint, backbone, device="cpu", batch=100).score(pairs) == pytest.approx(
        together, abs=1e-6
    )

    async def in_flight() -> list[float]:
        return await asyncio.gather(*(scorer.one(*pair) for pair in pairs))

    assert asyncio.run(in_flight()) == pytest.approx(together, abs=1e-6)


@pytest.mark.parametrize("claim", ["", "  \n"])
def test_a_claim_without_a_sentence_scores_0(scorer: AlignScorer, claim: str) -> None:
    assert scorer.score([(CONTEXT, claim), (CONTEXT, CLAIM)])[0] == 0
    assert scorer.sentences(CONTEXT, claim) == ([], [], 0)


@pytest.mark.parametrize("text", ["🩺", "אין כאב.", "\x00\x07", "a" * 20_000, "No pain. " * 400, "..."])
def test_any_text(scorer: AlignScorer, text: str) -> None:
    assert 0 <= scorer.score([(text, "No pain.")])[0] <= 1
    assert 0 <= scorer.score([("No pain.", text[:2000])])[0] <= 1


def test_safetensors_and_a_folder_of_both_give_the_same(
    scorer: AlignScorer, parts: dict[str, Any], tmp_path: Path
) -> None:
    from safetensors.torch import save_file

    small_roberta(tmp_path, positions=130)
    save_file(alignscore_state(parts), tmp_path / "model.safetensors")
    assert AlignScorer(tmp_path, device="cpu").score([(CONTEXT, CLAIM)]) == pytest.approx(
        scorer.score([(CONTEXT, CLAIM)]), abs=1e-6
    )


def test_identity_names_no_path_and_tells_checkpoints_apart(
    scorer: AlignScorer, parts: dict[str, Any], backbone: Path, tmp_path: Path
) -> None:
    state = alignscore_state(parts)
    state["tri_layer.bias"] = state["tri_layer.bias"] + 1
    other = AlignScorer(save_checkpoint(state, tmp_path / "other.ckpt"), backbone, device="cpu")
    assert scorer.identity()["checkpoint"] != other.identity()["checkpoint"]
    assert scorer.identity()["mode"] == "nli_sp"
    assert "/" not in "".join(scorer.identity().values())


class Mischief:
    """What is run by whoever unpickles it carelessly."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


def test_a_checkpoint_runs_nothing(parts: dict[str, Any], backbone: Path, tmp_path: Path) -> None:
    import torch

    torch.save(
        {"state_dict": alignscore_state(parts), "more": Mischief(tmp_path / "run")}, tmp_path / "bad.ckpt"
    )
    with pytest.raises(ModelUnavailable, match="as tensors"):
        AlignScorer(tmp_path / "bad.ckpt", backbone, device="cpu")
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_that_does_not_fit(
    parts: dict[str, Any], backbone: Path, checkpoint: Path, tmp_path: Path
) -> None:
    state = alignscore_state(parts)
    del state["tri_layer.weight"]
    with pytest.raises(ConfigError, match="first at 'weight'"):
        AlignScorer(save_checkpoint(state, tmp_path / "headless.ckpt"), backbone, device="cpu")
    with pytest.raises(ConfigError, match="does not fit"):
        AlignScorer(checkpoint, small_roberta(tmp_path / "longer", positions=200), device="cpu")
    with pytest.raises(ConfigError, match="family 'bert'"):
        AlignScorer(checkpoint, small_bert(tmp_path / "bert"), device="cpu")


def test_files_that_are_not_there(backbone: Path, checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no such checkpoint"):
        AlignScorer(tmp_path / "absent.ckpt", backbone)
    with pytest.raises(ModelUnavailable, match="0 checkpoints"):
        AlignScorer(tmp_path, backbone)
    (tmp_path / "broken.ckpt").write_bytes(b"PK\x03\x04 no checkpoint")
    with pytest.raises(ModelUnavailable, match="as tensors"):
        AlignScorer(tmp_path / "broken.ckpt", backbone)
    with pytest.raises(ModelUnavailable, match="no such folder"):
        AlignScorer(checkpoint, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("sentences", "words", "sizes"),
    [
        (10, 3, [10]),  # 30 words: one piece
        (10, 34, [10]),  # 340 words
        (10, 35, [5, 5]),  # 350 words: n_chunk 2
        (10, 71, [3, 3, 3, 1]),  # 710 words: n_chunk 3, pieces of 3
        (2, 400, [1, 1]),  # fewer sentences than pieces
        (1, 2_000, [1]),  # a sentence is never cut
    ],
)
def test_pieces_of_a_context(sentences: int, words: int, sizes: list[int]) -> None:
    context = "\n".join(" ".join(["w"] * words) for _ in range(sentences))
    assert [len(piece.split()) // words for piece in context_chunks(context, str.splitlines)] == sizes


def test_an_empty_context_is_one_empty_piece() -> None:
    assert context_chunks("", str.splitlines) == [""]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=20))
def test_pieces_hold_every_sentence_once(lengths: list[int]) -> None:
    sentences = [" ".join([f"s{number}"] * length) for number, length in enumerate(lengths)]
    assert (
        " ".join(context_chunks("\n".join(sentences), str.splitlines)).split() == " ".join(sentences).split()
    )


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (CONTEXT, [CONTEXT[:41], CONTEXT[42:78], CONTEXT[79:]]),
        ("Mr. Roe took 2.5 mg. He slept.", ["Mr. Roe took 2.5 mg.", "He slept."]),
        ("Mr. Roe knows Ann S. Lee. i is a name.", ["Mr. Roe knows Ann S. Lee.", "i is a name."]),
        ("See e.g. the note. It helps.", ["See e.g.", "the note.", "It helps."]),
        ("No pain\nNo fever", ["No pain\nNo fever"]),
        ("Is it bad? No! Rest.", ["Is it bad?", "No!", "Rest."]),
        ("", []),
    ],
)
def test_sentences_as_nltk_finds_them(text: str, sentences: list[str]) -> None:
    assert english_punkt().split(text) == sentences
