"""MEDCON is the official formula over what QuickUMLS finds; entities are another measure."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench.core.errors import ConfigError, MissingExtra, ModelUnavailable
from pmbench.text.medcon import SEMANTIC_TYPES, Entities, Medcon, concept_f1, entity_f1

CONCEPTS = st.dictionaries(
    st.sampled_from("abcdef"), st.frozensets(st.sampled_from("12345"), min_size=1), max_size=5
)


@pytest.mark.parametrize(
    ("prediction", "reference", "precision", "recall"),
    [
        ({"stroke": {"C1"}}, {"stroke": {"C1"}}, 1 / 1, 1 / 1),
        ({"cva": {"C1"}, "fever": {"C2"}}, {"stroke": {"C1", "C9"}}, 1 / 2, 1 / 1),
        ({"stroke": {"C1"}}, {"stroke": {"C1"}, "cva": {"C1"}, "ictus": {"C1"}}, 3 / 1, 3 / 3),
        (
            {"stroke": {"C1"}, "pain": {"C3"}},
            {"a": {"C1"}, "b": {"C3"}, "c": {"C3"}, "d": {"C4"}},
            3 / 2,
            3 / 4,
        ),
        ({"cold": {"C5", "C6"}}, {"cold": {"C6", "C7"}, "fever": {"C2"}}, 1 / 1, 1 / 2),
    ],
)
def test_by_hand(prediction: Any, reference: Any, precision: float, recall: float) -> None:
    """The official steps: terms of the reference that share an identifier, over either side's terms."""
    by_hand = 2 * precision * recall / (precision + recall)
    assert concept_f1(prediction, reference) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize(
    ("prediction", "reference"),
    [({}, {}), ({"a": {"C1"}}, {}), ({}, {"a": {"C1"}}), ({"a": {"C1"}}, {"b": {"C2"}})],
)
def test_nothing_shared_is_0(prediction: Any, reference: Any) -> None:
    assert concept_f1(prediction, reference) == 0


@given(CONCEPTS, CONCEPTS)
def test_bounds(prediction: Any, reference: Any) -> None:
    assert 0 <= concept_f1(prediction, reference) < 2
    if reference:
        assert concept_f1(reference, reference) == 1


def test_the_official_semantic_types() -> None:
    assert len(set(SEMANTIC_TYPES)) == 66
    assert {"T047", "T121", "T184"} <= {*SEMANTIC_TYPES}  # disease, substance, symptom
    assert {"T060", "T061", "T079"}.isdisjoint(SEMANTIC_TYPES)  # procedures, times


def test_entities_by_hand() -> None:
    said = [("Aspirin", "CHEMICAL"), ("stroke", "DISEASE"), ("aspirin", "CHEMICAL")]
    wanted = [("aspirin", "CHEMICAL"), ("stroke", "EVENT"), ("pain", "DISEASE")]
    assert entity_f1(said, wanted) == pytest.approx(2 * 1 / (2 + 3))
    assert entity_f1(said, said) == 1
    assert entity_f1([], wanted) == entity_f1(said, []) == entity_f1([], []) == 0


@given(*[st.sets(st.tuples(st.sampled_from("abAB"), st.sampled_from("XY"))) for _ in range(2)])
def test_entities_are_symmetric(one: Any, other: Any) -> None:
    assert entity_f1(one, other) == entity_f1(other, one) <= 1


def test_without_quickumls_it_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "quickumls", None)
    with pytest.raises(MissingExtra, match=r"pmbench\[medcon\]"):
        Medcon(tmp_path)


def test_without_spacy_entities_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match="named entities"):
        Entities("en_ner_bc5cdr_md")


needs_quickumls = pytest.mark.skipif(
    importlib.util.find_spec("quickumls") is None, reason="QuickUMLS is not installed (the extra medcon)"
)

# Rows of UMLS's own format with concepts invented here: identifier, term, semantic type.
ROWS = [
    ("C9000001", "kidney injury", "T047", "Y"),
    ("C9000001", "renal injury", "T047", "N"),
    ("C9000002", "metformin", "T121", "Y"),
    ("C9000003", "fever", "T184", "Y"),
    ("C9000004", "physical therapy", "T061", "Y"),
    ("C9000005", "glucose", "T109", "Y"),
    ("C9000006", "glucose", "T123", "N"),
]


