"""Numbers as options take them: NaN and infinities are none, though `float` reads them."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.types.FloatParamType):
    """A finite number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number.

        Raises:
            click.BadParameter: it is none, or NaN or infinite.
        """
        return _checked(self, super().convert(value, param, ctx), param, ctx)


class FiniteRange(click.FloatRange):
    """A finite number of a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number.

        Raises:
            click.BadParameter: it is none, NaN or infinite, or lies outside the range.
        """
        return _checked(self, super().convert(value, param, ctx), param, ctx)


def _checked(
    kind: Finite | FiniteRange, found: float, param: click.Parameter | None, ctx: click.Context | None
) -> float:
    if not math.isfinite(found):
        kind.fail(f"{found} is no finite number.", param, ctx)
    return found


FINITE = Finite()
