"""How the numbers of a page were made and how to read them, in words, by the scheme that a metric is resampled by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from pmbench.core.metric import Scheme
from pmbench.leaderboard.standing import FEWEST_FOR_CHANCES
from pmbench.leaderboard.table import Leaderboard
from pmbench.leaderboard.tested import CORRECTIONS, Comparison
from pmbench.leaderboard.wording import listed
from pmbench.stats.methods import METHODS

_FROM: dict[str, str] = {
    "cluster": "judged from which clusters happened to be in these data",
    "dyadic": "judged from which messages happened to be in these pairs",
    "ranking": "judged from which messages happened to be in these inboxes, and not from which inboxes there were",
}
"""By scheme, what an interval takes to be chance."""

_CHANCE: dict[str, str] = {
    "cluster": ("if a coin's toss had decided which of the two systems gave which answers of a cluster"),
    "dyadic": "if the two systems were equally good and other messages had been paired",
    "ranking": "if the two systems were equally good and other messages had been in the inboxes",
}
"""By scheme, what p is the chance of."""


_DRAWN: dict[str, str] = {
    "cluster": "the clusters of these data drawn again, the same for all systems",
    "dyadic": "values drawn by how the systems' differences would vary with other messages",
    "ranking": "inboxes of messages drawn again from these, the same for all systems",
}
"""By scheme, what the data sets are of which a chance of being best counts those that a system leads."""


def reading(board: Leaderboard) -> Iterator[str]:
    """Lines of a list: what brackets, differences and counts mean."""
    level = f"{100 * board.statistics.level:g}%"
    primary = board.metrics[0].scheme
    yield (
        f"- Brackets hold a {level} interval for the value over all such instances, {_FROM[primary]}."
        " It leaves out errors of the judge and chance in the model's answers."
    )
    if any(head.corrects for head in board.metrics):
        yield (
            "- Judge-corrected values are what people would give: their labels of some responses correct the judge's"
            f" scores of all (prediction-powered inference). Their brackets hold a {level} interval that has the"
            " judge's errors in it."
        )
    yield (
        "- The difference is this system minus the best of its table, on the instances that both have scored."
        " Before adjustment, p is the chance of a difference at least this large, in either direction,"
        f" {_CHANCE[primary]}. The p shown is"
        f" adjusted for all pairs of systems in the table ({_corrections(board)}). A large p means that these data do"
        " not show a difference, not that there is none. The brackets of the difference are not adjusted, and may"
        " exclude 0 where p is large."
    )
    yield (
        "- Tests are paired: both systems answered the same instances, and what counts is by how much they differ"
        " there. So the intervals of two systems may overlap although the two differ; the column of differences and p"
        " decide, not the overlap."
    )
    if board.metrics[0].higher_is_better is not None:
        yield (
            "- Systems that have a letter in common cannot be told apart. The rank is the place by value, in brackets"
            " the best and the worst place that the tests leave a system: behind those that the tests find better,"
            " before those that they find worse."
        )
        yield (
            f"- The chance of being best is in how many of {board.statistics.resamples:,} data sets a system leads"
            f" this table ({_DRAWN[primary]}): best of these systems, not of all that there are. It is no proof, and"
            " adds to no p: a system may lead in most of them and yet not be told apart from others. With fewer than"
            f" {FEWEST_FOR_CHANCES} {'clusters' if primary == 'cluster' else 'messages'} it is not told."
        )
    else:
        yield "- Systems that have a letter in common cannot be told apart."
    yield (
        "- Scored counts responses with a score, of those asked for. What failed or could not be scored is"
        " left out of the value and counted beside it as failed or missing; it is never taken as zero. Answers"
        " that are empty, refuse or were cut off are scored as they are, and counted too. If what is lost is"
        " harder than the rest, the value is too high: see the worst case in the notes."
    )
    if board.others or board.groups:
        yield (
            "- Tests are made of the primary metric alone. Of the many numbers in the other tables some differ by"
            " chance, and none of them was tested: read nothing into their order."
        )
    yield "- Only systems of one table may be compared. ↑ more is better, ↓ less is better."


def statistics(board: Leaderboard) -> str:
    """The methods, with what it takes to repeat them."""
    used = board.statistics
    drawn = f", {used.resamples:,} resamples, seed {used.seed}"
    schemes = list(dict.fromkeys(head.scheme for head in board.metrics))
    made = []
    for scheme in schemes:
        own = [head for head in board.metrics if head.scheme == scheme and not head.corrects]
        titles = [head.title for head in own if not head.group]
        if not titles:
            groups = dict.fromkeys(head.group for head in own)
            titles = [f"other numbers under {listed(list(groups))}"]
        of = f" of {listed(titles)}" if len(schemes) > 1 else ""
        method = METHODS[cast("Scheme", scheme)][0]
        made.append(f"intervals{of}: {method}" if of else method)
    text = f"Statistics: {'; '.join(made)}{drawn if set(schemes) != {'dyadic'} else ''}"
    if any(head.corrects for head in board.metrics):
        text += "; judge-corrected values: PPI++, jackknife by cluster and Student's t"
    pairs = [one.against for table in board.tables for one in table.rows if one.against]
    if not pairs:
        return f"{text}."
    adjusted = f"p-values are adjusted over all pairs of each table ({_corrections(board)})."
    return f"{text}; {_tests(board, pairs)} {adjusted}"


def _corrections(board: Leaderboard) -> str:
    """The corrections of the tables: `Holm`, or `max-T and Holm`."""
    used = dict.fromkeys(table.correction for table in board.tables if table.pairs)
    return listed([CORRECTIONS[one] for one in used or [board.statistics.correction]])


def _tests(board: Leaderboard, pairs: list[Comparison]) -> str:
    scheme = board.metrics[0].scheme
    method = METHODS[cast("Scheme", scheme)][1]
    if scheme != "cluster":
        return f"comparisons: {method}."
    exact = sum(pair.exact for pair in pairs)
    return (
        f"{method}, {board.statistics.permutations:,} random patterns of swaps, or all patterns where few clusters"
        f" differ: all were tried for {exact} of the {len(pairs)} comparisons with a best system on this page."
    )
