"""How the content judge is measured: shares, intervals, baselines, and that its numbers are those of the script."""

from __future__ import annotations

import asyncio
import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from pmbench_tasks.drafting.judge_data.baselines import best_threshold, nearest_sentence, never, rouge_l
from pmbench_tasks.drafting.judge_data.choose_content import Alternatives, alternatives, fit, written
from pmbench_tasks.drafting.judge_data.measure_content import JUDGE, answers, lead, section
from pmbench_tasks.drafting.judge_data.pairs import (
    PAIRS,
    TEST,
    Pair,
    Span,
    Verdict,
    agreement,
    read_pairs,
    verdicts,
)
from pmbench_tasks.drafting.judging.embedded_content_judge import (
    Weighed,
    Weights,
    decide,
    same_embedder,
    weights,
)
from pmbench_tasks.drafting.judging.likeness import FEATURES


def pair(
    number: int, draft: str, span: Span | None, sentence: str = "Rest at home.", kind: str = "k"
) -> Pair:
    return Pair(f"p{number}", f"d{number // 2}", sentence, draft, span, kind, "tune")


SHIPPED = json.loads(
    files("pmbench_tasks.drafting.judging").joinpath("content_weights.json").read_text("utf-8")
)

DRAFT = "Drink water. Rest at home. Call us."
PAIRS_BY_HAND = [
    pair(0, DRAFT, (13, 26)),
    pair(1, DRAFT, (13, 26)),
    pair(2, DRAFT, None),
    pair(3, DRAFT, (0, 12)),
]


def test_shares_of_a_worked_example() -> None:
    given_answers: dict[str, Span | None] = {"p0": (13, 25), "p1": (0, 20), "p2": (0, 12), "p3": None}
    found = agreement(verdicts(PAIRS_BY_HAND, lambda p: given_answers[p.id]))
    # p0: the passage but for its full stop; p1: overlaps it; p2 is called a match; p3 is not.
    assert (found.pairs, found.agreement, found.non_match) == (4, 0.5, 0.0)
    assert (found.exact, found.overlap, found.mean) == pytest.approx((1 / 3, 2 / 3, 1 / 3))


def test_always_no_match() -> None:
    found = agreement(verdicts(PAIRS_BY_HAND, never))
    assert (found.agreement, found.non_match, found.exact, found.overlap) == (0.25, 1.0, 0.0, 0.0)


def test_a_lead_agrees_with_resampling_draft_by_draft() -> None:
    drafts = [pair(n, DRAFT, (13, 26) if n % 3 else None) for n in range(24)]
    rng = np.random.default_rng(5)
    ours, theirs = (
        verdicts(drafts, lambda p, c=c: (13, 26) if rng.random() < c else None)  # type: ignore[misc]
        for c in (0.8, 0.4)
    )
    (value, low, high), (mean, mean_low, mean_high) = lead(ours, theirs)
    assert value == pytest.approx(agreement(ours).agreement - agreement(theirs).agreement)
    assert mean == pytest.approx(agreement(ours).mean - agreement(theirs).mean)
    assert low < value < high
    assert mean_low < mean < mean_high
    drawn = []
    for _ in range(2_000):
        chosen = [n for draft in rng.integers(0, 12, 12).tolist() for n in (2 * draft, 2 * draft + 1)]
        one, other = (agreement([v[n] for n in chosen]).agreement for v in (ours, theirs))
        drawn.append(one - other)
    assert np.quantile(drawn, [0.025, 0.975]) == pytest.approx([low, high], abs=0.05)


def test_a_judge_has_no_lead_over_itself() -> None:
    ours = verdicts(PAIRS_BY_HAND, nearest_sentence(rouge_l, 0.5))
    assert lead(ours, ours) == ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def test_a_section_names_every_judge_and_kind() -> None:
    ours, other = (verdicts(PAIRS_BY_HAND, judge) for judge in (nearest_sentence(rouge_l, 0.5), never))
    text = section("Some pairs", {JUDGE: ours, "never": other})
    assert "4 pairs of 2 drafts, 3 with a match." in text
    assert "| embedded judge | 0.75 | 0.00 | 0.67 | 0.67 | 0.33 |" in text
    assert "| never | 0.25 | 1.00 | 0.00 | 0.00 | 0.50 |" in text
    assert "| k | 4 | 0.75 | 0.67 |" in text


def test_rouge_l_of_a_worked_example() -> None:
    # Lin 2004, section 3.1: the longest common subsequence is "police the gunman", 3 words of 4 and 4.
    assert rouge_l("police killed the gunman", "police kill the gunman") == 0.75
    assert rouge_l("police killed the gunman", "the gunman kill police") == 0.5
    assert rouge_l("", "x") == 0.0


_WORDY = st.lists(st.sampled_from(["take", "5mg", "Don't", "fever", "—", "é", "x_y", "İ"])).map(" ".join)


@given(_WORDY | st.text(), _WORDY | st.text())
def test_rouge_l_is_that_of_the_package_rouge_score(one: str, other: str) -> None:
    theirs = RougeScorer(["rougeL"]).score(one, other)["rougeL"].fmeasure
    assert rouge_l(one, other) == pytest.approx(theirs)


def test_the_threshold_of_a_baseline_is_the_best_one() -> None:
    pairs = [pair(0, DRAFT, (13, 26)), pair(1, DRAFT, None, "Stay at home.")]
    # ROUGE-L of the sentences with "Rest at home." is 1 and 2/3: every threshold between tells them apart.
    threshold = best_threshold(rouge_l, pairs)
    assert agreement(verdicts(pairs, nearest_sentence(rouge_l, threshold))).agreement == 1.0
    assert threshold == 0.98


