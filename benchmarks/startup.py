"""How long the command line takes to say anything, against a bare `import click` in the same interpreter.

Prints medians of paired runs and their ratio. Run: python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

COMMANDS = (("--help",), ("tasks",), ("tasks", "syppm-editf1"), ("models",))
ROUNDS = 15


def seconds(*command: str) -> float:
    """Wall time of one process."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    """Print one row for each command."""
    python = sys.executable
    print(f"{'command':<30}{'median s':>10}{'import click s':>16}{'ratio':>8}")
    for arguments in COMMANDS:
        pairs = [
            (seconds(python, "-m", "pmbench", *arguments), seconds(python, "-c", "import click"))
            for _ in range(ROUNDS)
        ]
        ours, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"pmbench {' '.join(arguments):<22}{ours:>10.3f}{bare:>16.3f}{ratio:>8.2f}")


if __name__ == "__main__":
    main()
