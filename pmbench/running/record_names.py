"""Ids as a record shows them: as they are in the data, or hashed with a salt."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable
from pathlib import Path

from pmbench.core.errors import ConfigError
from pmbench.running.places import content, reading

SALT = "PMBENCH_SALT"
"""Variable of the environment that holds the salt."""

SHORTEST = 16
"""Characters of a salt: who guesses it can try ids until their hashes fit."""

LARGEST = 4096
"""Bytes of a salt's file: a greater one is none."""

_ROUNDS = 200_000
_DIGITS = 20


class Names:
    """What ids, clusters and units are called in a record.

    Attributes:
        salt: a mark of the salt, the same for all records made with it; empty where names stay as they are.
    """

    def __init__(self, salt: bytes | None = None) -> None:
        self._key = hashlib.pbkdf2_hmac("sha256", salt, b"pmbench record", _ROUNDS) if salt else None
        self.salt = self.hashed("the salt itself") if self._key else ""
        self._known: dict[str, str] = {}

    def hashed(self, text: str) -> str:
        """HMAC-SHA-256 of a text, 20 hexadecimal digits of it; the text itself where nothing is hashed."""
        if self._key is None:
            return text
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[
            :_DIGITS
        ]

    def learn(self, names: Iterable[str]) -> None:
        """Take names of the data, wherever they stand, as names to be hashed."""
        for name in names:
            if name and name not in self._known:
                self._known[name] = self.hashed(name)

    def __call__(self, name: str) -> str:
        """A name as the record shows it; what is no name of the data stays as it is."""
        return self._known.get(name, name)

    def knows(self, text: str) -> bool:
        """Whether this is a name of the data."""
        return text in self._known

    def order(self) -> list[str]:
        """The hashed names in the order of the plain ones; nothing where they are plain."""
        return [self._known[name] for name in sorted(self._known)] if self._key else []


def salt_from(file: str | None) -> bytes:
    """The salt, from a file or from the environment: never from the command line, which others can read.

    Raises:
        ConfigError: there is none, or it is too short.
    """
    where = f"--salt-file {file}" if file else SALT
    if file:
        with reading(Path(file), "Name a file with the salt alone"):
            salt = content(Path(file), LARGEST).strip()
    else:
        salt = os.environ.get(SALT, "").strip().encode("utf-8", "surrogateescape")
    if not salt:
        raise ConfigError(
            "--hash-ids needs a salt, and there is none",
            where=where,
            remedy=f"Put a secret of {SHORTEST} characters or more there, the same for all your records",
        )
    if len(salt) < SHORTEST:
        raise ConfigError(
            f"the salt has {len(salt)} characters, and one so short can be guessed",
            where=where,
            remedy=f"Take {SHORTEST} or more, as: python -c 'import secrets; print(secrets.token_hex(16))'",
        )
    return salt
