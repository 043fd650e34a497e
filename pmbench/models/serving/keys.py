"""Where a vendor's key is found: in the environment, or in the keyring of this machine. Never on a command line."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable

SERVICE = "pmbench"
"""Under which name the keyring holds keys: `keyring set pmbench OPENAI_API_KEY`."""

_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


def is_name(text: str) -> bool:
    """Whether a text can be the name of a key: capitals, digits and `_`. Vendors' keys are none."""
    return _NAME.fullmatch(text) is not None


def find_key(names: Iterable[str]) -> str:
    """The key under the first of these names that has one; empty if none has.

    Args:
        names: of environment variables, each also the name of an entry of the keyring.
    """
    for name in names:
        key = os.environ.get(name, "").strip() or _from_keyring(name)
        if key:
            return key
    return ""


def is_sendable(key: str) -> bool:
    """Whether a key can stand in a header. Libraries quote one that cannot in their errors."""
    return key.isascii() and key.isprintable() and " " not in key


def _from_keyring(name: str) -> str:
    if importlib.util.find_spec("keyring") is None:
        return ""
    try:
        import keyring

        return (keyring.get_password(SERVICE, name) or "").strip()
    except Exception:  # noqa: BLE001 - a backend of anybody's may raise anything
        # No keyring runs here, it is set up wrongly, or it stays locked: the same as having no key.
        return ""
