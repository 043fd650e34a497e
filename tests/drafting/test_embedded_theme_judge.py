"""The embedded theme judge: the theme that a reader would give, one each, and the same whatever stands beside."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats
from given_judges import WordCounts
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pmbench import ConfigError, Unscored, digest, open_embedder
from pmbench_tasks.drafting.judge_data import measure_themes as measuring
from pmbench_tasks.drafting.judge_data.train_themes import SENTENCES, fit, read_sentences, train, written
from pmbench_tasks.drafting.judging.embedded_theme_judge import (
    DECIDES_VECTORS,
    MOST_TEXTS,
    EmbeddedThemeJudge,
    read_weights,
    softmax,
)
from pmbench_tasks.drafting.judging.theme_features import CUES, plain, surface, words
from pmbench_tasks.drafting.themes import THEMES

WIDTH = 384

OBVIOUS = {
    "I am so sorry that you had to go through this.": "empathy",
    "How long have you had the fever?": "symptom_questions",
    "any fever or chills": "symptom_questions",
    "Are you taking the metformin twice a day?": "medication_questions",
    "Your potassium level is normal.": "assessment",
    "Please take one tablet of amoxicillin 500 mg twice a day for ten days.": "planning",
    "- Drink plenty of fluids": "planning",
    "1. **Rest** and avoid heavy lifting": "planning",
    "Our office is open until 5 p.m. on Fridays.": "logistics",
    "<p>To book a visit, call <b>555-0134</b>.</p>": "logistics",
    "Our nurse will call you tomorrow with the results.": "coordination",
    "If your breathing gets worse, call 911.": "contingency",
    "Dear Mr. Okafor,": "other",
    "[Your Name], MD": "other",
    "**Next steps**": "other",
}

HOSTILE = [
    "",
    " \n\t",
    "***",
    "😀",
    "\ud83d half a pair",
    "\x00",
    "<script>alert(1)</script>",
    "<" * 50_000,
    "<a" * 50_000,
    ",," * 50_000 + "a",
    "- " * 50_000,
    "&amp;" * 20_000,
    "please " * 20_000,
    "take rest and call " * 1_250,
    "Bitte nehmen Sie zweimal täglich eine Tablette.",
    "请每天服用两次。",
    "يرجى الاتصال بالعيادة",
]


class FixedVectors:
    """Embeds a text as a vector drawn with its own letters as the seed."""

    def __init__(self, width: int = WIDTH) -> None:
        self.width = width
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        rows = [np.random.default_rng([*text[:50].encode()]).normal(size=self.width) for text in texts]
        vectors = np.asarray(rows, dtype=np.float32).reshape(len(texts), self.width)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-9))


class Identified(FixedVectors):
    """The same with an identity."""

    def __init__(self, identity: Mapping[str, str]) -> None:
        super().__init__()
        self._identity = identity

    def identity(self) -> dict[str, str]:
        return dict(self._identity)


def labels(judge: EmbeddedThemeJudge, sentences: Sequence[str]) -> list[tuple[str, ...]]:
    return asyncio.run(judge.label(sentences))


@pytest.fixture(scope="module")
def judge(models: dict[str, list[Path]]) -> EmbeddedThemeJudge:
    return EmbeddedThemeJudge(open_embedder())


@pytest.mark.model
@pytest.mark.parametrize(("sentence", "theme"), OBVIOUS.items())
def test_an_obvious_sentence_gets_the_obvious_theme(
    judge: EmbeddedThemeJudge, sentence: str, theme: str
) -> None:
    assert labels(judge, [sentence]) == [(theme,)]


@pytest.mark.model
def test_order_is_kept_and_company_changes_nothing(judge: EmbeddedThemeJudge) -> None:
    sentences = list(OBVIOUS)
    alone = [labels(judge, [sentence])[0] for sentence in sentences]
    assert labels(judge, sentences) == alone
    assert labels(judge, [*sentences[::-1], *sentences]) == [*alone[::-1], *alone]


@pytest.mark.model
@pytest.mark.parametrize("multi", [False, True])
def test_hostile_text_gets_a_label(multi: bool, models: dict[str, list[Path]]) -> None:
    found = labels(EmbeddedThemeJudge(open_embedder(), multi=multi), HOSTILE)
    assert len(found) == len(HOSTILE)
    for themes in found:
        assert 1 <= len(themes) <= (len(THEMES) if multi else 1)
        assert set(themes) <= THEMES.keys()
    # Without a letter nothing is said.
    assert found[:4] == [("other",)] * 4


@pytest.mark.model
def test_a_sentence_of_5000_words_is_cut_and_counted(models: dict[str, list[Path]]) -> None:
    embedder = open_embedder()
    sentence = "Please " + "drink water and rest and " * 1_000 + "sleep."
    assert labels(EmbeddedThemeJudge(embedder), [sentence]) == [("planning",)]
    assert embedder.truncated == 1


@pytest.mark.model
@pytest.mark.parametrize(("fold", "name"), [("held-back", SENTENCES), ("test", measuring.TEST)])
def test_sentences_that_took_no_part_are_told_apart_better_than_by_any_baseline(
    models: dict[str, list[Path]], fold: str, name: str
) -> None:
    rows = read_sentences(fold, name)
    assert len(rows) > 100
    true = [row.theme for row in rows]
    answers = asyncio.run(measuring.answers(open_embedder(), [row.sentence for row in rows]))
    ours = answers.pop("embedded judge")
    for baseline in answers.values():
        _, low, _ = measuring.difference(ours, baseline, true)
        assert low > 0


@pytest.mark.model
@pytest.mark.slow
def test_the_weights_are_those_that_the_training_script_makes(models: dict[str, list[Path]]) -> None:
    embedder = open_embedder()
    made = json.loads(written(asyncio.run(train(embedder, embedder.identity()))))
    kept, _ = read_weights()
    assert made.keys() == kept.keys()
    # Integer arithmetic differs between kinds of processors, and with it the last digits of a vector.
    for part in ("bias", "embedding"):
        assert np.allclose(made.pop(part), kept[part], atol=0.1)
    for part in ("cues", "words"):
        assert list(made[part]) == list(kept[part])
        assert np.allclose([*made.pop(part).values()], [*kept[part].values()], atol=0.1)
    assert made == {key: kept[key] for key in made}


def test_the_weights_belong_to_the_cues_and_sentences_as_they_are() -> None:
    kept, _ = read_weights()
    assert kept["patterns"] == digest({name: pattern.pattern for name, pattern in CUES.items()})
    rows = read_sentences("tune")
    assert kept["trained_on"] == {
        "sentences": len(rows),
        "digest": digest([[row.sentence, row.theme] for row in rows]),
    }
    assert kept["themes"] == list(THEMES)
    path = files("pmbench_tasks.drafting").joinpath("judge_data/theme_weights.json")
    assert len(path.read_bytes()) < 100_000


def test_folds_share_no_sentence() -> None:
    tune, held_back = read_sentences("tune"), read_sentences("held-back")
    assert len(held_back) == 126
    ids = [row.id for row in [*tune, *held_back]]
    assert len(set(ids)) == len(ids)
    bare = [" ".join(sorted(words(row.sentence))) or row.sentence for row in held_back]
    assert not set(bare) & {" ".join(sorted(words(row.sentence))) for row in tune}


def test_repeated_sentences_are_embedded_once_in_one_call() -> None:
    embedder = FixedVectors()
    sentences = ["Rest.", "Call us.", "Rest.", "- Rest."] * 5_000
    found = labels(EmbeddedThemeJudge(embedder), sentences)
    assert embedder.calls == [["Rest.", "Call us."]]
    assert found[:4] == found[-4:]
    assert found[0] == found[2]


def test_nothing_is_asked_where_there_is_no_sentence() -> None:
    embedder = FixedVectors()
    assert labels(EmbeddedThemeJudge(embedder), []) == []
    assert embedder.calls == []


def test_very_many_different_sentences_are_counted_as_too_long() -> None:
    embedder = FixedVectors()
    with pytest.raises(Unscored) as raised:
        labels(EmbeddedThemeJudge(embedder), [f"Take tablet {n}." for n in range(MOST_TEXTS + 1)])
    assert raised.value.kind == "too-long"
    assert "tablet" not in str(raised.value)
    assert embedder.calls == []


def test_an_embedder_with_other_files_is_refused_at_once() -> None:
    trained = read_weights()[0]["embedder"]
    EmbeddedThemeJudge(Identified({**trained, "onnxruntime": "9.9"}))
    for key in DECIDES_VECTORS:
        with pytest.raises(ConfigError) as raised:
            EmbeddedThemeJudge(Identified({**trained, "name": "other-model", key: "something else"}))
        message = str(raised.value)
        assert "\n" not in message
        for said in ("other-model", key, "all-minilm-l6-v2", "--embedder"):
            assert said in message
    with pytest.raises(ConfigError, match=r"differs in model\.onnx, tokenizer\.json"):
        EmbeddedThemeJudge(Identified({"name": "no-files"}))


@pytest.mark.parametrize("embedder", [FixedVectors(12), FixedVectors(0), WordCounts()])
def test_vectors_of_another_width_are_refused(embedder: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        labels(EmbeddedThemeJudge(embedder), ["Rest.", "Call us."])
    assert "(2, 384)" in str(raised.value)


def test_vectors_that_are_no_numbers_are_refused() -> None:
    class NoNumbers(FixedVectors):
        async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.full((len(texts), WIDTH), np.nan, dtype=np.float32)

    with pytest.raises(ConfigError, match="no numbers"):
        labels(EmbeddedThemeJudge(NoNumbers()), ["Rest."])


@given(st.lists(st.text(max_size=40), max_size=8))
def test_one_theme_each_and_with_several_allowed_the_same_one_among_them(sentences: list[str]) -> None:
    one = labels(EmbeddedThemeJudge(FixedVectors()), sentences)
    several = labels(EmbeddedThemeJudge(FixedVectors(), multi=True), sentences)
    assert len(one) == len(several) == len(sentences)
    for (theme,), themes in zip(one, several, strict=True):
        assert theme in themes
        assert list(themes) == [name for name in THEMES if name in themes]


def test_a_further_theme_is_given_from_the_threshold_on() -> None:
    judge = EmbeddedThemeJudge(FixedVectors(), multi=True)
    sentences = [f"Rest for {n} days, and we will call you if it is worse." for n in range(200)]
    shares = asyncio.run(judge.probabilities(sentences))
    assert shares.sum(axis=1) == pytest.approx(1)
    least = read_weights()[0]["second_theme"]
    expected = [
        tuple(name for name, share in zip(THEMES, row, strict=True) if share >= least or share == row.max())
        for row in shares
    ]
    assert labels(judge, sentences) == expected
    assert {len(themes) for themes in expected} >= {1, 2}


def test_what_decides_the_labels_is_described() -> None:
    one, several = EmbeddedThemeJudge(FixedVectors()), EmbeddedThemeJudge(FixedVectors(), multi=True)
    assert one.describe()["weights"] == read_weights()[1]
    assert (one.describe()["multi"], several.describe()["multi"]) == (False, True)
    assert json.loads(json.dumps(one.describe())) == one.describe()


def test_softmax_and_fit_agree_with_scipy() -> None:
    generator = np.random.default_rng(0)
    scores = generator.normal(scale=30, size=(50, len(THEMES)))
    assert np.allclose(softmax(scores), scipy.special.softmax(scores, axis=1))
    columns, truth = generator.normal(size=(60, 3)), generator.integers(len(THEMES), size=60)
    penalty, weight = np.array([0.5, 1.0, 2.0]), generator.uniform(0.5, 2, size=60)

    def loss(flat: NDArray[np.float64]) -> float:
        given = flat.reshape(4, len(THEMES))
        logs = scipy.special.log_softmax(columns @ given[:3] + given[3], axis=1)
        return float(
            -(weight * logs[np.arange(60), truth]).sum() + (penalty[:, None] * given[:3] ** 2).sum() / 2
        )

    found = fit(columns, truth, penalty, weight).ravel()
    # At the minimum of a convex function every slope is 0, by differences that fit() does not use.
    assert np.abs(scipy.optimize.approx_fprime(found, loss, 1e-6)).max() < 2e-2
    other = scipy.optimize.minimize(loss, np.zeros(found.size), method="L-BFGS-B")
    assert loss(found) <= other.fun + 1e-4


@pytest.mark.parametrize(
    ("sentence", "bare"),
    [
        ("1. **Rest** and  drink.", "Rest and drink."),
        ("• Rest", "Rest"),
        ("(2) Rest", "Rest"),
        ("3.5 mg daily", "3.5 mg daily"),
        ("2.", "2."),
        ("J. Morales, RN", "J. Morales, RN"),
        ("<li>Salt &amp; water</li>", "Salt & water"),
        ("If BP < 90, call.", "If BP < 90, call."),
    ],
)
def test_lists_tags_and_markdown_are_not_embedded(sentence: str, bare: str) -> None:
    assert plain(sentence) == bare


@given(st.text(max_size=300))
def test_columns_are_finite_and_small(sentence: str) -> None:
    row = surface([sentence], ["will", "you"])
    assert row.shape == (1, len(CUES) + 3)
    assert ((row >= 0) & (row <= 2)).all()


def test_measures_agree_with_worked_numbers() -> None:
    true = ["empathy", "empathy", "other", "planning"]
    answered = ["empathy", "other", "other", "empathy"]
    assert measuring.accuracy(answered, true) == 0.5
    found = measuring.f1_by_theme(answered, true)
    # One of two found, one of two right; one of one found, one of two right; none.
    assert (found["empathy"], found["planning"]) == (0.5, 0.0)
    assert found["other"] == pytest.approx(2 / 3)
    assert np.isnan(found["contingency"])
    assert measuring.difference(answered, answered, true) == (0, 0, 0)
    theirs = scipy.stats.binomtest(120, 126).proportion_ci(method="wilson")
    assert measuring.wilson(120, 126) == pytest.approx((theirs.low, theirs.high))
    value, low, high = measuring.difference(["a"] * 400, ["b"] * 400, ["a"] * 300 + ["b"] * 100)
    # 300 gained and 100 lost: mean 0.5, standard error sqrt((1 - 0.5**2) / 400).
    assert value == 0.5
    assert (low, high) == pytest.approx((0.5 - 1.96 * 0.0433, 0.5 + 1.96 * 0.0433), abs=0.01)


def test_naive_bayes_by_hand() -> None:
    rows = [
        measuring.LabelledSentence("1", "call us", "logistics"),
        measuring.LabelledSentence("2", "take rest", "planning"),
    ]
    assert measuring.naive_bayes(rows, ["please call", "rest", ""]) == ["logistics", "planning", "empathy"]
    assert measuring.most_frequent([*rows, rows[1]], ["x", "y"]) == ["planning", "planning"]


def test_building_a_judge_loads_no_numpy() -> None:
    code = (
        "import sys; from pmbench_tasks.drafting.judging.embedded_theme_judge import EmbeddedThemeJudge\n"
        "EmbeddedThemeJudge(object()); sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
