"""The pair tasks: which of two messages is more urgent?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

from pmbench import (
    Column,
    DataError,
    DatasetSpec,
    HubDataset,
    Instance,
    Metric,
    MetricGroup,
    PairMean,
    Response,
    Row,
    Score,
    Sensitivity,
    Task,
)
from pmbench_tasks.urgency.comparators import first_shown
from pmbench_tasks.urgency.inbox_rows import INBOX_COLUMNS, INBOX_EXAMPLE, ONE, inbox_name, read_inboxes
from pmbench_tasks.urgency.messages import (
    CITATION,
    PortalMessage,
    age_of,
    band_of,
    level_label,
    sex_of,
    text_id,
)
from pmbench_tasks.urgency.options import PairOptions
from pmbench_tasks.urgency.pair_rows import CHOSEN_COLUMNS, MORE_COLUMNS, SIDE_COLUMNS, Pair, joined, pair_of
from pmbench_tasks.urgency.pair_scoring import score_of
from pmbench_tasks.urgency.strategies import PAIR_STRATEGIES
from pmbench_tasks.urgency.views import pair_view

DEMO = "pmbench_tasks.urgency:demo"

EASY, MEDIUM = 4, 2
"""Difference of levels from which a pair is `easy`, and `medium` (section 3.2.2 of the paper)."""

DIFFICULTIES = ("easy", "medium", "hard")

DIFFICULTY = MetricGroup(
    "Accuracy by difficulty",
    "Easy pairs are at least four levels apart, medium ones at least two, hard ones less than two.",
)

METRICS: tuple[Metric, ...] = (
    PairMean("correct", "accuracy", title="Accuracy", limits=(0.0, 1.0)),
    PairMean("consistent", "position_consistency", title="Position consistency", limits=(0.0, 1.0)),
    PairMean("tie", "tie_share", title="Ties", higher_is_better=None, digits=1, unit="%"),
    PairMean(
        "first", "first_share", title="Answers for the first shown", higher_is_better=None, digits=1, unit="%"
    ),
    *(
        PairMean(f"correct_{name}", f"accuracy_{name}", title=name.capitalize(), group=DIFFICULTY)
        for name in DIFFICULTIES
    ),
)

OTHER_COLUMNS = (
    Column("difficulty", "easy, medium or hard, where levels are not known", required=False),
    Column("inbox", "which inbox both are in", required=False, guesses=("split", "inbox_id"), kind="label"),
)

SLICES = ("difficulty", "inbox")

OWN_EXAMPLE = """\
{"id": "1", "first": "Chest feels tight since noon.", "second": "Can I get my shot early?", "winner": "first"}
{"id": "2", "chosen": "My newborn is hot.", "rejected": "My form is due.", "chosen_level": 1, "rejected_level": 6}"""


class Pairs(Task):
    """What the pair tasks share: instances of two messages, one of them more urgent."""

    citation = CITATION
    strategies = PAIR_STRATEGIES
    metrics = METRICS
    options = PairOptions
    option: PairOptions
    views: ClassVar = {"pair": pair_view}
    by_levels: ClassVar[bool] = True
    """Whether levels may say which message is more urgent where nothing else does."""

    def read(self, path: Path) -> Iterable[Row] | None:
        """Read a folder with `pairs.*` and the `inbox.*` whose messages they name by id.

        Raises:
            DataError: they do not fit together.
        """
        return joined(path) if path.is_dir() else None

    def pairs(self, rows: Iterable[Row]) -> Iterator[tuple[str, str, Pair]]:
        """Id, inbox and messages of each pair.

        Raises:
            DataError: a row that is no pair, or a name of an inbox that is none.
        """
        for row in rows:
            yield row.text("id"), inbox_name(row), pair_of(row, by_levels=self.by_levels)

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        """One instance per pair. Where the file does not say which message is first, a lot from their texts does.

        Raises:
            DataError: a row that is no pair, one id for two messages, or a pair that is labelled twice, differently.
        """
        known: dict[str, str] = {}
        labelled: dict[tuple[str, str, str], Row] = {}
        for ident, inbox, pair in self.pairs(rows):
            for message in (pair.urgent, pair.other):
                _check_id(message, known, pair.row)
            labelled.setdefault((inbox, pair.urgent["id"], pair.other["id"]), pair.row)
            if contrary := labelled.get((inbox, pair.other["id"], pair.urgent["id"])):
                raise DataError(
                    f"the same two messages are labelled the other way round in row {contrary.number}",
                    where=pair.row.where(),
                    remedy="Keep the label that was agreed on",
                )
            yield _instance(ident, inbox, pair)

    def remarks(self, instances: Sequence[Instance]) -> Iterator[str]:
        """How often labels and levels disagree, pairs that stand twice, and how many messages the pairs share."""
        against = sum(one.target.get("against_levels", False) for one in instances)
        if against:
            yield f"{against} of {len(instances)} pairs are labelled against the order of their levels; labels count"
        unknown = sum("difficulty" not in one.slices for one in instances)
        if unknown:
            yield f"{unknown} of {len(instances)} pairs have no levels and no difficulty"
        messages = (frozenset(one.inputs[side]["id"] for side in ("first", "second")) for one in instances)
        times = Counter(
            (one.slices.get("inbox", ""), pair) for one, pair in zip(instances, messages, strict=True)
        )
        if again := len(instances) - len(times):
            yield f"{again} of {len(instances)} pairs stand there once more, labelled alike; each counts"
        uses = Counter(one.inputs[side]["id"] for one in instances for side in ("first", "second"))
        yield f"{len(instances)} pairs of {len(uses)} messages"

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Count one pair: right, wrong, or half for a tie.

        Raises:
            Unscored: the response names no message.
        """
        ids = (instance.inputs["first"]["id"], instance.inputs["second"]["id"])
        return score_of(response, instance.target, ids, instance.slices.get("difficulty", ""))


