"""Whose the files of a folder are: a command writes over its own and over no others.

A folder that a command made holds a mark: which command, and of each file that it wrote what was in it. A file that
is not on the mark, or is another now than it was written, is somebody's work.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pmbench import ConfigError

MARK = ".made-by-pmbench.json"

_SHOWN = 3


class Kind(msgspec.Struct, frozen=True):
    """What a folder is for.

    Attributes:
        by: who writes into it, in words.
        names: of all files that it may write.
    """

    by: str
    names: frozenset[str]


STAGES = Kind(
    "pmbench checklist build, update and baseline",
    frozenset(
        {
            "1-feedback.csv",
            "2-covered-before.csv",
            "2-proposed.json",
            "3-merged.json",
            "4-tagged.json",
            "5-enforceability.json",
            "6-coverage.csv",
            "7-selection.json",
            "7-objective-by-size.csv",
            "7-objective-by-size.svg",
            "7-choice-by-alpha.csv",
            "7-choice-by-alpha.svg",
            "models.json",
            "summary.md",
        }
    ),
)
"""The folder of the pipeline's stages."""


class Mark(msgspec.Struct):
    """What stands in a folder's mark.

    Attributes:
        made_by: see `Kind.by`.
        files: of each file written what it may hold: SHA-256 of what was written last, and while it is being
            written over also of what was there before.
    """

    made_by: str
    files: dict[str, list[str]] = {}

    def encoded(self) -> bytes:
        """As it is written: the same for the same files, in whatever order they came."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=1) + b"\n"


def check_folder(folder: Path, kind: Kind, option: str) -> None:
    """Refuse a folder in which something would be written over that is not its own; nothing is written yet.

    Args:
        folder: need not be there.
        kind: what it is to be.
        option: which names it.

    Raises:
        ConfigError: it is no folder, belongs to another command, or has files of others.
    """
    where = f"{option} {folder}"
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise ConfigError("it is no folder", where=where, remedy="Name another one")
    mark = read_mark(folder)
    if mark is None:
        names = [path.name for path in _visible(folder, where)]
        if names:
            raise ConfigError(
                f"there are files in it that are not of {kind.by} ({_told(names)})",
                where=where,
                remedy="Name a folder that is empty or not there yet",
            )
        return
    if mark.made_by != kind.by:
        raise ConfigError(f"is a folder of {mark.made_by}", where=where, remedy="Name another one")
    others = sorted(
        name
        for name in kind.names
        if os.path.lexists(folder / name) and content_digest(folder / name) not in mark.files.get(name, ())
    )
    if others:
        raise ConfigError(
            f"{_told(others)} would be written over, and somebody changed it or put it there",
            where=where,
            remedy="Move it elsewhere, or name another folder",
        )


def read_mark(folder: Path) -> Mark | None:
    """The mark of a folder; None where there is none that can be read."""
    try:
        return msgspec.json.decode((folder / MARK).read_bytes(), type=Mark)
    except (OSError, msgspec.MsgspecError):
        return None


def content_digest(path: Path) -> str:
    """SHA-256 of a regular file; `""` where it is none, or cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError:
        return ""


def _visible(folder: Path, where: str) -> Iterator[Path]:
    """What a person sees in the folder: file managers and version control put hidden files anywhere."""
    try:
        yield from sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise ConfigError(f"cannot be read ({reason})", where=where, remedy="Name another one") from None


def _told(names: list[str]) -> str:
    shown = [name if name.isprintable() and len(name) <= 64 else repr(name[:64]) for name in names[:_SHOWN]]
    return ", ".join([*shown, *(["…"] if len(names) > _SHOWN else [])])
