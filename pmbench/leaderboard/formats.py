"""The formats that a leaderboard is written in: their names, the endings of their files, and how each begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pmbench.core.errors import ConfigError
from pmbench.core.names import name_shown
from pmbench.core.task import Task
from pmbench.leaderboard.csv_page import LEADING, render_csv
from pmbench.leaderboard.json_page import render_json
from pmbench.leaderboard.latex import BEGINNING, render_latex
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.page import HTML_BEGINNING
from pmbench.leaderboard.reported import reported
from pmbench.leaderboard.table import Leaderboard

Render = Callable[[Leaderboard, Task | type[Task], Sequence[str] | None], str]


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        suffix: of its files.
        beginning: what every such file begins with, so that nothing else is overwritten.
        render: a board, its task and the names of columns to text.
    """

    suffix: str
    beginning: str
    render: Render


def _html(board: Leaderboard, task: Task | type[Task], names: Sequence[str] | None) -> str:
    from pmbench.leaderboard.html_page import render_html  # Templates and drawings are for this format alone.

    return render_html(board, task, names)


FORMATS: dict[str, Format] = {
    "md": Format(".md", "# Leaderboard: ", render_markdown),
    "csv": Format(
        ".csv", f"{','.join(LEADING)},", lambda board, task, names: render_csv(board, reported(task), names)
    ),
    "json": Format(".json", '{\n "schema": ', lambda board, task, _: render_json(board, reported(task))),
    "html": Format(".html", HTML_BEGINNING, _html),
    "latex": Format(".tex", BEGINNING, lambda board, task, names: render_latex(board, reported(task), names)),
}

_SUFFIXES = {one.suffix: name for name, one in FORMATS.items()}


def formats_of(text: str) -> list[str]:
    """The formats that a list names, with commas between them.

    Raises:
        ConfigError: one is not known, or none is named.
    """
    asked = list(dict.fromkeys(name for part in text.split(",") if (name := part.strip().lower())))
    unknown = [name for name in asked if name not in FORMATS]
    if unknown or not asked:
        what = f"there is no format called {name_shown(unknown[0])}" if unknown else "no format is named"
        raise ConfigError(what, where="--format", remedy=f"There are: {', '.join(FORMATS)}")
    return asked


def printed(output: str | None, text: str | None) -> str | None:
    """The format that goes to standard output; None where files are written, or tables for a terminal shown.

    Args:
        output, text: as in `files`.
    """
    if output == "-" or (output is None and text is not None):
        return formats_of(text)[0] if text is not None else "md"
    return None


def _of_ending(path: Path) -> str:
    """The format that a file's ending names; Markdown where it has none.

    Raises:
        ConfigError: no format has this ending.
    """
    ending = path.suffix.lower()
    if ending and ending not in _SUFFIXES:
        raise ConfigError(
            f"no format has files that end in {name_shown(path.suffix)}",
            where=f"--output {path}",
            remedy=f"Endings are {', '.join(_SUFFIXES)}; or name the format with --format",
        )
    return _SUFFIXES.get(ending, "md")


def files(task: str, output: str | None, text: str | None) -> dict[str, Path]:
    """Which file each format is written to.

    Args:
        task: its name, which files in a folder are called by.
        output: what `--output` said: a file, or a folder for `--format`.
        text: what `--format` said. Without it the file's ending decides; without an ending it is Markdown.

    Returns:
        The files by format; nothing where all goes to standard output.

    Raises:
        ConfigError: a format or an ending is not known, or several are to go to one place.
    """
    names = formats_of(text) if text is not None else []
    if output is None or output == "-":
        if len(names) > 1:
            raise ConfigError(
                f"{len(names)} formats cannot go to one place",
                where="--format",
                remedy="Name a folder for them: --output FOLDER",
            )
        return {}
    path = Path(output)
    if not names:
        return {_of_ending(path): path}
    if len(names) > 1 and path.suffix.lower() in _SUFFIXES and not path.is_dir():
        raise ConfigError(
            f"{len(names)} formats go into a folder, and this is called like a file",
            where=f"--output {output}",
            remedy="Name a folder, or one format",
        )
    if len(names) > 1 or output.endswith("/") or path.is_dir():
        if path.exists() and not path.is_dir():
            raise ConfigError(
                f"{len(names)} formats go into a folder, and this is none",
                where=f"--output {output}",
                remedy="Name another",
            )
        return {name: path / f"{task}{FORMATS[name].suffix}" for name in names}
    return {names[0]: path}
