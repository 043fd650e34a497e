"""`pmbench export`: a run as a record without text, or in a file format of its task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pmbench.running.reading import StoredRun

RECORD = "record"


@click.command()
@click.argument("name", metavar="RUN")
@click.option(
    "-f",
    "--format",
    "form",
    default=RECORD,
    show_default=True,
    help="record, a folder without any text that leaderboards can be made from; or one of the task's formats, which"
    " its card lists.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="PATH",
    help="The new folder of a record, or the file of another format; - for standard output.",
)
@click.option(
    "--hash-ids",
    is_flag=True,
    help="In a record: replace ids, clusters and units by hashes made with the salt in PMBENCH_SALT.",
)
@click.option("--salt-file", metavar="FILE", help="Take the salt from this file.")
@click.option("--no-slices", is_flag=True, help="In a record: leave out the subgroup labels.")
@click.option(
    "--sample", type=click.IntRange(0), help="Number of the sample. A record holds all. [default: 0]"
)
@click.option(
    "--scoring", help="Beginning of the digest of a scoring. Default: the one of the most instances."
)
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
def export(
    name: str,
    form: str,
    output: str,
    hash_ids: bool,
    salt_file: str | None,
    no_slices: bool,
    sample: int | None,
    scoring: str | None,
    folder: str | None,
) -> None:
    """Write a run as a record, or in a file format of its task. RUN is a folder, or a beginning of a run's digest.

    A record is a folder with all that a leaderboard is made from and no text: pmbench leaderboard --records. What is
    in it and what is not is printed. Some of the tasks' own formats hold the responses: a task's card says which.
    """
    from pmbench.running.plan import runs_folder
    from pmbench.running.reading import read_run

    given = {"--hash-ids": hash_ids, "--salt-file": salt_file, "--no-slices": no_slices}
    _check_options(form, output, given, sample)
    run = read_run(runs_folder(folder), name, scoring)
    if form == RECORD:
        _record(run, Path(output), hash_ids=hash_ids, salt_file=salt_file, slices=not no_slices)
    else:
        _file(run, form, output, sample or 0)


def _check_options(form: str, output: str, given: Mapping[str, object], sample: int | None) -> None:
    """Options that mean nothing here are refused: who gives them relies on them."""
    from pmbench.core.errors import ConfigError

    if form != RECORD:
        for option, value in given.items():
            if value:
                raise ConfigError(f"this is for records only, and the format is {form!r}", where=option)
        return
    if sample is not None:
        raise ConfigError("a record holds all samples", where="--sample", remedy="Leave it out")
    if output == "-":
        raise ConfigError("a record is a folder", where="--output -", remedy="Name a new folder")
    if given["--salt-file"] and not given["--hash-ids"]:
        raise ConfigError("a salt is for hashed ids", where="--salt-file", remedy="Add --hash-ids")


def _record(run: StoredRun, path: Path, *, hash_ids: bool, salt_file: str | None, slices: bool) -> None:
    from pmbench.running.record_files import check_free, write_record
    from pmbench.running.record_making import make_record
    from pmbench.running.record_names import Names, salt_from
    from pmbench.running.record_told import told

    check_free(path)
    made = make_record(run, Names(salt_from(salt_file) if hash_ids else None), slices=slices)
    record = write_record(path, made.record, made.lines)
    size = sum(file.stat().st_size for file in path.iterdir())
    click.echo(f"written: {path}/ (2 files, {max(1, round(size / 1000))} kB)")
    for line in told(made, record, has_slices=slices, others=run.others):
        click.echo(line)


def _file(run: StoredRun, form: str, output: str, sample: int) -> None:
    from pmbench.running.exporting import export_run, write_export

    text = export_run(run, form, sample)
    if output == "-":
        click.echo(text, nl=False)
        return
    write_export(Path(output), text)
    click.echo(f"written: {output}")
