"""The numbers of ArchEHR-QA: official names, official scale, official rules; and means that say what they are of."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench import F1, Macro, Mean, Metric, PairMean, Ratio
from pmbench_tasks.archehr.answers import parse_official
from pmbench_tasks.archehr.factuality import Counts, counts_2025, prf, total
from pmbench_tasks.archehr.factuality_metrics import factuality_metrics
from pmbench_tasks.archehr.metrics import COMPONENTS, METRICS, OFFICIAL
from pmbench_tasks.archehr.metrics_2026 import (
    METRICS_ALIGNMENT,
    METRICS_ANSWERS,
    METRICS_EVIDENCE,
    METRICS_QUESTIONS,
)
from pmbench_tasks.archehr.percent import MeanOf, Percent

SHARED = Path(os.environ.get("PMBENCH_SHARED") or Path(__file__).parents[3] / "shared")
CONFORMANCE = SHARED / "conformance" / "archehr"
BY_NAME = {metric.name: metric for metric in METRICS}
ALL = [METRICS, METRICS_QUESTIONS, METRICS_ANSWERS, METRICS_EVIDENCE, METRICS_ALIGNMENT]


def columns(cases: Sequence[Mapping[str, float]]) -> dict[str, np.ndarray]:
    names = dict.fromkeys(name for case in cases for name in case)
    return {name: np.array([case.get(name, np.nan) for case in cases]) for name in names}


def values(metrics: Sequence[Metric], cases: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The metrics of which an instance has the statistics, as a run computes them."""
    stats = columns(cases)
    found = {}
    for metric in metrics:
        try:
            there = metric.present(stats).any()
        except KeyError:
            continue
        if there:
            found[metric.name] = metric(stats)
    return found


def counted(prefix: str, counts: Counts) -> dict[str, float]:
    return {f"{prefix}{part}": float(number) for part, number in counts._asdict().items()}


@pytest.mark.skipif(
    not (CONFORMANCE / "expected.json").is_file(), reason="the conformance data are not here (PMBENCH_SHARED)"
)
@pytest.mark.parametrize(
    "name", ["submission_extract", "submission_human", "submission_long", "submission_messy"]
)
def test_factuality_is_the_official_one(name: str) -> None:
    expected = json.loads((CONFORMANCE / "expected.json").read_text())[name]["factuality"]
    key = {
        case["case_id"]: {one["sentence_id"]: one["relevance"] for one in case["answers"]}
        for case in json.loads((CONFORMANCE / "archehr-qa_key.json").read_text())
    }
    cases = []
    for case in json.loads((CONFORMANCE / f"{name}.json").read_text()):
        counts = counts_2025(key[case["case_id"]], parse_official(case["answer"]).citations)
        cases.append(counted("strict_", counts["strict"]) | counted("lenient_", counts["lenient"]))
    found = values(METRICS, cases)
    for mode, averages in expected.items():
        for average, parts in averages.items():
            for part, value in parts.items():
                assert found[f"{mode}_{average}_{part}"] == pytest.approx(100 * value, abs=1e-12)
    assert found["overall_factuality_score"] == found["strict_micro_f1"]


def test_overall_relevance_and_score_are_those_of_the_paper() -> None:
    # Table 6, Llama 3.3 70B, together; there its overall relevance is 32.6.
    components = {"bleu": 2.4, "rougeLsum": 21.0, "sari": 49.2, "bertscore": 39.3, "medcon": 36.7}
    components["alignscore"] = 47.0
    case = {f"human_{name}": value / 100 for name, value in components.items()}
    case |= {f"notes_{name}": value / 100 for name, value in components.items()}
    # Strict micro F1 of that system is 43.7 (Table 5), its overall score 38.1 or 38.2 as 38.15 is rounded (Table 8).
    case |= {"strict_tp": 437.0, "strict_fp": 563.0, "strict_fn": 563.0}
    found = values(METRICS, [case])
    assert found["overall_relevance_human"] == pytest.approx(32.6, abs=0.05)
    assert found["overall_score_human"] == pytest.approx(38.1, abs=0.06)
    assert found["overall_relevance_score"] == pytest.approx(32.6, abs=0.05)
    assert found["overall_score"] == pytest.approx((43.7 + found["overall_relevance_score"]) / 2)


