"""What people need who count a draft's edits themselves: what each count is, the texts, which counts cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pmbench import Instance, ViewBlock, ViewLine, sentence_spans, split_sentences

STAT_WORDS = {
    "matches": "sentences of the reply whose content the draft has, in whatever words",
    "additions": "sentences of the reply that the draft lacks and that would have to be added;"
    " matches + additions is the number of the reply's sentences",
    "deletions": "sentences of the draft, or parts of one, that stand for no sentence of the reply and would have to"
    " go",
    "usable": "1 if nothing would have to be added or deleted, else 0",
    "words_to_add": "words of the sentences that would have to be added",
    "words_to_delete": "words of the draft that would have to go",
    "draft_words": "words of the draft",
    "reply_words": "words of the reply",
    "theme_matches": "themes that both the reply and the draft have, each counted once",
    "theme_additions": "themes that the reply has and the draft lacks",
    "theme_deletions": "themes that the draft has and the reply lacks",
}
"""What people count, by name of the statistic."""

EDITS = ("additions", "deletions")


def texts_to_label(instance: Instance, draft: str) -> list[ViewBlock]:
    """Message, chart, reply and draft; sentences of the last two are numbered as the program cuts them."""
    chart = str(instance.inputs.get("chart") or "")
    reply = split_sentences(str(instance.target["response"]))
    parts = [draft[start:end] for start, end in sentence_spans(draft)]
    return [
        ViewBlock("The patient's message", (ViewLine(str(instance.inputs["message"])),)),
        *([ViewBlock("The patient's chart", (ViewLine(chart),))] if chart.strip() else []),
        ViewBlock(f"The clinician's reply: {_many(len(reply))}", _numbered(reply)),
        ViewBlock(f"The draft: {_many(len(parts))}", _numbered(parts) or (ViewLine("The draft is empty."),)),
    ]


def doubts(given: Mapping[str, float], judged: Mapping[str, float]) -> Iterator[str]:
    """Counts that do not fit the reply's sentences or one another.

    Args:
        given: people's; judged: the program's, whose matches and additions are together the reply's sentences.
    """
    both = ("matches", "additions")
    if all(name in counts for name in both for counts in (given, judged)):
        total, sentences = (sum(counts[name] for name in both) for counts in (given, judged))
        if total != sentences:
            yield (
                f"matches + additions is {total:g}, the reply has {_many(int(sentences))} by the program's count"
            )
    edits = [name for name in EDITS if given.get(name)]
    if given.get("usable", 0) not in (0, 1):
        yield f"usable is {given['usable']:g}, neither 1 nor 0"
    elif given.get("usable") and edits:
        yield f"usable is {given['usable']:g}, and {edits[0]} {given[edits[0]]:g}"
    elif given.get("usable") == 0 and all(given.get(name) == 0 for name in EDITS):
        yield "usable is 0, and additions and deletions are 0"


def _numbered(sentences: list[Any]) -> tuple[ViewLine, ...]:
    return tuple(ViewLine(f"{number}: {text.strip()}") for number, text in enumerate(sentences, 1))


def _many(count: int) -> str:
    return f"{count} sentence{'' if count == 1 else 's'}"