@pytest.fixture(scope="module")
def umls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A QuickUMLS installation made by its own installer from a release of a few rows."""
    from argparse import Namespace

    from quickumls import install

    release, made = tmp_path_factory.mktemp("release"), tmp_path_factory.mktemp("quickumls")
    with (release / "MRCONSO.RRF").open("w") as terms:
        for number, (concept, term, _, preferred) in enumerate(ROWS):
            columns = [
                concept,
                "ENG",
                "P",
                f"L{number}",
                "PF",
                f"S{number}",
                preferred,
                f"A{number}",
                "",
                "",
                "",
                "X",
            ]
            terms.write("|".join([*columns, "PT", str(number), term, "0", "N", ""]) + "|\n")
    with (release / "MRSTY.RRF").open("w") as types:
        types.writelines(f"{concept}|{kind}|A1|a kind|AT1||\n" for concept, _, kind, _ in ROWS)
    asked = Namespace(language="ENG", lowercase=True, normalize_unicode=False)
    rows = install.extract_from_mrconso(str(release / "MRCONSO.RRF"), str(release / "MRSTY.RRF"), asked)
    install.parse_and_encode_ngrams(
        rows, str(made / "umls-simstring.db"), str(made / "cui-semtypes.db"), "unqlite"
    )
    (made / "lowercase.flag").touch()
    (made / "language.flag").write_text("ENG")
    (made / "database_backend.flag").write_text("unqlite")
    return made


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What QuickUMLS wants beside its databases: stop words, and a pipeline of spaCy (one without a tagger)."""
    import nltk.data
    import spacy

    stopwords = tmp_path / "nltk_data" / "corpora" / "stopwords"
    stopwords.mkdir(parents=True)
    (stopwords / "english").write_text("the\nof\nand\nwas\nyour\n")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    import nltk.corpus

    monkeypatch.setattr(nltk.corpus, "stopwords", fresh_stopwords())
    spacy.blank("en").to_disk(tmp_path / "en_core_web_sm")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fresh_stopwords() -> Any:
    from nltk.corpus.reader import WordListCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    return LazyCorpusLoader("stopwords", WordListCorpusReader, r"(?!README|\.).*")


@needs_quickumls
def test_quickumls_for_real(umls: Path, surroundings: Path) -> None:
    medcon = Medcon(umls)
    found = medcon.concepts(
        "Your kidney injury got worse; Metformin was held. Physical therapy came. No fever!"
    )
    assert found == {
        "kidney injury": frozenset({"C9000001"}),
        "metformin": frozenset({"C9000002"}),
        "fever": frozenset({"C9000003"}),
    }
    assert medcon.concepts("Glucose") == {"glucose": frozenset({"C9000005", "C9000006"})}
    # One of the reference's two terms has an identifier of the prediction: 2 · 1 / (1 + 2).
    assert medcon.score("renal injury", "kidney injury and fever") == pytest.approx(2 / 3)
    assert medcon.score("", "kidney injury") == medcon.score("hello", "kidney injury") == 0
    assert medcon.score("a 🩺 \u202e " * 2000, "kidney injury") == 0
    before = medcon.identity()
    assert before == Medcon(umls).identity()
    assert str(umls) not in str(before)


@needs_quickumls
def test_what_quickumls_needs_is_asked_for_not_downloaded(
    umls: Path, surroundings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nltk
    import spacy.util

    def refuse(*_what: Any, **_how: Any) -> None:
        raise AssertionError("a download was asked for")

    monkeypatch.setattr(nltk, "download", refuse)
    with pytest.raises(ModelUnavailable, match="no such folder"):
        Medcon(tmp_path / "absent")
    with pytest.raises(ModelUnavailable, match="no QuickUMLS installation"):
        Medcon(tmp_path)
    (tmp_path / "nltk_data" / "corpora" / "stopwords" / "english").unlink()
    (tmp_path / "nltk_data" / "corpora" / "stopwords").rmdir()
    with pytest.raises(ModelUnavailable, match="stop words"):
        Medcon(umls)
    (tmp_path / "nltk_data" / "corpora" / "stopwords").mkdir()
    monkeypatch.chdir(umls)
    monkeypatch.setattr(spacy.util, "is_package", lambda _name: False)
    with pytest.raises(ModelUnavailable, match="spacy download"):
        Medcon(umls)


@needs_quickumls
def test_a_damaged_installation(surroundings: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    for name in ("umls-simstring.db", "cui-semtypes.db"):
        (made / name).write_text("no database")
    (made / "database_backend.flag").write_text("unqlite")
    with pytest.raises(ConfigError, match="cannot open"):
        Medcon(made)


@needs_quickumls
def test_entities_for_real(tmp_path: Path) -> None:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler").add_patterns([{"label": "DRUG", "pattern": "metformin"}])  # type: ignore[attr-defined]
    pipeline.to_disk(tmp_path / "rules")
    entities = Entities(str(tmp_path / "rules"))
    assert entities.entities("We held metformin.") == {("metformin", "DRUG")}
    assert entities.score("metformin", "no metformin") == 1
    with pytest.raises(ModelUnavailable, match="spaCy cannot load"):
        Entities(str(tmp_path / "absent"))
