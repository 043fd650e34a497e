"""`pmbench compare`, and systems without a model."""

import json
from pathlib import Path

import pytest

PAIRS = ("run", "-t", "pair-triage", "-d", "demo", "-q")


def runs_of(pmbench, task: str) -> dict[str, str]:
    """Digest by strategy and label."""
    rows = [line.split() for line in pmbench("runs", "-t", task).stdout.splitlines()[1:]]
    return {f"{row[3]} {row[4]}": row[0] for row in rows}


def test_a_strategy_that_asks_no_model_needs_none_named(pmbench, tmp_path: Path) -> None:
    done = pmbench(*PAIRS, "-s", "random", "--json", "out.json")
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    assert (results["model"], results["strategy"], results["usage"]["model"]["calls"]) == (
        "none",
        "random",
        0,
    )
    # A model that is given is not asked, and its name is not put to what it had no part in.
    again = pmbench(*PAIRS, "-s", "random", "-m", "smollm2-135m", "--json", "out.json")
    assert again.returncode == 0 and json.loads((tmp_path / "out.json").read_text())["model"] == "none"
    assert list(runs_of(pmbench, "pair-triage")) == ["none random"]


@pytest.mark.parametrize("given", [(), ("-m", "none")])
def test_a_strategy_that_asks_a_model_says_so(pmbench, given: tuple[str, ...]) -> None:
    done = pmbench(*PAIRS, *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: --model: the strategy 'pairwise' asks a model. Give one: --model NAME. See: pmbench models\n"
    )


def test_of_all_strategies_those_are_left_out_that_need_what_is_not_there(pmbench) -> None:
    done = pmbench("run", "-t", "pair-triage", "-d", "demo", "-s", "all")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("left out  the strategy 'pairwise' asks a model") == 1
    assert list(runs_of(pmbench, "pair-triage")) == ["none length", "none random"]
    nothing = pmbench("run", "-t", "syppm-editf1", "-d", "demo", "-s", "all")
    assert nothing.returncode == 2 and "asks a model" in nothing.stderr


