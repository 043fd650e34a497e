"""Stage 3: questions that ask the same become one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pmbench import DataError, Embedder, Model, Prompt
from pmbench_tasks.notes.pipeline.asking import (
    Asked,
    Progress,
    Unreadable,
    ask,
    each,
    first_object,
    object_schema,
)
from pmbench_tasks.notes.pipeline.failing import vectors_of
from pmbench_tasks.notes.pipeline.proposing import unanswerable
from pmbench_tasks.notes.pipeline.records import Candidate, Dropped, Failure, Stage, all_sources, dropped
from pmbench_tasks.notes.pipeline.told import SECTION_NAME, one_line
from pmbench_tasks.notes.selection import DUPLICATE, duplicate_clusters
from pmbench_tasks.notes.validation import normalised

STAGE = "merge"

PROMPT = Prompt("pmbench_tasks.notes:prompts/pipeline_merge.txt")

MOST = 5_000
"""Candidates that are compared with one another: their similarities take 200 MB."""

SHOWN = 30
"""Questions of one cluster that the model is shown; those beyond go in with them all the same."""


class Cluster(msgspec.Struct, frozen=True):
    """Questions that are close enough to be one.

    Attributes:
        members: at least one.
        merged: what goes on for them.
        how: `alone`; `same words`; `merged by the model`; `first kept`, where the model gave no usable wording;
            `there already`, where one of them stands in the checklist that is being added to.
    """

    members: tuple[Candidate, ...]
    merged: Candidate
    how: str


class Merged(msgspec.Struct, frozen=True):
    """What stage 3 came to: the clusters, and as a stage what goes on."""

    clusters: tuple[Cluster, ...]
    stage: Stage[Candidate]


async def merge(
    candidates: Sequence[Candidate],
    model: Model,
    embedder: Embedder,
    *,
    section: str,
    threshold: float = DUPLICATE,
    existing: Sequence[Candidate] = (),
    progress: Progress,
) -> Merged:
    """Join questions whose embeddings have a cosine of at least the threshold, each connected group into one.

    Questions of the same words (case, signs and spaces apart) are one without a model. Of a group of others the model
    writes one question; where its wording is no question, the one with most feedback behind it stays as it is.

    Args:
        candidates: yes is the good answer to each.
        model: writes the common wording.
        embedder: of L2-normalised vectors.
        section: see `filtering.filter_feedback`.
        threshold: the least cosine, in [-1, 1].
        existing: questions of a checklist that is being added to; what is close to one of them is dropped.
        progress: hears of it.

    Raises:
        DataError: more than `MOST` different questions.
        Unanswered: the embedder's server failed.
    """
    alike = _same_words(candidates)
    firsts = [group[0] for group in alike]
    if len(firsts) + len(existing) > MOST:
        raise DataError(
            f"there are {len(firsts):,} different candidate questions, and at most {MOST:,} can be compared",
            remedy="Show more feedback in each batch (--batch), or use less feedback (--limit)",
        )
    everything = [*existing, *firsts]
    groups = await _groups(everything, embedder, threshold)
    known = {one.id for one in existing}
    members = {one.id: group for one, group in zip(firsts, alike, strict=True)}
    clusters: list[Cluster] = []
    left_out: list[Dropped] = []
    to_merge: list[tuple[Candidate, ...]] = []
    for group in groups:
        near = [everything[place] for place in group if everything[place].id in known]
        new = tuple(one for place in group for one in members.get(everything[place].id, ()))
        if near:
            left_out += [dropped(STAGE, f"close to {near[0].id}, which is there already", one) for one in new]
            if new:
                clusters.append(Cluster(new, near[0], "there already"))
        elif len(new) == 1:
            clusters.append(Cluster(new, new[0], "alone"))
        elif len(group) == 1:
            clusters.append(_cluster(new, Asked(""), f"m{len(clusters) + 1}"))
        else:
            to_merge.append(new)
    worded = await each(
        to_merge,
        lambda group: _wording(group, model, section),
        model=model,
        progress=progress,
        phase="merge",
        failed=lambda asked: bool(asked.failure),
    )
    failures: list[Failure] = []
    for joined, asked in zip(to_merge, worded, strict=True):
        if asked.failure:
            failures.append(Failure(STAGE, tuple(one.id for one in joined), asked.failure))
        clusters.append(_cluster(joined, asked, f"m{len(clusters) + 1}"))
    order = {one.id: place for place, one in enumerate(candidates)}
    clusters.sort(key=lambda cluster: order[cluster.members[0].id])
    kept = tuple(cluster.merged for cluster in clusters if cluster.how != "there already")
    return Merged(tuple(clusters), Stage(kept, tuple(left_out), tuple(failures)))


def _same_words(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        groups.setdefault(normalised(one.question), []).append(one)
    return list(groups.values())


async def _groups(candidates: Sequence[Candidate], embedder: Embedder, threshold: float) -> list[list[int]]:
    import numpy as np

    if not candidates:
        return []
    vectors = await vectors_of([one.question for one in candidates], embedder)
    similarity = np.clip(vectors @ vectors.T, -1.0, 1.0)
    # Sums in another order differ in their last digits, on the two sides of the diagonal, too.
    return duplicate_clusters(np.maximum(similarity, similarity.T), threshold)


async def _wording(group: Sequence[Candidate], model: Model, section: str) -> Asked[str]:
    """One question for all of them."""
    firsts = {normalised(one.question): one_line(one.question) for one in reversed(group)}
    words = dict.fromkeys(normalised(one.question) for one in group)
    entries = [firsts[one] for one in words][:SHOWN]
    return await ask(
        model,
        PROMPT.messages(section=SECTION_NAME[section], entries=list(enumerate(entries, 1))),
        _read,
        schema=object_schema({"question": {"type": "string"}}),
        max_tokens=160,
    )


def _read(text: str) -> str:
    found = first_object(text, "question")
    question = found["question"] if found else None
    if not isinstance(question, str):
        raise Unreadable('There was no JSON object {"question": "..."} in your answer.')
    question = one_line(question)
    if why := unanswerable(question):
        raise Unreadable(f"This is no question for a checklist: {why}.")
    return question


def _cluster(group: tuple[Candidate, ...], asked: Asked[str], ident: str) -> Cluster:
    sources, parents = all_sources(group), tuple(one.id for one in group)
    if asked.value:
        return Cluster(group, Candidate(ident, asked.value, sources, parents), "merged by the model")
    best = max(group, key=lambda one: len(one.sources))
    how = "first kept" if asked.failure else "same words"
    return Cluster(group, Candidate(ident, best.question, sources, parents), how)
