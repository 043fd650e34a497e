"""Runs of a stranger's task whose scores are the numbers of recorded answers, for the tests of this folder."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

Done = subprocess.CompletedProcess[str]

MAY_READ_ALL = ("--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")


class Odd:
    """A folder with the package of the task, and the program run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"
        here = Path(__file__).resolve().parent
        information = self.site / "odd_numbers-1.0.dist-info"
        information.mkdir(parents=True)
        (self.site / "odd_numbers_task.py").write_text((here / "odd_numbers_task.py").read_text())
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-numbers\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(
            "[pmbench.tasks]\nodd = odd_numbers_task:OddNumbers\neven = odd_numbers_task:Even\n"
        )

    def __call__(self, *arguments: str | Path, before: Sequence[str] = (), timeout: float = 120) -> Done:
        paths = os.pathsep.join(filter(None, [str(self.site), os.environ.get("PYTHONPATH", "")]))
        return subprocess.run(
            [*before, sys.executable, "-m", "pmbench", *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "250"},
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )

    def run(self, name: str, answers: Sequence[str], *more: str, task: str = "odd") -> Done:
        """Score recorded answers as a run of the system of this name."""
        rows = [{"id": f"i{n}", "message": f"message {n}"} for n in range(len(answers))]
        (self.folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        lines = [json.dumps({"id": f"i{n}", "text": text}) + "\n" for n, text in enumerate(answers)]
        (self.folder / f"{name}.jsonl").write_text("".join(lines))
        given = ("-t", task, "-d", "data.jsonl", "-m", f"replay:{name}.jsonl", "--label", name)
        return self("run", *given, "--max-missing", "1", *more)

    def at(self, name: str, task: str = "odd") -> Path:
        """The folder of a run."""
        return next((self.folder / "runs" / task / name).iterdir())

    def scoring(self, name: str) -> Path:
        """The folder of its only scoring."""
        return next((self.at(name) / "scores").iterdir())

    def denied(self, *arguments: str | Path) -> Done:
        """The same without the right of root to read what nobody may read."""
        before = ["setpriv", *MAY_READ_ALL] if os.geteuid() == 0 else []
        return self(*arguments, before=before)

    def copied(self, to: Path) -> "Odd":
        """All of it in another folder."""
        shutil.copytree(self.folder, to, dirs_exist_ok=True, symlinks=True)
        made = object.__new__(Odd)
        made.folder, made.site = to, to / "site"
        return made


def can_be_denied(folder: Path) -> bool:
    """Whether a process here can be kept from reading a file."""
    if os.geteuid() != 0:
        return True
    if shutil.which("setpriv") is None:
        return False
    closed = folder / "closed"
    closed.write_text("")
    closed.chmod(0)
    done = subprocess.run(["setpriv", *MAY_READ_ALL, "cat", closed], capture_output=True, check=False)
    return b"Permission denied" in done.stderr
