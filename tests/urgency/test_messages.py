"""Messages are taken apart, levels read, patients told apart; errors name places and never texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench import DataError, Row
from pmbench_tasks.urgency.messages import (
    age_of,
    band_of,
    level_of,
    portal_message,
    sex_of,
    split_packed,
    text_id,
)

CHART = (
    "###Demographics###\nAge:67\nGender:Female\n\n###Full Active Problem List###: asthma - gout\n\n"
    "###Recent Encounters (Max 10)###\n\nDiagnoses (Past Year): cough\nDiagnoses (Older): \n\n"
    "###Medications (Outpatient)###\n\nActive (as of today):\n-allopurinol"
)


@pytest.mark.parametrize(
    "packed",
    [
        f"### EHR: {CHART}### Patient Message: My toe hurts.",
        f"###EHR:{CHART}\n\n###Patient Message:My toe hurts.\n",
        f"  ### EHR :\n{CHART}\n### Patient Message :\n\nMy toe hurts.",
        f"### EHR ###\n{CHART}\n### Patient Message ###\nMy toe hurts.",
        f"## ehr:\n{CHART}\n## patient message\nMy toe hurts.",
    ],
)
def test_packed_text_is_taken_apart_however_it_is_spaced(packed: str) -> None:
    assert split_packed(packed) == (CHART, "My toe hurts.")


def test_text_without_headings_is_all_message() -> None:
    assert split_packed(" My toe hurts. #1 problem ") == ("", "My toe hurts. #1 problem")
    assert split_packed("### EHR: Age: 4") == ("Age: 4", "")
    assert split_packed("Gout.\n### Patient Message: Hi") == ("Gout.", "Hi")


@given(
    st.text(st.characters(exclude_characters="#"), min_size=1), st.text(st.characters(exclude_characters="#"))
)
def test_whatever_they_hold_chart_and_message_come_back(text: str, chart: str) -> None:
    assert split_packed(f"### EHR: {chart}### Patient Message: {text}") == (chart.strip(), text.strip())


@pytest.mark.parametrize(
    ("chart", "age", "sex", "band"),
    [
        (CHART, 67, "female", "65+"),
        ("67-year-old woman. Gout.", 67, "female", "65+"),
        ("54 yo M. Lives with his wife, 51.", 54, "male", "40–64"),
        ("7-month-old girl. Mother 31.", 7 / 12, "female", "0–17"),
        ("3-week-old boy. Born at 38 weeks.", 21 / 365.25, "male", "0–17"),
        ("71 y/o female with COPD", 71, "female", "65+"),
        ("88 y.o. male", 88, "male", "65+"),
        ("Age 33, female. Migraine.", 33, "female", "18–39"),
        ("Age: 17 years\nSex: M", 17, "male", "0–17"),
        ("Age: >89\nGender: Female", 89, "female", "65+"),
        ("Age (years): 40\nSex at birth: female", 40, "female", "40–64"),
        ("33F, G2P1", 33, "female", "18–39"),
        ("M 64. Angina.", 64, "male", "40–64"),
        ("Female, 18 years old", 18, "female", "18–39"),
        ("A 65-year-old Black or African American man", 65, "male", "65+"),
        ("Age: 30\nGender: Non-binary", 30, "other", "18–39"),
        ("Age: 30\nGender: Unknown", 30, "", "18–39"),
        ("34-year-old. Had a baby boy in May.", 34, "", "18–39"),
        ("Stage 3 disease, last seen at age 50. Fever 38.5.", None, "", ""),
        ("", None, "", ""),
        ("999-year-old man", None, "male", ""),
        ("Sexually active. 30-year-old woman.", 30, "female", "18–39"),
        ("Sex-linked ichthyosis.\n30-year-old man", 30, "male", "18–39"),
        ("Gender dysphoria since 2019.\nAge: 30", 30, "", "18–39"),
        ("Sex M\nAge 64", 64, "male", "40–64"),
        ("Gender - female\nAge 64", 64, "female", "40–64"),
        ("Gender non-binary, age 30\nAge: 30", 30, "other", "18–39"),
        ("Type 2 diabetes for 10 yrs. 67-year-old woman", 67, "female", "65+"),
        ("Smoker for 40 yrs", None, "", ""),
        ("10 yrs of diabetes. 67-year-old woman", 67, "female", "65+"),
        ("10 yrs ago a stroke", None, "", ""),
        ("67 yrs, female", 67, "female", "65+"),
        ("67yr male", 67, "male", "65+"),
    ],
)
def test_sex_and_age_are_read_from_a_chart(chart: str, age: float | None, sex: str, band: str) -> None:
    assert age_of(chart) == (None if age is None else pytest.approx(age))
    assert sex_of(chart) == sex
    assert band_of(age_of(chart)) == band


@pytest.mark.parametrize(
    ("value", "level"),
    [(1, 1), ("2", 2), ("1.5", 1.5), (6.0, 6), ("Level 3", 3), (" level 4.5 ", 4.5)],
)
def test_levels(value: object, level: float) -> None:
    assert level_of(Row({"level": value}, "f", 1)) == level


@pytest.mark.parametrize("value", [0, 7, "6.5", 1.25, "urgent", True, "-1", "1,5", "nan", "12"])
def test_a_level_out_of_range_is_refused_by_place(value: object) -> None:
    with pytest.raises(DataError, match=r"mine.csv, row 3, column 'lvl': the level is not between 1 and 6"):
        level_of(Row({"level": value}, "mine.csv", 3, {"level": "lvl"}))


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_level_is_refused(value: object) -> None:
    with pytest.raises(DataError, match="there is no level"):
        level_of(Row({"level": value}, "f", 1))


def test_ids_from_text_do_not_depend_on_spacing() -> None:
    assert text_id("My  toe\nhurts.", "Gout ") == text_id("My toe hurts.", "Gout")
    assert text_id("My toe hurts.", "Gout") != text_id("My toe hurts. Gout")
    assert len(text_id("x")) == 12


def test_a_chart_of_its_own_goes_before_one_in_the_text() -> None:
    row = Row({"message": "### EHR: old ### Patient Message: Hi", "chart": "new"}, "f", 1)
    assert portal_message(row, "message", "chart", "7") == {"id": "7", "message": "Hi", "chart": "new"}
    with pytest.raises(DataError, match="the message is empty"):
        portal_message(Row({"message": "### EHR: secret"}, "f", 1), "message", "chart")
