"""What an evaluation leaves in its folder: the table, the numbers, the figures, and all answers behind them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from pmbench_tasks.notes.checklist import Checklist
from pmbench_tasks.notes.evaluation.evaluate import Comparison
from pmbench_tasks.notes.evaluation.gathering_answers import PREPARED, TESTS, Gathered, Told
from pmbench_tasks.notes.evaluation.lacking import Silence, not_changed, not_computed
from pmbench_tasks.notes.evaluation.perturbing import Made, counts_of
from pmbench_tasks.notes.evaluation.table import markdown
from pmbench_tasks.notes.pipeline.claims import Kind
from pmbench_tasks.notes.pipeline.failing import told as kinds_told
from pmbench_tasks.notes.pipeline.filtering import Filtered
from pmbench_tasks.notes.pipeline.leaves import Leaves
from pmbench_tasks.notes.pipeline.records import by_kind, counted
from pmbench_tasks.notes.plain_text import inline

TABLE, NUMBERS = "table.md", "evaluation.json"

ANSWERS = ("checklist", "note", "perturbation", "again", "question", "answer", "why_missing", "quote")

COVERED = ("checklist", "feedback", "stars", "answer", "questions")

PERHAPS = (
    "answers.csv",
    "coverage.csv",
    "perturbations.json",
    "unit-tests.json",
    "deltas.svg",
    "enforceability.svg",
    "preferences.svg",
    "reference.svg",
    "choice-by-alpha.svg",
    "objective-by-size.svg",
)
"""Files that there are where there is something for them."""

FOLDER = Kind("pmbench checklist evaluate", frozenset({TABLE, NUMBERS, *PERHAPS}))
"""The folder of an evaluation."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around the table.

    Attributes:
        checklists: in order.
        files: what was given for which part, by file name.
        settings: what decides the numbers beside the models.
        models: role -> name, as others may see it.
        filtered: what became of feedback; None without. empty_rows: rows of the file that have no text.
        made: the perturbed notes.
        absent: what is not in the table, and why.
        cautions: what a reader must know of the judge.
        silences: parts without one usable answer.
    """

    checklists: tuple[Checklist, ...]
    files: dict[str, str]
    settings: dict[str, Any]
    models: dict[str, str]
    filtered: Filtered | None = None
    empty_rows: int = 0
    made: tuple[Made, ...] = ()
    absent: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    silences: tuple[Silence, ...] = ()


def table_of(comparison: Comparison, gathered: Sequence[Gathered], about: About) -> str:
    """All of it as Markdown: what was compared, the tables, what was asked, what is not there."""
    texts = {one.name: {item.id: item.question for item in one.items} for one in about.checklists}
    lines = ["# Checklists evaluated", "", *_head(about), "", markdown(comparison, texts).rstrip("\n")]
    lines += [
        "",
        "## What was asked",
        "",
        *_asked(gathered),
        "",
        *(f"- {inline(line)}" for line in _told(gathered, about)),
    ]
    absent = [*about.absent, *not_changed(about.made), *not_computed(comparison)]
    if absent:
        lines += ["", "## Not measured", "", *(f"- {inline(line)}" for line in absent)]
    return "\n".join(lines) + "\n"


def write(leaves: Leaves, comparison: Comparison, gathered: Sequence[Gathered], about: About) -> list[str]:
    """Write all files and take away those that an evaluation of more has left; returns remarks."""
    leaves.bytes(TABLE, table_of(comparison, gathered, about).encode("utf-8", "replace"))
    leaves.json(NUMBERS, _numbers(comparison, gathered, about))
    left = {TABLE, NUMBERS}
    if answers := list(_answers(gathered)):
        left.add(leaves.table("answers.csv", ANSWERS, answers).name)
    if covered := list(_covered(gathered)):
        left.add(leaves.table("coverage.csv", COVERED, covered).name)
    if about.made:
        left.add(leaves.json("perturbations.json", [_made(one) for one in about.made]).name)
    if tested := {one.material.name: one.tested for one in gathered if one.tested}:
        left.add(leaves.json("unit-tests.json", tested).name)
    remarks = []
    if importlib.util.find_spec("matplotlib") is None:
        remarks.append('no figures: they need matplotlib. Run: pip install "pmbench[checklist]"')
    else:
        drawn = _figures(comparison, gathered)
        left.update(leaves.bytes(name, figure.encode()).name for name, figure in drawn.items())
    for name in set(PERHAPS) - left:
        leaves.remove(name)
    return remarks


def _head(about: About) -> Iterator[str]:
    yield from (f"- {inline(line)}" for line in _given(about))
    if about.cautions or about.silences:
        yield ""
        told = (*about.cautions, *(one.line for one in about.silences))
        yield from (f"**{inline(line)}**" for line in told)


def _given(about: About) -> Iterator[str]:
    for one in about.checklists:
        of = f" about the {one.section}" if one.section else " about the whole note"
        yield f"{one.name}: {counted(len(one.items), 'question')}{of}, {one.digest[:12]}"
    yield f"models: {', '.join(f'{role} {name}' for role, name in about.models.items())}"
    yield f"given: {', '.join(f'{what} {name}' for what, name in about.files.items())}"
    told = ", ".join(f"{name} {_shown(value)}" for name, value in about.settings.items())
    yield f"settings: {told}"


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list | tuple) else str(value)


def _asked(gathered: Sequence[Gathered]) -> Iterator[str]:
    yield "| Checklist | Part | Texts | Answers asked for | Yes | No | Missing | Why missing |"
    yield f"|{' --- |' * 8}"
    for one in gathered:
        name = inline(one.material.name)
        for told in one.told:
            why = ", ".join(f"{count} {reason}" for reason, count in told.why.items()) or "–"
            counts = (told.notes, told.asked, told.yes, told.no, told.missing)
            yield f"| {name} | {told.part} | {' | '.join(map(str, counts))} | {why} |"


def _told(gathered: Sequence[Gathered], about: About) -> Iterator[str]:
    if about.filtered is not None:
        empty = {"no text": about.empty_rows} if about.empty_rows else {}
        counts = {**empty, **dict(sorted(about.filtered.reasons.items()))}
        reasons = ", ".join(f"{count} {why}" for why, count in counts.items())
        read = len(about.filtered.read)
        many = f"{read + about.empty_rows} rows of feedback" if empty else counted(read, "feedback item")
        used = f"{len(about.filtered.used)} of {many} used"
        yield f"{used}" + (f"; not used: {reasons}" if reasons else "")
        if silent := by_kind(about.filtered.failures):
            yield f"feedback items of which the model did not say what they are about: {kinds_told(silent)}"
    for one in gathered:
        if one.covering is not None and one.covering.failures:
            kinds = kinds_told(by_kind(one.covering.failures))
            lost, total = len(one.covering.failures), len(one.covering.items)
            yield f"{one.material.name}: {lost} of {total} feedback items without a usable answer ({kinds})"
    for kind, found in counts_of(about.made).items():
        failed = ", ".join(f"{count} {why}" for why, count in found.failed.items())
        yield (
            f"{kind}: {counted(found.changed, 'note')} changed, {found.unchanged} left as they were"
            + (f"; not made: {failed}" if failed else "")
        )
    for one in gathered:
        yield from (f"{one.material.name}, {line}" for line in map(_alike, one.told) if line)


def _alike(told: Told) -> str:
    """That all answers are one and the same, which tells nothing."""
    there = told.yes + told.no
    if there < 2 or told.part in (TESTS, PREPARED) or 0 < told.yes < there:
        return ""
    return f"{told.part}: every one of the {there:,} answers is {'yes' if told.yes else 'no'}"


def _numbers(comparison: Comparison, gathered: Sequence[Gathered], about: About) -> dict[str, Any]:
    return {
        "checklists": [
            {
                "name": one.name,
                "digest": one.digest,
                "section": one.section,
                "questions": {item.id: item.question for item in one.items},
            }
            for one in about.checklists
        ],
        "given": about.files,
        "settings": about.settings,
        "models": about.models,
        "cautions": about.cautions,
        "asked": {one.material.name: one.told for one in gathered},
        "feedback": None
        if about.filtered is None
        else {
            "rows_without_text": about.empty_rows,
            "read": len(about.filtered.read),
            "used": len(about.filtered.used),
            "not_used": about.filtered.reasons,
            "without_an_answer": {
                one.material.name: by_kind(one.covering.failures) for one in gathered if one.covering
            },
        },
        "perturbed": {kind: found._asdict() for kind, found in counts_of(about.made).items()},
        "not_measured": [*about.absent, *not_changed(about.made), *not_computed(comparison)],
        "not_one_answer": [one.line for one in about.silences],
        "evaluations": _plain(comparison.evaluations),
        "contrasts": _plain(comparison.contrasts),
    }


def _plain(value: Any) -> Any:
    """Numbers of numpy as those of Python; NaN becomes null when it is written."""
    return msgspec.to_builtins(value, enc_hook=lambda one: one.tolist())


def _answers(gathered: Sequence[Gathered]) -> Iterator[tuple[Any, ...]]:
    words = {True: "yes", False: "no", None: ""}
    for one in gathered:
        for time, answers in enumerate((one.answers, *one.again)):
            for (kind, note), row in answers.items():
                for said in row:
                    answer = (said.item, words[said.met], said.why, said.quote)
                    yield (one.material.name, note, kind, time, *answer)


def _made(one: Made) -> dict[str, Any]:
    written = None if one.written is None else one.written.text
    return {"note": one.note, **one.record, "text": written, "failure": one.failure}


def _covered(gathered: Sequence[Gathered]) -> Iterator[tuple[Any, ...]]:
    for one in gathered:
        if one.covering is None:
            continue
        for column, item in zip(one.covering.matrix.T, one.covering.items, strict=True):
            lost = bool((column != column).any())
            covering = [
                ident for ident, cell in zip(one.material.questions, column, strict=True) if cell == 1
            ]
            answer = "missing" if lost else "covered" if covering else "not covered"
            yield (one.material.name, item.id, item.stars, answer, " ".join(covering))


def _figures(comparison: Comparison, gathered: Sequence[Gathered]) -> Mapping[str, str]:
    from pmbench_tasks.notes.evaluation.plots import alpha_plot, figures, length_plot
    from pmbench_tasks.notes.selection import alpha_curve, objective_curve

    drawn = dict(figures(comparison))
    matrices = {
        one.material.name: one.covering.answered
        for one in gathered
        if one.covering is not None and one.covering.answered.size
    }
    if matrices:
        drawn["choice-by-alpha.svg"] = alpha_plot({name: alpha_curve(one) for name, one in matrices.items()})
        drawn["objective-by-size.svg"] = length_plot(
            {name: objective_curve(one) for name, one in matrices.items()}
        )
    return drawn
