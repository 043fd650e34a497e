"""The drafting tasks: a reply to a patient's message, scored by the edits it would need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pmbench import (
    Column,
    DataError,
    DatasetSpec,
    HubDataset,
    Instance,
    Response,
    Row,
    Score,
    Task,
    ViewBlock,
    split_sentences,
)
from pmbench_tasks.drafting.judges import CONTENT, THEME
from pmbench_tasks.drafting.judging.answer import valid
from pmbench_tasks.drafting.labelling import STAT_WORDS, doubts, texts_to_label
from pmbench_tasks.drafting.metrics import METRICS
from pmbench_tasks.drafting.scoring import has_tags, judge, score_of, words
from pmbench_tasks.drafting.strategies import STRATEGIES
from pmbench_tasks.drafting.views import edits_view

DEMO = "pmbench_tasks.drafting:demo/messages.jsonl"

SLICES = ("specialty", "sex", "age_band", "urgency", "clinician")

SHORT, MEDIUM = 40, 80
"""Words of a reply: below 40 is `short`, below 80 `medium`, from 80 on `long`."""

COLUMNS = (
    Column(
        "message",
        "what the patient wrote",
        guesses=("patient_message", "msg", "question", "input", "text", "portal_message", "patient_msg"),
    ),
    Column(
        "chart",
        "summary of the patient's chart",
        required=False,
        guesses=("ehr", "ehr_summary", "chart_summary", "context", "ehr_context", "patient_chart", "record"),
    ),
    Column(
        "response",
        "what the clinician replied",
        guesses=(
            "reply",
            "clinician_response",
            "expert_response",
            "answer",
            "provider_response",
            "clinician_reply",
            "doctor_reply",
            "provider_reply",
            "doctor_response",
            "reference",
        ),
    ),
    Column("draft", "a draft to score, for `--model replay:@draft`", required=False, guesses=("llm_draft",)),
    Column(
        "cluster",
        "rows that belong together (replies to one message, messages of one patient)",
        required=False,
        guesses=("message_id", "patient_id", "thread_id"),
    ),
    Column("specialty", "specialty of the clinic", required=False, guesses=("department", "clinic")),
    Column("sex", "sex of the patient", required=False, guesses=("gender",)),
    Column("age_band", "age band of the patient", required=False, guesses=("age_group", "age_range")),
    Column("urgency", "urgency of the message", required=False, guesses=("triage", "acuity")),
    Column("clinician", "who replied", required=False, guesses=("annotator", "clinician_id", "annotator_id")),
)

EXAMPLE = """\
{"id": "1", "message": "My cough is worse.", "chart": "Asthma.", "response": "Sorry to hear. Any fever?"}
{"id": "2", "message": "Can I get my shot early?", "response": "Yes. Please call us to book it."}"""


def _private(why: str) -> DatasetSpec:
    """Data that nobody can fetch: given with `--data`, and patients' own words unless somebody says otherwise."""
    return DatasetSpec(
        columns=COLUMNS,
        demo=DEMO,
        sensitivity="phi",
        slices=(*SLICES, "length"),
        private=why,
        example=EXAMPLE,
    )