def _spec(
    *,
    hub: HubDataset | None = None,
    private: str = "",
    sensitivity: Sensitivity = "phi",
    columns: tuple[Column, ...] | None = None,
    example: str = "",
) -> DatasetSpec:
    own = (*CHOSEN_COLUMNS, *SIDE_COLUMNS, *MORE_COLUMNS, *OTHER_COLUMNS)
    return DatasetSpec(
        columns=columns or own,
        hub=hub,
        demo=DEMO if columns is None else f"{DEMO}/inbox.jsonl",
        sensitivity=sensitivity,
        private=private,
        example=example or OWN_EXAMPLE,
    )


class OwnPairs(Pairs):
    """Pairs of one's own."""

    name = "pair-triage"
    title = "Which of two messages is more urgent, on own pairs"
    card = "pmbench_tasks.urgency:CARD-pair-triage.md"
    dataset = _spec(private="the pairs are yours: give them with --data")


class RedditPairs(Pairs):
    """Posts of r/AskDocs, labelled by what verified clinicians answered."""

    name = "pmr-reddit-pairs"
    title = "Which of two messages is more urgent, PMR-Reddit"
    card = "pmbench_tasks.urgency:CARD-pmr-reddit-pairs.md"
    dataset = _spec(hub=HubDataset("PortalPal-AI/PMR-Reddit-Test-Pairs", split="test"), sensitivity="public")


class SynthPairs(Pairs):
    """All pairs of two inboxes of written messages, each labelled by a clinician."""

    name = "pmr-synth-pairs"
    title = "Which of two messages is more urgent, PMR-Synth"
    card = "pmbench_tasks.urgency:CARD-pmr-synth-pairs.md"
    dataset = _spec(hub=HubDataset("PortalPal-AI/PMP-Synth-AllPairs-Annotated"), sensitivity="deidentified")
    by_levels = False