def test_pairs_may_name_the_more_urgent_message_by_its_id(pmbench, tmp_path: Path) -> None:
    """As nurses' labels do, which `pmbench triage levels` takes too."""
    texts = [f"message {n} {'word ' * n}" for n in range(12)]
    rows = [{"id": f"m{n}", "message": text, "level": 1 + n // 2} for n, text in enumerate(texts)]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "inbox.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs = ["first,second,more_urgent", *(f"m{n + 1},m{n},m{n + 1}" for n in range(11))]
    (tmp_path / "own" / "pairs.csv").write_text("\n".join(pairs) + "\n")
    done = pmbench("run", "-t", "pair-triage", "-d", "own", "-s", "length", "--json", "out.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["metrics"]["accuracy"]["value"] == 1.0, "the longer one is the more urgent by these labels"


def test_two_runs_are_compared_pair_by_pair(pmbench, tmp_path: Path) -> None:
    for strategy in ("random", "length"):
        assert pmbench(*PAIRS, "-s", strategy, "-o", "seed=5").returncode == 0
    found = runs_of(pmbench, "pair-triage")
    done = pmbench("compare", found["none random"], found["none length"], "--json", "-")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    overlap, accuracy = told["overlap"], told["metrics"][0]
    assert sum(overlap.values()) == pytest.approx(60) == told["common"]
    # By hand from the table of the four: A is right where both or only A are.
    assert accuracy["first"] == pytest.approx((overlap["both"] + overlap["first"]) / 60)
    assert accuracy["second"] == pytest.approx((overlap["both"] + overlap["second"]) / 60)
    test = accuracy["test"]
    assert test["difference"] == pytest.approx((overlap["first"] - overlap["second"]) / 60)
    assert test["low"] < test["difference"] < test["high"] and 0 < test["p"] <= 1
    shown = pmbench("compare", found["none random"], found["none length"])
    assert "right: both " in shown.stdout and "not adjusted for other comparisons" in shown.stdout
    assert f"pmbench show {found['none random']} --instance" in shown.stdout


def test_what_cannot_be_compared_is_refused_and_what_differs_is_said(pmbench) -> None:
    pmbench(*PAIRS, "-s", "random")
    pmbench(*PAIRS, "-s", "length", "--limit", "40")
    pmbench("run", "-t", "inbox-triage", "-d", "demo", "-q", "-s", "random")
    pairs, inbox = runs_of(pmbench, "pair-triage"), runs_of(pmbench, "inbox-triage")
    whole, part = pairs["none random"], pairs["none length"]
    for arguments, words in (
        (
            (whole, inbox["none random"]),
            "the task is pair-triage in the first and inbox-triage in the second",
        ),
        ((whole, part), "20 only in the first, 0 only in the second, 40 in both. --on-common compares"),
        ((whole, "ffff"), "no run 'ffff'"),
        ((whole, part, "--slice", "difficulty=odd"), "Labels of difficulty: easy, hard, medium"),
        ((whole, part, "--slice", "difficulty=\x1b[31m\u202eodd"), r"difficulty='\x1b[31m\u202eodd'"),
        ((whole, part, "--slice", "colour=red"), "Slices: "),
        ((whole, whole), "both are the same run. Name another run"),
        ((whole, whole, "--slice", "difficulty="), "NAME=LABEL"),
    ):
        done = pmbench("compare", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert words in done.stderr and "Traceback" not in done.stderr
    common = pmbench("compare", whole, part, "--on-common")
    assert common.returncode == 0
    assert (
        "40 instances that both have scored, without 20 that only A has and 0 that only B has"
        in common.stdout
    )


def test_inboxes_of_which_a_difference_would_be_no_number_are_refused(pmbench) -> None:
    inbox = ("run", "-t", "inbox-triage", "-d", "demo", "-q", "-s", "length")
    for label, option in (("plain", "design=auto"), ("free", "design=none"), ("ranx", "ndcg=ranx")):
        done = pmbench(*inbox, "-o", option, "--label", label)
        if "pip install ranx" in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
    found = runs_of(pmbench, "inbox-triage")
    told = {
        "free": "the list 'a' has other strata in the other run; they differ in options.design: auto and none",
        "ranx": "'a' has another kind of number in the other run; they differ in options.ndcg: exact and ranx",
    }
    for name, words in told.items():
        if f"{name} length" in found:
            done = pmbench("compare", found["plain length"], found[f"{name} length"])
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
            assert words in done.stderr


def test_why_a_number_has_no_interval_is_said_of_every_metric(pmbench, tmp_path: Path) -> None:
    rows = [{"id": f"m{n}", "message": "word " * (9 - n), "level": n // 2 + 1} for n in range(8)]
    (tmp_path / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for strategy in ("random", "length"):
        assert pmbench("run", "-t", "inbox-triage", "-d", "few.jsonl", "-q", "-s", strategy).returncode == 0
    done = pmbench("compare", *runs_of(pmbench, "inbox-triage").values())
    assert done.returncode == 0, done.stderr
    (line,) = [one for one in done.stdout.splitlines() if "support no interval" in one]
    titles = ("T-NDCG@10", "T-NDCG@30", "T-NDCG@10 of ideal", "Kendall τ-b", "Pairs in right order")
    assert all(title in line.partition(": list")[0] for title in titles)


def test_what_is_missing_of_an_inbox_stands_under_its_results(pmbench, tmp_path: Path) -> None:
    found = pmbench("run", "-t", "inbox-triage", "-d", "demo", "-s", "length", "-q", "--json", "l.json")
    assert found.returncode == 0 and json.loads((tmp_path / "l.json").read_text())["findings"] == []
    scores = [None, *range(29)]
    answers = [{"id": "a", "text": "", "data": {"scores": scores, "asked": 30, "missing": 1}}]
    answers.append({"id": "b", "text": "", "data": {"scores": [1, *range(29)], "unanswered": 3}})
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    done = pmbench("score", "-t", "inbox-triage", "-d", "demo", "-r", "r.jsonl", "--json", "r.json")
    assert done.returncode == 0, done.stderr
    assert "inbox a: 1 is missing of the messages' scores: T-NDCG@10 " in done.stdout
    assert "inbox b: 3 are missing of the sort's comparisons and counted as equal" in done.stdout
    assert json.loads((tmp_path / "r.json").read_text())["metrics"]["missing"]["value"] == 2


def test_a_page_says_of_every_method_what_it_is_of(pmbench, tmp_path: Path) -> None:
    assert pmbench("run", "-t", "inbox-triage", "-d", "demo", "-q", "-s", "length").returncode == 0
    assert pmbench("leaderboard", "-t", "inbox-triage", "-o", "page.md").returncode == 0
    page = (tmp_path / "page.md").read_text()
    assert (
        "; intervals of other numbers under The comparisons themselves, Cost of an order and T-NDCG over orders of"
        " tied messages: percentile bootstrap by cluster"
    ) in page


def test_options_in_which_two_runs_differ_stand_above_the_numbers(pmbench) -> None:
    pmbench(*PAIRS, "-s", "random", "--label", "keep")
    pmbench(*PAIRS, "-s", "random", "-o", "chart=drop", "--label", "drop")
    found = runs_of(pmbench, "pair-triage")
    done = pmbench("compare", found["keep random"], found["drop random"])
    assert done.returncode == 0, done.stderr
    assert "they differ in options.chart: keep and drop" in done.stdout


def test_scores_that_were_changed_are_not_believed_and_a_file_is_written_over_its_like_only(
    pmbench, tmp_path: Path
) -> None:
    for strategy in ("random", "length"):
        pmbench(*PAIRS, "-s", strategy)
    found = list(runs_of(pmbench, "pair-triage").values())
    (tmp_path / "mine.txt").write_text("notes")
    (tmp_path / "theirs.json").write_text('{"task": "t", "about": "the \\"overlap\\"", "overlap": 1}')
    (tmp_path / "cut.json").write_text('{"overlap": {"both": 1')
    for name, status, words in (
        ("c.json", 0, ""),
        ("c.json", 0, ""),
        ("mine.txt", 2, "this is there and is no comparison"),
        ("theirs.json", 2, "this is there and is no comparison"),
        ("cut.json", 2, "this is there and is no comparison"),
        (".", 2, "this is there and is no comparison"),
        ("x" * 300, 2, "cannot be written or read (File name too long)"),
        ("x" * 252, 2, "cannot be written or read (File name too long)"),
        ("none/c.json", 2, "there is no such folder"),
    ):
        done = pmbench("compare", *found, "--json", name)
        assert done.returncode == status and words in done.stderr and "Traceback" not in done.stderr, name
    assert not (tmp_path / "none").exists() and (tmp_path / "mine.txt").read_text() == "notes"
    scores = next(tmp_path.glob("runs/pair-triage/none/length-*/scores/*/scores.jsonl"))
    lines = scores.read_text().splitlines(keepends=True)
    scores.write_text("".join(lines[:40]))
    cut = pmbench("compare", *found, "--on-common")
    assert cut.returncode == 2 and "results.json is of 60 scores and scores.jsonl holds 40" in cut.stderr
    scores.write_text("".join(lines).replace('"correct":0.0', '"correct":1.0'))
    changed = pmbench("compare", *found)
    assert changed.returncode == 2 and "come to another accuracy than results.json says" in changed.stderr
    # Two units that are one, in a file that somebody wrote by hand: no interval, and no fault of the program.
    record = json.loads(lines[0]) | {"units": ["a", "a"]}
    scores.write_text("".join([json.dumps(record) + "\n", *lines[1:]]))
    for arguments in (("compare", *found), ("leaderboard", "-t", "pair-triage")):
        done = pmbench(*arguments)
        assert done.returncode == 0 and "does not name the two units" in done.stdout, done.stderr


def test_a_slice_is_set_side_by_side_and_its_labels_agree_with_keeping_to_them(
    pmbench, tmp_path: Path
) -> None:
    for strategy in ("random", "length"):
        assert pmbench(*PAIRS, "-s", strategy, "-o", "seed=5").returncode == 0
    found = runs_of(pmbench, "pair-triage")
    both = found["none random"], found["none length"]
    told = json.loads(pmbench("compare", *both, "--slice", "difficulty", "--json", "-").stdout)
    assert list(told["parts"]) == ["difficulty"] and told["effect"] is None, "pairs share messages"
    parts = {part["label"]: part for part in told["parts"]["difficulty"]}
    assert (
        set(parts) == {"easy", "medium", "hard"} and sum(part["instances"] for part in parts.values()) == 60
    )
    for label, part in parts.items():
        alone = json.loads(pmbench("compare", *both, "--slice", f"difficulty={label}", "--json", "-").stdout)
        assert alone["metrics"][0]["test"]["difference"] == pytest.approx(part["test"]["difference"])
        assert alone["metrics"][0]["test"]["p"] == part["test"]["p"] <= part["p_adjusted"]
    shown = pmbench("compare", *both, "--slice", "difficulty").stdout
    assert "by difficulty" in shown and "by Holm over its labels" in shown and "instances: A " in shown
    for asked, words in (
        ("difficultee", "Slices: age_band, difficulty"),
        ("=hard", "write NAME or NAME=LABEL"),
    ):
        wrong = pmbench("compare", *both, "--slice", asked)
        assert wrong.returncode == 2 and words in wrong.stderr and "Traceback" not in wrong.stderr
