"""The program as a user has it: an environment of its own with two strangers' packages really installed."""

import os
import site
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PACKAGES = Path(__file__).parents[1] / "packages"

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has pmbench and the packages below tests/packages."""
    home = tmp_path_factory.mktemp("plugged")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    # The packages of this environment are seen from the new one; nothing of the new one is seen here.
    lines = "".join(f"import site; site.addsitedir({folder!r})\n" for folder in site.getsitepackages())
    next(home.glob("lib/python*/site-packages")).joinpath("outer.pth").write_text(lines)
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    packages = [PACKAGES / "pmbench-greeting", PACKAGES / "pmbench-broken"]
    subprocess.run([*install, "--no-build-isolation", *packages], check=True, capture_output=True)
    return python


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with pmbench and what it requires, and none of its extras."""
    home = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    packages = next(home.glob("lib/python*/site-packages"))
    for name in _required("pmbench", set()):
        found = distribution(name)
        for top in {
            file.parts[0] for file in found.files or () if not file.parts[0].startswith(("..", "__"))
        }:
            target = packages / top
            if not target.exists():
                target.symlink_to(Path(str(found.locate_file(top))).resolve())
    return home / "bin" / "python"


def _required(name: str, seen: set[str]) -> set[str]:
    """Names of a distribution and of all that it requires without extras."""
    if name not in seen:
        seen.add(name)
        for text in distribution(name).requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                _required(needed.name, seen)
    return seen


@pytest.fixture
def pmbench(plugged: Path, tmp_path: Path) -> Command:
    """Runs `pmbench ARGUMENTS` in a folder of the test's own, as a second process."""

    def command(*arguments: str | Path, env: dict[str, str] | None = None, **options):
        return subprocess.run(
            [plugged, "-m", "pmbench", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "160", **(env or {})},
            capture_output=True,
            text=True,
            timeout=300,
            **options,
        )

    return command
