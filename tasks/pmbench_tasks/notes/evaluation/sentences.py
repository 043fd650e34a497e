"""Which checklist is better, measure by measure, in words that need no statistics."""

from __future__ import annotations

from collections.abc import Iterator

from pmbench_tasks.notes.evaluation.comparing import FLIPS, MCNEMAR, RESAMPLED_T, Gap
from pmbench_tasks.notes.evaluation.evaluate import Comparison, Contrast
from pmbench_tasks.notes.plain_text import inline

SURE = 0.05
"""An adjusted p below this tells two checklists apart."""

_WORDS = {
    "coverage": ("Coverage", "{0} covers more of the feedback than {1}", 2),
    "enforceability": (
        "Enforceability",
        "the judge sees more of the faults that {0} asks for than of those of {1}",
        2,
    ),
    "stars": ("Stars", "what {0} covers tells 1 from 5 stars better than what {1} covers", 2),
    "worse notes": ("Notes made worse", "they lose more points by {0} than by {1}", 1),
    "preferences": (
        "Preferences",
        "the note that people prefer scores higher by {0} more often than by {1}",
        2,
    ),
}

TESTS = {
    MCNEMAR: "by feedback item",
    FLIPS: "by note or visit, never by pair or answer: those of one visit are not independent of one another",
    RESAMPLED_T: "by split of the feedback, corrected for the items that splits share",
}


def sentences(comparison: Comparison) -> Iterator[str]:
    """A sentence, as Markdown, for each main measure of each two checklists."""
    for one in comparison.contrasts:
        yield from (_sentence(one, gap) for gap in one.main)


def title_of(gap: Gap) -> str:
    """What a measure is called."""
    return _WORDS[gap.measure][0]


def digits_of(gap: Gap) -> int:
    """Digits after the point of a measure's numbers."""
    return _WORDS[gap.measure][2]


def adjusted_over(comparison: Comparison) -> int:
    """How many comparisons p-values are adjusted for."""
    return sum(gap.p == gap.p for one in comparison.contrasts for gap in one.main)


def _sentence(one: Contrast, gap: Gap) -> str:
    title, words, digits = _WORDS[gap.measure]
    names = inline(one.first), inline(one.second)
    value, found = gap.difference.value, gap.difference
    if value != value or gap.p != gap.p:
        why = inline(found.note or "there is no test")
        return f"**{title}**: {names[0]} and {names[1]} were not compared ({why})."
    ahead, behind = (gap.first, gap.second) if value >= 0 else (gap.second, gap.first)
    low, high = (found.low, found.high) if value >= 0 else (-found.high, -found.low)
    span = "" if low != low else f" [{_number(low, digits)}, {_number(high, digits)}]"
    numbers = f"{_number(ahead, digits)} against {_number(behind, digits)}; "
    numbers += f"difference {_number(abs(value), digits)}{span}, {p_told(gap.p_holm)}"
    order = names if value >= 0 else names[::-1]
    if gap.p_holm < SURE:
        return f"**{title}**: {words.format(*order)} ({numbers})."
    few = ""
    if gap.least_p >= 1:
        few = f"; there is no {found.unit} by which they differ"
    elif gap.least_p >= SURE:
        few = f"; so few differ that before adjustment no p can be below {gap.least_p:.3g}"
    return f"**{title}**: {order[0]} and {order[1]} cannot be told apart ({numbers}{few})."


def p_told(p: float) -> str:
    """`p = 0.003`, `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def _number(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("-") and float(text) == 0 else text
