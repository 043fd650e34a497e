"""Files and whole models of the Hugging Face hub, with the SHA-256 that the hub states for them."""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.errors import MissingExtra, ModelUnavailable, StorageError
from pmbench.models.files import cache

_SHA256 = re.compile(r"[0-9a-f]{64}")


class HubFile(msgspec.Struct, frozen=True):
    """A downloaded file: where it lies for now, and what the hub says it is.

    Attributes:
        path: under `scratch`, to be moved from there.
        scratch: the folder of the download; kept after an interruption so that it can go on.
        sha256: as the hub states it. commit: of the repository.
    """

    path: Path
    scratch: Path
    sha256: str
    commit: str


def download(repo: str, name: str, revision: str, folder: Path) -> HubFile:
    """Download one large file, going on where an earlier attempt was interrupted.

    Args:
        repo: `ORG/NAME`.
        name: of the file in it.
        revision: branch, tag or commit.
        folder: where the file shall lie in the end; the download goes to a folder inside it.

    Raises:
        MissingExtra: the hub's library is not installed.
        ModelUnavailable: offline, no such file, not allowed, or no checksum stated.
        StorageError: the disk is full or cannot be written.
    """
    where = f"{repo} of the hub"
    if importlib.util.find_spec("huggingface_hub") is None:
        raise MissingExtra(f"{name} of the hub", "hub", "huggingface_hub")
    if _offline():
        raise ModelUnavailable(
            f"{name} cannot be fetched: HF_HUB_OFFLINE is set",
            where=where,
            remedy=f"Unset it, or copy the file from another machine to {folder / name}",
        )
    scratch = folder / ".part-hub"
    try:
        stated = _stated(repo, name, revision)
        sha256, commit = str(stated.etag or ""), str(stated.commit_hash or "")
        if not _SHA256.fullmatch(sha256):
            raise ModelUnavailable(f"the hub states no SHA-256 for {name}", where=where)
        path = Path(_get(repo, name, commit or revision, scratch))
    except (ModelUnavailable, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 - the library's network errors have changed class between versions
        raise _explained(error, name, where, folder) from None
    return HubFile(path, scratch, sha256, commit)


WEIGHTS_AND_WORDS = (
    "*.safetensors",
    "*.json",
    "*.model",
    "*.jinja",
    "*.txt",
    "tokenizer*",
    "merges*",
    "vocab*",
)
"""Files that a model in transformers' format is made of. Nothing that could hold a program's code."""


def snapshot(repo: str, revision: str) -> Path:
    """Download a whole model into the cache of the hub's library (HF_HOME), where every program finds it.

    Files that the hub states a SHA-256 for are checked against it; one that differs is deleted.

    Args:
        repo: `ORG/NAME`.
        revision: branch, tag or commit; empty for `main`.

    Returns:
        The folder of that commit.

    Raises:
        MissingExtra: the hub's library is not installed.
        ModelUnavailable: offline, no such repository, not allowed, no weights in it, or damaged.
        StorageError: the disk is full or cannot be written.
    """
    where = f"{repo} of the hub"
    if importlib.util.find_spec("huggingface_hub") is None:
        raise MissingExtra(f"{repo} of the hub", "hub", "huggingface_hub")
    if _offline():
        raise ModelUnavailable(
            "cannot be fetched: HF_HUB_OFFLINE is set", where=where, remedy="Unset it, or copy the cache here"
        )
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        found = snapshot_download(repo, revision=revision or None, allow_patterns=list(WEIGHTS_AND_WORDS))
    except KeyboardInterrupt:
        raise
    except Exception as error:  # noqa: BLE001 - the library's network errors have changed class between versions
        raise _explained(error, repo, where, Path(constants.HF_HUB_CACHE)) from None
    folder = Path(found)
    _check_snapshot(folder, where)
    return folder


def _check_snapshot(folder: Path, where: str) -> None:
    """The library names what it keeps by the hub's SHA-256, and does not look again at what is in it."""
    if not any(folder.glob("*.safetensors")):
        raise ModelUnavailable("holds no weights in the format safetensors", where=where)
    for link in sorted(folder.iterdir()):
        kept = link.resolve()
        if _SHA256.fullmatch(kept.name) and cache.hash_file(kept) != kept.name:
            kept.unlink()
            link.unlink()
            raise ModelUnavailable(
                f"{link.name} was damaged on its way and is deleted", where=where, remedy="Fetch it again"
            )


def _offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "ON", "YES", "TRUE"}


def _stated(repo: str, name: str, revision: str) -> Any:
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    return get_hf_file_metadata(hf_hub_url(repo, name, revision=revision))


def _get(repo: str, name: str, revision: str, scratch: Path) -> str:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    return str(hf_hub_download(repo, name, revision=revision, local_dir=scratch))


def _explained(error: Exception, name: str, where: str, folder: Path) -> ModelUnavailable | StorageError:
    """One line for what the library raised; by class name along the whole chain, as its errors nest."""
    kinds = {kind.__name__ for cause in _chain(error) for kind in type(cause).__mro__}
    full = any(isinstance(cause, OSError) and cause.errno in _STORAGE for cause in _chain(error))
    if full:
        return StorageError(
            "the disk is full or cannot be written",
            where=str(folder),
            remedy="Free some space, or set PMBENCH_CACHE to another folder",
        )
    if "GatedRepoError" in kinds:
        return ModelUnavailable(
            f"{name} is only given to those who accepted its licence",
            where=where,
            remedy="Accept it on the model's page, then run: hf auth login",
        )
    if kinds & {"RepositoryNotFoundError", "RevisionNotFoundError", "RemoteEntryNotFoundError"}:
        return ModelUnavailable(
            f"there is no {name}, or it is private", where=where, remedy="See: pmbench models; hf auth login"
        )
    if kinds & {"EntryNotFoundError"} and "LocalEntryNotFoundError" not in kinds:
        return ModelUnavailable(f"there is no {name}", where=where, remedy="See: pmbench models")
    return ModelUnavailable(
        f"{name} could not be downloaded ({type(error).__name__})",
        where=where,
        remedy="Check the network and try again: it goes on where it stopped",
    )


_STORAGE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS})


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain
