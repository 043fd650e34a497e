"""The official XML: every release seen, and files that must be refused with one line."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from given_files import SECRET, xml, xml_case

from pmbench import DataError
from pmbench_tasks.archehr.cases import Case, id_text
from pmbench_tasks.archehr.xml_cases import read_xml


def read(tmp_path: Path, content: str | bytes) -> list[Case]:
    file = tmp_path / "archehr-qa.xml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [one.case for one in read_xml(file)]


def refused(tmp_path: Path, content: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(tmp_path, content)
    line = str(caught.value)
    assert "\n" not in line
    assert SECRET not in line
    assert "archehr-qa.xml" in line
    return line


def test_a_case_is_read_with_its_padding_taken_off(tmp_path: Path) -> None:
    (case,) = read(tmp_path, xml(xml_case("007")))
    assert case.id == "007"
    assert case.narrative == f"Why aspirin? {SECRET}"
    assert case.clinician_question == f"Why was aspirin started? {SECRET}"
    assert case.phrases == (f"Why {SECRET}?",)
    assert [one.id for one in case.sentences] == ["1", "2", "3", "4"]
    assert case.sentences[1].text == f"She had a stroke. {SECRET}"
    assert case.sentences[1].paragraph == "0"
    assert (case.relevance, case.answer, case.specialty, case.setting, case.split) == ({}, "", "", "", "")


def test_a_staged_release_has_the_narrative_alone(tmp_path: Path) -> None:
    (case,) = read(tmp_path, xml(xml_case(inside="<patient_narrative>\nHelp\n</patient_narrative>")))
    assert case == Case("1", "Help", "")


def test_elements_of_2026_are_read(tmp_path: Path) -> None:
    inside = (
        "<clinical_specialty>\nCardiology;  Infectious  Diseases</clinical_specialty>"
        "<clinical_specialty>Cardiology</clinical_specialty>"
        '<answer_sentences><sentence id="1">\nYes.\n</sentence></answer_sentences><future>unread</future>'
    )
    (case,) = read(tmp_path, xml(xml_case(inside=inside)))
    assert case.specialty == "Cardiology, Infectious Diseases"
    (sentence,) = case.answer_sentences
    assert (sentence.id, sentence.text, sentence.citations, sentence.official) == ("1", "Yes.", (), None)


def test_a_question_without_phrases_is_one_phrase(tmp_path: Path) -> None:
    (case,) = read(tmp_path, xml(xml_case(inside="<patient_question> Why? </patient_question>")))
    assert case.phrases == ("Why?",)


def test_ids_are_kept_as_they_are_and_in_the_order_of_the_file(tmp_path: Path) -> None:
    (case,) = read(tmp_path, xml(xml_case(sentences={"10": "a", "0": "b", "S2": "c", "02": "d"})))
    assert [one.id for one in case.sentences] == ["10", "0", "S2", "02"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_what_is_declared_is_decoded(tmp_path: Path, encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = f"<?xml version='1.0' encoding='{declared}'?><annotations>" + xml_case(
        inside="<patient_narrative>38 °C é</patient_narrative>"
    )
    (case,) = read(tmp_path, (text + "</annotations>").encode(encoding))
    assert case.narrative == "38 °C é"


LAUGHS = "<!DOCTYPE annotations [<!ENTITY a 'haha'>" + "".join(
    f"<!ENTITY {new} '{f'&{old};' * 10}'>" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "content",
    [
        LAUGHS
        + "]><annotations><case id='1'><patient_narrative>&i;</patient_narrative></case></annotations>",
        "<!DOCTYPE annotations [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><annotations>&x;</annotations>",
        "<!DOCTYPE annotations SYSTEM 'http://127.0.0.1:1/x.dtd'><annotations/>",
        "<!DOCTYPE annotations [<!ENTITY % x SYSTEM 'http://127.0.0.1:1/x'> %x;]><annotations/>",
        "<!DOCTYPE annotations><annotations/>",
    ],
)
def test_entities_and_document_types_are_refused(tmp_path: Path, content: str) -> None:
    assert "document type" in refused(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        (
            f"<annotations>\n<case id='1'>{SECRET}\n</annotations>",
            "line 3, column 3: broken XML: mismatched tag",
        ),
        (f"{SECRET}", "line 1, column 1: broken XML: syntax error"),
        ("<annotations>&nbsp;</annotations>", "line 1, column 14: broken XML: undefined entity"),
        (b"<annotations>\n\xe9</annotations>", "line 2, column 1: not UTF-8"),
        (b"<?xml version='1.0' encoding='utf-8'?><annotations>\xe9</annotations>", "not UTF-8"),
        (b"<?xml version='1.0' encoding='shift_jis'?><annotations>\x93</annotations>", "encoding"),
        (b"<?xml version='1.0' encoding='nonsense'?><annotations/>", "encoding"),
        ("<annotations>\0</annotations>", "not well-formed"),
        (xml(xml_case()).removesuffix("</annotations>\n"), "no element found"),
        ("<notes><case id='1'/></notes>", "<notes>, not <annotations>"),
        ("<annotations/>", "no <case>"),
        (xml("<case><patient_narrative>a</patient_narrative></case>"), "case number 1: has no id"),
        (xml("<case id=' '/>"), "case number 1: has no id"),
        (xml("<case id='\u200b'/>"), "case number 1: has no id"),
        (xml("<case id=' a'/>"), "case number 1: there is white space around the id 'a'"),
        (
            "<annotations>\0</annotations>".encode("utf-32"),
            "not UTF-8, and no other encoding is declared. Convert",
        ),
        ("<annotations>é</annotations>".encode("utf-32"), "iconv -f UTF-32 -t UTF-8"),
        ("<annotations>é</annotations>".encode("utf-32-be"), "iconv -f UTF-32BE -t UTF-8"),
        (
            xml(xml_case(), f"<group>{xml_case('2')}</group>"),
            "archehr-qa.xml: holds <group>, which would not be",
        ),
        (
            xml(xml_case(), f"<Case id='2'>{SECRET}</Case>"),
            "holds <Case>, which would not be read. Put only <case>",
        ),
        (xml(xml_case(), SECRET, xml_case("2")), "archehr-qa.xml: there is text after element 1 in it"),
        (xml(xml_case(inside=xml_case("2"))), "case '1': holds another case"),
        (
            xml(xml_case(inside=f"{SECRET}<note_excerpt>a</note_excerpt>")),
            "case '1': there is text before its elem",
        ),
        (
            xml(xml_case(inside=f"<patient_question>{SECRET}<phrase>a</phrase></patient_question>")),
            "patient_question: there is text before its elements",
        ),
        (
            xml(xml_case("a"), xml_case("b"), xml_case("a")),
            "case 'a' (number 3): it is case number 1 already",
        ),
        (xml(xml_case(inside="<note_excerpt_sentences/>")), "note_excerpt_sentences: holds no <sentence>"),
    ],
)
def test_what_is_broken_is_named_with_its_place(tmp_path: Path, content: str | bytes, said: str) -> None:
    assert said in refused(tmp_path, content)


@pytest.mark.parametrize(
    ("sentences", "said"),
    [
        (
            '<sentence id="2">a</sentence><sentence id="2">b</sentence>',
            "sentence '2': the same id stands twice",
        ),
        ('<sentence id="2">a</sentence><sentence>b</sentence>', "sentence number 2: has no id"),
        ('<sentence id="2">\n\n</sentence>', "sentence '2': has no text"),
        ('<sentence id="2">\u200b\u200e</sentence>', "sentence '2': has no text"),
        (
            f'<sentence id="2">{SECRET} <b>b</b> c</sentence>',
            "sentence '2': there are elements inside its text",
        ),
        (f'<sentence id="{SECRET} {SECRET}"/>', "sentence (a long id): has no text"),
    ],
)
def test_bad_sentences_are_named(tmp_path: Path, sentences: str, said: str) -> None:
    inside = f"<note_excerpt_sentences>{sentences}</note_excerpt_sentences>"
    line = refused(tmp_path, xml(xml_case("7", inside=inside)))
    assert f"case '7', note_excerpt_sentences, {said}" in line


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            f'<Sentence id="3">{SECRET}</Sentence>',
            "holds <Sentence>, which would not be read. Put only <sentence>",
        ),
        (f"<x:{'long' * 20} xmlns:x='a'/>", "holds another element, which would not be read"),
        (SECRET, "there is text after element 1 in it, which would not be read"),
    ],
)
def test_what_would_be_lost_among_sentences_is_refused(tmp_path: Path, more: str, said: str) -> None:
    for name in ("note_excerpt_sentences", "answer_sentences"):
        inside = f'<{name}><sentence id="2">a</sentence>{more}</{name}>'
        assert f"case '7', {name}: {said}" in refused(tmp_path, xml(xml_case("7", inside=inside)))


def test_an_element_twice_is_refused(tmp_path: Path) -> None:
    twice = "<patient_narrative>a</patient_narrative>" * 2
    assert "case '1', patient_narrative: stands 2 times" in refused(tmp_path, xml(xml_case(inside=twice)))


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no regular file"):
        read_xml(tmp_path)


def test_deep_and_long_files_are_read(tmp_path: Path) -> None:
    deep = "<x>" * 20_000 + "</x>" * 20_000
    many = {str(number): "A sentence." for number in range(5_000)}
    cases = read(tmp_path, xml(xml_case("1", inside=deep), xml_case("2", sentences=many)))
    assert [len(case.sentences) for case in cases] == [0, 5_000]


def test_the_demo_is_read_as_the_standard_library_reads_it() -> None:
    import pmbench_tasks.archehr

    file = Path(pmbench_tasks.archehr.__path__[0]) / "demo" / "archehr-qa.xml"
    cases = [one.case for one in read_xml(file)]
    elements = ET.parse(file).getroot().findall("case")
    assert [case.id for case in cases] == [element.get("id") for element in elements]
    for case, element in zip(cases, elements, strict=True):
        assert case.narrative == str(element.findtext("patient_narrative")).strip()
        assert {one.id: one.text for one in case.sentences} == {
            str(one.get("id")): str(one.text).strip() for one in element.iter("sentence")
        }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("7", "7"),
        (" 7", " 7"),
        (7, "7"),
        (0, "0"),
        (True, None),
        (7.0, None),
        ("", None),
        (" ", None),
        (None, None),
    ],
)
def test_ids_are_text_or_whole_numbers(value: object, text: str | None) -> None:
    assert id_text(value) == text
