"""A stranger tests their own backend with the conformance suite, in an environment where it is installed."""

import re
import shutil
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "packages" / "pmbench-greeting"


def test_a_strangers_backend_is_found_by_its_name_and_keeps_its_promises(
    plugged: Path, tmp_path: Path
) -> None:
    shutil.copytree(PACKAGE / "tests", tmp_path / "tests")
    done = subprocess.run(
        [plugged, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "tests"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) > 40


def test_without_pytest_it_says_what_to_install(bare: Path) -> None:
    command = [bare, "-c", "import pmbench.testing"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "MissingExtra: pmbench.testing needs the module" in done.stderr
    assert 'Run: pip install "pmbench[testing]"' in done.stderr
