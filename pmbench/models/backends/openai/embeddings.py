"""Embeddings of servers that speak as OpenAI's does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pmbench.core.errors import RequestFailed
from pmbench.models.backends.openai import wire
from pmbench.models.serving.payload import objects

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PATH = "/embeddings"
MOST_TEXTS = 256
"""Texts of one request."""


def body(model: str, texts: Sequence[str]) -> dict[str, Any]:
    """The body of a request for the vectors of some texts."""
    # Servers refuse empty texts; a space is as near to nothing as they take.
    return {"model": model, "input": [text or " " for text in texts], "encoding_format": "float"}


def read(payload: Mapping[str, Any], count: int, manner: wire.Manner) -> NDArray[np.float32]:
    """The vectors in an answer, L2-normalised, in the order of the texts, shape (count, d).

    Raises:
        RequestFailed: `no-answer`: not a vector for each text; `invalid-answer`: they are no vectors; `error`.
        ModelUnavailable: an error that no further request can escape.
    """
    import numpy as np

    rows = objects(payload.get("data"))
    if len(rows) != count:
        failure = None if rows else manner.failure_in(payload, wire.usage(payload, "prompt_tokens", ""))
        raise failure or RequestFailed("no-answer", f"{len(rows)} vectors for {count} texts", retryable=True)
    places = [row.get("index", place) for place, row in enumerate(rows)]
    if {place for place in places if isinstance(place, int)} != set(range(count)):
        raise RequestFailed("invalid-answer", "vectors that cannot be told apart")
    try:
        vectors = np.array([row.get("embedding") for row in rows], dtype=np.float32)
    except (TypeError, ValueError):  # no numbers, or not the same number of them in each
        vectors = np.zeros(0, dtype=np.float32)
    norms = np.linalg.norm(np.atleast_2d(vectors), axis=1, keepdims=True)
    if vectors.ndim != 2 or not (np.isfinite(norms) & (norms > 0)).all():
        raise RequestFailed("invalid-answer", "vectors that are none")
    ordered: NDArray[np.float32] = (vectors / norms)[np.argsort(places)]
    return ordered
