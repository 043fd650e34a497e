"""`pmbench power` and `pmbench compare --margin`: what data can show, against statsmodels."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

TEMPLATE = Path(__file__).parents[2] / "tasks/pmbench_tasks/drafting/demo/template.jsonl"

METRIC = "words_to_add"
"""A plain mean over instances that are no clusters."""


@pytest.fixture
def two(pmbench, tmp_path: Path) -> dict[str, np.ndarray]:
    """Two runs; the words to add to each draft, by the label of the run."""
    for label, model in (("a", "replay:@draft"), ("b", f"replay:{TEMPLATE}")):
        done = pmbench("run", "-t", "syppm-editf1", "-d", "demo", "-m", model, "--label", label, "-q")
        assert done.returncode == 0, done.stderr
    found = {}
    for label in ("a", "b"):
        (scores,) = (tmp_path / "runs" / "syppm-editf1" / label).rglob("scores.jsonl")
        lines = [json.loads(line) for line in scores.read_text().splitlines()]
        by_id = {line["id"]: line["stats"][METRIC] for line in lines}
        found[label] = np.array([by_id[ident] for ident in sorted(by_id)])
    return found


def digests(pmbench) -> dict[str, str]:
    rows = [line.split() for line in pmbench("runs").stdout.splitlines()[1:]]
    return {row[3]: row[0] for row in rows}


def test_what_two_runs_can_show_is_what_a_paired_t_test_can(pmbench, two) -> None:
    run = digests(pmbench)
    asked = ("--metric", METRIC, "--difference", "5", "--json")
    done = pmbench("power", "--run", run["a"], "--against", run["b"], *asked)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    gaps = two["a"] - two["b"]
    sd, n = gaps.std(ddof=1), len(gaps)
    effect = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
    assert found["power"]["detectable"] == pytest.approx(effect * sd, rel=1e-6)
    needed = TTestPower().solve_power(effect_size=5 / sd, alpha=0.05, power=0.8)
    assert found["clusters"] == found["instances"] == math.ceil(needed)
    assert found["power"]["correlation"] == pytest.approx(np.corrcoef(two["a"], two["b"])[0, 1])
    told = pmbench("power", "--run", run["a"], "--against", run["b"], "--metric", METRIC).stdout
    assert "with 80% power at the 0.05 level" in told and f"{effect * sd:.1f}" in told


def test_of_one_run_a_rival_is_assumed_and_that_is_said(pmbench, two) -> None:
    run = digests(pmbench)
    done = pmbench("power", "--run", run["a"], "--metric", METRIC, "--correlation", "0.75", "--json")
    sd = two["a"].std(ddof=1) * math.sqrt(2 * (1 - 0.75))
    effect = TTestPower().solve_power(nobs=len(two["a"]), alpha=0.05, power=0.8)
    assert json.loads(done.stdout)["power"]["detectable"] == pytest.approx(effect * sd, rel=1e-6)
    assert "correlate with these by 0.5 (assumed" in pmbench("power", "--run", run["a"]).stdout


def test_a_margin_is_tested_from_both_sides(pmbench, two, tmp_path: Path) -> None:
    run = digests(pmbench)
    compared = pmbench("compare", run["a"], run["b"], "--margin", "0.5", "--json", "-")
    assert compared.returncode == 0, compared.stderr
    found = json.loads(compared.stdout)["at_margin"]
    assert found["margin"] == 0.5 and found["equivalent"] and found["not_inferior"]
    assert -0.5 < found["low"] < found["difference"] < found["high"] < 0.5
    per_case = {one["id"]: one["first"] - one["second"] for one in json.loads(compared.stdout)["apart"]}
    assert len(per_case) == 10
    told = pmbench("compare", run["a"], run["b"], "--margin", "0.01").stdout
    assert "margin 0.010: it is not shown that A and B differ by less than that" in told
    assert "margin 0.010: A is not worse than B by that much (p <0.001)" in told
    # The two one-sided tests themselves, on a plain mean.
    from pmbench import Mean
    from pmbench.stats.equivalence import equivalence

    columns = [np.column_stack([two[name], np.ones(len(two[name]))]) for name in ("a", "b")]
    mine = equivalence(Mean(METRIC), *columns, list(range(len(two["a"]))), 20.0)
    p, _, _ = ttost_paired(two["a"], two["b"], -20.0, 20.0)
    assert mine.p_equivalent == pytest.approx(p, rel=1e-6)


def test_numbers_that_cannot_be_are_refused(pmbench, two) -> None:
    run = digests(pmbench)["a"]
    for asked, told in (
        (("--power", "1.5"), "a power of 1.5"),
        (("--difference", "0"), "a difference of 0"),
        (("--difference", "nan"), "nan is no finite number"),
        (("--correlation", "1"), "a correlation of 1.0"),
        (("--metric", "words_to_ad"), "Did you mean words_to_add"),
        (("--level", "2"), "level"),
    ):
        done = pmbench("power", "--run", run, *asked)
        assert done.returncode == 2 and told in done.stderr and len(done.stderr.splitlines()) == 1


def test_what_has_no_answer_is_refused(pmbench, two) -> None:
    run = digests(pmbench)
    itself = pmbench("power", "--run", run["a"], "--against", run["a"])
    assert itself.returncode == 2 and "this is the run itself" in itself.stderr
    both = pmbench("power", "--run", run["a"], "--against", run["b"], "--correlation", "0.3")
    assert both.returncode == 2 and "--correlation is of a rival that is assumed" in both.stderr
    assert pmbench("run", "-t", "pair-triage", "-d", "demo", "-q", "-s", "random").returncode == 0
    assert pmbench("run", "-t", "pair-triage", "-d", "demo", "-q", "-s", "length").returncode == 0
    assert pmbench("run", "-t", "inbox-triage", "-d", "demo", "-q", "-s", "length").returncode == 0
    rows = [line.split() for line in pmbench("runs").stdout.splitlines()[1:]]
    found = {f"{row[2]} {row[4]}": row[0] for row in rows}
    alone = pmbench("power", "--run", found["pair-triage random"])
    assert alone.returncode == 2 and "--against RUN" in alone.stderr
    pairs = pmbench("power", "--run", found["pair-triage random"], "--against", found["pair-triage length"])
    assert pairs.returncode == 0 and "messages: the smallest difference" in pairs.stdout
    ranked = pmbench(
        "power", "--run", found["inbox-triage length"], "--against", found["inbox-triage length"]
    )
    assert ranked.returncode == 2
    for margin, told in (
        ("0", "it must be above 0"),
        ("-1", "it must be above 0"),
        ("nan", "no finite number"),
        ("inf", "no finite number"),
        ("1", "no two values of Content edit-F1 are further apart than 1"),
    ):
        refused = pmbench("compare", run["a"], run["b"], "--margin", margin)
        assert refused.returncode == 2 and told in refused.stderr


def test_a_difference_that_cannot_be_is_refused(pmbench, two) -> None:
    run = digests(pmbench)
    wrong = pmbench("power", "--run", run["a"], "--metric", "usable_share", "--difference", "5")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no difference is 500.0%. Write 0.05 for 5%" in wrong.stderr
    same = pmbench("power", "--run", run["a"], "--against", run["a"])
    assert same.returncode == 2 and "this is the run itself" in same.stderr


def test_that_a_few_instances_can_show_nothing_is_said(pmbench) -> None:
    for label, model in (("a", "replay:@draft"), ("b", f"replay:{TEMPLATE}")):
        done = pmbench(
            "run", "-t", "syppm-editf1", "-d", "demo", "-m", model, "--label", label, "-q", "--limit", "4"
        )
        assert done.returncode == 0, done.stderr
    run = digests(pmbench)
    told = pmbench("power", "--run", run["a"], "--against", run["b"])
    # By hand: four clusters have 16 patterns, so that p is 2/16 at least; 2/32 is above 0.05, 2/64 is not.
    assert "4 clusters: no difference can be shown" in told.stdout and "p is 0.12 at least" in told.stdout
    assert "with 6 clusters it can be 0.031" in told.stdout
    as_json = json.loads(pmbench("power", "--run", run["a"], "--difference", "0.9", "--json").stdout)
    assert as_json["power"]["detectable"] is None and as_json["clusters"] >= 6
