"""Paths that a user typed: what is wrong with one, in words."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from pmbench.core.errors import ConfigError

ABSENT = "there is no such file"

_LONGEST = 200

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "it is a folder, not a file"),
    (stat.S_ISFIFO, "it is a pipe, not a file"),
    (stat.S_ISSOCK, "it is a socket, not a file"),
    (stat.S_ISCHR, "it is a device, not a file"),
    (stat.S_ISBLK, "it is a device, not a file"),
)


def expanded(text: str, where: str) -> Path:
    """The path with `~` and `~user` replaced.

    Raises:
        ConfigError: there is no such user; `where` says what was typed.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ConfigError(
            "the home folder that it begins with cannot be found",
            where=where,
            remedy="Write the whole path, or ./ before a name that begins with ~",
        ) from None


def why_no_file(path: Path) -> str:
    """Why a path cannot be read as a file, beginning with `there is` or `it`; empty if it can be tried."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a zero byte in the name
        return ABSENT
    except OSError as error:
        return f"it cannot be read ({(error.strerror or type(error).__name__).lower()})"
    if stat.S_ISREG(mode):
        return ""
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "it is not a file")


def shortened(text: str) -> str:
    """A name as typed, its middle left out if it would fill the screen."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}…{text[-half:]}"
