"""What a nurse would not let pass: a passage that contradicts the sentence it is to stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench_tasks.drafting.judging.guards import claims, clash, contradiction, turned
from pmbench_tasks.drafting.judging.lexicon import generic, lexicon, written_out
from pmbench_tasks.drafting.judging.polarity import marks, opposed, signs
from pmbench_tasks.drafting.judging.quantities import quantities
from pmbench_tasks.drafting.judging.wording import words


def why(sentence: str, passage: str) -> str:
    return contradiction(claims(sentence), claims(passage))


def same(one: str, other: str) -> bool:
    """Whether two texts name the same amounts, times and dates."""
    first, second = quantities(words(one)), quantities(words(other))
    assert first
    assert second
    return not clash(first, second) and not clash(second, first)


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("You have a fever.", "You have no fever."),
        ("The X-ray shows a fracture.", "The X-ray does not show a fracture."),
        ("There is a charge for the form.", "There is no charge for the form."),
        ("Take ibuprofen for the pain.", "Do not take ibuprofen for the pain."),
        ("Please stop the metformin.", "Please continue the metformin."),
        ("Keep taking your aspirin.", "Please stop taking your aspirin before surgery."),
        ("Hold your lisinopril tomorrow.", "You can still take your lisinopril."),
        ("Stop the tamoxifen.", "Please do not stop tamoxifen on your own."),
        ("You need an antibiotic.", "Antibiotics are not needed at this time."),
        ("Your liver tests were abnormal.", "Your liver tests were normal."),
        ("Your COVID test is negative.", "Your COVID test is positive."),
        ("The rash is getting worse.", "The rash is getting better."),
        ("Let's increase your dose of insulin.", "Let's lower your dose of insulin."),
        ("The biopsy shows cancer.", "The biopsy was benign."),
        ("Call if your pressure is below 90.", "Call if your pressure is above 90."),
        ("Take it with food.", "Take it on an empty stomach."),
        ("There is redness and drainage.", "I see no swelling, redness, or drainage."),
    ],
)
def test_what_is_affirmed_is_not_what_is_denied(sentence: str, passage: str) -> None:
    assert why(sentence, passage) == "polarity"
    assert why(passage, sentence) == "polarity"


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Yes, you can get it now.", "No, you cannot get it now."),
        ("Yes, you can get it now.", "You can't get it now"),
        ("Yes, you can get it now.", "No, you should wait."),
        ("Yes.", "No."),
        ("You may do that.", "You may not do that."),
        ("You should not have any of it.", "You should have some of it."),
        ("We will do it.", "We won't do it."),
    ],
)
def test_a_yes_is_no_no(sentence: str, passage: str) -> None:
    assert why(sentence, passage) in ("answer", "polarity")
    assert why(passage, sentence) in ("answer", "polarity")


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Yes, you can get it now.", "You can get it now."),
        ("Yes, you can get it now.", "Yes, it is fine to have it today."),
        ("No, that can wait.", "That can wait."),
        ("No fever is good news.", "Yes, having no fever is good news."),
        ("You can get it now.", "No problem, you can get it now."),
    ],
)
def test_answers_that_agree_pass(sentence: str, passage: str) -> None:
    assert why(sentence, passage) == ""


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Don't forget to bring your card.", "Please bring your card."),
        ("Feel free to call us.", "Please do not hesitate to call us."),
        ("Keep taking Eliquis.", "Do not stop the apixaban."),
        ("Do not lift anything over 10 pounds.", "No lifting of more than 10 pounds."),
        ("We do not need to start an antibiotic.", "Antibiotics are not needed right now."),
        ("There is swelling.", "There is no redness, but there is some swelling."),
        ("Take your metoprolol that morning.", "Take your metoprolol, but do not take lisinopril."),
        ("Stay home until the fever is gone.", "Stay home until you have no fever."),
        ("Apply a warm cloth.", "Hold a warm cloth over the ear."),
        ("You may drive.", "You may drive if you do not feel dizzy."),
    ],
)
def test_a_denial_that_says_the_same_or_belongs_elsewhere(sentence: str, passage: str) -> None:
    assert why(sentence, passage) == ""


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Take 5 mg daily.", "Take 50 mg daily."),
        ("Take one tablet.", "Take two tablets."),
        ("Take half a tablet.", "Take a tablet."),
        ("Increase lisinopril to 10 mg.", "Increase lisinopril from 10 mg to 20 mg."),
        ("Use it twice a day.", "Use it three times a day."),
        ("Take it every 4 hours.", "Take it every 6 to 8 hours."),
        ("Give 2 puffs BID.", "Give 2 puffs daily."),
        ("Take it for ten days.", "Take it for five days."),
        ("Repeat the labs in six months.", "Repeat the labs in six weeks."),
        ("See you on Monday.", "See you on Thursday."),
        ("A nurse will come on Monday.", "A nurse will come today."),
        ("Start it tonight.", "Start it tomorrow morning."),
        ("Your visit is on June 22.", "Your visit is on June 12."),
        ("Arrive at 8:00 a.m.", "Arrive at 6:30 a.m."),
        ("Your potassium is 5.2.", "Your potassium is 4.1."),
        ("Go in if your oxygen is below 85%.", "Go in if your oxygen is below 92 percent."),
        ("The stone is 9 mm.", "The stone is 4 mm."),
    ],
)
def test_another_amount_time_or_date(sentence: str, passage: str) -> None:
    assert why(sentence, passage) == "amount"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("twice daily", "BID"),
        ("two times a day", "every 12 hours"),
        ("q6h", "four times a day"),
        ("every other day", "every 48 hours"),
        ("three times a week", "3x a week"),
        ("for a week", "for seven days"),
        ("for 14 days", "for two weeks"),
        ("for a month", "for four weeks"),
        ("for a week and a half", "for ten days"),
        ("a thirty-day supply", "30 days"),
        ("within 15 business days", "within three weeks"),
        ("for a day or two", "for 2 days"),
        ("500 mcg", "0.5 mg"),
        ("1 g", "1,000 mg"),
        ("5%", "five percent"),
        ("May 9", "5/9"),
        ("on Friday, May 9", "Fri 5/9"),
        ("at 6:30 a.m.", "at 6:30"),
        ("half an hour", "30 minutes"),
        ("6 to 8 weeks", "six weeks"),
        ("100.4", "a fever of 100.4"),
        ("this evening", "tonight"),
        ("yearly", "once a year"),
    ],
)
def test_the_same_amount_in_other_words(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    "text",
    ["Call us right away.", "I may march on.", "No one is home.", "It is a common cold.", "Tom has left."],
)
def test_words_that_only_look_like_amounts_or_sides(text: str) -> None:
    assert not quantities(words(text)) - quantities(words("march"))
    assert not claims(text).named["sides"]


@pytest.mark.parametrize(
    ("sentence", "passage", "rule"),
    [
        ("Your right knee is swollen.", "Your left knee is swollen.", "sides"),
        ("Put drops in both eyes.", "Put drops in the left eye.", "sides"),
        ("Start Lipitor.", "Start metformin.", "drugs"),
        ("Start Lipitor.", "Start atorvastatin.", ""),
        ("Take Tylenol.", "Take acetaminophen or ibuprofen.", ""),
        ("If it swells, call our office.", "If it swells, go to the ER.", "places"),
        ("If it swells, go to the ED.", "If it swells, go to the nearest emergency room.", ""),
        ("If it swells, go to the ER.", "If it swells, call us or go to the emergency department.", ""),
        ("Call 911.", "Call the nurse line.", "places"),
        ("You are right, call us right away.", "You are right, let us know.", ""),
        ("Go to the ER.", "If it swells, go to the ER.", "condition"),
        ("Please call 911 now.", "Call 911 if you cannot breathe.", "condition"),
        ("Fever means the ER.", "If you have a fever, go to the ER.", ""),
        ("Call us.", "If it swells, call us.", ""),
    ],
)
def test_sides_drugs_places_and_conditions(sentence: str, passage: str, rule: str) -> None:
    assert why(sentence, passage) == rule


def test_a_clause_is_read_within_its_sentence() -> None:
    sentence = "The X-ray did not show any fracture or loosening of the hip."
    clause = "loosening of the hip."
    said = claims("The X-ray shows loosening of the hip.")
    assert contradiction(said, claims(clause)) == ""
    assert contradiction(said, claims(clause, (sentence,), sentence.index(clause))) == "polarity"
    warning = "If it gets severe, go to the ER."
    cut = claims("go to the ER.", (warning,), warning.index("go"))
    assert (cut.conditional, cut.conditional_around) == (False, True)


def test_an_amount_beside_the_clause_counts() -> None:
    sentence = "The test showed sleep apnea, with 22 pauses per hour."
    clause = "The test showed sleep apnea"
    assert contradiction(claims("It showed 45 pauses an hour."), claims(clause, (sentence,), 0)) == "amount"


def test_what_is_short_is_written_out_and_brands_get_their_generic_names() -> None:
    assert written_out("PT for 6 wks, then f/u") == "physical therapy for 6 weeks, then follow up"
    assert written_out("The patient kept it") == "The patient kept it"
    assert generic("Stop Eliquis and Tylenol.") == "Stop apixaban and acetaminophen."


@pytest.mark.parametrize(
    "text", ["Tome 5 mg dos veces al día.", "请服用5毫克。", "<b>Take</b> 5&nbsp;mg", "مرتين يوميا"]
)
def test_other_languages_and_markup_are_read_without_harm(text: str) -> None:
    assert why(text, text) == ""
    assert why("Please rest at home.", text) == ""


def test_sets_of_words_do_not_overlap_where_they_would_fight() -> None:
    sets = lexicon().sets
    assert sets["deny"].isdisjoint(sets["end"] | sets["hold"] | sets["bounds"])
    assert not set(lexicon().drugs) & (sets["stop"] | sets["fresh"])


_PIECES = (
    *(
        "no",
        "not",
        "never",
        "take",
        "stop",
        "hold",
        "your",
        "the",
        "lisinopril",
        "Tylenol",
        "5",
        "10",
        "mg",
        "mcg",
    ),
    *(
        "%",
        "twice",
        "once",
        "a",
        "day",
        "every",
        "other",
        "6",
        "hours",
        "to",
        "-",
        "/",
        ":",
        ".",
        ",",
        ";",
        "(",
        ")",
    ),
    *(
        "and",
        "or",
        "but",
        "if",
        "unless",
        "Monday",
        "today",
        "tomorrow",
        "in",
        "within",
        "two",
        "weeks",
        "May",
        "9",
    ),
    *(
        "9th",
        "am",
        "p.m.",
        "left",
        "right",
        "both",
        "knee",
        "foot",
        "normal",
        "abnormal",
        "better",
        "worse",
        "ER",
    ),
    *(
        "increase",
        "lower",
        "above",
        "100",
        "than",
        "likely",
        "free",
        "gone",
        "needed",
        "x",
        "1,000",
        "911",
        "call",
    ),
    *("us", "half", "one", "zero", "quarter", "of"),
)
_LINES = st.text(max_size=200) | st.lists(st.sampled_from(_PIECES), max_size=40).map(" ".join)


@given(_LINES)
def test_a_text_never_contradicts_itself(text: str) -> None:
    assert why(text, text) == ""
    assert turned(claims(text), claims(text)) == 0.0


@given(_LINES, _LINES)
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    assert why(one, other) in ("", "amount", "sides", "drugs", "places", "condition", "polarity")


@given(_LINES, _LINES)
def test_being_opposed_is_mutual(one: str, other: str) -> None:
    first, second = signs(marks(words(one))), signs(marks(words(other)))
    assert set(opposed(first, second)) == set(opposed(second, first))


@given(_LINES, _LINES)
def test_agreement_of_amounts_is_mutual(one: str, other: str) -> None:
    for first in quantities(words(one)):
        assert first.agrees(first)
        for second in quantities(words(other)):
            assert first.agrees(second) == second.agrees(first)


@given(_LINES, st.data())
def test_a_clause_says_no_more_than_its_sentence(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    clause = claims(text[start:end], (text,), start)
    assert set(clause.signs) <= set(clause.around[0])
