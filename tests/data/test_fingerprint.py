"""The fingerprint is of what a dataset holds, whatever file it came in."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import letters_task
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters_task import Letters, lines, write
from pyarrow import parquet

from pmbench.data.loading import load

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
ROW = st.fixed_dictionaries(
    {"message": TEXT.filter(str.strip), "chart": TEXT, "reply": TEXT, "clinic": st.sampled_from(["a", "é"])}
)


@given(rows=st.lists(ROW, min_size=1, max_size=5))
def test_the_fingerprint_is_of_the_content_and_not_of_the_format(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("formats")
    rows = [{"id": str(number), **row} for number, row in enumerate(rows)]
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write(folder, "a.csv", stream.getvalue())
    lines(folder, *rows)
    write(folder, "a.json", json.dumps([dict(reversed(row.items())) for row in rows]))
    parquet.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    names = ["a.csv", "a.jsonl", "a.json", "a.parquet"]
    assert len({load(Letters(), str(folder / name)).fingerprint for name in names}) == 1

    changed = [*rows[:-1], {**rows[-1], "reply": rows[-1]["reply"] + "."}]
    other = load(Letters(), str(lines(folder, *changed, name="b.jsonl")))
    assert other.fingerprint != load(Letters(), str(folder / "a.csv")).fingerprint


def test_the_fingerprint_of_a_known_dataset_stays_what_it_is() -> None:
    """From json and hashlib alone: a change of it would part old runs from new ones."""
    file = Path(letters_task.__file__).with_name("demo_letters.jsonl")
    each = []
    for row in map(json.loads, file.read_text().splitlines()):
        inputs = {"message": row["message"], "chart": row.get("chart", "")}
        each.append(plain_sum([row["id"], inputs, {"reply": row["reply"]}, None, {"clinic": row["clinic"]}]))
    assert load(Letters(), "demo").fingerprint == plain_sum(each)


def plain_sum(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