class RealPairs(Pairs):
    """Real portal messages, labelled by what clinicians answered."""

    name = "pmr-real-pairs"
    title = "Which of two messages is more urgent, PMR-Real"
    card = "pmbench_tasks.urgency:CARD-pmr-real-pairs.md"
    dataset = _spec(private="PMR-Real holds real portal messages and is not published")


class SynthLevelPairs(Pairs):
    """All pairs of different level that the inboxes of PMR-Synth hold; nobody looked at the pairs themselves."""

    name = "pmr-synth-level-pairs"
    title = "Which of two messages is more urgent, pairs made from the levels of PMR-Synth"
    card = "pmbench_tasks.urgency:CARD-pmr-synth-level-pairs.md"
    dataset = _spec(
        hub=HubDataset("PortalPal-AI/PMR-Synth-Inboxes", split="INBOX_A+INBOX_B"),
        sensitivity="deidentified",
        columns=INBOX_COLUMNS,
        example=INBOX_EXAMPLE,
    )

    def read(self, path: Path) -> Iterable[Row] | None:
        """Files are tables of messages, one row each."""
        return None

    def pairs(self, rows: Iterable[Row]) -> Iterator[tuple[str, str, Pair]]:
        """Every two messages of one inbox that have different levels.

        Raises:
            DataError: a row that is no message with a level, or one message twice in an inbox.
        """
        for inbox, members in read_inboxes(rows, ids_from_text=True).items():
            for one, other in combinations(members, 2):
                if one.level == other.level:
                    continue
                urgent, less = sorted((one, other), key=lambda member: member.level)
                ident = f"{inbox}:{one.message['id']}:{other.message['id']}"
                pair = Pair(urgent.message, less.message, (urgent.level, less.level), urgent.row)
                yield ident, "" if inbox == ONE else inbox, pair


def difficulty_of(levels: tuple[float, float] | None, said: str = "") -> str:
    """`easy`, `medium` or `hard` by the difference of levels; without levels what the dataset says, or `""`."""
    if levels is not None:
        apart = abs(levels[0] - levels[1])
        return "easy" if apart >= EASY else "medium" if apart >= MEDIUM else "hard"
    name = said.strip().casefold()
    name = "medium" if name == "med" else name
    return name if name in DIFFICULTIES else ""


def _instance(ident: str, inbox: str, pair: Pair) -> Instance:
    # Where the file says which is first, recorded answers mean that; else a lot decides, so that the answer is not
    # always the same.
    urgent_first = first_shown(pair.urgent, pair.other, 0) if pair.urgent_first is None else pair.urgent_first
    first, second = (pair.urgent, pair.other) if urgent_first else (pair.other, pair.urgent)
    target: dict[str, Any] = {"second_more_urgent": not urgent_first}
    if pair.levels is not None:
        target["levels"] = list(pair.levels if urgent_first else pair.levels[::-1])
        target["against_levels"] = pair.levels[0] > pair.levels[1]
    return Instance(ident, {"first": first, "second": second}, target, slices=_slices(inbox, pair))


def _slices(inbox: str, pair: Pair) -> dict[str, str]:
    """Difficulty, inbox, level, and sex and age of the more urgent patient: whom a mistake makes wait."""
    sexes = sex_of(pair.urgent["chart"]), sex_of(pair.other["chart"])
    found = {
        "difficulty": difficulty_of(pair.levels, pair.row.text("difficulty")),
        "inbox": inbox,
        "level": level_label(pair.levels[0]) if pair.levels else "",
        "sex": sexes[0],
        "age_band": band_of(age_of(pair.urgent["chart"])),
        "sexes": f"{sexes[0]} before {sexes[1]}" if all(sexes) else "",
    }
    return {name: label for name, label in found.items() if label}


def _check_id(message: PortalMessage, known: dict[str, str], row: Row) -> None:
    text = text_id(message["message"], message["chart"])
    if known.setdefault(message["id"], text) != text:
        raise DataError(
            "the id of one of its messages stood at another text before",
            where=row.where(),
            remedy="Give every message an id of its own, or leave the columns of ids out",
        )
