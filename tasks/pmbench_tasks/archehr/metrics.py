"""The numbers of archehr-qa: those of the official scorer under its names and on its scale, and ours beside them.

Official names have values from 0 to 100, SARI's too; so have those that only add `human_`, `_human` or `clean_`. What
clinicians ask is counts and shares.
"""

from __future__ import annotations

from pmbench import F1, Mean, Metric, MetricGroup, Ratio
from pmbench_tasks.archehr.factuality_metrics import factuality_metrics
from pmbench_tasks.archehr.percent import MeanOf, Percent
from pmbench_tasks.archehr.relevance_metrics import component_metrics, mean_of, part_of, parts

COMPONENTS = ("alignscore", "rougeLsum", "bleu", "medcon", "bertscore", "sari")
"""The six of which the official scorer's overall_relevance_score is the mean."""

_SHOWN = (
    "bleu",
    "rouge1",
    "rouge2",
    "rougeL",
    "rougeLsum",
    "sari",
    "bertscore",
    "bertscore_other",
    "alignscore",
    "medcon",
    "entity_f1",
)

FACTUALITY = MetricGroup(
    "Factuality",
    "What an answer cites against the sentences that are needed (strict: essential; lenient: supplementary too, which"
    " are then missed where they are not cited), as the official scorer reads citations. Macro: mean over cases.",
)
NOTES = MetricGroup(
    "Relevance to the notes",
    "Likeness to question and essential sentences, as in the official score of 2025 (Table 7 of the paper).",
)
HUMAN = MetricGroup(
    "Relevance to clinicians' answers",
    "Likeness to what a clinician answered (Table 6 of the paper).",
)
CLEAN = MetricGroup(
    "Factuality, citations read with goodwill",
    "The same with citations that the official scorer does not read: in brackets, as ranges, with blanks, in the"
    " middle of a line. Those of sentences beyond the 75th word are dropped.",
)
ASKED = MetricGroup(
    "What clinicians ask",
    "Whether each sentence says what it rests on, whether a patient can read it, and what the form of an answer"
    " cost.",
)

_STRICT = F1("strict_tp", "strict_fp", "strict_fn", "strict_micro_f1", title="Strict micro F1")


def _overall(version: str, stats: str, suffix: str) -> tuple[Metric, ...]:
    """Overall relevance and overall score against one reference, of all six components and of fewer.

    Args:
        version: what titles call the reference; stats: prefix of its statistics; suffix: of the names.
    """
    name = f"overall_relevance{suffix or '_score'}"
    relevance = mean_of(COMPONENTS, stats, name)
    found: list[Metric] = [
        Percent(relevance, name, title=f"Overall relevance ({version})", optional=True),
        Percent(
            MeanOf([_STRICT, relevance], "score"),
            f"overall_score{suffix}",
            title=f"Overall score ({version})",
            optional=True,
            headline=True,
        ),
    ]
    for part, told in parts(3, 6):
        mean = part_of(part, stats, f"relevance_{part}{suffix}")
        found += [
            Percent(mean, mean.name, title=f"Relevance ({version}), {told}", optional=True),
            Percent(
                MeanOf([_STRICT, mean], "score"),
                f"score_{part}{suffix}",
                title=f"Score ({version}), {told}",
                optional=True,
                headline=True,
            ),
        ]
    return tuple(found)


_CLINICIANS: tuple[Metric, ...] = (
    Ratio(
        "uncited_sentences",
        "sentences",
        "uncited_sentences",
        title="Sentences without a citation",
        higher_is_better=False,
        digits=1,
        unit="%",
        group=ASKED,
    ),
    Ratio(
        "unused_citations",
        "citations",
        "unused_citations",
        title="Citations that share no word with their sentence",
        higher_is_better=False,
        digits=1,
        unit="%",
        group=ASKED,
    ),
    Ratio(
        "unsupported_sentences",
        "sentences",
        "unsupported_sentences",
        title="Sentences that do not follow from the note",
        higher_is_better=False,
        digits=1,
        unit="%",
        group=ASKED,
        optional=True,
    ),
    Mean(
        "grade",
        title="School grade to read it (Flesch–Kincaid)",
        higher_is_better=None,
        digits=1,
        group=ASKED,
    ),
    Mean("words", title="Words", higher_is_better=None, digits=1, group=ASKED),
    Mean(
        "cut",
        title="Answers over 75 words",
        limits=(0.0, 1.0),
        higher_is_better=False,
        digits=1,
        unit="%",
        group=ASKED,
    ),
    Mean(
        "cited_none",
        title="Answers that cite nothing officially",
        limits=(0.0, 1.0),
        higher_is_better=False,
        digits=1,
        unit="%",
        group=ASKED,
    ),
    Mean(
        "lost_citations",
        title="Citations lost to their form, per answer",
        higher_is_better=False,
        digits=2,
        group=ASKED,
    ),
    Mean(
        "stray_citations",
        title="Cited items that are no sentence, per answer",
        higher_is_better=False,
        digits=2,
        group=ASKED,
    ),
    Mean("tries", title="Requests per answer", higher_is_better=False, digits=1, group=ASKED, optional=True),
    Mean(
        "still_wrong",
        title="Still wrong after all tries",
        limits=(0.0, 1.0),
        higher_is_better=False,
        digits=1,
        unit="%",
        group=ASKED,
        optional=True,
    ),
)

METRICS: tuple[Metric, ...] = (
    Percent(_STRICT, "strict_micro_f1"),
    *_overall("notes", "notes_", ""),
    *_overall("human", "human_", "_human"),
    Percent(
        F1("clean_strict_tp", "clean_strict_fp", "clean_strict_fn"),
        "clean_strict_micro_f1",
        title="Strict micro F1, citations read with goodwill",
    ),
    Percent(_STRICT, "overall_factuality_score", title="Overall factuality", group=FACTUALITY),
    *factuality_metrics("strict_", "strict_", group=FACTUALITY, leave_out="strict_micro_f1"),
    *factuality_metrics("lenient_", "lenient_", group=FACTUALITY),
    *component_metrics(_SHOWN, stats="notes_", group=NOTES),
    *component_metrics(_SHOWN, prefix="human_", stats="human_", group=HUMAN),
    *factuality_metrics("clean_strict_", "clean_strict_", group=CLEAN, leave_out="clean_strict_micro_f1"),
    *factuality_metrics("clean_lenient_", "clean_lenient_", group=CLEAN),
    *_CLINICIANS,
)
"""The numbers of archehr-qa; the first is the primary one."""

OFFICIAL = (
    *(
        f"{mode}_{average}_{part}"
        for mode in ("strict", "lenient")
        for average in ("macro", "micro")
        for part in ("precision", "recall", "f1")
    ),
    "overall_factuality_score",
    "rouge1",
    "rouge2",
    "rougeL",
    "rougeLsum",
    "bleu",
    "sari",
    "bertscore",
    "medcon",
    "alignscore",
    "overall_relevance_score",
    "overall_score",
)
"""The keys of the official scorer's `scores.json` of 2025."""