def test_the_best_passage_and_the_odds_of_a_match() -> None:
    plain = Weights((1.0, *[0.0] * (len(FEATURES) - 1)), -1.0, 0.0, {})
    nothing = [0.0] * (len(FEATURES) - 1)
    assert decide([], plain) == (None, -np.inf)
    best, odds = decide([(1.0, *nothing), (3.0, *nothing)], plain)
    assert best == 1
    assert odds == pytest.approx(np.log(np.exp(0.0) + np.exp(2.0)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_fitted_weights_are_a_minimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given_alternatives = []
    for number in range(30):
        passages = [Weighed(i, 0.5, tuple(rng.normal(size=len(FEATURES)).tolist())) for i in range(3)]
        match = rng.random() < 0.5
        right = [1.0, 0.0, 0.0] if match else [0.0] * 3
        spans = [(0, 12), (13, 26), (27, 35)]
        given_alternatives.append(
            Alternatives(pair(number, DRAFT, (0, 12) if match else None), passages, spans, right)
        )

    def loss(chosen: Weights) -> float:
        flat = np.array([w.features for a in given_alternatives for w in a.passages])
        total = 2.0 * float(((np.array(chosen.features) * (flat.std(0) + 1e-6)) ** 2).sum())
        for a in given_alternatives:
            scores = [chosen.constant + float(np.dot(chosen.features, w.features)) for w in a.passages]
            wanted = scores[0] if a.pair.span else 0.0
            total += float(np.log(1 + np.exp(scores).sum())) - wanted
        return total

    fitted = fit(given_alternatives, 2.0)
    least = loss(fitted)
    for at in range(len(FEATURES)):
        for step in (-0.05, 0.05):
            moved = [weight + step * (at == place) for place, weight in enumerate(fitted.features)]
            assert loss(Weights(tuple(moved), fitted.constant, 0.0, {})) > least
    assert loss(Weights(fitted.features, fitted.constant + 0.05, 0.0, {})) > least


class Named:
    """An embedder that says what it is."""

    def __init__(self, identity: dict[str, str]) -> None:
        self.given = identity

    def identity(self) -> dict[str, str]:
        return self.given

    async def embed(self, texts: object) -> np.ndarray:
        raise AssertionError("not asked for")


def test_another_embedder_is_told_from_the_one_that_the_numbers_were_chosen_with() -> None:
    chosen = weights().embedder
    assert same_embedder(Named({**chosen, "onnxruntime": "9"}), chosen) is True  # type: ignore[arg-type]
    assert same_embedder(Named({**chosen, "model.onnx": "0"}), chosen) is False  # type: ignore[arg-type]
    assert same_embedder(object(), chosen) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [PAIRS, TEST])
def test_every_labelled_passage_is_in_its_draft_once_and_no_draft_is_in_two_folds(name: str) -> None:
    path = Path(str(files("pmbench_tasks.drafting").joinpath("judge_data", name)))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) == len(read_pairs(name, ()))
    assert all(row["span"] is None or row["draft"].count(row["span"]) == 1 for row in rows)
    assert len({(row["draft_id"], row["draft"]) for row in rows}) == len({row["draft_id"] for row in rows})
    folds = {fold: {row["draft_id"] for row in rows if row["fold"] == fold} for fold in ("tune", "held-back")}
    assert folds["tune"].isdisjoint(folds["held-back"])


@pytest.fixture(scope="module")
def measured(models: dict[str, list[Path]]) -> tuple[Weights, dict[str, dict[str, list[Verdict]]]]:
    """The weights fitted again, and what every judge answers to the pairs held back and to those of the test."""
    from pmbench import open_embedder

    async def work() -> tuple[Weights, dict[str, dict[str, list[Verdict]]]]:
        embedder = open_embedder()
        try:
            tune = read_pairs()
            fitted = fit(await alternatives(tune, embedder), SHIPPED["penalty"])
            pairs = {"held-back": read_pairs(PAIRS, ("held-back",)), "test": read_pairs(TEST, ())}
            return fitted, {name: await answers(rows, tune, embedder) for name, rows in pairs.items()}
        finally:
            await embedder.close()

    return asyncio.run(work())


@pytest.mark.model
@pytest.mark.slow
def test_the_weights_are_those_that_the_script_fits(
    measured: tuple[Weights, dict[str, dict[str, list[Verdict]]]],
) -> None:
    again = json.loads(written(measured[0], SHIPPED["penalty"], SHIPPED["embedder"]))
    assert list(again["features"]) == list(SHIPPED["features"]) == list(FEATURES)
    assert list(again["features"].values()) == pytest.approx(list(SHIPPED["features"].values()), abs=0.05)
    assert again["constant"] == pytest.approx(SHIPPED["constant"], abs=0.05)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize(("rows", "pairs", "expected"), [("held-back", 77, 0.86), ("test", 298, 0.85)])
def test_the_judge_is_ahead_of_its_baselines_on_pairs_that_took_no_part(
    measured: tuple[Weights, dict[str, dict[str, list[Verdict]]]], rows: str, pairs: int, expected: float
) -> None:
    given_answers = dict(measured[1][rows])
    ours = given_answers.pop(JUDGE)
    assert len(ours) == pairs
    assert agreement(ours).agreement == pytest.approx(expected, abs=0.03)
    for theirs in given_answers.values():
        (_, low, _), (_, mean_low, _) = lead(ours, theirs)
        assert min(low, mean_low) > 0
