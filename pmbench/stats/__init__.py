"""Intervals and tests (numpy and scipy only). What stands here is imported when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pmbench.stats.dyadic import dyadic_interval

__all__ = ["dyadic_interval"]


def __getattr__(name: str) -> Any:
    if name != "dyadic_interval":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pmbench.stats.dyadic import dyadic_interval

    return dyadic_interval
