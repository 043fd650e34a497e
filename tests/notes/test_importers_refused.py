"""Files that are no checklist, or broken, or would do harm: each is refused in a line that does not quote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from given_checklists import BENCHMARK, ITEMS, JUDGE_PROMPT, SECRET, benchmark, rubric_row, written
from hypothesis import given, settings
from hypothesis import strategies as st

from pmbench import DataError
from pmbench_tasks.notes.checklist import read_checklist
from pmbench_tasks.notes.documents import yaml_value


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_checklist(path)
    line = str(caught.value)
    assert "\n" not in line
    assert SECRET not in line
    assert path.name in line or "judge.txt" in line
    return line


@pytest.mark.parametrize(
    ("config", "prompt", "said"),
    [
        ({"jury_score": "rouge_l"}, {}, "no metric called jury_score"),
        ({"exact_match": "jury_score"}, {}, "several metrics called jury_score"),
        ({"judge.txt": "../judge.txt"}, {}, "leads out of the folder"),
        ({"judge.txt": "/etc/hostname"}, {}, "leads out of the folder"),
        ({"judge.txt": "other.txt"}, {}, "no such file beside the YAML"),
        ({"    prompt_file: judge.txt\n": ""}, {}, "names no prompt_file"),
        ({"judges:": "jury:"}, {}, "names no judges"),
        ({}, {"rubric_criteria": "criteria"}, "has no <rubric_criteria>"),
        ({}, {'"score"': '"grade"'}, "no criterion has a score"),
        ({}, {'"plain_words":': f"{SECRET} :"}, "no valid JSON"),
        ({}, {"from 1 to 5": "", "(1 = jargon; 5": "(low = jargon; high"}, "does not say that grades go"),
        ({}, {"(1 = jargon": "(0 = jargon"}, "both 0 to 5 and 1 to 5"),
    ],
)
def test_benchmarks_without_a_usable_jury_are_refused(
    tmp_path: Path, config: dict[str, str], prompt: dict[str, str], said: str
) -> None:
    texts = [BENCHMARK, JUDGE_PROMPT]
    for place, changes in enumerate((config, prompt)):
        for old, new in changes.items():
            assert old in texts[place]
            texts[place] = texts[place].replace(old, new)
    assert said in refused(benchmark(tmp_path, *texts))


def laughs(levels: int) -> str:
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", laughs(9), "line 2, column 10: an alias (*) is not read"),
        ("a.yaml", "&a [*a]", "an alias (*) is not read"),
        ("a.yaml", "items: !!python/object/apply:os.getcwd []", "line 1, column 8: a tag (!) is not read"),
        ("a.yaml", "- !secretword x", "a tag (!) is not read"),
        ("a.yaml", "[" * 5000, "nested deeper than 20"),
        ("a.yaml", "a: 1\nitems: []\na: 2", "line 3, column 1: the same key twice"),
        ("a.yaml", "? [secretword]\n: 1", "a key is a list or a mapping"),
        ("a.yaml", "items:\n\t- secretword", "line 2, column 1: no valid YAML"),
        ("a.yaml", "- a\n---\n- b", "no valid YAML"),
        ("a.yaml", "items: secretword\x00", "no valid YAML"),
        ("a.yaml", "- " + "9" * 5000, "a number that cannot be read"),
        ("a.yaml", "", "holds no checklist"),
        ("a.yaml", "secretword", "holds no checklist"),
        ("a.json", '{"items": [\n secretword]}', "line 2, column 2: no valid JSON"),
        ("a.json", '{"items": [], "items": []}', "an object has the same key twice"),
        ("a.json", '{"items": [NaN]}', "NaN or an infinity"),
        ("a.json", '[{"question": "Is it?", "weight": 1e999}]', "too large"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", '["Is it \\ud800?"]', "half of a surrogate pair"),
        ("a.json", "[" + "9" * 5000 + "]", "too many digits"),
        ("a.json", " " * 1_000_001, "is larger than 1 MB"),
        ("a.json", "3", "holds no checklist"),
        ("a.json", {"name": "x"}, "has no items"),
        ("a.json", {"items": [], "questions": []}, "has both items and questions"),
        ("a.json", {"items": {"a": 1}}, "items: is no list"),
        ("a.json", {"items": [3]}, "item 1: is neither text nor an object"),
        ("a.json", {"items": [{"id": "a"}]}, "item 1: has no question"),
        ("a.json", {"items": [{"question": 3}]}, "item 1, question: text is expected"),
        ("a.json", {"items": [{"question": "Is it?", "wieght": 3}]}, "Did you mean weight?"),
        ("a.json", {"items": ["Is it?"], SECRET: 1}, "a key that is not known"),
        (
            "a.json",
            {"items": [{"question": "Is it?", "weight": "secretword"}]},
            "weight: a number is expected",
        ),
        ("a.json", {"items": [{"question": "Is it?", "weight": True}]}, "weight: a number is expected"),
        ("a.json", {"items": [{"question": "Is it?", "weight": 2}, "Is that?"]}, "item 2: has no weight"),
        ("a.json", {"items": [{"criterion": "It", "points": 2}, "Is that?"]}, "item 2: has no points"),
        ("a.json", {"scale": "points", "items": ["Is it?"]}, "the items have no points"),
        ("a.json", {"scale": "1-7", "items": ["Is it?"]}, "scale: is no scale"),
        (
            "a.json",
            {"items": [{"question": "Is it?", "source_feedback": "f1"}]},
            "a list of texts is expected",
        ),
        ("a.json", rubric_row("p", [{"criterion": "x"}]), "has no points"),
        ("a.jsonl", json.dumps(rubric_row("p")) + "\n" + json.dumps(rubric_row("p")), "holds 2 rubrics"),
        ("a.csv", "secretword,x\n1,2\n", "has no column called question"),
        ("a.csv", "question,Question\nIs it?,Is it?\n", "two columns could be the question"),
        ("a.csv", "question,criterion\nIs it?,It is\n", "has columns question and criterion"),
        ("a.csv", "question,weight\nIs it?,2\n,3\n", "row 2: has no question"),
        ("a.csv", "question,weight\nIs it?,2\nIs that?,\n", "row 2: has no weight"),
        ("a.csv", "question,section\nIs it?,subjective\nIs that?,\n", "name different sections"),
        ("a.md", "# secretword\n\nno list\n", "has no list of questions"),
        ("a.txt", "\n \n", "has no list of questions"),
        ("a.docx", "secretword", "ending in '.docx' cannot be read"),
        ("checklist", "secretword", "has no ending"),
    ],
)
def test_files_that_must_be_refused(tmp_path: Path, name: str, text: Any, said: str) -> None:
    assert said in refused(written(tmp_path, name, text))


def test_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes("- Is it?\n- Is the café named?\n".encode("latin-1"))
    assert "line 2: not UTF-8" in refused(path)


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    assert "is no regular file" in refused(tmp_path / "a.json")
    assert "b.yaml: there is no such file" in refused(tmp_path / "b.yaml")


def test_a_file_that_is_far_too_large_is_said_to_be_that(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("- Is it so?\n" * 100_000)
    assert "larger than 1 MB, which no checklist is" in refused(tmp_path / "a.md")


@pytest.mark.parametrize("ending", ["txt", "md", "json", "yaml", "csv"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_a_file_in_utf_16_is_not_taken_for_windows(tmp_path: Path, ending: str, encoding: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes("- Is it so?\n- Is the café named?\n".encode(encoding))
    told = refused(path)
    assert "WINDOWS" not in told and "UTF-" in told


def test_a_prompt_id_is_for_healthbench_alone(tmp_path: Path) -> None:
    for name, value in (("a.json", {"items": ITEMS}), ("a.csv", "question\nIs it?\n")):
        with pytest.raises(DataError, match="not several by prompt_id"):
            read_checklist(written(tmp_path, name, value), row="p1")


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_yaml_that_is_read_or_refused_in_a_line(text: str) -> None:
    try:
        yaml_value(text, "a.yaml")
    except DataError as error:
        assert "\n" not in str(error)
