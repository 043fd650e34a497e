"""Which journal the completion store keeps: a write-ahead log is unsafe where memory cannot be shared."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from pmbench.core.errors import ConfigError

JournalMode = Literal["wal", "truncate"]

VARIABLE = "PMBENCH_STORE_JOURNAL"

# fmt: off
NETWORK = frozenset((
    "nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "afs",
    "auristor", "ceph", "glusterfs", "ocfs2", "gfs", "gfs2", "orangefs", "pvfs2", "panfs", "wekafs",
    "coda", "davfs", "ncpfs", "9p", "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "acfs",
))
# fmt: on
"""File systems shared by machines: a write-ahead log needs memory that all its users share."""

_LOCAL_FUSE = frozenset(
    ("fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuse.ntfs", "fuse.exfat", "fuse.encfs", "fuse.gocryptfs")
)
_MOUNTS = Path("/proc/self/mountinfo")


def journal_mode(path: Path) -> JournalMode:
    """`truncate` on a network file system, `wal` elsewhere; the environment variable decides where it is set.

    Raises:
        ConfigError: the variable holds neither word.
    """
    asked = os.environ.get(VARIABLE, "").strip().lower()
    if asked == "wal":
        return "wal"
    if asked == "truncate":
        return "truncate"
    if asked:
        raise ConfigError(f"no journal called {asked!r}", where=VARIABLE, remedy="Set it to wal or truncate")
    resolved = path.resolve()
    if resolved.drive.startswith("\\\\"):  # a share under Windows
        return "truncate"
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # not Linux
        return "wal"
    return "truncate" if is_network(file_system(resolved, mounts)) else "wal"


def is_network(kind: str) -> bool:
    """Whether several machines may use a file system of this type; unknown FUSE ones are taken to."""
    return kind in NETWORK or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)


def file_system(path: Path, mounts: str) -> str:
    """Type of the file system that holds an absolute path; empty if no mount holds it.

    Args:
        path: absolute, without symbolic links.
        mounts: text of `/proc/self/mountinfo` (proc(5)): the mount point is the fifth field, the type is the
            first one after the lone hyphen; of several mounts on one point the last one counts.
    """
    found, length = "", -1
    for line in mounts.splitlines():
        left, hyphen, right = line.partition(" - ")
        fields = left.split(" ")
        if not hyphen or len(fields) < 5 or not right:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        if path.is_relative_to(point) and len(point.parts) >= length:
            found, length = right.split(" ")[0], len(point.parts)
    return found
