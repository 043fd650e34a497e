"""What tests of several rooms share."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The loopback server of the vendors' protocols, its package and its fixtures, from wherever pytest is started.
sys.path.insert(0, str(Path(__file__).resolve().parent / "servers"))

from server_fixture import llm_server, llm_servers, one_llm_server, plain_environment

__all__ = ["llm_server", "llm_servers", "models", "one_llm_server", "plain_environment"]


@pytest.fixture(autouse=True, scope="module")
def _old_objects_set_aside() -> Iterator[None]:
    """What a module has loaded (libraries, models) is not looked through at every later collection of garbage."""
    yield
    gc.collect()
    gc.freeze()


EMBEDDED_MODELS = ("smollm2-135m", "all-minilm-l6-v2")


@pytest.fixture(scope="session")
def models() -> dict[str, list[Path]]:
    """The files of the embedded models by preset, fetched into the model cache if need be."""
    from pmbench.models.files.fetch import fetch

    return {name: fetch(name, report=lambda line: None) for name in EMBEDDED_MODELS}
