"""MEDCON: which medical concepts two texts share, by UMLS; and the same of named entities without it."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pmbench.core.digest import digest
from pmbench.core.errors import ConfigError, MissingExtra, ModelUnavailable
from pmbench.text.encoders import digest_files, encodable, versions

# fmt: off
_NUMBERS = (
    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 28, 29, 30, 31, 32, 33, 34, 37, 38, 39, 40, 41, 42, 43, 44,
    45, 46, 47, 48, 49, 50, 67, 68, 69, 70, 74, 75, 85, 86, 87, 88, 103, 104, 109, 114, 116, 120, 121,
    122, 123, 125, 126, 127, 129, 130, 131, 184, 190, 191, 192, 195, 196, 197, 200, 201, 203,
)
# fmt: on
SEMANTIC_TYPES = tuple(f"T{number:03d}" for number in _NUMBERS)
"""The 66 semantic types of UMLS that count: anatomy, chemicals and drugs, devices, disorders, genes, phenomena and

physiology. Source: the official scorer of ArchEHR-QA, after Yim et al. 2023.
"""

WINDOW, THRESHOLD = 5, 1
"""Words that a term may have, and how like it a passage must be (1: the same)."""

_DISTRIBUTIONS = ("medspacy-quickumls", "quickumls")
"""Those that bring a module `quickumls`."""
_DATABASE = ("umls-simstring.db", "cui-semtypes.db", "database_backend.flag")
_STOPWORDS = "corpora/stopwords"
_PIPELINE = "en_core_web_sm"

Concepts = Mapping[str, Collection[str]]
"""Concepts of a text: each term that was found in it, and the identifiers (CUIs) that it stands for."""


def concept_f1(prediction: Concepts, reference: Concepts) -> float:
    """MEDCON of two texts by their concepts.

    A term of the reference is found if one of its identifiers is one of the prediction's. Recall is the share of the
    reference's terms that are found; precision is the same number over the *prediction's* terms, so that it can be
    above 1 where the prediction says in one term what the reference says in several, and so can F1 (below 2). 0
    where either text has no concept, or nothing is found.

    Source: `umls_score_individual` of the official scorer of ArchEHR-QA, after Yim et al. 2023.
    """
    said = {identifier for identifiers in prediction.values() for identifier in identifiers}
    found = sum(not said.isdisjoint(identifiers) for identifiers in reference.values())
    # 2PR / (P + R) with P = found / terms of the prediction and R = found / terms of the reference.
    return 2 * found / (len(prediction) + len(reference)) if found else 0.0


def entity_f1(prediction: Collection[tuple[str, str]], reference: Collection[tuple[str, str]]) -> float:
    """F1 in [0, 1] of the different named entities (text, label) of two texts; letter case does not count.

    No MEDCON: another measure, for where no UMLS licence is. 0 where either text has no entity.
    """
    said, wanted = ({(text.casefold(), label) for text, label in side} for side in (prediction, reference))
    both = len(said & wanted)
    return 2 * both / (len(said) + len(wanted)) if both else 0.0


class Medcon:
    """MEDCON by a QuickUMLS installation of the user's own (UMLS needs a licence).

    Args:
        folder: what QuickUMLS's installer made of a UMLS release (MRCONSO.RRF, MRSTY.RRF).

    Raises:
        MissingExtra: no QuickUMLS is installed.
        ModelUnavailable: the folder is none, or what QuickUMLS itself needs (NLTK's stop words, spaCy's
            en_core_web_sm) is not here. QuickUMLS would download the former; this refuses instead.
        ConfigError: the folder was made for another kind of database than the installed QuickUMLS reads.

    Source: the official scorer of ArchEHR-QA: window 5, threshold 1, 66 semantic types. It asks QuickUMLS to ignore
    syntax; QuickUMLS 1.4.2 and medspacy-quickumls 3.2 do not hand that on, so parts of speech count, there and here.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).expanduser()
        self._distribution, matcher = _quickumls()
        _check_folder(self._folder)
        _check_surroundings()
        try:
            self._matcher: Any = matcher(
                str(self._folder),
                window=WINDOW,
                threshold=THRESHOLD,
                accepted_semtypes=frozenset(SEMANTIC_TYPES),
            )
        except Exception as error:  # noqa: BLE001 - its databases each have their own
            raise ConfigError(
                f"QuickUMLS cannot open it ({type(error).__name__})",
                where=str(self._folder),
                remedy="Install it anew with the installer of the QuickUMLS that is installed here",
            ) from None
        self._at_work = threading.Lock()

    def concepts(self, text: str) -> dict[str, frozenset[str]]:
        """The concepts of a text: terms of UMLS and the identifiers that each was found with."""
        found: dict[str, set[str]] = {}
        with self._at_work:  # neither spaCy nor the databases promise to serve two threads
            matches = self._matcher.match(encodable(text), ignore_syntax=True)
        for match in matches:
            for candidate in match:
                found.setdefault(candidate["term"], set()).add(candidate["cui"])
        return {term: frozenset(identifiers) for term, identifiers in found.items()}

    def score(self, prediction: str, reference: str) -> float:
        """MEDCON of a text; see `concept_f1`."""
        return concept_f1(self.concepts(prediction), self.concepts(reference))

    @cached_property
    def _installation(self) -> str:
        return digest_files(sorted(path for path in self._folder.rglob("*") if path.is_file()), self._folder)

    def identity(self) -> dict[str, str]:
        """What decides the numbers: QuickUMLS and its settings, SHA-256 of the installation, spaCy and its model."""
        return {
            "installation": self._installation,
            "settings": digest([WINDOW, THRESHOLD, SEMANTIC_TYPES]),
            **versions(self._distribution, "spacy"),
            "pipeline": f"{_PIPELINE} {self._matcher.nlp.meta.get('version', '')}".strip(),
        }


