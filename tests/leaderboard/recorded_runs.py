"""Records of made-up runs, for the tests of this room."""

from __future__ import annotations

from pathlib import Path

from made_runs import Made, Toy, write

from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.tested import Resampling
from pmbench.running.reading import read_run
from pmbench.running.record_files import write_record
from pmbench.running.record_making import make_record
from pmbench.running.record_names import Names

FAST = Resampling(resamples=300, permutations=300)
SALT = b"a salt that nobody guesses"


def both(
    folder: Path, *made: Made, task: type[Toy] = Toy, salt: bytes | None = None, slices: bool = True
) -> tuple[Path, Path]:
    """A runs folder, and a folder with the records of the same runs."""
    runs, records = folder / "runs", folder / "records"
    records.mkdir(exist_ok=True)
    for number, one in enumerate(made):
        record(write(runs, one, task).path, records / f"r{number}", salt=salt, slices=slices)
    return runs, records


def record(run: Path, folder: Path, *, salt: bytes | None = None, slices: bool = True) -> Path:
    """Export one run."""
    found = make_record(read_run(run.parent, str(run)), Names(salt), slices=slices)
    write_record(folder, found.record, found.lines)
    return folder


def page(runs: Path | None, records: Path | None = None, task: type[Toy] = Toy) -> str:
    """The leaderboard as Markdown."""
    return render_markdown(leaderboard(task, runs, records=records, statistics=FAST, max_missing=1.0), task)


__all__ = ["FAST", "SALT", "both", "page", "record"]
