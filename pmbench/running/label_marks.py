"""Marks of answers in a file of labels: whether an answer is still the one that people have labelled.

A mark is an HMAC-SHA-256 of an answer's digest under a key that stays in the run's folder. Whoever has a file of
labels alone cannot try short answers until one fits, as a bare digest would let him.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from pmbench.core.digest import canonical_json
from pmbench.core.errors import StorageError
from pmbench.running.places import Irregular, content, reading, storing, there
from pmbench.running.records import ScoreRecord

KEY = "labels.key"
"""The key's file in the run's folder."""

LENGTH = 12

_DIGITS = re.compile(rb"([0-9a-f]{32}|[0-9a-f]{64})\s*")
_MOST = 100
"""Bytes that a key's file may have."""

_BACK = "Put back the file that pmbench labels made; if nobody has a form of this run yet, remove it"

_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")
"""Letters alone: a spreadsheet takes `12e4` for a number."""


class Marks:
    """Marks of the answers of one run.

    Args:
        key: of the run's folder.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, score: ScoreRecord) -> str:
        """The mark of the answer that a score is of: 12 letters."""
        said = canonical_json([score.id, score.sample, score.response])
        made = hmac.new(self._key, said, hashlib.sha256).hexdigest()
        return made[:LENGTH].translate(_LETTERS)


def made_marks(run: Path) -> Marks:
    """The marks of a run; its key is made where there is none.

    Args:
        run: the run's folder.

    Raises:
        StorageError: the key can neither be read nor written, or is none.
    """
    path = run / KEY
    with storing(path):
        if not there(path):
            _make(path)
    found = kept_marks(run)
    if found is None:
        raise StorageError("the key of the labels was removed meanwhile", where=str(path), remedy="Try again")
    return found


def _make(path: Path) -> None:
    """Write a new key, whole before it has its name; of several processes the first one's stays.

    Raises:
        OSError: it cannot be written.
    """
    part = path.with_name(f".{KEY}.{secrets.token_hex(8)}.part")
    text = secrets.token_hex(16) + "\n"
    try:
        _write(part, text)
        try:
            os.link(part, path)
        except FileExistsError:
            pass
        except OSError:  # A file system without links: a reader meanwhile is told that this is no key.
            _write(path, text)
    finally:
        part.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def kept_marks(run: Path) -> Marks | None:
    """The marks of a run; None where no form of labels was ever made from this folder.

    Raises:
        StorageError: the key cannot be read, or is none.
    """
    path = run / KEY
    with reading(path, _BACK):
        if not there(path):
            return None
        try:
            text = content(path, _MOST)
        except Irregular as error:
            what = f"this is no key of labels: {error.strerror}"
            raise StorageError(what, where=str(path), remedy=_BACK) from None
        except FileNotFoundError:
            if not there(path):
                return None
            what = "the key of the labels is a link to a file that is not there"
            raise StorageError(what, where=str(path), remedy=_BACK) from None
    if not _DIGITS.fullmatch(text):
        half = "it is empty" if not text.strip() else "it does not have 32 hexadecimal digits"
        raise StorageError(f"this is no key of labels: {half}", where=str(path), remedy=_BACK)
    return Marks(bytes.fromhex(text.decode("ascii").strip()))
