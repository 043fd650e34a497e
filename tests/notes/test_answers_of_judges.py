"""Reading a checklist judge's answers: what counts as yes, as no, and as no answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench_tasks.notes.answers import Reading, read_one, read_several, schema_of

GRADES = (1, 5)


@pytest.mark.parametrize(
    ("text", "value", "quote"),
    [
        ('{"answer": "yes", "quote": "400 mg"}', True, "400 mg"),
        ('{"answer": "NO", "quote": ""}', False, ""),
        ('{"answer": false}', False, ""),
        ('Here it is:\n```json\n{"quote": "a {b} c", "answer": " Yes. "}\n```', True, "a {b} c"),
        ('{"thought": {"x": 1}} {"answer": "no"}', False, ""),
        ("ANSWER: yes\nQUOTE: “400 mg”", True, "400 mg"),
        ("**Answer:** No\n**Quote:** none of it", False, "none of it"),
        ("Yes.", True, ""),
        ("no", False, ""),
        ('{"answer": "yes", "quote": "…"}', True, ""),
        ('{"answer": "yes", "quote": "\\ud83d half"}', True, "� half"),
    ],
)
def test_answers_as_models_write_them(text: str, value: bool, quote: str) -> None:
    assert read_one(text) == Reading(value, quote)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "unparsed"),
        ("The note names it, so I would say yes.", "unparsed"),
        ("Yes, but only in part", "unparsed"),
        ('{"quote": "400 mg"}', "unparsed"),
        ('{"answer": "yes", "quote": "cut of', "unparsed"),
        ('{"answer": "N/A"}', "neither"),
        ("ANSWER: N/A", "neither"),
        ('{"answer": "partly"}', "neither"),
        ('{"answer": "yes, partly"}', "neither"),
        ('{"answer": null}', "neither"),
        ('{"answer": 1}', "neither"),
        ('{"answer": ["yes"]}', "neither"),
        ('{"answer": "yes", "answer": "no"}', "twice"),
        ("nothing applies", "unparsed"),
    ],
)
def test_what_is_neither_yes_nor_no_is_missing_and_not_a_no(text: str, why: str) -> None:
    assert read_one(text) == Reading(None, "", why)


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ('{"grade": 4, "quote": ""}', 4),
        ('{"score": "5"}', 5),
        ("GRADE: 3/5", 3),
        ("2", 2),
        ('{"grade": 4.0}', 4),
        ('{"grade": 4.5}', None),
        ('{"grade": 0}', None),
        ('{"grade": 6}', None),
        ('{"grade": true}', None),
        ('{"grade": "yes"}', None),
        ('{"grade": NaN}', None),
        ('{"grade": Infinity}', None),
        ("excellent", None),
    ],
)
def test_grades(text: str, grade: int | None) -> None:
    assert read_one(text, GRADES).value == grade


def values(text: str, count: int = 3) -> list[bool | int | str | None]:
    """The answers to questions 1, 2, …; the reason of a missing one."""
    found = read_several(text, range(1, count + 1))
    return [one.why if one.value is None else one.value for one in found.values()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"1": {"answer": "yes"}, "2": {"answer": "no"}, "3": {"answer": "yes"}}', [True, False, True]),
        ('{"Q1": "yes", "q2": "no", "3": true}', [True, False, True]),
        (
            '{"answers": [{"question": 3, "answer": "no"}, {"question": "Q1", "answer": "yes"}]}',
            [True, "absent", False],
        ),
        (
            # AutoChecklist's own form.
            '{"answers": [{"question_index": 1, "answer": "YES"}, {"question_index": 2, "answer": "NO"}]}',
            [True, False, "absent"],
        ),
        (
            '{"1": {"answer": "yes"}, "2": {"answer": "N/A"}, "9": {"answer": "no"}}',
            [True, "neither", "absent"],
        ),
        ('{"1": {"answer": "yes"}, "1": {"answer": "no"}, "2": "no", "3": "no"}', ["twice", False, False]),
        ('{"1": {"answer": "yes"}, "1": {"answer": "yes"}, "2": "no", "3": "no"}', [True, False, False]),
        ('{"1": {"answer": "yes", "quote": "a"}, "2": {"answer": "no", "quo', [True, "absent", "absent"]),
        (
            '[{"question": 1, "answer": "yes"}, {"question": 2, "answer": "no"}, {"ques',
            [True, False, "absent"],
        ),
        ("1: yes | 400 mg\n2: no |\n3: yes", [True, False, True]),
        ("Q1. Yes - it is\n**2.** NO\n3) yes", [True, False, True]),
        ("1: yes\n1: no\n2: no", ["twice", False, "absent"]),
        ("1. Is the dose there? Yes\n2. no", ["absent", False, "absent"]),
        ("I cannot say.", ["unparsed"] * 3),
        ("", ["unparsed"] * 3),
        ("{}", ["unparsed"] * 3),
        ('{"answer": "yes"}', ["unparsed"] * 3),
    ],
)
def test_answers_to_several_questions(text: str, expected: list[bool | str]) -> None:
    assert values(text) == expected


def test_quotes_belong_to_their_question() -> None:
    found = read_several(
        '{"2": {"answer": "no", "quote": "b"}, "1": {"answer": "yes", "quote": "a"}}', (1, 2)
    )
    assert [one.quote for one in found.values()] == ["a", "b"]
    assert read_several('1: yes | "said there"\n2: no', (1, 2))[1].quote == "said there"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["1", "2", "q3", "answer", "answers", "quote", "question"]), inner)
    ),
    max_leaves=12,
)


@given(st.text() | _JSON.map(json.dumps) | _JSON.map(lambda value: json.dumps(value)[:-3]))
def test_whatever_a_model_says_each_question_has_an_answer_or_a_reason(text: str) -> None:
    for ends in (None, GRADES):
        one = read_one(text, ends)
        several = read_several(text, (1, 2, 3), ends)
        assert list(several) == [1, 2, 3]
        for found in (one, *several.values()):
            assert (found.value is None) == bool(found.why)
            found.quote.encode()


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.randoms())
def test_what_the_schema_asks_for_is_read_back(met: list[bool], chance) -> None:
    entries = [(str(n), {"answer": "yes" if one else "no", "quote": f"q{n}"}) for n, one in enumerate(met, 1)]
    assert list(schema_of(range(1, len(met) + 1))["properties"]) == [name for name, _ in entries]
    chance.shuffle(entries)
    found = read_several(json.dumps(dict(entries)), range(1, len(met) + 1))
    assert [one.value for one in found.values()] == met