class Entities:
    """Named entities by a spaCy model that is installed, for `entity_f1`.

    Raises:
        MissingExtra: spaCy is not installed.
        ModelUnavailable: no such model is installed.
    """

    def __init__(self, model: str) -> None:
        spacy = _import("spacy", "named entities")
        try:
            self._nlp = spacy.load(model)
        except Exception as error:  # noqa: BLE001 - spaCy raises whatever a model's parts raise
            raise ModelUnavailable(
                f"spaCy cannot load this model ({type(error).__name__})",
                where=model,
                remedy="Install it, or name one that `python -m spacy info` lists",
            ) from None
        self._at_work = threading.Lock()

    def entities(self, text: str) -> frozenset[tuple[str, str]]:
        """The different entities of a text and their labels."""
        with self._at_work:
            return frozenset((entity.text, entity.label_) for entity in self._nlp(encodable(text)).ents)

    def score(self, prediction: str, reference: str) -> float:
        """F1 of the entities; see `entity_f1`."""
        return entity_f1(self.entities(prediction), self.entities(reference))

    def identity(self) -> dict[str, str]:
        """spaCy, the model's name and version, and SHA-256 of its files: names alone do not tell models apart."""
        meta = self._nlp.meta
        return {
            "model": f"{meta.get('lang')}_{meta.get('name')} {meta.get('version')}",
            "files": self._files,
            **versions("spacy"),
        }

    @cached_property
    def _files(self) -> str:
        folder = self._nlp.path
        return digest_files(sorted(path for path in folder.rglob("*") if path.is_file()), folder)


class _Found(NamedTuple):
    distribution: str
    matcher: Any


def _quickumls() -> _Found:
    module = _import("quickumls", "MEDCON")
    from importlib.metadata import PackageNotFoundError, version

    for distribution in _DISTRIBUTIONS:
        try:
            version(distribution)
        except PackageNotFoundError:
            continue
        return _Found(distribution, module.QuickUMLS)
    raise MissingExtra("MEDCON", "medcon", "quickumls")


def _import(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(what, "medcon", module) from None


def _check_folder(folder: Path) -> None:
    missing = [name for name in _DATABASE if not (folder / name).exists()]
    if missing:
        raise ModelUnavailable(
            f"is no QuickUMLS installation: {missing[0]} is missing"
            if folder.is_dir()
            else "there is no such folder",
            where=str(folder),
            remedy="Make one from a licensed UMLS release: python -m quickumls.install FOLDER_OF_UMLS FOLDER",
        )


def _check_surroundings() -> None:
    import nltk.data
    import spacy.util

    try:
        nltk.data.find(_STOPWORDS)
    except LookupError:
        raise ModelUnavailable(
            "QuickUMLS needs NLTK's stop words, which are not on this machine",
            where=_STOPWORDS,
            remedy="Where there is a network: python -m nltk.downloader stopwords",
        ) from None
    if not (spacy.util.is_package(_PIPELINE) or Path(_PIPELINE).is_dir()):
        raise ModelUnavailable(
            "QuickUMLS needs this model of spaCy, which is not installed",
            where=_PIPELINE,
            remedy=f"Where there is a network: python -m spacy download {_PIPELINE}",
        )
