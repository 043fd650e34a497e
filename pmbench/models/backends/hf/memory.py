"""How much of a batch fits into memory: estimated before the first one, halved when one did not fit after all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

ROWS_ON_CPU, ROWS_ON_GPU = 32, 256
"""Most rows of a batch where the user says nothing: beyond, a step costs as much more as it brings."""

_CPU_BYTES = 2 << 30
"""Of keys and values on the processor."""

_CPU_PREFILL, _GPU_PREFILL = 2048, 16384
"""Tokens that go through the model in one step: more would bring nothing, and a step cannot be left."""

_OF_FREE = 0.8
"""Share of the free memory of a graphics processor that is counted on."""

_KEPT = 8
"""One part of so many goes to kept beginnings."""

_MOST_TOKENS = 1 << 22


@dataclass(slots=True)
class Budget:
    """What may be in memory at a time.

    Attributes:
        rows: sequences in a batch.
        tokens: columns times rows of the running batch.
        prefill: tokens that go through the model in one step.
        kept: tokens of kept beginnings.
        start: what starting a batch costs, counted in tokens that could go through the model meanwhile.
    """

    rows: int
    tokens: int
    prefill: int
    kept: int
    start: int

    def halve(self, rows: int, tokens: int) -> None:
        """Never try again what did not fit: a step of so many rows and tokens."""
        self.rows = max(1, min(self.rows, rows // 2))
        self.tokens = max(1, min(self.tokens, tokens // 2))
        self.prefill = max(1, min(self.prefill, tokens // 2))
        self.kept //= 2


def budget_for(config: Any, device: torch.device, dtype: torch.dtype, rows: int, reads_only: bool) -> Budget:
    """A budget for a model that is loaded.

    Args:
        config: the model's.
        device: where it is; what is free there is what the budget divides.
        dtype: of its weights.
        rows: most sequences at once as the user wants it; 0: as many as fit.
        reads_only: whether nothing is kept from one step to the next (reward, embed).
    """
    text = config.get_text_config(decoder=True)
    pair, once = _bytes_of_a_pair(text, dtype.itemsize), _bytes_of_a_step(text, dtype.itemsize)
    if device.type == "cpu":
        tokens = _CPU_BYTES // pair
        return Budget(rows or ROWS_ON_CPU, tokens, _CPU_PREFILL, tokens // _KEPT, start=64)
    free = _OF_FREE * _free_bytes(device)
    prefill = int(min(_GPU_PREFILL, free / 4 / once))
    # A beginning is copied into each row, and a buffer that grows is there twice for a moment.
    tokens = 0 if reads_only else int(min((free - prefill * once) / (2.2 * pair), _MOST_TOKENS))
    return Budget(rows or ROWS_ON_GPU, max(tokens, prefill, 1), max(prefill, 1), tokens // _KEPT, start=1024)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory was not enough; the processor's allocator has no class for it."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError) and "allocate memory" in str(error)
    )


def _free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return 4 << 30


def _bytes_of_a_pair(config: Any, size: int) -> int:
    """Bytes of one token's keys and values in all layers."""
    heads = int(config.num_attention_heads)
    held = int(getattr(config, "num_key_value_heads", None) or heads)
    width = int(getattr(config, "head_dim", None) or config.hidden_size // heads)
    wide = int(getattr(config, "qk_head_dim", None) or width)  # models whose keys are wider than their values
    return max(1, int(config.num_hidden_layers) * held * (wide + width) * size)


def _bytes_of_a_step(config: Any, size: int) -> int:
    """Bytes, generously, of one token on its way through a layer."""
    inner = int(getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    return int(8 * config.hidden_size + 4 * inner) * size
