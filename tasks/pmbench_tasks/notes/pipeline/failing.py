"""Nothing came: because a server failed, because a text is too long for a model, or because there is nothing.

The three are different things to whoever reads them: the first passes and the same command goes on then, the second
takes another model, and only the third says something of the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pmbench import ConfigError, DataError, Embedder, RequestFailed, UserError
from pmbench_tasks.notes.answers import ABSENT, CUT_OFF, NEITHER, REFUSED, TWICE, UNPARSED
from pmbench_tasks.notes.pipeline.records import Failure, by_kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOO_LONG = "too-long"

AGAIN = "Give the same command again: what was answered is kept, and it goes on where it was"

NO_REWRITING = frozenset({"empty", "unchanged", "nothing-removed"})
"""A model that was to rewrite a text has deleted all of it, or left it as it was."""

_ANSWERED = NO_REWRITING | {"unreadable", "no answer", UNPARSED, ABSENT, NEITHER, TWICE, REFUSED, CUT_OFF}
"""Kinds of missing answers for which the same question again would get the same answer out of the store."""


class Unanswered(UserError):
    """Nothing usable came of what was asked, as where requests failed; the same command goes on: exit status 1."""

    exit_status = 1


def requests_failed(kinds: Mapping[str, int]) -> dict[str, int]:
    """Of kinds of missing answers with their counts those that are failures of requests.

    Args:
        kinds: such as `server`, `judging: timeout`, `failed: server`; of answers that were unusable, `unreadable`.
    """
    return {kind: count for kind, count in kinds.items() if _bare(kind) not in (*_ANSWERED, TOO_LONG)}


def told(kinds: Mapping[str, int]) -> str:
    """`12 server, 3 timeout`."""
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())


def need(
    kept: Sequence[object],
    file: Path,
    what: str,
    failures: Sequence[Failure],
    *,
    remedy: str = "",
    empty_is_fine: bool = False,
) -> None:
    """Do nothing where a stage has kept something.

    Args:
        kept: what goes on.
        file: that the stage left.
        what: is said where nothing failed.
        failures: of the stage.
        remedy: what to do then.
        empty_is_fine: whether a stage may keep nothing, if only no request failed.

    Raises:
        Unanswered: nothing was kept, and requests failed.
        DataError: nothing was kept, and no request failed.
    """
    if kept:
        return
    kinds = by_kind(failures)
    if failed := requests_failed(kinds):
        why = f"requests failed (without an answer: {told(failed)}), and nothing is left after this stage"
        raise Unanswered(why, where=str(file), remedy=AGAIN)
    if empty_is_fine:
        return
    lost = f"; no usable answer of the model: {told(kinds)}" if kinds else ""
    raise DataError(f"{what}{lost}", where=str(file), remedy=longer(kinds) or remedy or "That file says why")


async def vectors_of(texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
    """Vectors of texts, shape (n, d).

    Raises:
        Unanswered: the embedder's server failed.
        ConfigError: a text is too long for it.
    """
    try:
        return await embedder.embed(texts)
    except RequestFailed as error:
        where = f"--embedder {str(getattr(embedder, 'name', '')).partition('?')[0]}".strip()
        if error.kind == TOO_LONG:
            remedy = "Choose an embedder that takes longer texts"
            raise ConfigError(
                "a text is longer than it takes (too-long)", where=where, remedy=remedy
            ) from None
        raise Unanswered(
            f"gave no vectors: its requests failed ({error.kind})", where=where, remedy=AGAIN
        ) from None


def _bare(kind: str) -> str:
    return kind.rpartition(": ")[2]


def longer(kinds: Iterable[str]) -> str:
    """What to do where texts are too long for a model; `""` where none is."""
    if any(_bare(kind) == TOO_LONG for kind in kinds):
        return "Texts are longer than the model's context: choose a model that takes longer ones"
    return ""
