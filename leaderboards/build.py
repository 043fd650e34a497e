"""Make the published tables from the records beside this file, or check that they agree.

    python leaderboards/build.py           write <task>.md of every task that has records
    python leaderboards/build.py --check   say which of them the records do not come to; status 1 if any

The version of pmbench that stands at the foot of a page is not compared: a release changes no number. A number may
differ by one in the last place that is shown, since sums of another machine may end in another digit.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pmbench.core.errors import UserError
from pmbench.core.registry import load_task
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.formats import FORMATS
from pmbench.leaderboard.page import write_page
from pmbench.running.record_files import DamagedRecord, read_record, record_folders

HERE = Path(__file__).parent
_VERSION = re.compile(r"\bpmbench \d[\w.+]*")
_NUMBER = re.compile(r"(?<![\w.])(-?\d+\.\d+)(?![\w.])")
MADE = ("md",)


def main() -> int:
    """Write or check; status 1 where page and records disagree or a record is damaged, 2 where one is refused."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--check", action="store_true", help="compare, and write nothing")
    options.add_argument("--folder", type=Path, default=HERE, help="the folder of records/ and of the pages")
    asked = options.parse_args()
    try:
        wrong = list(check(asked.folder)) if asked.check else list(build(asked.folder))
    except UserError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


def build(folder: Path) -> Iterator[str]:
    """Write every page; what is wrong with records is given back, a line for each."""
    for path, text, form, left in pages(folder):
        write_page(path, text, FORMATS[form].beginning.encode())
        yield from left


def check(folder: Path) -> Iterator[str]:
    """A line for each page that is not what its records come to, and for each record that cannot be used."""
    there = {
        path for form in MADE for path in folder.glob(f"*{FORMATS[form].suffix}") if path.name != "README.md"
    }
    for path, text, _, left in pages(folder):
        yield from left
        there.discard(path)
        if not path.is_file():
            yield f"{path.name}: not there; run: python leaderboards/build.py"
        elif not agree(path.read_text(encoding="utf-8"), text):
            yield f"{path.name}: not what the records come to; run: python leaderboards/build.py"
    yield from (f"{path.name}: no record comes to this page" for path in sorted(there))


def pages(folder: Path) -> Iterator[tuple[Path, str, str, list[str]]]:
    """Each page's file, text and format, and with the first of a task what is wrong with its records."""
    records = folder / "records"
    for name in tasks(records):
        task = load_task(name)
        board = leaderboard(task, None, records=records)
        left = [f"{one.where}: {one.reason}" for one in board.left_out]
        for form in MADE:
            yield (
                folder / f"{name}{FORMATS[form].suffix}",
                FORMATS[form].render(board, task, None),
                form,
                left,
            )
            left = []


def tasks(records: Path) -> list[str]:
    """Names of the tasks that there are records of."""
    found = set()
    for place in record_folders(records):
        try:
            read = read_record(place)
        except DamagedRecord:
            continue  # Its task may have others; the leaderboard names it.
        if read is not None:
            found.add(read[0].asked.task)
    return sorted(found)


def agree(one: str, other: str) -> bool:
    """Whether two pages are the same: every word, and every number but for one in its last place."""
    parts, others = (_NUMBER.split(_VERSION.sub("pmbench", text)) for text in (one, other))
    if len(parts) != len(others):
        return False
    return all(
        a == b or (place % 2 == 1 and _near(a, b))
        for place, (a, b) in enumerate(zip(parts, others, strict=True))
    )


def _near(one: str, other: str) -> bool:
    """Whether two numbers with decimals differ by one in the last place at most."""
    places = len(one.partition(".")[2])
    same = places == len(other.partition(".")[2]) and places > 0
    return same and abs(round((float(one) - float(other)) * 10**places)) <= 1


if __name__ == "__main__":
    sys.exit(main())
