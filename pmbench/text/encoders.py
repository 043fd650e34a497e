"""Encoder models of text metrics: where they lie, what they are, and how they are loaded without a network."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pmbench.core.digest import digest
from pmbench.core.errors import ConfigError, MissingExtra, ModelUnavailable

_HUB_NAME = re.compile(r"[\w-][\w.-]*(?:/[\w-][\w.-]*)?")
_SNAPSHOT = re.compile(r"models--(?P<name>[\w.-]+?)")
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKENISER = ("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json", "*.model")


class EncoderFolder:
    """A folder with an encoder in transformers' format.

    Args:
        model: the folder, or the name of a model that lies in the Hugging Face cache of this machine. Nothing is
            downloaded.

    Raises:
        ModelUnavailable: there is no such folder, or no such model in the cache.
    """

    def __init__(self, model: str | Path) -> None:
        given = Path(model).expanduser()
        if given.is_dir():
            self.path = given.resolve()
        elif isinstance(model, str) and _HUB_NAME.fullmatch(model) and not given.exists():
            self.path = _cached(model)
        else:
            raise ModelUnavailable(
                "there is no such folder", where=str(model), remedy="Give the folder of a model"
            )
        self.name = _name(self.path) if given.is_dir() else str(model)
        """The model's name where it can be told: the name in the cache, or the name of the folder."""

    @cached_property
    def config(self) -> dict[str, Any]:
        """`config.json`.

        Raises:
            ModelUnavailable: it cannot be read.
        """
        try:
            found = json.loads((self.path / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelUnavailable(
                f"config.json cannot be read ({type(error).__name__})",
                where=str(self.path),
                remedy="Give a folder with config.json, weights and tokeniser",
            ) from None
        return found if isinstance(found, dict) else {}

    def weights(self) -> list[Path]:
        """Files of the weights; safetensors where there are both.

        Raises:
            ModelUnavailable: there are none.
        """
        for pattern in _WEIGHTS:
            if found := sorted(self.path.glob(pattern)):
                return found
        raise ModelUnavailable(
            "there are no weights", where=str(self.path), remedy="Give a folder with model.safetensors"
        )

    def tokeniser_files(self) -> list[Path]:
        """Files that decide how a text is cut into tokens."""
        return sorted({path for pattern in _TOKENISER for path in self.path.glob(pattern) if path.is_file()})

    def tokeniser(self) -> Any:
        """The tokeniser, its longest input set to what the model's positions hold.

        Raises:
            ModelUnavailable: it cannot be loaded.
        """
        from transformers import AutoTokenizer

        with loading(self.path):
            found = AutoTokenizer.from_pretrained(str(self.path), use_fast=False, local_files_only=True)
        found.model_max_length = min(found.model_max_length, self.most_tokens)
        return found

    @property
    def most_tokens(self) -> int:
        """Tokens in one input, the special ones included, that the model has positions for."""
        positions = int(self.config.get("max_position_embeddings", 512))
        # RoBERTa numbers its positions from the padding token's number on.
        return (
            positions - 2
            if self.config.get("model_type") in ("roberta", "xlm-roberta", "camembert")
            else positions
        )


@contextlib.contextmanager
def loading(where: Path) -> Iterator[None]:
    """Turn whatever a library raises on damaged files into one line.

    Raises:
        ModelUnavailable: naming the kind of error.
    """
    from transformers.utils import logging as library

    logging: Any = library  # its functions have no types
    bars = logging.is_progress_bar_enabled()
    level = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    except (ModelUnavailable, ConfigError):
        raise
    except Exception as error:  # noqa: BLE001 - transformers, tokenizers, safetensors and torch have their own
        raise ModelUnavailable(
            f"cannot be loaded by transformers ({type(error).__name__})",
            where=str(where),
            remedy="Get its files anew, or look whether they are a model in transformers' format",
        ) from None
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def need(modules: Iterable[str], what: str, extra: str) -> None:
    """Check that modules can be imported, without importing them.

    Raises:
        MissingExtra: naming the first that cannot.
    """
    from importlib.util import find_spec

    for module in modules:
        if find_spec(module) is None:
            raise MissingExtra(what, extra, module)


def import_torch() -> Any:
    """The module torch, its threads told not to wait long for one another in a busy loop.

    Where another program wants the same processor, threads that spin are many times slower. The library reads its
    setting while it is loaded, so it is set for that moment only.
    """
    given = os.environ.keys() & {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}
    if not given and "torch" not in sys.modules:
        # About a tenth of a millisecond: longer than the pause between two operations, a tenth of the usual wait.
        os.environ["GOMP_SPINCOUNT"] = "30000"
    try:
        import torch
    finally:
        if not given:
            os.environ.pop("GOMP_SPINCOUNT", None)
    return torch


def device_for(asked: str) -> str:
    """The device as asked; for `auto` a CUDA device where there is one, else the processor."""
    torch = import_torch()
    if asked != "auto":
        return asked
    return "cuda" if torch.cuda.is_available() else "cpu"


def batch_for(device: str) -> int:
    """Inputs in one batch: few on a processor, where texts of unlike length cost more than small products do."""
    return 8 if device == "cpu" else 64


def encodable(text: str) -> str:
    """A text that is UTF-8: half a surrogate pair, on which tokenisers fail, becomes the replacement character."""
    return _SURROGATE.sub("\ufffd", text)


def digest_files(paths: Iterable[Path], root: Path | None = None) -> str:
    """SHA-256 (64 hexadecimal digits) over names and contents of files; names as seen from `root` if given."""
    found = {}
    for path in paths:
        with path.open("rb") as file:
            name = path.name if root is None else path.relative_to(root).as_posix()
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digest(found)


def versions(*distributions: str) -> dict[str, str]:
    """Versions of installed distributions."""
    return {name: version(name) for name in distributions}


def _cached(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except Exception as error:  # noqa: BLE001 - the library's errors of an absent and of a damaged cache
        raise ModelUnavailable(
            f"is neither a folder nor in the Hugging Face cache of this machine ({type(error).__name__})",
            where=name,
            remedy=f"Download it once where there is a network (hf download {name}), or give the folder it lies in",
        ) from None


def _name(folder: Path) -> str:
    """`distilbert-base-uncased` for a folder of that name, and for a snapshot of it in the cache."""
    for part in reversed(folder.parts):
        if found := _SNAPSHOT.fullmatch(part):
            return found["name"].replace("--", "/")
    return folder.name
