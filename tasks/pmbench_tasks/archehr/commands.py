"""`pmbench archehr`: what belongs to ArchEHR-QA and is no run: agreement of annotators, and of two references."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from pmbench import ConfigError, UnknownName

if TYPE_CHECKING:
    from pmbench import Metric
    from pmbench_tasks.archehr.agreement import Agreement
    from pmbench_tasks.archehr.resampling import Estimate
    from pmbench_tasks.archehr.retention import Retention
    from pmbench_tasks.archehr.run_scores import RunScores

TASK = "archehr-qa"

_JSON = click.option(
    "--json", "json_file", help="Write the numbers as JSON to this file (- for standard output)."
)
_RESAMPLES = click.option(
    "--resamples", type=click.IntRange(100, 1_000_000), default=2_000, show_default=True, help="Of intervals."
)
_SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of intervals.")


@click.group()
def archehr() -> None:
    """Annotators' agreement, what an editor kept, and how two kinds of relevance go together."""


@archehr.command("agreement")
@click.argument("key_a", type=click.Path(path_type=Path))
@click.argument("key_b", type=click.Path(path_type=Path))
@_RESAMPLES
@_SEED
@_JSON
def agreement_command(key_a: Path, key_b: Path, resamples: int, seed: int, json_file: str | None) -> None:
    """How far two people agree on the relevance of sentences.

    KEY_A and KEY_B are files in the format of the official key; of a review, the labels before and after. Printed are
    the share of equal labels (the paper's numbers), Cohen's kappa, also weighted by the order not-relevant,
    supplementary, essential, and what was changed into what.
    """
    from pmbench_tasks.archehr.agreement import agreement
    from pmbench_tasks.archehr.annotation_files import read_labels

    found = agreement(read_labels(key_a), read_labels(key_b), resamples=resamples, seed=seed)
    _tell(_agreement(found), found, json_file)


def _agreement(found: Agreement) -> Iterator[str]:
    from pmbench_tasks.archehr.agreement import ORDER

    yield f"{_counted(found.labels, 'label')} of {_counted(found.cases, 'case')}, {found.equal:,} of them equal"
    yield f"equal labels             {_shown(found.share, percent=True)}"
    yield f"the same, mean of cases  {_shown(found.mean, percent=True)}"
    yield f"Cohen's kappa            {_shown(found.kappa)}"
    yield f"kappa, weighted by order {_shown(found.weighted)}"
    yield ""
    yield "first \\ second".ljust(16) + "".join(name.rjust(15) for name in ORDER)
    for name, row in zip(ORDER, found.table, strict=True):
        yield name.ljust(16) + "".join(f"{count:,}".rjust(15) for count in row)
    if found.changes:
        yield ""
        yield f"{_counted(found.labels - found.equal, 'change')}:"
    for one in found.changes:
        yield f"  {one.before} to {one.after}: {one.count:,} ({100 * one.share:.1f}%)"
    for which, count in (("first", found.only_first), ("second", found.only_second)):
        if count:
            yield f"not counted: {_counted(count, 'sentence')} that only the {which} file has"


@archehr.command("retention")
@click.argument("original", type=click.Path(path_type=Path))
@click.argument("edited", type=click.Path(path_type=Path))
@_RESAMPLES
@_SEED
@_JSON
def retention_command(original: Path, edited: Path, resamples: int, seed: int, json_file: str | None) -> None:
    """How much of the answers in ORIGINAL their editor kept in EDITED.

    Both are tables (.csv, .tsv, .jsonl, .json) with the columns `id` and `text`; an official key will do, and so
    will a submission whose entries are texts, a zip too. Counted are word lemmas without stop words and punctuation;
    a lemma that stands there twice is kept twice.
    """
    from pmbench_tasks.archehr.annotation_files import read_answers
    from pmbench_tasks.archehr.retention import retention

    found = retention(read_answers(original), read_answers(edited), resamples=resamples, seed=seed)
    _tell(_retention(found), found, json_file)


def _retention(found: Retention) -> Iterator[str]:
    yield f"{_counted(found.answers, 'answer')}, {found.kept:,} of {found.lemmas:,} lemmas kept"
    yield f"of all lemmas     {_shown(found.share, percent=True)}"
    yield f"mean over answers {_shown(found.mean, percent=True)}"
    empty = sum(share is None for share in found.by_answer.values())
    if empty:
        yield f"not in the mean: {_counted(empty, 'answer')} whose original has no word that counts"
    for which, count in (("original", found.only_original), ("edited", found.only_edited)):
        if count:
            yield f"not counted: {_counted(count, 'answer')} that only the {which} file has"


