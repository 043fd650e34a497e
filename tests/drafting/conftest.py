"""What the drafting tests share: data that is not part of the project, models and embedders given by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of conformance cases and public data sets; `PMBENCH_SHARED` says where."""
    folder = Path(os.environ.get("PMBENCH_SHARED", Path(__file__).parents[2].parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no conformance data: {folder} is absent (PMBENCH_SHARED says where it is)")
    return folder
