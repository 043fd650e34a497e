"""BLEU, ROUGE and SARI are the numbers that the official scorer of ArchEHR-QA prints, and hold for any text."""

from __future__ import annotations

import json
import os
import statistics
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench.text.bleu import bleu, words_13a
from pmbench.text.rouge import KINDS, rouge
from pmbench.text.sari import sari

CONFORMANCE = (
    Path(os.environ.get("PMBENCH_SHARED", Path(__file__).parents[3] / "shared")) / "conformance/archehr"
)

# The example of the official scorer (its `__main__` blocks), each word replaced by another one, the same for the
# same word. None of the three sees more of a word than whether it is the same as another; figures and marks stay.
QUESTION = (
    "Da fa 59 ga ka la MA na pa ra sa ta va za. Ra sa be de fe (ge ke). Le me / ne pe re se te ve ze. bi di fi gi"
    " ki me????? Li ki mi ra ni 1 pi ri si ti vi zi. Bi di fi bo do fo de fe go ko?"
)
ESSENTIAL = (
    "Ra lo mo la do si go 2025-1-20 pe no fe po ro so to va za. Ra lo vo zo la do bu du fu ra gu ta no de fe po so"
    " to va za ku be 34-lu Mu ge ke nu pu ru su tu. To vu zu bada ku dada po fada gada kada lada mada vu nada pada"
    " @1rada sada tada 1/2rada pu, vada zada beda."
)
ANSWER = (
    "Ro va za lo deda feda do geda po be to va za, keda leda no meda neda. Ra gu be peda de fe nu be 34-lu Mu ge ke"
    " tada pu ru su tu la reda do geda. Do seda ne mi tada si teda veda zeda bida la do dida po do geda tada do fida"
    " po do me, gida ro vu pada ti zu bada ku kida be gada kada lada lida."
)
REFERENCE = f"{QUESTION}\n\n{ESSENTIAL}"

TEXTS = st.lists(
    st.sampled_from(
        ["a", "The", "the", "pain", "2.5", "mg", "34-mm", "-\n", "\n", ".", "?", "&amp;", "é", "😀", "שלום"]
    ),
    max_size=25,
).map(" ".join)
HOSTILE = {
    "nothing": "",
    "white space": " \n\t\u2028\u00a0",
    "emoji": "🩺" * 50,
    "right to left": "\u202eאין כאב\u202c اليوم",
    "control characters": "\x00\x07 a \x1b[31m b \x7f",
    "half a surrogate pair": "a \ud83d b",
    "marks only": "?!.,;:-/()",
    "a long word": "a" * 100_000,
    "100 kB": "take 2.5 mg twice a day, " * 4_000,
}


def test_golden_bleu() -> None:
    assert bleu(ANSWER, REFERENCE) == pytest.approx(0.07567308572638118, abs=1e-15)


def test_golden_rouge() -> None:
    wanted = {
        "rouge1": 0.44019138755980863,
        "rouge2": 0.17391304347826086,
        "rougeL": 0.27751196172248804,
        "rougeLsum": 0.3253588516746411,
    }
    assert rouge(ANSWER, REFERENCE) == pytest.approx(wanted, abs=1e-15)


@pytest.mark.parametrize(
    ("prediction", "percent", "within"),
    [
        (ANSWER, 52.01563696680219, 1e-12),
        ("", 29.7908, 5e-5),
        (QUESTION, 39.12, 5e-3),
        (ESSENTIAL, 99.42, 5e-3),
    ],
    ids=["the example's answer", "nothing", "copy of the source", "copy of the reference"],
)
def test_golden_sari(prediction: str, percent: float, within: float) -> None:
    assert 100 * sari(QUESTION, prediction, [ESSENTIAL]) == pytest.approx(percent, abs=within)


def test_sari_jumps_where_nothing_is_divided_by_nothing() -> None:
    """Without the full stops between its sentences the reference shares no three words with the source."""
    assert 100 * sari(QUESTION, ANSWER, [ESSENTIAL.replace(". ", " ")]) == pytest.approx(68.62, abs=5e-3)


def test_sari_against_several_references() -> None:
    """The example in the documentation of the metric `sari` of `evaluate`."""
    found = sari(
        "About 95 species are currently accepted .",
        "About 95 you now get in .",
        [
            "About 95 species are currently known .",
            "About 95 species are now accepted .",
            "95 species are now accepted .",
        ],
    )
    assert 100 * found == pytest.approx(26.953601953601954, abs=1e-12)


def test_sari_without_a_reference_is_refused() -> None:
    with pytest.raises(ValueError, match="reference"):
        sari("a", "a", [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("re-\nadmitted", "readmitted"),
        ("no pain\nat rest", "no pain at rest"),
        ("at rest -\n", "at rest"),
        ("2.5 mg, then 1,000.", "2.5 mg , then 1,000 ."),
        ("3-4 days (or 5)", "3 - 4 days ( or 5 )"),
        ("Tom&amp;Ann &lt;5", "Tom & Ann < 5"),
    ],
)
def test_words_are_cut_as_the_translation_workshops_do(text: str, words: str) -> None:
    assert words_13a(text) == words


