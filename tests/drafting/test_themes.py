"""Themes of a draft against those of the reply: counts, and the numbers made from them."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path

import numpy as np
import pytest
from given_judges import GivenThemes, WordCounts
from hypothesis import given
from hypothesis import strategies as st

from pmbench import Instance, Metric, Response
from pmbench_tasks.drafting import THEMES, ThemeCounts, theme_counts
from pmbench_tasks.drafting.judging.embedded_content_judge import EmbeddedContentJudge
from pmbench_tasks.drafting.metrics import METRICS
from pmbench_tasks.drafting.task import SyPPM
from pmbench_tasks.drafting.themes import in_order

BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}

themes = st.lists(st.sampled_from(list(THEMES)), max_size=12)


def stats_of(expert: list[str], draft: list[str]) -> dict[str, float]:
    """The statistics that a task makes of two sets of themes, one sentence each, none of them matched."""
    reply = ". ".join(name for name in expert) + "."
    text = ". ".join(name for name in draft) + "."
    labels = {f"{name}.": (name,) for name in THEMES}
    judges = {"content": EmbeddedContentJudge(WordCounts()), "theme": GivenThemes(labels)}
    instance = Instance("1", {"message": "Hi"}, {"response": reply})
    return dict(asyncio.run(SyPPM().score(instance, Response(text if draft else ""), judges)).stats)


def together(rows: list[dict[str, float]]) -> dict[str, np.ndarray]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def test_the_conformance_rows(shared: Path) -> None:
    cases = json.loads((shared / "conformance/editf1.json").read_text())["theme"]
    expected = cases["expected"]
    stats = together([stats_of(row["expert"], row["draft"]) for row in cases["rows"]])
    for row in cases["rows"]:
        counts = theme_counts(row["expert"], row["draft"])
        assert counts.matches + counts.additions == len(row["expert"])
        assert counts.matches + counts.deletions == len(row["draft"])
    for name, value in expected["micro"].items():
        assert BY_NAME[f"theme_{name}"](stats) == pytest.approx(value, abs=1e-12)
    for name, value in expected["mean_per_response"].items():
        assert BY_NAME[f"theme_{name}_mean"](stats) == pytest.approx(value, abs=1e-12)
    for theme, values in expected["per_theme"].items():
        found = [BY_NAME[f"{name}_{theme}"](stats) for name in ("theme_f1", "reply_share", "draft_share")]
        wanted = [values["f1"], values["expert_proportion"], values["draft_proportion"]]
        assert found == pytest.approx(wanted, abs=1e-12)
    gaps = [abs(v["expert_proportion"] - v["draft_proportion"]) for v in expected["per_theme"].values()]
    assert BY_NAME["profile_distance"](stats) == pytest.approx(sum(gaps) / 9, abs=1e-12)


def test_a_theme_that_is_said_twice_counts_once() -> None:
    assert theme_counts(["empathy", "empathy", "planning"], ["planning", "other"]) == ThemeCounts(1, 1, 1)
    assert theme_counts([], []) == ThemeCounts(0, 0, 0)


def test_an_unknown_theme_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no such theme: kindness; there are: empathy"):
        theme_counts(["kindness"], ["empathy"])
    with pytest.raises(ValueError, match="Empathy"):
        theme_counts(["empathy"], ["Empathy"])


@given(themes, themes)
def test_swapping_the_two_texts_swaps_additions_and_deletions(one: list[str], other: list[str]) -> None:
    there, back = theme_counts(one, other), theme_counts(other, one)
    assert (there.matches, there.additions, there.deletions) == (back.matches, back.deletions, back.additions)
    assert theme_counts(one, one) == ThemeCounts(len(set(one)), 0, 0)


@given(themes)
def test_themes_in_the_papers_order(names: list[str]) -> None:
    assert in_order(names) == tuple(sorted(set(names), key=list(THEMES).index))


def test_content_recall_by_theme_of_a_worked_example() -> None:
    # Of two sentences on planning the draft has one ("Rest at home."), of one question none; no empathy at all.
    labels = {"Rest": ["planning"], "Drink": ["planning"], "Fever?": ["symptom_questions"]}
    judges = {"content": EmbeddedContentJudge(WordCounts()), "theme": GivenThemes(labels)}
    instance = Instance("1", {"message": "Hi"}, {"response": "Rest at home. Drink some water. Fever?"})
    score = asyncio.run(SyPPM().score(instance, Response("Rest at home."), judges))
    stats = together([dict(score.stats)])
    assert BY_NAME["content_recall_planning"](stats) == 0.5
    assert BY_NAME["content_recall_symptom_questions"](stats) == 0.0
    assert math.isnan(BY_NAME["content_recall_empathy"](stats))
    assert [entry["themes"] for entry in score.evidence["reply"]] == [["planning"]] * 2 + [
        ["symptom_questions"]
    ]
    assert score.evidence["draft_sentences"] == [{"start": 0, "end": 13, "themes": ["planning"]}]


def test_a_sentence_with_several_themes_counts_for_each() -> None:
    judges = {
        "content": EmbeddedContentJudge(WordCounts()),
        "theme": GivenThemes({"Sorry,": ["empathy", "logistics"]}),
    }
    instance = Instance("1", {"message": "Hi"}, {"response": "Sorry, we are closed today."})
    stats = asyncio.run(SyPPM().score(instance, Response("Sorry, we are closed today."), judges)).stats
    assert (stats["theme_matches"], stats["matched_empathy"], stats["matched_logistics"]) == (2, 1, 1)


def test_the_theme_judge_is_asked_once_about_reply_and_draft() -> None:
    themes_judge = GivenThemes()
    judges = {"content": EmbeddedContentJudge(WordCounts()), "theme": themes_judge}
    instance = Instance("1", {"message": "Hi"}, {"response": "Rest. Call us."})
    asyncio.run(SyPPM().score(instance, Response("- Sleep well.\n- Eat."), judges))
    assert themes_judge.asked == [["Rest.", "Call us.", "- Sleep well.", "- Eat."]]


def test_drafts_and_replies_with_the_same_profile_are_at_no_distance() -> None:
    rows = [stats_of(["empathy"], ["planning"]), stats_of(["planning"], ["empathy"])]
    assert BY_NAME["profile_distance"](together(rows)) == 0.0
    assert BY_NAME["profile_distance"](together(rows[:1])) == pytest.approx(2 / 9)


def test_every_metric_has_its_own_name_and_every_reference_exists() -> None:
    assert len(BY_NAME) == len(METRICS)
    assert METRICS[0].name == "content_f1"
    for metric in METRICS:
        assert not metric.reference or BY_NAME[metric.reference].group is metric.group
