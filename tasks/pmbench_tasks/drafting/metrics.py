"""The numbers of a drafting run: content edit-F1, what it means in words to delete and to add, and themes."""

from __future__ import annotations

from pmbench import COUNT, F1, Macro, Mean, Metric, Ratio
from pmbench_tasks.drafting.theme_metrics import GROUPED, THEME_METRICS

_LIMITS = (0.0, 1.0)
_PRECISION = Ratio("matches", "matches+deletions", zero=0.0)
_RECALL = Ratio("matches", "matches+additions", zero=0.0)
_F1 = F1("matches", "deletions", "additions")

METRICS: tuple[Metric, ...] = (
    Macro(_F1, "content_f1", title="Content edit-F1", limits=_LIMITS),
    Macro(_PRECISION, "content_precision", title="Content precision", limits=_LIMITS),
    Macro(_RECALL, "content_recall", title="Content recall", limits=_LIMITS),
    F1("matches", "deletions", "additions", "content_f1_micro", title="Content edit-F1 (micro)"),
    Ratio(
        "matches",
        "matches+deletions",
        "content_precision_micro",
        zero=0.0,
        title="Content precision (micro)",
    ),
    Ratio("matches", "matches+additions", "content_recall_micro", zero=0.0, title="Content recall (micro)"),
    Mean(
        "words_to_delete",
        title="Words to delete per draft",
        higher_is_better=False,
        digits=1,
        unit="words",
        bounds=COUNT,
    ),
    Mean(
        "words_to_add",
        title="Words to add per draft",
        higher_is_better=False,
        digits=1,
        unit="words",
        bounds=COUNT,
    ),
    Mean("usable", "usable_share", title="Usable with no edit", limits=_LIMITS, digits=1, unit="%"),
    Ratio(
        "draft_words",
        "reply_words",
        "length_ratio",
        title="Length of draft against reply",
        higher_is_better=None,
        digits=2,
        bounds=COUNT,
    ),
    *THEME_METRICS,
    *GROUPED,
)
