"""The embedded embedder: all-MiniLM-L6-v2 with weights of 8 bits, through onnxruntime, without torch.

Each text goes through the model alone, without padding and on one thread, several texts at a time on several
threads. A vector then depends on its text and nothing else: not on what it was asked together with, nor on
how many threads there are. On this small model that is also faster than batches, whose matrices are too small
to be worth splitting.

Pooling is the mean over the tokens' last states, then division by the Euclidean length (Reimers and Gurevych
2019, Sentence-BERT; the model's own card says the same).
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmbench.core.errors import MissingExtra, ModelUnavailable, UnknownName
from pmbench.models.files import cache
from pmbench.models.paths import ABSENT, shortened, why_no_file
from pmbench.models.presets import EMBEDDED, find_preset, presets
from pmbench.models.processor import usable_cores
from pmbench.models.spec import parse_spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

DEFAULT = "all-minilm-l6-v2"
DIMENSIONS = 384
MAX_TOKENS = 256
"""Tokens that the model was made for; what is beyond is cut off and counted."""

_KEPT = 20_000
"""Vectors kept in memory: 31 MB."""

_AT_ONCE = 16
"""Texts that a thread takes at a time."""


def open_embedder(name: str = EMBEDDED) -> LocalEmbedder:
    """The embedder of that name; `embedded` is the default one. Loaded with the first text.

    Raises:
        UnknownName: there is no such embedder.
        MissingExtra, ModelUnavailable: it cannot run here; the message says what to do.
    """
    preset = DEFAULT if name == EMBEDDED else name
    known = {p.name: p for p in presets().values() if p.kind == "embed"}
    if preset not in known:
        raise UnknownName("embedder", name, [EMBEDDED, *known], remedy="See: pmbench models")
    backend = parse_spec(known[preset].routes[0]).backend
    if backend != EMBEDDED:
        raise ModelUnavailable(
            f"{preset} needs the backend {backend!r}, which opens no embedder here",
            where=f"embedder {name!r}",
        )
    _check(preset)
    return LocalEmbedder(preset)


def unavailable(preset: str = DEFAULT) -> str:
    """Why the embedder cannot run here, in one line; empty if it can. Imports and loads nothing."""
    try:
        _check(preset)
    except (MissingExtra, ModelUnavailable) as error:
        return str(error)
    return ""


def _check(preset: str) -> None:
    for module in ("onnxruntime", "tokenizers"):
        if importlib.util.find_spec(module) is None:
            raise MissingExtra(f"the embedder {preset!r}", "embedded", module)
    for path in _files(preset).values():
        reason = why_no_file(path)
        if reason == ABSENT:
            raise ModelUnavailable(
                f"{preset} is not in the model cache ({path.parent})", remedy=f"Run: pmbench fetch {preset}"
            )
        if reason:
            raise ModelUnavailable(reason, where=shortened(str(path)))


def _files(preset: str) -> dict[str, Path]:
    files = find_preset(preset).files
    return {file.name: cache.cached_path(file.place, file.name) for file in files}


class LocalEmbedder:
    """Turns texts into vectors on this machine.

    Args:
        name: of the preset.
        workers: threads; 0: as many as this process may use.
        keep: how many vectors stay in memory.

    Attributes:
        truncated: texts that were cut off at 256 tokens, each counted once while its vector is kept.
        computed: texts that went through the model.
    """

    local = True

    def __init__(self, name: str = DEFAULT, *, workers: int = 0, keep: int = _KEPT) -> None:
        self.name = name
        self.truncated = self.computed = 0
        self._paths = _files(name)
        self._workers = workers or usable_cores()
        self._keep = keep
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._session: Any = None
        self._tokenizer: Any = None

    def identity(self) -> dict[str, str]:
        """What decides a vector: engines and versions, SHA-256 of the files, pooling, truncation."""
        return {
            "name": self.name,
            "onnxruntime": importlib.metadata.version("onnxruntime"),
            "tokenizers": importlib.metadata.version("tokenizers"),
            **{name: cache.file_sha256(path) for name, path in self._paths.items()},
            "pooling": "mean",
            "normalised": "l2",
            "max_tokens": str(MAX_TOKENS),
            "arrangement": "each text alone",
        }

    async def embed(self, texts: Sequence[str]) -> Vector:
        """Embed texts; the event loop stays free.

        Returns:
            L2-normalised rows in the order of the texts, shape (n, 384); (0, 384) for no texts.

        Raises:
            ModelUnavailable: a file is damaged.
        """
        import numpy as np

        found: dict[str, Vector] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            vector = self._vectors.get(text)
            if vector is None:
                missing.append(text)
            else:
                self._vectors.move_to_end(text)
                found[text] = vector
        if missing:
            pool = self._open_pool()
            loop = asyncio.get_running_loop()
            parts = [missing[start : start + _AT_ONCE] for start in range(0, len(missing), _AT_ONCE)]
            for vectors in await asyncio.gather(
                *(loop.run_in_executor(pool, self._compute, part) for part in parts)
            ):
                found.update(vectors)
                self._remember(vectors)
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        return np.stack([found[text] for text in texts])

    async def close(self) -> None:
        """Let go of the model and its threads; the next text loads it again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)
        self._session = self._tokenizer = None

    def _open_pool(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="pmbench-embed")
        return self._pool

    def _remember(self, vectors: Mapping[str, Vector]) -> None:
        self._vectors.update(vectors)
        while len(self._vectors) > self._keep:
            self._vectors.popitem(last=False)

    def _compute(self, texts: Sequence[str]) -> dict[str, Vector]:
        with self._lock:
            if self._session is None:
                self._load()
        encoded = [self._tokenizer.encode(text) for text in texts]
        vectors = {text: self._vector(code.ids) for text, code in zip(texts, encoded, strict=True)}
        with self._lock:
            self.computed += len(texts)
            self.truncated += sum(bool(code.overflowing) for code in encoded)
        return vectors

    def _vector(self, ids: Sequence[int]) -> Vector:
        import numpy as np

        tokens = np.asarray([ids], dtype=np.int64)
        feed = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        states: Vector = self._session.run(None, feed)[0][0]
        mean = states.mean(axis=0, dtype=np.float32)
        length = np.maximum(np.linalg.norm(mean), np.float32(1e-12))
        vector: Vector = np.asarray(mean / length, dtype=np.float32)
        vector.flags.writeable = False
        return vector

    def _load(self) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        remedy = f"Run: pmbench fetch {self.name}"
        for path in self._paths.values():
            if cache.damaged(path):
                raise ModelUnavailable(
                    "is not what was fetched: its SHA-256 differs", where=str(path), remedy=remedy
                )
        try:
            tokenizer = Tokenizer.from_file(str(self._paths["tokenizer.json"]))
            # The file comes with truncation at 128 and padding to 128 switched on.
            tokenizer.no_padding()
            tokenizer.enable_truncation(MAX_TOKENS)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 4
            session = onnxruntime.InferenceSession(
                str(self._paths["model.onnx"]), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # noqa: BLE001 - both libraries raise bare exceptions of their own
            raise ModelUnavailable(
                f"cannot be loaded ({type(error).__name__})",
                where=str(self._paths["model.onnx"].parent),
                remedy=remedy,
            ) from None
        self._tokenizer, self._session = tokenizer, session