def test_the_overall_score_of_2026_is_the_mean_of_six() -> None:
    # Published with its six components: 32.87 (arXiv 2604.14175); ROUGE there to two digits.
    case = {
        "bleu": 0.0942,
        "rougeLsum": 0.2704,
        "sari": 0.5542,
        "bertscore": 0.43,
        "alignscore": 0.2528,
        "medcon": 0.3704,
    }
    assert values(METRICS_ANSWERS, [case])["overall_score"] == pytest.approx(32.87, abs=0.005)
    asked = {name: case[name] for name in ("alignscore", "rougeLsum", "medcon", "bertscore")}
    assert values(METRICS_QUESTIONS, [asked])["overall_score"] == pytest.approx(
        (25.28 + 27.04 + 37.04 + 43) / 4
    )


def test_macro_f1_is_the_mean_of_the_cases_not_of_precision_and_recall() -> None:
    counts = [Counts(1, 0, 3), Counts(1, 3, 0), Counts(0, 0, 2)]
    found = values(METRICS, [counted("strict_", one) for one in counts])
    assert found["strict_macro_precision"] == pytest.approx(100 * (1 + 0.25 + 0) / 3)
    assert found["strict_macro_recall"] == pytest.approx(100 * (0.25 + 1 + 0) / 3)
    assert found["strict_macro_f1"] == pytest.approx(100 * (0.4 + 0.4 + 0) / 3)
    assert found["strict_micro_precision"] == pytest.approx(100 * 2 / 5)
    assert found["strict_micro_recall"] == pytest.approx(100 * 2 / 7)
    assert found["strict_micro_f1"] == pytest.approx(100 * 4 / 12)


def test_evidence_that_nobody_needs_and_nobody_picks_is_worth_one() -> None:
    nothing = counted("strict_", Counts(0, 0, 0)) | counted("lenient_", Counts(0, 0, 0))
    in_vain = counted("strict_", Counts(0, 2, 0)) | counted("lenient_", Counts(0, 0, 0))
    missed = counted("strict_", Counts(0, 0, 2)) | counted("lenient_", Counts(0, 0, 2))
    all_of_it = values(METRICS_EVIDENCE, [nothing, nothing])
    assert {all_of_it[name] for name in all_of_it} == {100.0}
    found = values(METRICS_EVIDENCE, [nothing, in_vain, missed])
    for part in ("precision", "recall", "f1"):
        assert found[f"strict_macro_{part}"] == pytest.approx(100 / 3)
        assert found[f"lenient_macro_{part}"] == pytest.approx(200 / 3)
        assert found.get(f"strict_micro_{part}") == 0
    assert values(METRICS_ALIGNMENT, [counted("", Counts(0, 0, 0))])["macro_f1"] == 0


@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=8), st.sampled_from([0.0, 1.0]))
def test_metrics_and_counts_follow_the_same_rules(rows: list[tuple[int, int, int]], empty: float) -> None:
    cases = [Counts(*row) for row in rows]
    found = values(factuality_metrics("", "", empty=empty), [counted("", one) for one in cases])
    pooled = prf(*total(cases), empty=empty)
    for place, part in enumerate(("precision", "recall", "f1")):
        assert found[f"micro_{part}"] == pytest.approx(100 * pooled[place])
        alone = [prf(*one, empty=empty)[place] for one in cases]
        assert found[f"macro_{part}"] == pytest.approx(100 * np.mean(alone))


@pytest.mark.parametrize(
    "names", [extra for n in range(4) for extra in combinations(("bertscore", "alignscore", "medcon"), n)]
)
def test_a_run_shows_the_mean_of_what_it_computed_and_no_other(names: tuple[str, ...]) -> None:
    there = ["bleu", "rougeLsum", "sari", *names]
    part = "_".join([f"{len(there)}_of_6", *names])
    case: dict[str, float] = {"strict_tp": 1, "strict_fp": 1, "strict_fn": 1}
    for version in ("notes", "human"):
        shares = {f"{version}_{name}": 0.1 * place for place, name in enumerate(there, 1)}
        case |= shares
        if len(there) < 6:
            case[f"{version}_part_{part}"] = sum(shares.values()) / len(shares)
    means = {
        name
        for name in values(METRICS, [case])
        if "relevance" in name or "score_" in name or name.endswith("_score")
    }
    means -= {"overall_factuality_score", "bertscore", "alignscore"}
    if len(there) == 6:
        assert means == {
            "overall_relevance_score",
            "overall_score",
            "overall_relevance_human",
            "overall_score_human",
        }
        return
    assert means == {f"relevance_{part}", f"score_{part}", f"relevance_{part}_human", f"score_{part}_human"}
    relevance = 100 * sum(0.1 * place for place in range(1, len(there) + 1)) / len(there)
    found = values(METRICS, [case])
    assert found[f"relevance_{part}"] == pytest.approx(relevance)
    assert found[f"score_{part}_human"] == pytest.approx((50 + relevance) / 2)


