"""The catalogue: what a model's name stands for, and whether it can run here.

A name is a preset of `presets.toml`, with options or without (`smollm2-135m?slots=4`), or a whole
specification (`llama-cpp:models/mine.gguf?context=2048`). Backends are found by entry points, so a preset
whose backend no installed package provides says so instead of failing later.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pmbench.core import registry
from pmbench.core.errors import ConfigError, ModelUnavailable, UnknownName, UserError
from pmbench.models.backend import Backend, BackendOptions
from pmbench.models.foreign import told
from pmbench.models.paths import shortened, why_no_file
from pmbench.models.presets import EMBEDDED, Preset, find_preset, presets
from pmbench.models.spec import ModelSpec, parse_spec

if TYPE_CHECKING:
    from pmbench.models.facade import FacadeModel, Sampling, Traffic
    from pmbench.models.recordings import Columns, Responses
    from pmbench.models.store import CompletionStore


def resolve(name: str) -> ModelSpec:
    """What a name stands for: a specification with its backend, the user's options over the preset's.

    Of a preset's routes the first is taken whose backend is installed, with all that it imports, and for whose
    weights this machine has the memory; where no installed one has it, the first that is installed.

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
    routes = [parse_spec(text) for text in preset.routes]
    routes = [ModelSpec(asked.given, r.backend, r.target, {**r.options, **asked.options}) for r in routes]
    provided = [route for route in routes if route.backend in _provided() or route.backend == EMBEDDED]
    if not provided:
        raise ModelUnavailable(_needs(preset), where=f"model {preset.name!r}")
    # Where nothing is installed for any of them, the first one says what it takes.
    ready = [route for route in provided if _installed(route.backend)] or provided[:1]
    return ready[0] if len(ready) == 1 else next((route for route in ready if _fits(route, preset)), ready[0])


def backend_for(name: str, columns: Columns | None = None, responses: Responses | None = None) -> Backend:
    """The backend of a model, nothing of it loaded, given `columns` and `responses` where its constructor takes them.

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
    options = options_of(kind, spec)
    given = {"columns": columns, "responses": responses}
    more = {part: given[part] for part in inspect.signature(kind).parameters if part in given}
    where = f"model {shortened(name)!r}"
    return told(lambda: kind(spec, options, **more), what="its backend fails to begin", where=where)


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
        UnknownName, ConfigError: the name or an option is wrong, or the sampling is out of bounds.
        MissingExtra, ModelUnavailable: it cannot run here; the message says what to do.
    """
    return open_backend(name, backend_for(name, columns), store=store, sampling=sampling)


def open_backend(
    name: str,
    backend: Backend,
    *,
    store: CompletionStore,
    sampling: Sampling | None = None,
    traffic: Traffic | None = None,
    check: bool = True,
) -> FacadeModel:
    """A model over a backend that was made already; see `open_model`.

    Args:
        name: as the user gave it.
        backend: of `backend_for`.
        store: where answers are kept and looked up.
        sampling: the run's own sampling.
        traffic: what bounds its requests.
        check: whether it has to be able to run here; a plan that is only looked at needs no key.

    Raises:
        ConfigError: the sampling is out of bounds.
        MissingExtra, ModelUnavailable: it cannot run here; the message says what to do.
    """
    from pmbench.models.facade import FacadeModel, Sampling, Traffic

    if sampling is not None:
        sampling.check()
    missing = backend.missing_extra() if check else None
    if missing is not None:
        raise missing
    reason = _unavailable(name, backend) if check else ""
    if reason:
        raise ModelUnavailable(reason)
    return FacadeModel(name, backend, store, sampling=sampling or Sampling(), traffic=traffic or Traffic())


def is_embedded(name: str) -> bool:
    """Whether a name stands for an embedder of this package rather than for a model with a backend."""
    return name == EMBEDDED or resolve(name).backend == EMBEDDED


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
        return str(spec), _unavailable(name, backend_for(name))
    except (ConfigError, UnknownName):
        raise
    except UserError as error:
        return str(spec), str(error)


def _unavailable(name: str, backend: Backend) -> str:
    what = "its backend cannot say whether it can run here"
    return told(backend.unavailable, what=what, where=f"model {shortened(name)!r}")


def _installed(backend: str) -> bool:
    """Whether all that a backend imports is installed."""
    if backend == EMBEDDED:
        return True
    try:
        return registry.load(registry.BACKENDS, "backend", backend).lacking() is None
    except UserError:
        return False


def _fits(route: ModelSpec, preset: Preset) -> bool:
    """Whether there is room for a route's weights, as far as that is known. Served models need none."""
    from pmbench.models.memory import weights

    needed = weights(route, None, preset) if preset.local else None
    return needed is None or needed.fits


def _provided() -> frozenset[str]:
    return frozenset(registry.names(registry.BACKENDS))


def options_of(kind: type[Backend], spec: ModelSpec) -> BackendOptions:
    """The options in a specification, as those of a backend.

    Raises:
        UnknownName, ConfigError: one is unknown, or its value is wrong.
    """
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
    planned = {parse_spec(route).backend for preset in presets().values() for route in preset.routes} | {
        "vllm"
    }
    if spec.backend in planned:
        return ModelUnavailable(_lacks([spec.backend]), where=f"model {spec.given!r}")
    if not why_no_file(Path(spec.given)):
        return ConfigError("is a file", where=f"model {spec.given!r}", remedy=f"Write llama-cpp:{spec.given}")
    return UnknownName("backend", spec.backend, _provided() | planned, remedy="See: pmbench models")
