"""The score of one draft: edits at both levels as numbers that add up, and what explains them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmbench import Score, sentence_spans, split_sentences
from pmbench_tasks.drafting.edits import EditCounts, count_edits
from pmbench_tasks.drafting.judging.answer import Answer, ContentJudge, ThemeJudge
from pmbench_tasks.drafting.themes import THEMES, theme_counts

_TAG = re.compile(
    r"</?(?:a|b|br|body|div|em|font|h[1-6]|html|i|img|li|ol|p|span|strong|table|td|tr|u|ul)(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)

Labels = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Drafted:
    """A draft that was judged.

    Attributes:
        sentences: of the clinician's reply; answers: of the content judge to each; counts: the edits.
        draft: the draft's text; spans: of its sentences.
        reply_labels, draft_labels: themes of each sentence of the two.
    """

    sentences: Sequence[str]
    answers: Sequence[Answer]
    counts: EditCounts
    draft: str
    spans: Sequence[tuple[int, int]]
    reply_labels: Labels
    draft_labels: Labels


async def judge(reply: str, draft: str, judges: Mapping[str, Any]) -> Drafted:
    """Have both judges look at a draft; the theme judge is asked only once the content judge has answered.

    Raises:
        RequestFailed, Unscored: a judge could not answer, or its answer could not be read.
    """
    content: ContentJudge = judges["content"]
    theme: ThemeJudge = judges["theme"]
    sentences, spans = split_sentences(reply), sentence_spans(draft)
    answers = await content.match(sentences, draft)
    labels = await theme.label([*sentences, *(draft[start:end] for start, end in spans)])
    counts = count_edits(sentences, draft, [answer.span for answer in answers])
    return Drafted(
        sentences, answers, counts, draft, spans, labels[: len(sentences)], labels[len(sentences) :]
    )


def score_of(drafted: Drafted, *, words_cut: int) -> Score:
    """The score: `words_cut` are words of the response that the task did not have judged."""
    stats = _content(drafted) | {"words_cut": float(words_cut)} | _themes(drafted)
    return Score(stats=stats, evidence=_evidence(drafted))


def has_tags(text: str) -> bool:
    """Whether a text holds HTML tags: judges and splitter take them as text."""
    return _TAG.search(text) is not None


def words(text: str) -> int:
    """Words of a text: what stands between white space and has a letter or digit."""
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def _content(drafted: Drafted) -> dict[str, float]:
    counts = drafted.counts
    missing = (s for s, answer in zip(drafted.sentences, counts.answers, strict=True) if not answer.matched)
    return {
        "matches": float(counts.matches),
        "additions": float(counts.additions),
        "deletions": float(counts.deletions),
        "nonverbatim": float(counts.nonverbatim),
        "draft_words": float(words(drafted.draft)),
        "reply_words": float(sum(map(words, drafted.sentences))),
        "words_to_delete": float(words(counts.rest)),
        "words_to_add": float(sum(map(words, missing))),
        "html": float(has_tags(drafted.draft)),
        "usable": float(counts.additions == 0 and counts.deletions == 0),
    }


def _themes(drafted: Drafted) -> dict[str, float]:
    """Statistics of themes; see `theme_metrics.py` for their names."""
    reply = {theme for label in drafted.reply_labels for theme in label}
    draft = {theme for label in drafted.draft_labels for theme in label}
    counts = theme_counts(reply, draft)
    stats = {
        "theme_matches": float(counts.matches),
        "theme_additions": float(counts.additions),
        "theme_deletions": float(counts.deletions),
    }
    matched = [answer.matched for answer in drafted.counts.answers]
    for theme in THEMES:
        own = [found for found, label in zip(matched, drafted.reply_labels, strict=True) if theme in label]
        stats |= {
            f"reply_has_{theme}": float(theme in reply),
            f"draft_has_{theme}": float(theme in draft),
            f"both_have_{theme}": float(theme in reply and theme in draft),
            f"sentences_{theme}": float(len(own)),
            f"matched_{theme}": float(sum(own)),
        }
    return stats


def _evidence(drafted: Drafted) -> dict[str, Any]:
    """What explains the counts; holds text of the reply and the draft."""
    counts = drafted.counts
    reply = []
    for sentence, answer, read, label in zip(
        drafted.sentences, drafted.answers, counts.answers, drafted.reply_labels, strict=True
    ):
        start, end = read.span or (None, None)
        reply.append(
            {
                "sentence": sentence,
                "answer": answer.span if read.matched else None,
                "similarity": answer.similarity,
                "found": read.span is not None,
                "start": start,
                "end": end,
                "themes": list(label),
            }
        )
    sentences = [
        {"start": start, "end": end, "themes": list(label)}
        for (start, end), label in zip(drafted.spans, drafted.draft_labels, strict=True)
    ]
    return {
        "reply": reply,
        "leftover": list(counts.leftover),
        "draft": drafted.draft,
        "draft_sentences": sentences,
    }
