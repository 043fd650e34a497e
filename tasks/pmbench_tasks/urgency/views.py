"""How one pair and one sorted inbox are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pmbench import Record, ViewBlock, ViewLine
from pmbench_tasks.urgency.inbox_metrics import KS
from pmbench_tasks.urgency.messages import age_of, level_label, sex_of

MOST_SHOWN = 70
"""Characters of a message that stand in a row of the table."""

URGENT = 3.0
"""Below this level a message is urgent: levels 1 and 2, and halves between them."""

_LEGEND = "A higher score is more urgent. Marked are messages of level 1 or 2 that stand in the last third, or behind"
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|])")


def inbox_view(record: Record) -> str:
    """The inbox in the order that it was put into, as a table in Markdown.

    A row has the place (a range where scores are the same), the level that the data give the message, the patient,
    the beginning of the message, and the score. A remark stands at urgent messages that came low.
    """
    instance = record.instance
    messages = {one["id"]: one for one in instance.inputs["messages"]}
    title = f"## Inbox {_escaped(instance.id)}: {len(messages)} messages"
    if record.score is None or not isinstance(record.score.evidence, Mapping):
        why = "the model did not answer" if record.response is None else "it has no score"
        return f"{title}\n\nThere is no order: {why}."
    order: Sequence[Mapping[str, Any]] = record.score.evidence["order"]
    lines = [
        title,
        "",
        *(f"- {line}" for line in _told(record.score.stats)),
        "",
        f"{_LEGEND} {_many(len(order))} or more messages of level 3 to 6.",
        "",
        "| place | level | patient | message | score | |",
        "|---:|---:|---|---|---:|---|",
    ]
    for number, one in enumerate(order):
        message = messages[one["id"]]
        cells = (
            _place(one),
            level_label(one["level"]),
            _patient(message["chart"]),
            f"{_short(message['message'])} ({one['id']})",
            "–" if one["score"] is None else f"{one['score']:.2f}",
            _remark(one, order[:number], len(order)),
        )
        lines.append(f"| {' | '.join(map(_escaped, cells))} |")
    return "\n".join(lines)


def pair_view(record: Record) -> list[ViewBlock]:
    """Both messages, which of them is labelled more urgent and which one was held so."""
    instance, score = record.instance, record.score
    slices = ", ".join(f"{name}: {label}" for name, label in instance.slices.items())
    blocks = [ViewBlock(f"Pair {instance.id}", (ViewLine(slices),) if slices else ())]
    urgent = "second" if instance.target["second_more_urgent"] else "first"
    held = score.evidence["held_more_urgent"] if score is not None and score.evidence else ""
    for side in ("first", "second"):
        message = instance.inputs[side]
        told = [f"{side} message ({message['id']})", *(["labelled more urgent"] if side == urgent else [])]
        told += ["held more urgent"] if side == held else []
        lines = [ViewLine(f"Chart: {message['chart']}")] if message["chart"] else []
        blocks.append(
            ViewBlock(
                ": ".join([told[0].capitalize(), ", ".join(told[1:])]).rstrip(": "),
                (*lines, ViewLine(message["message"])),
            )
        )
    return [*blocks, ViewBlock("Answer", tuple(map(ViewLine, _answer(record, held))))]


def _answer(record: Record, held: str) -> Iterator[str]:
    if record.response is None or not held:
        yield "There is none."
        return
    right = {1.0: "right", 0.5: "a tie, half right", 0.0: "wrong"}
    assert record.score is not None
    yield f"held more urgent: {held}; {right.get(record.score.stats['correct'], '')}"
    decided = record.score.arrays  # what a recording holds beside that may be anything
    for name, value in zip(
        ("shown (first, second)", "shown (second, first)"), decided.get("p", ()), strict=False
    ):
        if value is not None:
            yield f"{name}: {value:.3f} that the one shown second is the more urgent"
    if "levels" in decided:
        yield "levels named: " + ", ".join(level_label(level) for level in decided["levels"])


def _told(stats: Mapping[str, float]) -> Iterator[str]:
    """The main numbers in words."""
    for k in KS:
        if f"t_ndcg_{k}" in stats:
            value, ideal = stats[f"t_ndcg_{k}"], stats.get(f"ideal_{k}")
            best = "" if ideal is None else f"; the right order has {ideal:.3f}"
            yield f"T-NDCG@{k} {value:.3f}{best}"
    if "order_accuracy" in stats:
        yield f"{100 * stats['order_accuracy']:.0f}% of pairs of different level stand in the right order"
    if stats.get("urgent_in_bottom_third"):
        yield f"{stats['urgent_in_bottom_third']:.3g} messages of level 1 or 2 stand in the last third"
    if "wait_minutes" in stats:
        yield f"the most urgent wait {stats['wait_minutes']:.0f} minutes on average"
    if stats.get("left_out"):
        yield f"{stats['left_out']:.0f} messages were left out of the answer and share the last place"
    if stats.get("failed_calls"):
        of = f" of {stats['calls']:.0f}" if "calls" in stats else ""
        yield f"{stats['failed_calls']:.0f}{of} requests failed for good"
    if stats.get("missing"):
        yield missing_told(stats)


def missing_told(stats: Mapping[str, float]) -> str:
    """How much is missing of an inbox, and how much hangs on it, in words."""
    count = f"{stats['missing']:.0f} {'is' if stats['missing'] == 1 else 'are'} missing"
    if f"t_ndcg_{KS[0]}_worst" not in stats:
        return f"{count} of the sort's comparisons and counted as equal; what hangs on that cannot be told"
    what = "comparisons" if "ties" in stats else "messages' scores"
    cases = " and ".join(
        f"T-NDCG@{k} {stats[f't_ndcg_{k}_worst']:.3f} to {stats[f't_ndcg_{k}_best']:.3f}" for k in KS
    )
    return f"{count} of the {what}: {cases}, had all of them gone the wrong way, or the right one"


def _place(one: Mapping[str, Any]) -> str:
    return str(one["place"]) if one["place"] == one["to"] else f"{one['place']}–{one['to']}"


def _remark(one: Mapping[str, Any], before: Sequence[Mapping[str, Any]], n: int) -> str:
    """What a nurse has to see: an urgent message in the last third, or behind many that could wait."""
    if one["level"] >= URGENT:
        return ""
    if one["place"] > n - n // 3:
        return "URGENT, IN THE LAST THIRD"
    behind = sum(other["level"] >= URGENT and other["to"] < one["place"] for other in before)
    return f"urgent, behind {behind} that can wait" if behind >= _many(n) else ""


def _many(n: int) -> int:
    """Behind so many messages that can wait an urgent one is marked."""
    return max(2, n // 6)


def _patient(chart: str) -> str:
    """`67 f`, `7 months m`, or nothing."""
    age, sex = age_of(chart), sex_of(chart)
    if age is None:
        told = ""
    else:
        told = (
            f"{age:.0f}"
            if age >= 2
            else f"{12 * age:.0f} months"
            if age >= 1 / 6
            else f"{age * 365.25 / 7:.0f} weeks"
        )
    return f"{told} {sex[:1]}".strip()


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_SHOWN else f"{line[: MOST_SHOWN - 1].rstrip()}…"


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)
