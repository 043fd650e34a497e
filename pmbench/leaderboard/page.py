"""Writing the leaderboard's page: whole or not at all, and over nothing but an earlier page."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pmbench.core.errors import StorageError

BEGINNING = b"# Leaderboard: "
"""What every page in Markdown begins with."""

HTML_BEGINNING = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="generator" content="pmbench leaderboard">'
)
"""What every page of HTML begins with, and the report of a run does not."""


def check_output(path: Path, beginning: bytes = BEGINNING) -> None:
    """Check that a page may be written here; better before the work than after.

    Args:
        path: of the file.
        beginning: what an earlier page of this format begins with.

    Raises:
        StorageError: a folder, or a file that is neither empty nor an earlier page.
    """
    with _output(path):
        if path.is_dir():
            raise StorageError("this is a folder", where=str(path), remedy="Name a file with --output")
        if not path.is_file():
            return  # There is nothing, or a device or pipe.
        with path.open("rb") as file:
            found = file.read(len(beginning))
    if found and found != beginning:
        raise StorageError(
            "this file is no leaderboard, and would be overwritten",
            where=str(path),
            remedy="Choose another name or remove it",
        )


def write_page(path: Path, text: str, beginning: bytes = BEGINNING) -> None:
    """Write a page in one step: a reader sees the old one or the new one, never half.

    Args:
        path: of the file; text: of the page; beginning: as of `check_output`.

    Raises:
        StorageError: it cannot be written, or something else lies there (`check_output`).
    """
    check_output(path, beginning)
    with _output(path):
        target = path.resolve()  # A link stays, and what it points to is replaced.
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".leaderboard.{os.getpid()}.part")
        part.unlink(missing_ok=True)
        try:
            with part.open("x", encoding="utf-8", newline="\n") as file:
                if target.exists():
                    os.fchmod(file.fileno(), target.stat().st_mode & 0o777)
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def _output(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:
        name = str(path) if len(str(path)) <= 200 else f"{str(path)[:200]}…"
        # `resolve` raises a RuntimeError for a loop of links.
        why = error.strerror if isinstance(error, OSError) else os.strerror(errno.ELOOP)
        what = f"the page cannot be written ({why or type(error).__name__})"
        raise StorageError(what, where=name, remedy="Name another file with --output") from None
