"""Any model that offers `embed`, as an embedder: vectors in batches, those of a server paid for once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pmbench.models.backend import Backend, Request
from pmbench.models.facade import FacadeModel
from pmbench.models.traffic.gatherer import Gatherer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

BATCH = 64
"""Texts of one request."""

AT_ONCE = 8
"""Requests under way."""

KEPT = 20_000
"""Vectors kept in memory."""


class ModelEmbedder:
    """Turns texts into vectors through a model of the catalogue.

    Vectors of a server are kept in the completion store, one for each text; those of a model in this process are
    computed anew by every command.

    Args:
        model: offers `embed`.

    Attributes:
        truncated: always 0: what a model does with texts beyond its limit is not told.
    """

    truncated = 0

    def __init__(self, model: FacadeModel) -> None:
        self.model = model
        self._memory: OrderedDict[str, Vector] = OrderedDict()
        self._gather: Gatherer[str, Vector] = Gatherer(self._ask, most=BATCH, parallel=AT_ONCE)

    @property
    def name(self) -> str:
        """As the user gave it."""
        return self.model.name

    @property
    def backend(self) -> Backend:
        """What computes the vectors."""
        return self.model.backend

    def identity(self) -> Mapping[str, str]:
        """What decides the vectors."""
        identity = self.model.identity()
        if len(identity) > 1:
            del identity["spec"]
        return {"backend": self.backend.name, **identity}

    async def embed(self, texts: Sequence[str]) -> Vector:
        """Vectors of Euclidean length 1 as rows, shape (n, d); (0, 0) for no texts.

        Raises:
            RequestFailed: after all retries.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        found = {text: vector for text in dict.fromkeys(texts) if (vector := self._known(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for text, vector in zip(missing, await self._gather(missing), strict=True):
            found[text] = vector
            self._remember(text, vector)
        return np.stack([found[text] for text in texts])

    async def close(self) -> None:
        """Let go of the model."""
        await self.model.close()

    def _known(self, text: str) -> Vector | None:
        import numpy as np

        if text in self._memory:
            self._memory.move_to_end(text)
            return self._memory[text]
        if self.backend.endpoint is None or (stored := self.model.store.get(self._key(text))) is None:
            return None
        vector = np.frombuffer(stored, dtype="<f4").astype(np.float32)
        self._remember(text, vector)
        self.model.answered_from_store += 1
        return vector

    def _remember(self, text: str, vector: Vector) -> None:
        self._memory[text] = vector
        if len(self._memory) > KEPT:
            self._memory.popitem(last=False)

    def _key(self, text: str) -> str:
        return self.model.key("embed", Request(({"role": "user", "content": text},)))

    async def _ask(self, texts: list[str]) -> list[Vector]:
        vectors = await self.model.embed(texts)
        if self.backend.endpoint is not None:
            about = {"model": self.name, "kind": "embed"}
            for text, vector in zip(texts, vectors, strict=True):
                await self.model.store.put(self._key(text), vector.astype("<f4").tobytes(), about=about)
        return list(vectors)
