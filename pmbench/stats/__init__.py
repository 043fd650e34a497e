"""Intervals and tests (numpy and scipy only). What stands here is imported when it is first asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pmbench.stats.corrections import benjamini_hochberg, holm, mcnemar_exact
    from pmbench.stats.dyadic import dyadic_interval
    from pmbench.stats.letters import compact_letters
    from pmbench.stats.randomisation import randomisation_test

_HOME = {
    "benjamini_hochberg": "corrections",
    "compact_letters": "letters",
    "dyadic_interval": "dyadic",
    "holm": "corrections",
    "mcnemar_exact": "corrections",
    "randomisation_test": "randomisation",
}

__all__ = [
    "benjamini_hochberg",
    "compact_letters",
    "dyadic_interval",
    "holm",
    "mcnemar_exact",
    "randomisation_test",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"pmbench.stats.{_HOME[name]}"), name)
