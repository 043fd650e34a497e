"""Loading a model in transformers' format: device, type of its numbers, adapter. Nothing is downloaded."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pmbench.core.errors import ConfigError, ModelUnavailable
from pmbench.models.backends.hf.folder import Kind, ModelFolder
from pmbench.models.paths import shortened


class Wanted(msgspec.Struct, frozen=True):
    """What to load, and how.

    Attributes:
        folder: of the model. kind: what it is for.
        device, dtype: as the user gave them; `auto`: see `device_for` and `dtype_for`.
        adapter: folder of a LoRA adapter; empty: none.
    """

    folder: ModelFolder
    kind: Kind
    device: str = "auto"
    dtype: str = "auto"
    adapter: str = ""


class Loaded(msgspec.Struct):
    """A model in memory: the module, ready to be asked, and its device."""

    module: Any
    device: Any

    @property
    def takes(self) -> frozenset[str]:
        """Names of what its forward function can be given."""
        return frozenset(inspect.signature(self.module.forward).parameters)


def device_for(asked: str) -> str:
    """Kind of device (`cpu`, `cuda`, `mps`): as asked, else the best there is. torch is imported if it may matter."""
    if asked != "auto":
        return asked.partition(":")[0]
    if importlib.metadata.version("torch").endswith("+cpu"):
        return "cpu"
    torch = import_torch()
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def dtype_for(asked: str, folder: ModelFolder, device: str) -> str:
    """Type of the numbers: as asked, else `float32` on a processor, and the weights' own elsewhere."""
    if asked != "auto":
        return asked
    return "float32" if device == "cpu" else folder.dtype


def load(wanted: Wanted) -> Loaded:
    """Load a model; takes seconds to minutes, to be called in a thread.

    Raises:
        ConfigError: there is no such device.
        ModelUnavailable: files are damaged or do not fit together, or memory is not enough.
    """
    torch = import_torch()
    kind = device_for(wanted.device)
    device = torch.device(kind if wanted.device == "auto" else wanted.device)
    _check(torch, device, wanted.device)
    dtype = getattr(torch, dtype_for(wanted.dtype, wanted.folder, kind))
    try:
        with _quiet():
            module = _read(wanted, dtype, device)
    except (ModelUnavailable, ConfigError):
        raise
    except Exception as error:  # noqa: BLE001 - transformers, safetensors, peft and torch each have their own
        from pmbench.models.backends.hf.memory import out_of_memory

        why = "not enough memory" if out_of_memory(error) else type(error).__name__
        raise ModelUnavailable(
            f"cannot be loaded by transformers ({why})",
            where=shortened(str(wanted.folder.path)),
            remedy="Try ?dtype=bfloat16, or another device"
            if why.startswith("not")
            else "Get its files anew, or look whether it needs a newer transformers",
        ) from None
    module.eval().requires_grad_(False)
    if device.type == "cpu" and dtype == torch.float32:
        _lay_by_columns(torch, module)
    return Loaded(module, module.device)


def import_torch() -> Any:
    """The module torch, its threads told not to wait long for one another in a busy loop.

    As with llama.cpp: where another program wants the same processor, threads that spin are ten times slower.
    The library reads its setting while it is loaded, so it is set for that moment only.
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


_COPIED = 1 << 28
"""Bytes up to which a head that shares its weights with the embedding gets a copy of them."""


def _lay_by_columns(torch: Any, module: Any) -> None:
    """Lay the weights of linear layers out by columns: on a processor, products of few rows are then up to twice

    as fast, and others as fast as before. An embedding is read by rows, so one that shares its weights with the
    head keeps them as they are.
    """
    tied = {id(part.weight) for part in module.modules() if isinstance(part, torch.nn.Embedding)}
    for part in module.modules():
        if type(part) is not torch.nn.Linear:
            continue
        weight = part.weight
        if id(weight) not in tied:
            weight.data = weight.data.t().contiguous().t()
        elif weight.nbytes <= _COPIED:
            copied = weight.data.t().contiguous().t()
            part.weight = torch.nn.Parameter(copied, requires_grad=False)


def _check(torch: Any, device: Any, asked: str) -> None:
    there = {
        "cpu": lambda: True,
        "cuda": lambda: torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available,
    }
    if not there.get(device.type, lambda: False)():
        raise ConfigError(
            "there is no such device for this build of torch",
            where=f"option device={asked}",
            remedy="Leave it out, or install a build of torch for it",
        )


def _read(wanted: Wanted, dtype: Any, device: Any) -> Any:
    import transformers

    given: dict[str, Any] = {"dtype": dtype, "local_files_only": True}
    if wanted.device == "auto" and device.type == "cuda" and _several():
        given["device_map"] = "auto"  # layer by layer over all of them
    path = str(wanted.folder.path)
    if wanted.kind == "reward":
        module = transformers.AutoModelForSequenceClassification.from_pretrained(path, **given)
    elif wanted.kind == "embed":
        module = transformers.AutoModel.from_pretrained(path, **given)
    else:
        try:
            module = transformers.AutoModelForCausalLM.from_pretrained(path, **given)
        except ValueError:  # one that also reads images: it is asked with text alone
            module = transformers.AutoModelForImageTextToText.from_pretrained(path, **given)
    if wanted.adapter:
        module = _adapted(module, Path(wanted.adapter))
    return module if "device_map" in given else module.to(device)


def _several() -> bool:
    """Whether there are several graphics processors, and what divides a model among them."""
    torch = import_torch()
    return bool(torch.cuda.device_count() > 1) and importlib.util.find_spec("accelerate") is not None


def _adapted(module: Any, folder: Path) -> Any:
    """The model with the adapter's changes added to its weights: as fast as without."""
    from peft import PeftModel

    try:
        return PeftModel.from_pretrained(module, str(folder), local_files_only=True).merge_and_unload()
    except Exception as error:  # noqa: BLE001 - peft passes on what torch and safetensors raise
        raise ModelUnavailable(
            f"does not fit this model ({type(error).__name__})",
            where=f"adapter {shortened(str(folder))}",
            remedy="Give a LoRA adapter that was trained from it",
        ) from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars and warnings of the libraries, which would stand in the middle of ours."""
    import transformers.utils

    logging: Any = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
