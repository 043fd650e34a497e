"""What the benchmarks of served models share: the loopback server, a cheap task, commands that are measured.

The server and the task are those of the tests; both need a checkout. The task `greeting` asks one question for each
instance and scores the answer by looking at its first letters, so that what is measured is everything but scoring.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS / "servers"))

from server_fixture import LEADS_ELSEWHERE, LoopbackLLM  # noqa: E402 - it lies beside the tests

__all__ = [
    "LoopbackLLM",
    "Ran",
    "load",
    "middle",
    "phase",
    "plain",
    "plugged",
    "processor_seconds",
    "ran",
    "write",
]


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended.

    Attributes:
        status: its exit status.
        wall, cpu: seconds; of the processor for it and its children.
        peak: most resident memory, in MB (10⁶ bytes).
        told: what it printed.
    """

    status: int
    wall: float
    cpu: float
    peak: float
    told: str


def ran(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str]) -> Ran:
    """Run a command in a folder, to its end."""
    printed = folder / "printed"
    began = time.perf_counter()
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ran(
        process.returncode,
        wall,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss * 1024 / 1e6,
        printed.read_text(errors="replace"),
    )


def plain() -> dict[str, str]:
    """The environment without keys, proxies and what else leads a client elsewhere."""
    return {name: value for name, value in os.environ.items() if not LEADS_ELSEWHERE.fullmatch(name)}


def plugged(folder: Path) -> dict[str, str]:
    """Install the task `greeting` into a folder; the environment in which pmbench finds it."""
    target = folder / "plugged"
    package = TESTS / "packages" / "pmbench-greeting"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--no-build-isolation", "--target", target, package], check=True)
    found = [str(target), os.environ.get("PYTHONPATH", "")]
    return {**plain(), "PYTHONPATH": os.pathsep.join(filter(None, found))}


def write(path: Path, count: int) -> None:
    """So many messages, as long as a patient's short one, no two of them equal."""
    with path.open("w") as file:
        for number in range(count):
            text = (
                f"Message {number}: I have had a cough since Tuesday. May I take the syrup beside my tablets?"
            )
            file.write(json.dumps({"id": str(number), "message": text}) + "\n")


def phase(server: LoopbackLLM) -> tuple[int, float]:
    """How many requests the server answered, and seconds from the first to the last of them."""
    log = [
        line for line in server.stats()["log"] if re.search(r"completions|responses|messages|:gen", line[3])
    ]
    answered = [line for line in log if line[1] == 200]
    return len(answered), max(line[0] + line[5] for line in log) - min(line[0] for line in log)


def processor_seconds(pid: int) -> float:
    """What a process has used of the processors so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load() -> str:
    """How busy the machine was in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def middle(values: Sequence[float], digits: int = 0) -> str:
    """Median, and in brackets lowest to highest."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"
