"""OncQA's own files are read as they were released; its drafts lose their opening remark only when asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from given_judges import GivenThemes, WordCounts
from hypothesis import given
from hypothesis import strategies as st

from pmbench import ConfigError, DataError, Response, split_sentences
from pmbench.data.loading import load
from pmbench_tasks.drafting.judging.embedded_content_judge import EmbeddedContentJudge
from pmbench_tasks.drafting.oncqa import OncQA, OncQAOptions, drop_preamble

INPUT = "Sample 1 (active treatment):\nEHR Context:\nAge: 55\n\nPatient message:\nI am tired.\n"


@pytest.fixture(scope="session")
def folder(shared: Path) -> Path:
    return shared / "data" / "oncqa"


def write(path: Path, messages: str, replies: str | None) -> Path:
    (path / "Master2.csv").write_text(messages, encoding="utf-8")
    if replies is not None:
        (path / "stage1.csv").write_text(replies, encoding="utf-8")
    return path


def test_one_instance_per_physicians_reply(folder: Path) -> None:
    found = load(OncQA(), str(folder))
    assert len(found.instances) == 156
    assert len({one.cluster for one in found.instances}) == 100
    assert Counter(Counter(one.cluster for one in found.instances).values()) == {2: 56, 1: 44}
    assert all(one.id == f"{one.cluster}-{one.id[-1]}" for one in found.instances)
    first = next(one for one in found.instances if one.id == "0-1")
    assert first.inputs["chart"].startswith("EHR Context:\nAge: 55 years")
    assert first.inputs["message"].startswith("I've been feeling more fatigued")
    assert not any("Sample" in one.inputs["chart"][:20] for one in found.instances)
    assert not any("Patient message:" in one.inputs["chart"] for one in found.instances)
    assert {one.slices["phase"] for one in found.instances} == {"active treatment", "surveillance"}
    assert len(found.column("draft")) == 156


def test_dropping_the_remark_never_eats_the_letter(folder: Path) -> None:
    drafts = {one.id.split("-")[0]: text for one, text in zip_drafts(folder)}
    assert len(drafts) == 100
    changed = {pin for pin, text in drafts.items() if drop_preamble(text) != text}
    assert len(changed) == 87
    for text in drafts.values():
        rest = drop_preamble(text)
        assert text.endswith(rest)
        if "Dear " in text:
            assert rest.startswith("Dear ")
        cut = text[: len(text) - len(rest)]
        assert len(split_sentences(cut)) <= 5
        assert not any(f" {word} " in cut for word in ("you", "your"))
        assert "Recommendations:" not in rest[:20]


def zip_drafts(folder: Path) -> list[tuple[object, str]]:
    found = load(OncQA(), str(folder))
    drafts = found.column("draft")
    return [(one, drafts[one.id]) for one in found.instances]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("draft", "rest"),
    [
        (
            "Yes, the provided information is sufficient.\n\nRecommendations:\n\nDear Ann,\n\nRest.",
            "Dear Ann,\n\nRest.",
        ),
        ("The provided information is sufficient.\n\nRecommendation: Rest.", "Rest."),
        ("The provided information is sufficient. However, I can provide more.\n\nRest.", "Rest."),
        ("The provided information is sufficient. However, call us.\n\nRest.", "However, call us.\n\nRest."),
        ("The provided information is helpful, but I need your weight.\n\nRest.", None),
        ("Based on the provided information, it is possible that you have a cold.", None),
        ("The provided information is sufficient.", None),
        ("Please rest.\n\nDear is the price,\nso wait.", None),
        ("Recommendations:\n\nRest.", None),
        ("", None),
    ],
)
def test_what_is_dropped(draft: str, rest: str | None) -> None:
    assert drop_preamble(draft) == (draft if rest is None else rest)


@given(st.text(max_size=60), st.sampled_from(["", "Yes, the provided information is sufficient.\n\n"]))
def test_what_is_kept_is_the_end_of_the_draft(text: str, remark: str) -> None:
    draft = remark + text
    rest = drop_preamble(draft)
    assert draft.endswith(rest)
    assert bool(split_sentences(draft)) == bool(split_sentences(rest))


@pytest.mark.parametrize(("preamble", "deletions", "cut"), [("keep", 1, 0), ("drop", 0, 6)])
def test_the_option_decides_what_is_scored(tmp_path: Path, preamble: str, deletions: int, cut: int) -> None:
    write(tmp_path, f'pin,Input,Output\n0,"{INPUT}",x\n', "id,response\n0,Please rest.\n")
    task = OncQA(OncQA.parse_options({"preamble": preamble}))
    (one,) = load(task, str(tmp_path)).instances
    draft = Response("The provided information is sufficient today.\n\nPlease rest.")
    score = asyncio.run(
        task.score(one, draft, {"content": EmbeddedContentJudge(WordCounts()), "theme": GivenThemes()})
    )
    assert (score.stats["deletions"], score.stats["words_cut"]) == (deletions, cut)


def test_a_wrong_option_is_said() -> None:
    assert OncQA.parse_options({}) == OncQAOptions(preamble="keep")
    with pytest.raises(ConfigError):
        OncQA.parse_options({"preamble": "cut"})


@pytest.mark.parametrize(
    ("messages", "replies", "what"),
    [
        (f'pin,Input,Output\n0,"{INPUT}",x\n', None, "stage1.csv is not"),
        ("pin,Input\n0,x\n", "id,response\n0,Rest.\n", "has no column 'Output'"),
        (f'pin,Input,Output\n0,"{INPUT}",x\n', "id,reply\n0,Rest.\n", "has no column 'response'"),
        (
            f'pin,Input,Output\n0,"{INPUT}",x\n0,"{INPUT}",x\n',
            "id,response\n0,Rest.\n",
            "row 2, column 'pin': the same pin as row 1",
        ),
        (
            f'pin,Input,Output\n0,"{INPUT}",x\n',
            "id,response\n9,Rest.\n",
            "row 1, column 'id': there is no message with this pin",
        ),
        ("pin,Input,Output\n0,I am tired,x\n", "id,response\n0,Rest.\n", "no line 'Patient message:'"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    tmp_path: Path, messages: str, replies: str | None, what: str
) -> None:
    with pytest.raises(DataError, match=what) as raised:
        load(OncQA(), str(write(tmp_path, messages, replies)))
    assert "tired" not in str(raised.value)


@pytest.mark.parametrize(
    ("messages", "replies"),
    [
        ("My knee hurts,since Tuesday,Jane Doe\n0,a,x\n", "id,response\n0,Rest.\n"),
        ("pin,Input,Output\nJane Doe,a,x\nJane Doe,b,y\n", "id,response\n0,Rest.\n"),
        (f'pin,Input,Output\n0,"{INPUT}",x\n', "id,response\nJane Doe,Rest.\n"),
    ],
)
def test_no_error_quotes_what_stands_where_a_name_or_a_pin_should_be(
    tmp_path: Path, messages: str, replies: str
) -> None:
    with pytest.raises(DataError) as raised:
        load(OncQA(), str(write(tmp_path, messages, replies)))
    assert not any(word in str(raised.value) for word in ("knee", "Tuesday", "Jane", "Doe"))


def test_another_folder_is_not_its_shape(tmp_path: Path) -> None:
    assert OncQA().read(tmp_path) is None
