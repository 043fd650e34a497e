"""LaTeX takes every table as it is, whatever systems are called, and sets it within the page."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from made_runs import Made, Toy, write

from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.latex import _SET, MACROS, render_latex, tex
from pmbench.leaderboard.reported import Reported, ReportedRow
from pmbench.leaderboard.several import several_tasks
from pmbench.leaderboard.several_pages import SEVERAL
from pmbench.leaderboard.tested import Resampling

pytestmark = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")

FAST = Resampling(resamples=300, permutations=300)
PUBLISHED = Path(__file__).parents[2] / "leaderboards" / "records"
PAPER = Reported(
    [ReportedRow("GPT_x & co", "0-shot", "Table 4", {"f1": "0.50", "other": "1"})], source="A paper"
)
NAMES = (
    r"\input{/etc/passwd} 100% of $x_1^2$ & #1 ~{}",
    "emoji 🩺 漢字 café naïve Ωμέγα Łódź ß",
    "עברית \u202eRTL\u202c العربية",
    "x" * 300,
    "org/" + "very-long_model.name-" * 14,
    "``quoted'' --- ?` !` << >> \"a\" ,, 'b'",
    "meta-llama/Llama-3.1-8B-Instruct@q4_k_m?think=false&context=8192",
    "[x]* \\\\ \\end{tabular} %",
    "e\u0301 q\u0301 \u200b\u200d \x07 \ufffd",
    "−±×≤≥→…“q”’‘–—·•½§°€↑",
)


class Second(Toy):
    """Another task with the same metrics."""

    name = "second_task"
    title = "Second 100% & more"


def compiled(folder: Path, text: str, packages: str = "booktabs,graphicx") -> str:
    """What pdfLaTeX says of a paper that has this file; fails where it stops."""
    (folder / "table.tex").write_text(text, encoding="utf-8")
    (folder / "paper.tex").write_text(
        f"\\documentclass{{article}}\n\\usepackage{{{packages}}}\n\\usepackage[T1]{{fontenc}}\n"
        "\\begin{document}\n\\listoftables\n\\input{table.tex}\n\\input{table.tex}\n\\end{document}\n"
    )
    ask = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    for _ in range(2):  # the list of tables is set by the second
        ran = subprocess.run(ask, cwd=folder, capture_output=True, check=False, timeout=120)
        log = ran.stdout.decode("utf-8", "replace")
        assert ran.returncode == 0, log[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 1000
    return log


def too_wide(log: str) -> float:
    """By how many points the widest line is too wide."""
    return max((float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)), default=0.0)


def test_hostile_names_compile_and_stay_on_the_page(tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        write(tmp_path / "runs", Made(model=name, skill=0.3 + 0.06 * number, seed=number))
    text = render_latex(leaderboard(Toy, tmp_path / "runs", statistics=FAST), PAPER)
    log = compiled(tmp_path, text)
    assert too_wide(log) < 10
    assert "Float too large" not in log
    compiled(tmp_path, text, "booktabs")


def test_several_tasks_compile(tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        for task in (Toy, Second):
            write(tmp_path / "runs", Made(model=name, skill=0.3 + 0.06 * number, seed=number), task)
    found = several_tasks([Toy, Second], tmp_path / "runs", statistics=FAST)
    log = compiled(tmp_path, SEVERAL["latex"].render(found))
    assert too_wide(log) < 10


@pytest.mark.parametrize("task", sorted(path.name for path in PUBLISHED.iterdir() if path.is_dir()))
def test_published_tables_compile(tmp_path: Path, task: str) -> None:
    from pmbench.core.registry import load_task
    from pmbench.leaderboard.reported import reported

    board = leaderboard(load_task(task), None, records=PUBLISHED, statistics=FAST)
    assert board.tables
    log = compiled(tmp_path, render_latex(board, reported(load_task(task))))
    assert too_wide(log) < 10


def test_every_character_that_is_left_as_it_is_can_be_set(tmp_path: Path) -> None:
    compiled(tmp_path, "\n".join([*MACROS, *(f"{tex(one)}\n" for one in sorted(_SET))]), "booktabs")
