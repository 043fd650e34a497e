"""The backend that `docs/backends.md` writes keeps the promises that it speaks of."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "backends.md"


def test_the_example_runs_as_it_stands_there(tmp_path: Path) -> None:
    files = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert [name for name, _ in files] == ["shouting.py", "test_shouting.py"]
    for name, text in files:
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "test_shouting.py"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 40
