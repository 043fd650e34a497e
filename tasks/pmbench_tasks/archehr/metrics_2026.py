"""The numbers of the four subtasks of 2026, under the names and on the scale of their official scorers (0 to 100).

The primary number of the two subtasks whose responses are texts is ROUGE-Lsum, which can always be computed; the
official one, `overall_score`, is shown where all its components were.
"""

from __future__ import annotations

from collections.abc import Sequence

from pmbench import F1, Metric, MetricGroup
from pmbench_tasks.archehr.factuality_metrics import factuality_metrics
from pmbench_tasks.archehr.form_metrics import grade, share, tries, words
from pmbench_tasks.archehr.percent import Percent
from pmbench_tasks.archehr.relevance_metrics import (
    TITLES,
    component,
    component_metrics,
    mean_of,
    part_of,
    parts,
)

RELEVANCE = MetricGroup("Relevance", "Likeness to what a clinician wrote.")
ASKED = MetricGroup("Form", "Words, what of them was cut, and how often the model had to be asked.")
COUNTED = MetricGroup(
    "Precision and recall",
    "Micro: over all cases together; macro: mean over cases.",
)
OFFICIAL_READING = MetricGroup(
    "By the key as the official scorer reads it",
    "Where a key has citations as text, the official scorer takes each character for an id: `1,12` is `1`, `,` and"
    " `2`. A perfect answer then has less than 100. Where a key has lists these numbers are the others.",
)

TRIES = tries(ASKED, "case")


def _texts(shown: Sequence[str], official: Sequence[str], always: int) -> tuple[Metric, ...]:
    """The numbers of a subtask whose responses are texts.

    Args:
        shown: components in the order of the table.
        official: those of which the official scorer's overall_score is the mean.
        always: how many of these need neither weights nor a licence.
    """
    return (
        Percent(component("rougeLsum")),
        Percent(
            mean_of(official, name="overall_score"),
            "overall_score",
            title="Overall score",
            optional=True,
            headline=True,
        ),
        *(
            Percent(
                part_of(part, name=f"score_{part}"),
                f"score_{part}",
                title=f"Score, {told}",
                optional=True,
                headline=True,
            )
            for part, told in parts(always, len(official))
        ),
        *component_metrics([name for name in shown if name != "rougeLsum"], group=RELEVANCE),
        words(ASKED),
        share("cut", "Over the limit", ASKED),
        share("said_nothing", "Says nothing", ASKED),
        *TRIES,
    )


METRICS_QUESTIONS: tuple[Metric, ...] = _texts(
    [name for name in TITLES if name not in ("bleu", "sari")],
    ("alignscore", "rougeLsum", "medcon", "bertscore"),
    always=1,
)
"""Subtask 1 (`scoring_subtask_1`).

Statistics, shares: `rouge1`, `rouge2`, `rougeL`, `rougeLsum`, and where they are computed `bertscore` (or
`bertscore_other`), `alignscore`, `medcon`, `entity_f1`; where a component of the mean is not, `part_<set>`, the mean
of those that are (sets as of `relevance_metrics.parts(1, 4)`). `words`, `cut`, `said_nothing`; where a model was
asked `tries`, `still_wrong`.
"""

METRICS_ANSWERS: tuple[Metric, ...] = (
    *_texts(tuple(TITLES), ("bleu", "rougeLsum", "sari", "bertscore", "alignscore", "medcon"), always=3),
    grade(ASKED),
)
"""Subtask 3 (`scoring_subtask_3`).

Statistics as of subtask 1, with `bleu`, `sari` and `grade`; sets of `parts(3, 6)`.
"""

METRICS_EVIDENCE: tuple[Metric, ...] = (
    Percent(F1("strict_tp", "strict_fp", "strict_fn", zero=1.0), "strict_micro_f1", title="Strict micro F1"),
    Percent(
        F1("strict_tp", "strict_fp", "strict_fn", zero=1.0),
        "overall_score",
        title="Overall score",
        group=COUNTED,
    ),
    *factuality_metrics("strict_", "strict_", group=COUNTED, empty=1.0, leave_out="strict_micro_f1"),
    *factuality_metrics("lenient_", "lenient_", group=COUNTED, empty=1.0),
    *TRIES,
)
"""Subtask 2 (`scoring_subtask_2`): nothing picked where nothing is to be found is worth 1.

Statistics: `strict_tp`, `strict_fp`, `strict_fn`, `lenient_tp`, `lenient_fp`, `lenient_fn` as of
`factuality.counts_2026`; where a model was asked `tries`, `still_wrong`.
"""

METRICS_ALIGNMENT: tuple[Metric, ...] = (
    Percent(F1("tp", "fp", "fn"), "micro_f1", title="Micro F1"),
    Percent(F1("tp", "fp", "fn"), "overall_score", title="Overall score", group=COUNTED),
    *factuality_metrics("", "", group=COUNTED, leave_out="micro_f1"),
    *factuality_metrics("official_", "official_", group=OFFICIAL_READING, optional=True),
    *TRIES,
)
"""Subtask 4 (`scoring_subtask_4`): links; nothing of nothing is worth 0.

Statistics: `tp`, `fp`, `fn`, and `official_tp`, `official_fp`, `official_fn`, as of `alignment.alignment_counts`;
where a model was asked `tries`, `still_wrong`.
"""
