"""Links between the sentences of an answer and those of the note: as meant, and as the official scorer reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pmbench_tasks.archehr.cases import AnswerSentence
from pmbench_tasks.archehr.factuality import Counts, counts_links


def alignment_counts(
    sentences: Sequence[AnswerSentence], links: Mapping[str, Collection[str]]
) -> dict[str, Counts]:
    """Counts of the links of one case (subtask 4 of 2026), by the prefix of their statistics.

    Args:
        sentences: of the clinician's answer, with their citations.
        links: ids of the note for each id of an answer sentence.

    Returns:
        Under `""` against the citations as they are meant. Under `official_`, where the key says of every sentence
        what it cites, against what the official scorer takes for citations: of text such as `"1,12"` its characters.
        Where a key has lists, the two are the same.
    """
    found = {"": counts_links(links, {one.id: one.citations for one in sentences})}
    official = {one.id: one.official for one in sentences if one.official is not None}
    if len(official) == len(sentences):
        found["official_"] = counts_links(links, official)
    return found
