"""Where a run was carried out: versions, host facts, the commit of the working folder."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PACKAGES = (
    "pmbench",
    "numpy",
    "msgspec",
    "xllamacpp",
    "onnxruntime",
    "tokenizers",
    "syntok",
    "datasets",
    "torch",
)


def environment() -> dict[str, Any]:
    """Versions, host facts and the git commit, without importing any of the packages."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
        "git": _git(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _git() -> dict[str, Any]:
    """Commit of the working folder and whether it has changes; empty outside a repository or without git."""
    commit = _output("git", "rev-parse", "HEAD")
    if not commit:
        return {}
    return {"commit": commit, "dirty": bool(_output("git", "status", "--porcelain", "--untracked-files=no"))}


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
