"""What the notes tests share: data that is not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pmbench import read_table


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of conformance cases and public data sets; `PMBENCH_SHARED` says where."""
    folder = Path(os.environ.get("PMBENCH_SHARED", Path(__file__).parents[2].parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no conformance data: {folder} is absent (PMBENCH_SHARED says where it is)")
    return folder


@pytest.fixture(scope="session")
def aci_notes(shared: Path) -> dict[str, str]:
    """The 60 notes of ACI-bench that are there, 20 of `valid` and 40 of `test1`, by id of the visit."""
    folder = shared / "data" / "aci-bench"
    return {
        row.text("encounter_id"): row.text("note")
        for name in ("valid", "clinicalnlp_taskB_test1")
        for row in read_table(folder / f"{name}.csv")
    }
