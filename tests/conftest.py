"""What tests of several rooms share."""

from __future__ import annotations

from pathlib import Path

import pytest

EMBEDDED_MODELS = ("smollm2-135m", "all-minilm-l6-v2")


@pytest.fixture(scope="session")
def models() -> dict[str, list[Path]]:
    """The files of the embedded models by preset, fetched into the model cache if need be."""
    from pmbench.models.fetch import fetch

    return {name: fetch(name, report=lambda line: None) for name in EMBEDDED_MODELS}
