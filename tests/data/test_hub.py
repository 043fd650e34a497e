"""Datasets of the hub and folders of the `datasets` library, with the real library and a hub on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import loopback_hub
import pytest
from letters_task import SECRET, Letters, said

from pmbench import DataError
from pmbench.core.errors import MissingExtra
from pmbench.data.loading import load

HERE = Path(__file__).parent
ROWS = [{"id": "1", "message": "May I swim?"}, {"id": "2", "message": "And dive?"}]

PROGRAM = """
import json, os, sys
import letters_task
from pmbench import UserError
from pmbench.data.loading import load
task = getattr(letters_task, os.environ.get("TASK", "Letters"))()
for data, options in json.loads(sys.argv[1]):
    try:
        d = load(task, data, **options)
        print(json.dumps([d.source.location, d.source.revision, d.sensitivity, d.column("message"), d.notes]))
    except UserError as error:
        print(json.dumps(str(error)))
"""


def in_process(tmp_path: Path, *asked: tuple[str | None, dict[str, str]], **environment: str) -> list[Any]:
    """What another process gets for each of what was asked; nothing may stand on its standard error."""
    paths = [str(HERE), str(HERE.parents[1]), str(HERE.parents[1] / "tasks")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment = {"HF_HOME": str(tmp_path / "hf"), "PYTHONPATH": os.pathsep.join(paths), **environment}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(asked)],
        env={**kept, **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def hub() -> Iterator[str]:
    """The address of a hub that has one dataset: one split, CSV."""
    content = "id,message\n" + "".join(f"{row['id']},{row['message']}\n" for row in ROWS)
    files = {"README.md": b"---\nlicense: mit\n---\n", "data/test.csv": content.encode()}
    with loopback_hub.serving(files) as address:
        yield address


def test_a_hub_dataset_by_revision_then_from_the_cache(tmp_path: Path, hub: str) -> None:
    messages = {row["id"]: row["message"] for row in ROWS}
    commit = loopback_hub.COMMIT
    own, other, no_split, no_revision, unknown, config = in_process(
        tmp_path,
        (None, {}),
        ("hub:org/letters", {"split": "test", "revision": commit, "sensitivity": "public"}),
        (None, {"split": "train"}),
        (None, {"revision": "v9"}),
        ("hub:org/lettres", {}),
        ("hub:org/letters/large", {}),
        HF_ENDPOINT=hub,
    )
    location = "hub:org/letters (test)"
    assert own == [location, commit, "deidentified", messages, ["split 'test': the only one"]]
    assert other == [location, commit, "public", messages, []]
    assert "no split 'train'" in no_split
    assert "Splits found: test" in no_split
    assert "no revision 'v9'" in no_revision
    assert "hub:org/lettres: no such dataset on the hub" in unknown
    assert "no such configuration" in config

    # Without a network the copy in the cache serves, if it is of the revision asked for.
    nowhere = "http://127.0.0.1:9"
    for environment in ({"HF_ENDPOINT": nowhere}, {"HF_ENDPOINT": nowhere, "HF_HUB_OFFLINE": "1"}):
        own, pinned, moved = in_process(
            tmp_path, (None, {}), (None, {"revision": commit}), (None, {"revision": "2e" * 20}), **environment
        )
        assert own[:4] == pinned[:4] == [location, commit, "deidentified", messages]
        assert "the copy in the cache, 1f1f1f1f1f1f" in own[4][0]
        assert f"--revision {commit}" in moved


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE"),
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "cannot be reached"),
        ({"HF_ENDPOINT": "http://hub.invalid"}, "cannot be reached"),
    ],
)
def test_no_network_and_no_copy_is_one_line_and_soon(
    tmp_path: Path, environment: dict[str, str], why: str
) -> None:
    start = time.monotonic()
    (message,) = in_process(tmp_path, (None, {}), **environment)
    assert time.monotonic() - start < 60  # the library's own retries are cut off; a bound against hanging
    assert message.startswith("hub:org/letters: ")
    assert why in message
    assert "--data FILE" in message


def test_a_dataset_with_several_configurations(tmp_path: Path) -> None:
    card = "---\nconfigs:\n"
    for name in ("small", "large"):
        card += f"- config_name: {name}\n  data_files: data/{name}.csv\n"
    rows = {"data/small.csv": b"id,message\n1,a\n", "data/large.csv": b"id,message\n1,b\n2,c\n"}
    with loopback_hub.serving({"README.md": f"{card}---\n".encode(), **rows}) as address:
        asked = ("hub:org/letters", "hub:org/letters/large", "hub:org/letters/huge")
        none, large, huge = in_process(tmp_path, *((data, {}) for data in asked), HF_ENDPOINT=address)
    assert "hub:org/letters: has several configurations" in none
    assert "--data hub:org/letters/CONFIGURATION" in none
    assert large[0] == "hub:org/letters/large (train)"
    assert large[3] == {"1": "b", "2": "c"}
    assert "hub:org/letters/huge: has no such configuration" in huge


def test_a_dataset_that_the_library_cannot_read_is_not_quoted(tmp_path: Path) -> None:
    broken = f'id,message\n1,a\n2,"{SECRET}",{SECRET},{SECRET}\n'.encode()
    with loopback_hub.serving({"data/test.csv": broken}) as address:
        (message,) = in_process(tmp_path, (None, {}), HF_ENDPOINT=address)
    assert "hub:org/letters: the `datasets` library cannot read it (DatasetGenerationError)" in message
    assert SECRET not in message


@pytest.mark.parametrize(
    ("refusal", "parts"),
    [
        ((403, "GatedRepo"), ("asks for permission", "hf auth login")),
        ((401, "RepoNotFound"), ("or a private one", "hf auth login")),
        ((500, "Oops"), ("answered with status 500", "--data FILE")),
    ],
)
def test_a_hub_that_refuses(tmp_path: Path, refusal: tuple[int, str], parts: tuple[str, ...]) -> None:
    with loopback_hub.serving({}, refusal) as address:
        (message,) = in_process(tmp_path, (None, {}), HF_ENDPOINT=address)
    for part in ("hub:org/letters: ", *parts):
        assert part in message


def test_an_id_that_no_hub_dataset_can_have(tmp_path: Path) -> None:
    (message,) = in_process(tmp_path, ("hub:or g/--x", {}), HF_ENDPOINT="http://127.0.0.1:9")
    assert "hub:or g/--x: is no id of the hub" in message


def test_another_dataset_of_the_hub_is_phi_unless_said(tmp_path: Path, hub: str) -> None:
    by_task = [("hub:org/letters", {}), ("hub:org/letters", {"sensitivity": "public"})]
    plain, said_so = in_process(tmp_path, *by_task, HF_ENDPOINT=hub, TASK="Private")
    assert (plain[2], said_so[2]) == ("phi", "public")


def test_a_local_folder_is_never_taken_for_the_hubs_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "org" / "letters").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as caught:
        load(Letters(), None)
    said(caught.value, "hub:org/letters", "a folder 'org/letters' here", "--data ./org/letters")


def saved(folder: Path, **splits: list[dict[str, Any]]) -> str:
    made = {name: datasets.Dataset.from_list(rows) for name, rows in splits.items()}
    datasets.DatasetDict(made).save_to_disk(str(folder))
    return str(folder)


def test_a_saved_dataset(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    # shuffled, so that the rows stand in another order than in its Arrow file
    shuffled = datasets.Dataset.from_list(ROWS).select([1, 0])
    shuffled.save_to_disk(str(folder))
    dataset = load(Letters(), str(folder))
    assert [instance.id for instance in dataset.instances] == ["2", "1"]
    assert (dataset.source.kind, dataset.source.location, dataset.sensitivity) == (
        "datasets",
        str(folder),
        "phi",
    )
    assert any(name.endswith(".arrow") for name in dataset.source.files)
    with pytest.raises(DataError) as caught:
        load(Letters(), str(folder), split="test")
    said(caught.value, "--split test", "not split")


def test_a_saved_dict_with_one_split_and_with_two(tmp_path: Path) -> None:
    one = load(Letters(), saved(tmp_path / "one", test=ROWS))
    assert one.notes == ["split 'test': the only one"]
    assert one.source.location == f"{tmp_path / 'one'} (test)"
    two = saved(tmp_path / "two", train=ROWS, test=ROWS[:1])
    for options, part in (({}, "2 splits: train, test"), ({"split": "dev"}, "Splits found: train, test")):
        with pytest.raises(DataError) as caught:
            load(Letters(), two, **options)  # type: ignore[arg-type]
        said(caught.value, str(tmp_path / "two"), part)
    assert len(load(Letters(), two, split="test").instances) == 1


def test_several_splits_are_read_as_one_with_a_column_of_their_names(tmp_path: Path) -> None:
    folder = saved(tmp_path / "two", train=ROWS, test=[{"id": "t1", "message": "May I walk?"}], dev=ROWS)
    found = load(Letters(), folder, split="train+test")
    assert found.source.location == f"{folder} (train+test)"
    assert len(found.instances) == len(ROWS) + 1
    assert [row.values["split"] for row in found.rows] == ["train"] * len(ROWS) + ["test"]
    with pytest.raises(DataError) as caught:
        load(Letters(), folder, split="train+tset")
    said(caught.value, str(folder), "no split 'tset'", "Splits found: train, test, dev")


def test_bad_rows_of_a_saved_dataset_are_named(tmp_path: Path) -> None:
    folder = saved(tmp_path / "bad", test=[{"id": "1", "msg": SECRET}, {"id": "2", "msg": None}])
    with pytest.raises(DataError) as caught:
        load(Letters(), folder)
    said(caught.value, f"{folder} (test), row 2, column 'msg'", "required")


def test_a_damaged_saved_dataset(tmp_path: Path) -> None:
    folder = Path(saved(tmp_path / "saved", test=[{"id": "1", "message": SECRET}]))
    for file in folder.rglob("*.arrow"):
        file.write_bytes(SECRET.encode())
    with pytest.raises(DataError) as caught:
        load(Letters(), str(folder))
    said(caught.value, str(folder), "no whole `datasets` folder", "save_to_disk")


def test_without_the_library_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved(tmp_path / "saved", test=ROWS)
    monkeypatch.setitem(sys.modules, "datasets", None)
    for data in (folder, "hub:org/letters"):
        with pytest.raises(MissingExtra) as caught:
            load(Letters(), data)
        said(caught.value, 'pip install "pmbench[hub]"')