@archehr.command("tau")
@click.argument("run", nargs=-1, required=True)
@click.option("--first", help="A metric of archehr-qa.  [default: relevance to clinicians' answers]")
@click.option("--second", help="Another one.  [default: relevance to the notes, of the same components]")
@click.option("--runs", "folder", help="The runs folder. Default: PMBENCH_RUNS, or runs.")
@_RESAMPLES
@_SEED
@_JSON
def tau_command(
    run: tuple[str, ...],
    first: str | None,
    second: str | None,
    folder: str | None,
    resamples: int,
    seed: int,
    json_file: str | None,
) -> None:
    """Kendall's tau-b of two metrics over the answers of one RUN or several, case by case.

    RUN is the folder of a run of archehr-qa, or the beginning of its digest. The interval is made by drawing cases
    again with all their answers: the answers of several systems to one case are not independent.
    """
    from pmbench_tasks.archehr.run_scores import read_scores
    from pmbench_tasks.archehr.tau import kendall_by_case

    runs = Path(folder or os.environ.get("PMBENCH_RUNS") or "runs")
    scores = [read_scores(name, runs) for name in run]
    _check(scores)
    pair = _pair(scores, first, second)
    points = [
        (case, mine[case], other[case])
        for mine, other in ([one.values(metric) for metric in pair] for one in scores)
        for case in mine
        if case in other
    ]
    if not points:
        raise ConfigError(
            f"no answer of these runs has both {pair[0].name} and {pair[1].name}",
            remedy="Choose others: --first METRIC --second METRIC",
        )
    cases, mine, other = zip(*points, strict=True)
    found = kendall_by_case(cases, mine, other, resamples=resamples, seed=seed)
    lines = [
        f"Kendall's tau-b of {pair[0].name} and {pair[1].name}",
        f"{_shown(found.tau)}",
        f"{_counted(found.answers, 'answer')} of {_counted(len(scores), 'run')} to {_counted(found.cases, 'case')}",
    ]
    named = {"first": pair[0].name, "second": pair[1].name, "runs": [str(one.folder) for one in scores]}
    _tell(lines, {**named, **msgspec.to_builtins(found)}, json_file)


def _check(scores: Sequence[RunScores]) -> None:
    """Raises ConfigError unless these are different runs of the task on the same data."""
    seen: set[Path] = set()
    for one in scores:
        if one.task != TASK:
            raise ConfigError(f"is a run of {one.task}", where=str(one.folder), remedy=f"Give runs of {TASK}")
        if one.folder.resolve() in seen:
            raise ConfigError("is named twice", where=str(one.folder), remedy="Name each run once")
        if one.fingerprint != scores[0].fingerprint:
            raise ConfigError(
                f"was made on other data than {scores[0].folder}",
                where=str(one.folder),
                remedy="Give runs of one dataset",
            )
        seen.add(one.folder.resolve())


def _pair(scores: Sequence[RunScores], first: str | None, second: str | None) -> tuple[Metric, Metric]:
    """The two metrics that were asked for; else relevance to both references, of as many components as all have."""
    from pmbench_tasks.archehr.metrics import METRICS
    from pmbench_tasks.archehr.relevance_metrics import parts

    by_name: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}
    if first and second:
        for name in (first, second):
            if name not in by_name:
                raise UnknownName(f"metric of {TASK}", name, by_name)
        if first == second:
            raise ConfigError(
                f"{first} is named twice, and goes with itself",
                where="--second",
                remedy="Name another metric",
            )
        return by_name[first], by_name[second]
    if first or second:
        raise ConfigError(
            "--first and --second go together: each has a metric of its own only where neither is given",
            remedy="Give both, or neither",
        )
    pairs = [("overall_relevance_human", "overall_relevance_score")]
    pairs += [(f"relevance_{part}_human", f"relevance_{part}") for part, _ in parts(3, 6)]
    for human, notes in pairs:
        if all(one.values(by_name[human]) and one.values(by_name[notes]) for one in scores):
            return by_name[human], by_name[notes]
    raise ConfigError(
        "these runs have no relevance to both references of the same components",
        remedy="Score them alike (--judge relevance=…), or choose: --first METRIC --second METRIC",
    )


def _shown(found: Estimate, *, percent: bool = False) -> str:
    """A number and its interval."""
    if found.value is None:
        return "undefined"
    scale, sign = (100, "%") if percent else (1, "")
    text = f"{scale * found.value:.{1 if percent else 3}f}{sign}"
    if found.low is None or found.high is None:
        return f"{text}, no interval: a single case or answer"
    return (
        f"{text} [{scale * found.low:.{1 if percent else 3}f}, {scale * found.high:.{1 if percent else 3}f}]"
    )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _tell(lines: Iterator[str] | Sequence[str], found: Any, json_file: str | None) -> None:
    encoded = msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"
    if json_file == "-":
        click.echo(encoded, nl=False)
        return
    if json_file is not None:
        _write(Path(json_file), encoded)
    for line in lines:
        click.echo(line)


def _write(path: Path, text: str) -> None:
    """Only a file that is not there yet is written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError("is there already", where=f"--json {path}", remedy="Name another file") from None
    except OSError as error:
        raise ConfigError(f"cannot be written ({error.strerror})", where=f"--json {path}") from None


__all__: Sequence[str] = ("archehr",)