def test_names_are_unique_and_the_official_ones_are_there() -> None:
    for metrics in ALL:
        assert len({metric.name for metric in metrics}) == len(metrics)
        assert all(metric.formula and metric.title for metric in metrics)
    assert set(OFFICIAL) <= set(BY_NAME)
    assert set(COMPONENTS) == {"bleu", "rougeLsum", "sari", "bertscore", "alignscore", "medcon"}


def test_the_primary_number_needs_no_weights() -> None:
    first = [metrics[0] for metrics in ALL]
    assert [metric.name for metric in first] == [
        "strict_micro_f1",
        "rougeLsum",
        "rougeLsum",
        "strict_micro_f1",
        "micro_f1",
    ]
    assert first[0].computable({"strict_tp": 0, "strict_fp": 0, "strict_fn": 0})
    assert first[1].computable({"rougeLsum": 0.1})
    assert not BY_NAME["overall_score"].computable({"strict_tp": 0, "strict_fp": 0, "strict_fn": 0})


COMPOSITE = MeanOf(
    [
        F1("tp", "fp", "fn"),
        Mean("a"),
        Macro(Ratio("b", "b+c", zero=0.0)),
        MeanOf([Mean("a"), Mean("b")], "inner"),
    ],
    "composite",
)


def test_a_mean_of_metrics_is_their_mean_in_every_resample() -> None:
    random = np.random.default_rng(3)
    stats = {name: random.integers(0, 9, 40).astype(float) for name in ("tp", "fp", "fn", "a", "b", "c")}
    drawn = random.multinomial(40, np.full(40, 1 / 40), size=50)
    resampled = Percent(COMPOSITE).value(drawn @ Percent(COMPOSITE).columns(stats))
    assert resampled.shape == (50,)
    for counts, value in zip(drawn, resampled, strict=True):
        again = {name: np.repeat(column, counts) for name, column in stats.items()}
        parts = [metric(again) for metric in COMPOSITE.metrics]
        assert value == pytest.approx(100 * np.mean(parts))


def test_a_mean_of_metrics_is_of_the_instances_that_have_all_of_them() -> None:
    cases = [
        {"tp": 1.0, "fp": 0.0, "fn": 0.0, "a": 0.5},
        {"tp": 0.0, "fp": 9.0, "fn": 9.0},
        {"a": 0.1},
    ]
    metric = MeanOf([F1("tp", "fp", "fn"), Mean("a")], "both")
    stats = columns(cases)
    assert metric.present(stats).tolist() == [True, False, False]
    assert metric(stats) == 0.75
    assert np.isfinite(metric.columns(stats)).all()
    assert [metric.computable(case) for case in cases] == [True, False, False]
    assert metric.expressions == ("tp", "fp", "fn", "a")


def test_limits_are_those_of_the_scale() -> None:
    bounded = Mean("a", limits=(0.0, 1.0))
    assert Percent(bounded).limits == (0.0, 100.0)
    assert MeanOf([bounded, Mean("b", limits=(-1.0, 1.0))], "both").limits == (-0.5, 1.0)
    assert MeanOf([bounded, F1("tp", "fp", "fn")], "both").limits is None
    assert BY_NAME["bertscore"].limits is None  # rescaled, it can be negative


def test_what_is_no_formula_over_sums_is_refused() -> None:
    with pytest.raises(ValueError, match="not a formula over sums"):
        Percent(PairMean("right"))
    with pytest.raises(ValueError, match="not resampled by cluster"):
        MeanOf([PairMean("right")], "mean")
    with pytest.raises(ValueError, match="no metrics"):
        MeanOf([], "mean")


def test_shares_of_what_clinicians_ask_are_of_all_sentences_together() -> None:
    cases = [{"sentences": 4.0, "uncited_sentences": 1.0}, {"sentences": 1.0, "uncited_sentences": 1.0}]
    found = values(METRICS, cases)
    assert found["uncited_sentences"] == 0.4
    assert BY_NAME["uncited_sentences"].shown(0.4) == "40.0%"
    assert "tries" not in found  # recorded answers have none
