"""Marks of answers in a file of labels: whether an answer is still the one that people have labelled.

A mark is an HMAC-SHA-256 of an answer's digest under a key that stays in the run's folder. Whoever has a file of
labels alone cannot try short answers until one fits, as a bare digest would let him.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from pmbench.core.digest import canonical_json
from pmbench.core.errors import StorageError
from pmbench.running.places import content, storing
from pmbench.running.records import ScoreRecord

KEY = "labels.key"
"""The key's file in the run's folder."""

LENGTH = 12

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
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(16) + "\n")
    found = kept_marks(run)
    if found is None:
        raise StorageError("the key of the labels was removed meanwhile", where=str(path), remedy="Try again")
    return found


def kept_marks(run: Path) -> Marks | None:
    """The marks of a run; None where no form of labels was ever made from this folder.

    Raises:
        StorageError: the key cannot be read, or is none.
    """
    path = run / KEY
    with storing(path):
        if not path.exists():
            return None
        text = content(path, 1000)[:100]
    try:
        return Marks(bytes.fromhex(text.decode("ascii").strip()))
    except ValueError:
        raise StorageError(
            "this is no key of labels",
            where=str(path),
            remedy="Put back the file that pmbench labels made; labels cannot be told to fit without it",
        ) from None
