"""The readable files that the stages leave, and what is said of them in a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pmbench_tasks.notes.pipeline import plots
from pmbench_tasks.notes.pipeline.asking import Progress
from pmbench_tasks.notes.pipeline.choosing import Chosen
from pmbench_tasks.notes.pipeline.covering import Covering
from pmbench_tasks.notes.pipeline.enforcing import Enforced
from pmbench_tasks.notes.pipeline.feedback import FeedbackFile
from pmbench_tasks.notes.pipeline.filtering import Filtered
from pmbench_tasks.notes.pipeline.leaves import Leaves
from pmbench_tasks.notes.pipeline.merging import Merged
from pmbench_tasks.notes.pipeline.records import Candidate, Stage, counted


def leave_feedback(leaves: Leaves, filtered: Filtered) -> None:
    """`1-feedback.csv`: every item, what it is about, who said so, and why it is not used."""
    leaves.table(
        "1-feedback.csv",
        ("id", "stars", "sections", "tagged_by", "used", "why_not", "feedback"),
        (
            (
                one.item.id,
                one.item.stars,
                " ".join(one.item.sections),
                one.tagged,
                "no" if one.why else "yes",
                one.why,
                one.item.text,
            )
            for one in filtered.read
        ),
    )


def feedback_told(filtered: Filtered, file: FeedbackFile) -> str:
    """How much of the feedback is used, and why the rest is not."""
    reasons = {"no text": file.empty} if file.empty else {}
    reasons |= dict(sorted(filtered.reasons.items()))
    total = len(filtered.read) + file.empty
    left = "; ".join(f"{count:,} {why}" for why, count in reasons.items())
    many = f"{total:,} rows of feedback" if file.empty else counted(total, "feedback item")
    return f"{len(filtered.used):,} of {many}" + (f" (not: {left})" if left else "")


def leave_stage(leaves: Leaves, name: str, stage: Stage[Candidate]) -> None:
    """What was kept and what was dropped, with reasons, and what the model said nothing usable about."""
    leaves.json(name, {"kept": stage.kept, "dropped": stage.dropped, "without_an_answer": stage.failures})


def leave_clusters(leaves: Leaves, merged: Merged) -> None:
    """`3-merged.json`: which questions became one, and how."""
    leaves.json(
        "3-merged.json",
        {
            "clusters": [
                {"how": one.how, "merged": one.merged, "members": one.members}
                for one in merged.clusters
                if len(one.members) > 1 or one.how == "there already"
            ],
            "kept": merged.stage.kept,
            "dropped": merged.stage.dropped,
            "without_an_answer": merged.stage.failures,
        },
    )


def leave_tests(leaves: Leaves, candidates: Sequence[Candidate], enforced: Enforced) -> None:
    """`5-enforceability.json`: the unit tests of every question, with the notes as they were rewritten."""
    why = {one.id: one.why for one in enforced.stage.dropped}
    leaves.json(
        "5-enforceability.json",
        [
            {
                "id": one.id,
                "question": one.question,
                "rate": tested.rate,
                "judged": tested.judged,
                "reference_notes": {
                    "asked": tested.asked,
                    "passing": tested.passing,
                    "failing": tested.failing,
                    "unanswered": tested.unanswered,
                },
                "dropped": why.get(one.id, ""),
                "tests": tested.tests,
            }
            for one, tested in zip(candidates, enforced.tested, strict=True)
        ],
    )


def tests_told(enforced: Enforced) -> str:
    """How many questions are left, and how enforceable they are in the mean."""
    there = {one.id for one in enforced.stage.kept}
    rates = [one.rate for one in enforced.tested if one.id in there and one.rate is not None]
    mean = f", enforceability {sum(rates) / len(rates):.2f} in the mean" if rates else ""
    gone = sum(one.not_rewritten for one in enforced.tested)
    missing = sum(len(one.tests) - one.judged for one in enforced.tested) - gone
    unanswered = sum(one.unanswered for one in enforced.tested)
    lost = [
        f"{count:,} {what}"
        for count, what in ((missing, "unit tests"), (unanswered, "reference notes"))
        if count
    ]
    lost = [f"without an answer: {' and '.join(lost)}"] if lost else []
    if gone:
        lost.append(f"not rewritten by the model, so no test: {counted(gone, 'note')}")
    return "; ".join([counted(len(enforced.stage.kept), "question") + mean, *lost])


def leave_covering(leaves: Leaves, name: str, candidates: Sequence[Candidate], covered: Covering) -> None:
    """The coverage matrix: a row for each feedback item, a column for each question; empty: no answer."""

    def cell(value: float) -> Any:
        return None if np.isnan(value) else int(value)

    leaves.table(
        name,
        ("feedback", *(one.id for one in candidates)),
        (
            (item.id, *map(cell, column.tolist()))
            for item, column in zip(covered.items, covered.matrix.T, strict=True)
        ),
    )


def covered_told(covered: Covering) -> str:
    """How many feedback items any question covers, before any is chosen."""
    known = int(covered.known.sum())
    share = known - len(covered.uncovered)
    missing = len(covered.items) - known
    lost = f"; {missing:,} without an answer" if missing else ""
    return f"{share:,} of {counted(known, 'feedback item')} covered by any question{lost}"


def leave_choice(leaves: Leaves, chosen: Chosen, alpha: float, progress: Progress) -> None:
    """`7-selection.json`, the two curves as CSV, and as plots where they can be drawn."""
    leaves.json(
        "7-selection.json",
        {
            "objective": chosen.objective,
            "coverage": chosen.coverage,
            "coverage_if_unanswered_were": {
                "not covered": chosen.coverage_low,
                "covered": chosen.coverage_high,
            },
            "diversity": chosen.diversity,
            "search": chosen.search,
            "chosen": [
                {"covers": count, **_plain(one)}
                for one, count in zip(chosen.stage.kept, chosen.covers, strict=True)
            ],
            "dropped": chosen.stage.dropped,
        },
    )
    sizes, alphas = chosen.by_size, chosen.by_alpha
    leaves.table(
        "7-objective-by-size.csv",
        ("questions", "objective", "coverage", "diversity"),
        zip(
            sizes.size.tolist(),
            sizes.objective.tolist(),
            sizes.coverage.tolist(),
            sizes.diversity.tolist(),
            strict=True,
        ),
    )
    leaves.table(
        "7-choice-by-alpha.csv",
        ("alpha", "questions", "objective", "coverage", "diversity"),
        zip(*(getattr(alphas, name).tolist() for name in alphas._fields), strict=True),
    )
    if reason := plots.missing():
        progress.note(f"{reason}; the numbers are in 7-objective-by-size.csv and 7-choice-by-alpha.csv")
        return
    leaves.bytes("7-objective-by-size.svg", plots.size_plot(sizes, len(chosen.stage.kept)))
    leaves.bytes("7-choice-by-alpha.svg", plots.alpha_plot(alphas, alpha))


def _plain(one: Candidate) -> dict[str, Any]:
    return {"id": one.id, "question": one.question, "sources": list(one.sources)}
