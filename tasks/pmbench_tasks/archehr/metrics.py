"""The numbers of archehr-qa: those of the official scorer under its names and on its scale, and ours beside them.

Official names have values from 0 to 100, SARI's too; so have those that only add `human_`, `_human` or `clean_`. What
clinicians ask is counts and shares.
"""

from __future__ import annotations

from pmbench import COUNT, F1, Mean, Metric, MetricGroup
from pmbench_tasks.archehr.factuality_metrics import factuality_metrics
from pmbench_tasks.archehr.form_metrics import grade, share, tries, words
from pmbench_tasks.archehr.percent import MeanOf, Percent
from pmbench_tasks.archehr.relevance_metrics import TITLES, component_metrics, mean_of, part_of, parts

COMPONENTS = ("alignscore", "rougeLsum", "bleu", "medcon", "bertscore", "sari")
"""The six of which the official scorer's overall_relevance_score is the mean."""

_SHOWN = tuple(TITLES)

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
    share("uncited_sentences", "Sentences without a citation", ASKED, of="sentences"),
    share("unused_citations", "Citations that share no word with their sentence", ASKED, of="citations"),
    share(
        "unsupported_sentences",
        "Sentences that do not follow from the note",
        ASKED,
        of="sentences",
        optional=True,
    ),
    grade(ASKED),
    words(ASKED),
    share("cut", "Answers over 75 words", ASKED),
    share("cited_none", "Answers that cite nothing officially", ASKED),
    *(
        Mean(stat, title=title, higher_is_better=False, digits=2, group=ASKED, bounds=COUNT)
        for stat, title in (
            ("lost_citations", "Citations lost to their form, per answer"),
            ("stray_citations", "Cited items that are no sentence, per answer"),
        )
    ),
    *tries(ASKED, "answer"),
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