class Drafting(Task):
    """What the drafting tasks share: instances, scoring at the levels of content and themes, metrics."""

    citation = "Seegmiller et al. 2026, How Much Would a Clinician Edit This Draft?, arXiv 2601.11344"
    strategies = STRATEGIES
    judges: ClassVar = {"content": CONTENT, "theme": THEME}
    metrics = METRICS
    scoring_version = 2
    views: ClassVar = {"edits": edits_view}
    stat_words = STAT_WORDS

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        """One instance per row.

        Raises:
            DataError: no message, or a reply without a sentence.
        """
        for row in rows:
            message, response = row.text("message"), row.text("response")
            if not message.strip():
                raise DataError(
                    "the message is empty",
                    where=row.where("message"),
                    remedy="Fill it in or leave the row out",
                )
            if not split_sentences(response):
                raise DataError(
                    "the reply has no sentence, so there is nothing that a draft could match",
                    where=row.where("response"),
                    remedy="Fill it in or leave the row out",
                )
            yield Instance(
                id=row.text("id"),
                inputs={"message": message, "chart": row.text("chart")},
                target={"response": response},
                cluster=row.text("cluster").strip() or None,
                slices=self._slices(row, response),
            )

    def remarks(self, instances: Sequence[Instance]) -> Iterator[str]:
        """How many instances hold HTML tags, which are taken as text."""
        count = sum(any(map(has_tags, _texts(one))) for one in instances)
        if count:
            yield f"{count} of {len(instances)} instances hold HTML tags, which are taken as text"

    def _slices(self, row: Row, response: str) -> dict[str, str]:
        found = {name: row.text(name).strip() for name in self.dataset.slices if name != "length"}
        return {name: value for name, value in found.items() if value} | {"length": length_of(response)}

    def draft_of(self, response: Response) -> str:
        """The text of a response that is scored; words that it leaves out are counted as `words_cut`."""
        return response.text

    def to_label(self, instance: Instance, response: Response) -> list[ViewBlock]:
        """Message, chart, the reply and the draft, both with numbered sentences."""
        return texts_to_label(instance, valid(self.draft_of(response)))

    @classmethod
    def label_doubts(cls, given: Mapping[str, float], judged: Mapping[str, float]) -> Iterator[str]:
        """Another number of the reply's sentences than there are, and drafts said to be usable with edits."""
        return doubts(given, judged)

    async def score(self, instance: Instance, response: Response, judges: Mapping[str, Any]) -> Score:
        """Count the expected edits, of content and of themes.

        Raises:
            RequestFailed, Unscored: a judge could not answer, or its answer could not be read.
        """
        draft = valid(self.draft_of(response))
        drafted = await judge(str(instance.target["response"]), draft, judges)
        return score_of(drafted, words_cut=words(response.text) - words(draft))


class OwnDrafting(Drafting):
    """Messages of one's own, with the replies that clinicians of one's own wrote or sent."""

    name = "drafting-editf1"
    title = "Reply drafting on own messages (edit-F1)"
    card = "pmbench_tasks.drafting:CARD-own.md"
    dataset = _private("the messages are yours: give them with --data")


class SyPPM(Drafting):
    """Semi-synthetic messages with de-identified charts, answered by clinicians who knew the themes."""

    name = "syppm-editf1"
    title = "Reply drafting on SyPPM (edit-F1)"
    card = "pmbench_tasks.drafting:CARD-syppm.md"
    reported = "pmbench_tasks.drafting:reported-syppm.toml"
    dataset = DatasetSpec(
        columns=COLUMNS,
        hub=HubDataset("PortalPal-AI/Patient-Message-Response-Drafting"),
        demo=DEMO,
        sensitivity="deidentified",
        slices=(*SLICES, "length"),
        example=EXAMPLE,
    )


class IPPM(Drafting):
    """Real portal messages, answered by paid clinicians who knew the themes."""

    name = "ippm-editf1"
    title = "Reply drafting on IPPM (edit-F1)"
    card = "pmbench_tasks.drafting:CARD-ippm.md"
    reported = "pmbench_tasks.drafting:reported-ippm.toml"
    dataset = _private("IPPM holds real portal messages and is not published")


class SoCPPM(Drafting):
    """Real portal messages with the replies that were sent."""

    name = "socppm-editf1"
    title = "Reply drafting on SoCPPM (edit-F1)"
    card = "pmbench_tasks.drafting:CARD-socppm.md"
    reported = "pmbench_tasks.drafting:reported-socppm.toml"
    dataset = _private("SoCPPM holds real portal messages and is not published")


def _texts(instance: Instance) -> tuple[str, ...]:
    return (instance.inputs["message"], instance.inputs["chart"], instance.target["response"])


def length_of(response: str) -> str:
    """`short`, `medium` or `long`, by the words of a reply."""
    count = words(response)
    return "short" if count < SHORT else "medium" if count < MEDIUM else "long"
