"""The embedded engine is let go of at once, however soon after it was loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LIVES = """
import asyncio
from pmbench.models.catalogue import backend_for

async def lives():
    for number in range(20):
        backend = backend_for(f"smollm2-135m?context=512&slots={1 + number % 4}")
        await backend.open()
        await backend.close()

asyncio.run(lives())
"""


@pytest.mark.model
def test_opening_and_closing_without_a_request_never_hangs(models: dict[str, list[Path]]) -> None:
    """On a busy machine the engine's own threads begin late: closing must wait until they have."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        done = subprocess.run([sys.executable, "-c", LIVES], capture_output=True, text=True, timeout=120)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert (done.returncode, done.stderr) == (0, "")
