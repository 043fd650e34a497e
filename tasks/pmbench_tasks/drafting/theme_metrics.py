"""The numbers of a drafting run at the level of themes, section 3.2 of arXiv 2601.11344.

For each theme t an instance has the statistics `reply_has_t` and `draft_has_t` (0 or 1), `both_have_t`, and
`sentences_t` and `matched_t` (sentences of the reply with that theme, and those of them that the draft has).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pmbench import F1, Macro, Mean, Metric, MetricGroup, Ratio
from pmbench_tasks.drafting.themes import THEMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LIMITS = (0.0, 1.0)
_PRECISION = ("theme_matches", "theme_matches+theme_deletions")
_RECALL = ("theme_matches", "theme_matches+theme_additions")
_F1 = ("theme_matches", "theme_deletions", "theme_additions")


class ProfileDistance(Metric):
    """Mean over the themes of |share of drafts with the theme − share of replies with it|.

    0 where drafts and replies have every theme equally often, whichever messages they are. Half the sum of
    absolute differences is the total variation distance of distributions; shares of themes are none, since a text
    has several, so the mean is taken. A distance cannot be below 0, so that of few instances, and its interval,
    lie too high.
    """

    @property
    def expressions(self) -> tuple[str, ...]:
        """Which themes the reply and the draft have."""
        return tuple(f"{text}_{theme}" for text in ("reply_has", "draft_has") for theme in THEMES)

    def columns(self, stats: Mapping[str, Floats]) -> Floats:
        """(draft − reply per theme, 1) per instance, shape (n, number of themes + 1)."""
        import numpy as np

        gaps = [stats[f"draft_has_{theme}"] - stats[f"reply_has_{theme}"] for theme in THEMES]
        table = np.stack([*gaps, np.ones_like(gaps[0])], axis=-1)
        return np.where(np.isnan(table).any(axis=-1, keepdims=True), 0.0, table)

    def value(self, sums: Floats) -> Floats:
        """Mean of the absolute mean gaps; NaN without an instance."""
        import numpy as np

        count = sums[..., -1:]
        shares = np.where(count == 0, np.nan, sums[..., :-1] / np.where(count == 0, 1.0, count))
        distance: Floats = np.abs(shares).mean(axis=-1)
        return distance

    @property
    def formula(self) -> str:
        """The formula as text."""
        return "mean over themes of |share of drafts − share of replies|"


BY_THEME = MetricGroup(
    "Theme edit-F1 by theme",
    "For each theme, F1 of the drafts that have it against the clinicians' replies that have it; a dash where none of"
    " either has it.",
)
RECALL = MetricGroup(
    "Content recall by theme",
    "Of the clinicians' sentences with each theme, the share that the draft already has (by the content judge).",
)
SHARES = MetricGroup(
    "Share of drafts with each theme",
    "Share of drafts with at least one sentence of each theme; the nearer to the clinicians' share the better.",
    reference="clinicians' replies",
)

THEME_METRICS: tuple[Metric, ...] = (
    F1(*_F1, name="theme_f1", title="Theme edit-F1 (micro)", headline=True),
    Ratio(*_PRECISION, name="theme_precision", zero=0.0, title="Theme precision (micro)"),
    Ratio(*_RECALL, name="theme_recall", zero=0.0, title="Theme recall (micro)"),
    Macro(F1(*_F1), "theme_f1_mean", title="Theme edit-F1 (mean per response)", limits=_LIMITS),
    Macro(
        Ratio(*_PRECISION, zero=0.0),
        "theme_precision_mean",
        title="Theme precision (mean per response)",
        limits=_LIMITS,
    ),
    Macro(
        Ratio(*_RECALL, zero=0.0),
        "theme_recall_mean",
        title="Theme recall (mean per response)",
        limits=_LIMITS,
    ),
    ProfileDistance("profile_distance", title="Distance of theme profiles", higher_is_better=False),
)

GROUPED: tuple[Metric, ...] = (
    *(
        F1(
            f"both_have_{theme}",
            f"draft_has_{theme}-both_have_{theme}",
            f"reply_has_{theme}-both_have_{theme}",
            f"theme_f1_{theme}",
            zero=float("nan"),
            title=title,
            group=BY_THEME,
            digits=2,
        )
        for theme, title in THEMES.items()
    ),
    *(
        Ratio(
            f"matched_{theme}",
            f"sentences_{theme}",
            f"content_recall_{theme}",
            title=title,
            group=RECALL,
            digits=2,
        )
        for theme, title in THEMES.items()
    ),
    *(
        Mean(
            f"draft_has_{theme}",
            f"draft_share_{theme}",
            title=title,
            group=SHARES,
            reference=f"reply_share_{theme}",
            higher_is_better=None,
            digits=2,
            limits=_LIMITS,
        )
        for theme, title in THEMES.items()
    ),
    *(
        Mean(
            f"reply_has_{theme}",
            f"reply_share_{theme}",
            title=title,
            group=SHARES,
            higher_is_better=None,
            digits=2,
            bounds=_LIMITS,
        )
        for theme, title in THEMES.items()
    ),
)
