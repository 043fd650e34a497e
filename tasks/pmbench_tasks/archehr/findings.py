"""What somebody should know of scores: citations lost to their form, and what would stop the official scorer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pmbench import Score
from pmbench_tasks.archehr.cases import shown_some
from pmbench_tasks.archehr.relevance import COMPONENTS

_SHOWN = 5


def findings_of(scores: Mapping[str, Score]) -> Iterator[str]:
    """Lines for the end of a run's results; counts and ids of cases."""
    yield from _lost(scores)
    if none := _where(scores, "cited_none"):
        yield (
            f"in {_cases(none)} the official scorer reads no citation, and would stop there: {_few(none)}. Here every"
            " essential sentence counts as missed."
        )
    if stray := _where(scores, "stray_citations"):
        number = sum(int(scores[name].stats["stray_citations"]) for name in stray)
        yield f"cited and no sentence of the note, each a false positive: {number} in {_cases(stray)}: {_few(stray)}"
    if cut := _where(scores, "cut"):
        yield (
            f"over 75 words, and what is beyond them not scored (citations there count officially): {_cases(cut)}:"
            f" {_few(cut)}"
        )
    yield from _nothing_wanted(
        scores,
        ("strict_tp", "strict_fn"),
        "no sentence is essential: its strict F1 is 0 whatever is cited, and relevance to the notes is likeness to"
        " the question alone",
    )
    yield from _cut_inputs(scores)
    yield from _missing_components(scores)


def findings_evidence(scores: Mapping[str, Score]) -> Iterator[str]:
    """The same for the evidence of 2026."""
    return _nothing_wanted(
        scores, ("strict_tp", "strict_fn"), "no sentence is essential: 100 where nothing is named, else 0"
    )


def findings_alignment(scores: Mapping[str, Score]) -> Iterator[str]:
    """The same for the alignment of 2026."""
    return _nothing_wanted(
        scores, ("tp", "fn"), "the clinician's answer cites nothing: its F1 is 0 whatever is linked"
    )


def _nothing_wanted(scores: Mapping[str, Score], stats: Sequence[str], so: str) -> Iterator[str]:
    """The cases in which there is nothing to find: those whose statistics are all 0."""
    if names := [name for name, one in scores.items() if not any(one.stats[stat] for stat in stats)]:
        yield f"in {_cases(names)} {so}: {_few(names)}"


def findings_2026(scores: Mapping[str, Score], of: Sequence[str], most_words: int) -> Iterator[str]:
    """The same for the subtasks of 2026 whose responses are texts.

    Args:
        of: the components of the official mean; most_words: where texts are cut.
    """
    if none := _where(scores, "said_nothing"):
        yield f"nothing is said, and the official scorer would stop there: {_cases(none)}: {_few(none)}"
    if cut := _where(scores, "cut"):
        yield f"over {most_words} words, what is beyond them not scored: {_cases(cut)}: {_few(cut)}"
    yield from _cut_inputs(scores)
    yield from _missing_components(scores, "", of)


def _cut_inputs(scores: Mapping[str, Score]) -> Iterator[str]:
    """Where an encoder did not read a text or a pair of texts to its end."""
    for title, ends in (
        ("BERTScore", ("bertscore_cut",)),
        ("AlignScore", ("alignscore_cut", "unsupported_cut")),
    ):
        cut = {
            name: sum(value for stat, value in one.stats.items() if stat.endswith(ends))
            for name, one in scores.items()
        }
        if names := [name for name, inputs in cut.items() if inputs]:
            yield (
                f"longer than the encoder of {title} reads, and cut there: {int(sum(cut.values()))} inputs in"
                f" {_cases(names)}: {_few(names)}"
            )


def _missing_components(
    scores: Mapping[str, Score], prefix: str = "notes_", of: Sequence[str] = COMPONENTS
) -> Iterator[str]:
    """Which components of the official mean were not computed."""
    for one in list(scores.values())[:1]:
        if f"{prefix}bertscore_other" in one.stats:
            yield "BERTScore is of another encoder than the official distilbert-base-uncased, so it is in no mean"
        absent = [name for name in of if f"{prefix}{name}" not in one.stats]
        if absent:
            yield (
                f"not computed: {', '.join(absent)}; so there is no overall score, and the mean of the other"
                f" {len(of) - len(absent)} of {len(of)} has a name of its own (--judge relevance=…)"
            )


def _lost(scores: Mapping[str, Score]) -> Iterator[str]:
    if lost := _where(scores, "lost_citations"):
        number = sum(int(scores[name].stats["lost_citations"]) for name in lost)
        yield f"citations lost to their form in the official reading: {number} in {_cases(lost)}: {_few(lost)}"


def _where(scores: Mapping[str, Score], stat: str) -> list[str]:
    return [name for name, one in scores.items() if one.stats.get(stat)]


def _cases(names: Sequence[str]) -> str:
    return f"{len(names)} case{'s' * (len(names) != 1)}"


def _few(names: Sequence[str]) -> str:
    return shown_some(names, _SHOWN)