def test_bleu_by_hand() -> None:
    """Of 5 words 4 are in the reference, of 4 pairs 3, of 3 triples 2, of 2 quadruples 1; both are as long."""
    by_hand = (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert bleu("we stopped your new tablets", "we stopped your new pills") == pytest.approx(
        by_hand, abs=1e-12
    )


def test_bleu_minds_case_and_a_hyphen_before_the_last_line_end() -> None:
    assert bleu("WE STOPPED IT TODAY", "we stopped it today") == 0.0
    assert bleu("we stopped it today -\n", "we stopped it today") == pytest.approx(1.0)


def test_rouge_lsum_takes_lines_for_sentences() -> None:
    found = rouge(
        "the pills were stopped and the kidneys recovered", "the kidneys recovered\nthe pills were stopped"
    )
    assert found["rouge1"] == found["rougeLsum"] == pytest.approx(14 / 15)
    assert found["rougeL"] == pytest.approx(8 / 15)


@pytest.mark.parametrize("kind", HOSTILE)
def test_any_text_has_its_numbers(kind: str) -> None:
    text, plain = HOSTILE[kind], "Take 2.5 mg twice a day."
    for prediction, reference in ((text, plain), (plain, text)):
        assert 0 <= bleu(prediction, reference) <= 1
        assert all(0 <= value <= 1 for value in rouge(prediction, reference).values())
        assert 0 <= sari(plain, prediction, [reference]) <= 1
    assert 0 <= sari(text, plain, [plain]) <= 1


def test_an_empty_prediction_has_nothing_in_common_with_anything() -> None:
    assert bleu("", "take one") == 0
    assert rouge("", "take one") == dict.fromkeys(KINDS, 0.0)


@given(TEXTS, TEXTS)
def test_bounds(prediction: str, reference: str) -> None:
    assert 0 <= bleu(prediction, reference) <= 1 + 1e-12
    assert all(0 <= value <= 1 for value in rouge(prediction, reference).values())
    assert 0 <= sari(reference, prediction, [prediction, reference]) <= 1 + 1e-12


@given(TEXTS)
def test_a_text_is_like_itself(text: str) -> None:
    assert bleu(text, text) == pytest.approx(1.0 if len(words_13a(text).split()) >= 4 else 0.0)
    assert set(rouge(text, text).values()) <= {0.0, 1.0}
    assert sari("something else", text, [text]) == pytest.approx(1.0)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_sari_minds_neither_the_order_of_references_nor_case(
    one: str, two: str, three: str, four: str
) -> None:
    found = sari(one, two, [three, four])
    assert sari(one.upper(), two, [four, three.swapcase()]) == pytest.approx(found, abs=1e-12)


@given(TEXTS, TEXTS, TEXTS)
@settings(max_examples=50)
def test_a_reference_given_twice_counts_once(source: str, prediction: str, reference: str) -> None:
    once = sari(source, prediction, [reference])
    assert sari(source, prediction, [reference, reference]) == pytest.approx(once, abs=1e-12)


def conformance_cases() -> Iterator[tuple[str, dict[str, str]]]:
    """Id and texts of each case: question, narrative, the essential sentences in their order, the key's answer."""
    key = {entry["case_id"]: entry for entry in json.loads((CONFORMANCE / "archehr-qa_key.json").read_text())}
    for case in ElementTree.parse(CONFORMANCE / "archehr-qa.xml").getroot():
        entry = key[case.attrib["id"]]
        essential = {
            answer["sentence_id"] for answer in entry["answers"] if answer["relevance"] == "essential"
        }
        narrative = (case.findtext("patient_narrative") or "").strip()
        yield (
            case.attrib["id"],
            {
                "narrative": narrative,
                "question": f"{narrative}\n\n{(case.findtext('clinician_question') or '').strip()}",
                "essential": "\n".join(
                    (sentence.text or "").strip()
                    for sentence in case.iterfind("note_excerpt_sentences/sentence")
                    if sentence.attrib["id"] in essential
                ),
                "human": entry["clinician_answer_without_citations"],
            },
        )


@pytest.mark.parametrize("name", ["extract", "human", "long", "messy"])
def test_conformance_of_relevance(name: str) -> None:
    if not CONFORMANCE.is_dir():
        pytest.skip(f"no conformance data: {CONFORMANCE} is absent (PMBENCH_SHARED says where the folder is)")
    expected: dict[str, Any] = json.loads((CONFORMANCE / "expected.json").read_text())[f"submission_{name}"]
    notes: list[dict[str, float]] = []
    human: list[dict[str, float]] = []
    for case, text in conformance_cases():
        answer, whole = expected["answers"][case], f"{text['question']}\n\n{text['essential']}"
        notes.append(numbers(answer, whole, text["question"], text["essential"]))
        human.append(numbers(answer, text["human"], text["narrative"], text["human"]))
    assert means(notes) == pytest.approx(expected["relevance_notes"], abs=1e-9)
    assert means(human) == pytest.approx(expected["relevance_human"], abs=1e-9)


def numbers(answer: str, reference: str, source: str, rewritten: str) -> dict[str, float]:
    return {
        "bleu": bleu(answer, reference),
        **rouge(answer, reference),
        "sari": sari(source, answer, [rewritten]),
    }


def means(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: 100 * statistics.fmean(numbers[name] for numbers in found) for name in found[0]}
