"""The score of one text by a checklist: numbers that add up, bounds for what is missing, and each answer's evidence.

Statistics of a score (each is left out where it has no value):

- `score`: 0 to 1. Questions: the share of yes among those answered. Points: those met over the positive ones, as
  HealthBench has it, below 0 where faults outweigh. Grades: their mean, 0 for the lowest grade and 1 for the highest.
- `low`, `high`: the score if every missing answer were the worst, the best that it could be.
- `asked`, `answered`, `missing`, and `missing_<reason>` by reason; `yes`, `no`; `weight_yes`, `weight_answered`,
  `weight_all`; `weighted`: the share by weights, where these differ.
- `yes_<id>` 1 or 0 (`grade_<id>` of grades) where there is an answer; `asked_<id>` always 1.
- `category_<name>`: the score of a category's items; `macro`: the mean over categories.
- `probability`: mean probability of yes over the items that have one; `compared`, `contradicted`: answers that have
  one, and those that stand on its other side.
- `rubric`, `points_met`, `points_possible` of points; `grade`, `total` (no grade missing) of grades.
- `empty`: 1 where nothing was written; `quotes`, `quotes_found`: answers with a quote, and quotes that stand in the
  text or the source.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pmbench import Score, Unscored, find_span
from pmbench_tasks.notes.aggregates import normalised_rate, pass_rate, sums, weighted_rate
from pmbench_tasks.notes.answers import REASONS, Answered
from pmbench_tasks.notes.checklist import Checklist, Item
from pmbench_tasks.notes.jury import graded_total, jury_score
from pmbench_tasks.notes.rubric import rubric_bounds, rubric_score

Pairs = Sequence[tuple[Item, Answered]]


class Value(NamedTuple):
    """A score with its ends; None where no honest number exists."""

    score: float | None
    low: float | None
    high: float | None


def score_of(checklist: Checklist, answers: Sequence[Answered], *, source: str, text: str) -> Score:
    """The score of one text.

    Args:
        checklist: what was asked.
        answers: one for each item, in order.
        source, text: what the judge was shown; quotes are looked for there.

    Raises:
        Unscored: `no-answer`, every answer is missing; `no-points`, none of the criteria answered is worth positive
            points.
        ValueError: answers that are not those of the checklist's items.
    """
    if [item.id for item in checklist.items] != [one.item for one in answers]:
        raise ValueError("there must be one answer for each item, in order")
    pairs = list(zip(checklist.items, answers, strict=True))
    value = value_of(checklist, pairs)
    if value.score is None:
        raise Unscored("no-answer" if all(one.missing for one in answers) else "no-points")
    places = [_place(one.quote, text, source) for one in answers]
    stats = {
        **_numbers(score=value.score, low=value.low, high=value.high),
        **_counts(answers),
        **_by_scale(checklist, pairs),
        **_probabilities(answers),
        **_by_item(checklist, answers),
        **_by_category(checklist, pairs),
        "empty": float(not text.strip()),
        "quotes": float(sum(bool(one.quote) for one in answers)),
        "quotes_found": float(sum(bool(place) for place in places)),
    }
    return Score(stats=stats, evidence=_evidence(checklist, pairs, places, text))


def value_of(checklist: Checklist, pairs: Pairs) -> Value:
    """The score of some items of a checklist, on the scale of `score`."""
    met = [one.met for _, one in pairs]
    if checklist.scale == "points":
        points = [item.points or 0.0 for item, _ in pairs]
        ends = rubric_bounds(points, met)
        return Value(rubric_score(points, met), *(ends or (None, None)))
    if checklist.ends is None:
        return Value(pass_rate(met), pass_rate(met, missing="no"), pass_rate(met, missing="yes"))
    lowest, highest = checklist.ends
    jury = jury_score([[one.grade for _, one in pairs]], checklist.ends)

    def unit(grade: float) -> float:
        return (grade - lowest) / (highest - lowest)

    return Value(None if jury.mean is None else unit(jury.mean), unit(jury.low), unit(jury.high))


def stat_names(names: Iterable[str]) -> list[str]:
    """For each name what it is called in the names of statistics: letters, digits and `_`, no two alike."""
    made: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name) or "_"
        free = (plain if not number else f"{plain}_{number}" for number in range(len(made) + 1))
        made[next(one for one in free if one not in made)] = None
    return list(made)


def categories_of(checklist: Checklist) -> list[str]:
    """The categories in the order in which they first appear; none where there are not at least two."""
    found = list(dict.fromkeys(item.category for item in checklist.items))
    return found if len(found) > 1 else []


def has_weights(checklist: Checklist) -> bool:
    """Whether weights decide anything."""
    return checklist.scale == "yes-no" and len({item.weight for item in checklist.items}) > 1


def _numbers(**named: float | None) -> dict[str, float]:
    return {name: float(value) for name, value in named.items() if value is not None}


def _counts(answers: Sequence[Answered]) -> dict[str, float]:
    missing = Counter(one.why.partition(":")[0].replace("-", "_") for one in answers if one.missing)
    return {
        "asked": float(len(answers)),
        "answered": float(len(answers) - missing.total()),
        "missing": float(missing.total()),
        **{f"missing_{why}": float(missing[why]) for why in _reasons()},
    }


def _reasons() -> list[str]:
    return [why.replace("-", "_") for why in REASONS]


def _by_scale(checklist: Checklist, pairs: Pairs) -> dict[str, float]:
    if checklist.ends is not None:
        grades = [one.grade for _, one in pairs]
        return _numbers(grade=jury_score([grades], checklist.ends).mean, total=graded_total(grades))
    met = [one.met for _, one in pairs]
    counts = {"yes": float(met.count(True)), "no": float(met.count(False))}
    if checklist.scale == "points":
        points = [item.points or 0.0 for item, _ in pairs]
        there = [(worth, is_met) for worth, is_met in zip(points, met, strict=True) if is_met is not None]
        return {
            **counts,
            **_numbers(rubric=rubric_score(points, met)),
            "points_met": math.fsum(worth for worth, is_met in there if is_met),
            "points_possible": math.fsum(worth for worth, _ in there if worth > 0),
        }
    weights = [item.weight for item, _ in pairs]
    weighed = sums(met, weights)
    return {
        **counts,
        "weight_yes": weighed.yes,
        "weight_answered": weighed.all,
        "weight_all": math.fsum(weights),
        **_numbers(weighted=weighted_rate(met, weights) if has_weights(checklist) else None),
    }


def _probabilities(answers: Sequence[Answered]) -> dict[str, float]:
    both = [(one.met, one.p_yes) for one in answers if one.met is not None and one.p_yes is not None]
    if not both:
        return {}
    return {
        **_numbers(probability=normalised_rate([chance for _, chance in both])),
        "compared": float(len(both)),
        "contradicted": float(sum(chance != 0.5 and met != (chance > 0.5) for met, chance in both)),
    }


def _by_item(checklist: Checklist, answers: Sequence[Answered]) -> dict[str, float]:
    stats: dict[str, float] = {}
    for name, one in zip(stat_names(item.id for item in checklist.items), answers, strict=True):
        stats[f"asked_{name}"] = 1.0
        if one.grade is not None:
            stats[f"grade_{name}"] = float(one.grade)
        elif one.met is not None:
            stats[f"yes_{name}"] = float(one.met)
    return stats


def _by_category(checklist: Checklist, pairs: Pairs) -> dict[str, float]:
    categories = categories_of(checklist)
    found = {
        name: value_of(checklist, [pair for pair in pairs if pair[0].category == category]).score
        for name, category in zip(stat_names(categories), categories, strict=True)
    }
    there = [score for score in found.values() if score is not None]
    return {
        **_numbers(**{f"category_{name}": score for name, score in found.items()}),
        **({"macro": math.fsum(there) / len(there)} if there else {}),
    }


def _place(quote: str, text: str, source: str) -> str:
    """Where a quote stands: `text`, `source`, or `""` for neither."""
    if not quote:
        return ""
    plain = quote.replace("‹", "<")  # the judge was shown tags of its prompt in another form
    return "text" if find_span(text, plain) else "source" if find_span(source, plain) else ""


def _evidence(checklist: Checklist, pairs: Pairs, places: Sequence[str], text: str) -> Mapping[str, Any]:
    """What explains the numbers; holds text of the note or the reply."""
    return {
        "checklist": {
            "name": checklist.name,
            "digest": checklist.digest,
            "section": checklist.section,
            "scale": checklist.scale,
        },
        "text": text,
        "answers": [
            {
                "item": item.id,
                "question": item.question,
                "met": one.met,
                "grade": one.grade,
                "p_yes": one.p_yes,
                "quote": one.quote,
                "found": place,
                "why": one.why,
            }
            for (item, one), place in zip(pairs, places, strict=True)
        ],
    }
