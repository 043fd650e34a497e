"""The themes of a clinician's reply, and how those of a draft are counted against them.

The eight themes are those of Seegmiller et al. 2026 (arXiv 2601.11344), Table 1; `other` is what is none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

THEMES: dict[str, str] = {
    "empathy": "Empathy",
    "symptom_questions": "Symptom questions",
    "medication_questions": "Medication questions",
    "assessment": "Assessment",
    "planning": "Planning",
    "logistics": "Logistics",
    "coordination": "Coordination",
    "contingency": "Contingency",
    "other": "Other",
}
"""Names of the themes, in the order of the paper's tables, and what stands over their columns."""

OTHER = "other"


@dataclass(frozen=True, slots=True)
class ThemeCounts:
    """Themes of a draft against those of the clinician's reply.

    Attributes:
        matches: themes that both have (true positives).
        additions: themes of the reply that the draft lacks (false negatives).
        deletions: themes of the draft that the reply lacks (false positives).
    """

    matches: int
    additions: int
    deletions: int


def theme_counts(expert_themes: Iterable[str], draft_themes: Iterable[str]) -> ThemeCounts:
    """Count the themes of two texts, each taken as a set (section 3.2 of arXiv 2601.11344).

    Args:
        expert_themes: themes of the clinician's reply, repeated or not.
        draft_themes: themes of the draft.

    Raises:
        ValueError: a name that is no theme.
    """
    expert, draft = _known(expert_themes), _known(draft_themes)
    return ThemeCounts(len(expert & draft), len(expert - draft), len(draft - expert))


def in_order(themes: Collection[str]) -> tuple[str, ...]:
    """Themes without repeats, in the order of `THEMES`."""
    return tuple(name for name in THEMES if name in themes)


def _known(themes: Iterable[str]) -> set[str]:
    found = set(themes)
    unknown = sorted(found - THEMES.keys())
    if unknown:
        raise ValueError(f"no such theme: {', '.join(unknown)}; there are: {', '.join(THEMES)}")
    return found
