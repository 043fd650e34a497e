"""How much memory a model's weights take, and how much this machine has. Loads nothing."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from pmbench.models.backend import Backend
from pmbench.models.presets import Preset
from pmbench.models.spec import ModelSpec

_GGUF_BITS = (
    ("mxfp4", 4.5),
    ("q2_k", 3.0),
    ("q3_k", 3.9),
    ("q4_0", 4.5),
    ("q4_1", 5.0),
    ("q4_k", 4.9),
    ("q5_k", 5.7),
    ("q6_k", 6.6),
    ("q8_0", 8.5),
    ("f16", 16.0),
    ("bf16", 16.0),
    ("f32", 32.0),
)
"""Bits of a parameter in llama.cpp's formats, about, by what their files are called."""

_TYPE_BITS = {"float32": 32.0, "float16": 16.0, "bfloat16": 16.0, "float8": 8.0, "int8": 8.0, "int4": 4.5}
_SHARD = re.compile(r"-00001-of-\d{5}\.gguf$")
_CGROUP = Path("/sys/fs/cgroup/memory.max")


class Weights(msgspec.Struct, frozen=True):
    """The weights of a model and the memory that is there for them.

    Attributes:
        size: bytes; exact: whether of the files, or worked out from the number of parameters.
        memory: bytes of the machine's memory, or of its graphics processor's.
        graphics: which of the two.
    """

    size: int
    exact: bool
    memory: int
    graphics: bool

    @property
    def fits(self) -> bool:
        """Whether there is room for the weights alone; a model needs more than that."""
        return not self.memory or self.size < self.memory


def weights(spec: ModelSpec, backend: Backend | None, preset: Preset | None) -> Weights | None:
    """What a model that computes on this machine needs; None where its size is not known.

    Args:
        spec: what it stands for.
        backend: None where it is not installed.
        preset: by which it was named, if it was.
    """
    size = _size_of_files(spec, backend)
    exact = size > 0
    if not exact and preset is not None:
        size = round(preset.parameters * 1e9 * _bits(spec, preset) / 8)
    if not size:
        return None
    cards = (
        graphics_memory() if spec.backend in ("hf", "vllm") and spec.options.get("device") != "cpu" else ()
    )
    # One model is spread over several cards by vllm only.
    memory = (sum(cards) if spec.backend == "vllm" else max(cards)) if cards else main_memory()
    return Weights(size, exact, memory, bool(cards))


def main_memory() -> int:
    """Bytes of memory that this process may use; 0 if the system does not say."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
    try:
        confined = int(_CGROUP.read_text())
    except (OSError, ValueError):  # not confined
        return total
    return min(total, confined)


@functools.cache
def graphics_memory() -> tuple[int, ...]:
    """Bytes of memory of each NVIDIA graphics processor, as `nvidia-smi` says; none where it is not there."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ()
    asked = [command, "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
        return tuple(int(line) << 20 for line in done.stdout.split())
    except (OSError, ValueError, subprocess.SubprocessError):
        return ()


def _size_of_files(spec: ModelSpec, backend: Backend | None) -> int:
    """Bytes of the weights that lie here, 0 where none do."""
    file = getattr(backend, "path", None)
    try:
        if isinstance(file, Path) and file.is_file():
            pattern = _SHARD.sub("-*.gguf", file.name)
            return sum(part.stat().st_size for part in file.parent.glob(pattern)) or file.stat().st_size
        folder = Path(spec.target).expanduser()
        if spec.backend in ("hf", "vllm") and folder.is_dir():
            return sum(part.stat().st_size for part in folder.glob("*.safetensors"))
    except (OSError, ValueError, RuntimeError):
        return 0
    return 0


def _bits(spec: ModelSpec, preset: Preset) -> float:
    if spec.backend == "llama-cpp":
        name = spec.target.lower()
        return next((bits for form, bits in _GGUF_BITS if form in name), 16.0)
    return _TYPE_BITS.get(spec.options.get("dtype", ""), preset.bits)
