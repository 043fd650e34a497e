"""How near an answer is to a reference: the six components of relevance, those that can be computed here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from pmbench import (
    ConfigError,
    JudgeParts,
    JudgeRole,
    Options,
    PathOption,
    bleu,
    rouge,
    sari,
    says_nothing,
)

if TYPE_CHECKING:
    from pmbench import AlignScorer, BertScorer, Entities, Medcon

COMPONENTS = ("bleu", "rougeLsum", "sari", "bertscore", "alignscore", "medcon")
"""What the mean of relevance is made of (the official scorer's overall_relevance_score)."""

QUESTION_COMPONENTS = ("rougeLsum", "bertscore", "alignscore", "medcon")
"""What the official mean of 2026's subtask 1 is made of."""

ALWAYS = ("bleu", "rougeLsum", "sari")
"""Those that need no weights and no licence."""

OFFICIAL_LAYER = 4
"""Of distilbert-base-uncased, in the official scorer; the library's own choice would be 5."""


class RelevanceOptions(Options, frozen=True):
    """Where that lies which is not shipped; an empty option leaves its component out.

    Attributes:
        bertscore: folder of distilbert-base-uncased, or of another encoder, whose score has another name.
        layer: of another encoder; distilbert-base-uncased is read at layer 4.
        alignscore: the published checkpoint AlignScore-base.ckpt, or a folder of a converted one.
        backbone: folder of roberta-base, for the checkpoint's tokeniser and shape.
        medcon: folder of a QuickUMLS installation made from a licensed UMLS release.
        entities: name or folder of a spaCy model: F1 of the named entities it finds, for where there is no UMLS
            licence. Another measure than MEDCON, with a name of its own, and in no mean.
    """

    bertscore: PathOption = ""
    layer: Annotated[int, msgspec.Meta(ge=1)] = OFFICIAL_LAYER
    alignscore: PathOption = ""
    backbone: PathOption = ""
    medcon: PathOption = ""
    entities: PathOption = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A text and what it is compared with.

    Attributes:
        prediction: the answer as it is scored.
        reference: what it should be near to.
        source: what SARI takes for the text that was rewritten.
        rewritten: SARI's reference; the reference itself where it is None.
    """

    prediction: str
    reference: str
    source: str
    rewritten: str | None = None


class Supported(NamedTuple):
    """How far each of several claims follows from a text, and how many inputs of the encoder were cut."""

    shares: list[float]
    cut: int


class Relevance:
    """The components of relevance for one answer at a time; what is neural is computed in batches.

    Raises:
        ConfigError: a model was named as judge: relevance is computed, not judged; or an option has no effect.
        UserError: something that an option names is not there, or a package for it is not.
    """

    def __init__(self, parts: JudgeParts) -> None:
        if parts.model is not None:
            raise ConfigError(
                "relevance is computed, no model judges it",
                where="--judge relevance",
                remedy="Write --judge 'relevance=embedded?bertscore=FOLDER', or leave it out",
            )
        settings = parts.settings
        assert isinstance(settings, RelevanceOptions)  # see RELEVANCE
        self._bert: BertScorer | None = None
        self._align: AlignScorer | None = None
        self._medcon: Medcon | None = None
        self._entities: Entities | None = None
        self._open(settings)

    def _open(self, settings: RelevanceOptions) -> None:
        import pmbench

        _check_effects(settings)
        if settings.bertscore:
            self._bert = pmbench.BertScorer(settings.bertscore, layer=settings.layer)
        if settings.alignscore:
            self._align = pmbench.AlignScorer(settings.alignscore, settings.backbone)
        if settings.medcon:
            self._medcon = pmbench.Medcon(settings.medcon)
        if settings.entities:
            self._entities = pmbench.Entities(settings.entities)

    @property
    def components(self) -> tuple[str, ...]:
        """The official components that are computed, in their order."""
        there = {
            "bertscore": self._bert is not None and self._bert.official,
            "alignscore": self._align is not None,
            "medcon": self._medcon is not None,
        }
        return tuple(name for name in COMPONENTS if there.get(name, True))

    def describe(self) -> Mapping[str, Any]:
        """Method, version, the components and the identity of what computes them."""
        parts = {
            "bertscore": self._bert,
            "alignscore": self._align,
            "medcon": self._medcon,
            "entities": self._entities,
        }
        return {
            "method": "text metrics",
            "version": 1,
            "components": list(self.components),
            **{name: dict(part.identity()) for name, part in parts.items() if part is not None},
        }

    async def measure(self, pair: Compared) -> dict[str, float]:
        """Each component as a share, SARI too; ROUGE with all its kinds.

        Args:
            pair: the answer and its reference. An answer that says nothing has 0 in everything but SARI, which has
                a value by its own formula.

        Returns:
            The components; of those with an encoder also how many inputs it cut (`bertscore_cut`, a pair, and
            `alignscore_cut`).
        """
        empty = says_nothing(pair.prediction)
        found = {
            "bleu": bleu(pair.prediction, pair.reference),
            **rouge(pair.prediction, pair.reference),
            "sari": sari(
                pair.source, pair.prediction, [pair.reference if pair.rewritten is None else pair.rewritten]
            ),
        }
        if self._bert is not None:
            name = "bertscore" if self._bert.official else "bertscore_other"
            scored = None if empty else await self._bert.one_scored(pair.prediction, pair.reference)
            found |= {
                name: scored.f1 if scored else 0.0,
                "bertscore_cut": float(scored is not None and scored.cut),
            }
        if self._align is not None:
            aligned = None if empty else await self._align.one_by_sentences(pair.reference, pair.prediction)
            found |= {
                "alignscore": aligned.mean if aligned else 0.0,
                "alignscore_cut": float(aligned.cut if aligned else 0),
            }
        if self._medcon is not None:
            found["medcon"] = await asyncio.to_thread(self._medcon.score, pair.prediction, pair.reference)
        if self._entities is not None:
            found["entity_f1"] = await asyncio.to_thread(
                self._entities.score, pair.prediction, pair.reference
            )
        return found

    async def supported(self, context: str, claims: list[str]) -> Supported | None:
        """How far each claim follows from a text, by AlignScore; None where it is not computed."""
        if self._align is None or says_nothing(context):
            return None
        found = await asyncio.gather(*(self._align.one_by_sentences(context, claim) for claim in claims))
        return Supported([one.mean for one in found], sum(one.cut for one in found))


def _check_effects(settings: RelevanceOptions) -> None:
    """Raises ConfigError for an option without the one that it is about: it would part results that are alike."""
    for name, given, about in (
        ("layer", settings.layer != OFFICIAL_LAYER, "bertscore"),
        ("backbone", bool(settings.backbone), "alignscore"),
    ):
        if given and not getattr(settings, about):
            raise ConfigError(
                f"{name} has no effect without {about}",
                where="--judge relevance",
                remedy=f"Give {about}=… too, or leave {name} out",
            )


def part_name(components: tuple[str, ...], of: int = len(COMPONENTS)) -> str:
    """The name of the mean of some of the official components: `3_of_6`, `4_of_6_bertscore`."""
    more = [name for name in components if name not in ALWAYS]
    return "_".join([f"{len(components)}_of_{of}", *more])


RELEVANCE = JudgeRole(
    Relevance,
    help="how near the answer is to the references, by text metrics; no model judges",
    caution=(
        "Relevance is likeness of words and vectors: it rewards copying from the note (the paper's heuristic has the"
        " highest relevance to notes), and says nothing of whether an answer is right."
    ),
    needs=frozenset(),
    requests=lambda _instance, _settings: (0, 0),
    options=RelevanceOptions,
    embeds=False,
)
