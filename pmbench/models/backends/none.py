"""The backend of strategies that ask no model: a rule, a lot. It answers nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pmbench.models.backend import Backend, BackendOptions
from pmbench.models.spec import ModelSpec

NO_MODEL = "none"
"""The name under which a system without a model stands in results."""


class NoModel(Backend):
    """Stands where a model would be. Its `offers` are empty, so no strategy that asks anything can be given it."""

    name: ClassVar[str] = NO_MODEL
    offers = frozenset()
    local = True

    def __init__(self) -> None:
        super().__init__(ModelSpec(NO_MODEL, NO_MODEL, NO_MODEL, {}), BackendOptions())

    def unavailable(self) -> str:
        """Nothing is missing."""
        return ""

    def identity(self) -> Mapping[str, str]:
        """That there is none."""
        return {"engine": NO_MODEL}
