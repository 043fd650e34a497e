"""The conformance suite finds what it is there to find: each fault is caught by the test that is meant for it."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import suite_faults

FAULTS = {name: found for name, found in vars(suite_faults).items() if name.startswith("Test")}


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """By class, the tests that fail in a run of their own."""
    report = tmp_path_factory.mktemp("suite") / "report.xml"
    options = ["-q", "-p", "no:cacheprovider", "--noconftest", "-W", "error", f"--junit-xml={report}"]
    wanted = [f"{suite_faults.__file__}::TestHonest"]
    wanted += [
        f"{suite_faults.__file__}::{name}::{test}" for name in FAULTS for test in [_test(name)] if test
    ]
    # Where pytest is told that nobody looks on it shows values whole: neither a megabyte nor a key may be among them.
    environment = {**os.environ, "CI": "true"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *wanted],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr
    fell: dict[str, set[str]] = {name: set() for name in FAULTS}
    for case in ET.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            fell[str(case.get("classname")).rpartition(".")[2]].add(str(case.get("name")))
    return fell


def _test(name: str) -> str:
    return str(FAULTS[name].caught_by).partition("[")[0]


def test_a_backend_that_keeps_its_promises_passes(failed: dict[str, set[str]]) -> None:
    assert failed["TestHonest"] == set()


@pytest.mark.parametrize("name", [name for name in FAULTS if FAULTS[name].caught_by])
def test_a_fault_is_caught(failed: dict[str, set[str]], name: str) -> None:
    assert FAULTS[name].caught_by in failed[name]
