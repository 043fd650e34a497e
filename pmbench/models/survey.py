"""What is known of a model before it is used: whether it can run here, what it lacks, what it needs and costs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pmbench.core.errors import ConfigError, UnknownName, UserError
from pmbench.models.backend import FEATURES, Backend, Price
from pmbench.models.catalogue import availability, backend_for
from pmbench.models.cost.prices import PerMillion, list_date, per_million, why_unknown
from pmbench.models.files import cache
from pmbench.models.memory import Weights, weights
from pmbench.models.paths import why_no_file
from pmbench.models.presets import EMBEDDED, Preset, find_preset
from pmbench.models.spec import ModelSpec, parse_spec


class Need(msgspec.Struct, frozen=True):
    """Something that a model lacks here.

    Attributes:
        kind: `backend`, `extra`, `files`, `key`, `memory` or `other`.
        what: the whole line, with the remedy.
        brief: what to do, or what is lacking, in a few words.
    """

    kind: str
    what: str
    brief: str


class FileState(msgspec.Struct, frozen=True):
    """A file of a preset: where it lies or would, whether it is there, bytes (0: not known before it is)."""

    path: str
    there: bool
    size: int


class Survey(msgspec.Struct, frozen=True):
    """What is known of a model.

    Attributes:
        name: as asked for; spec: what it stands for here; preset: whether it is one.
        backend: name of the backend; title, kind, context, licence, papers, note: of the preset.
        local: whether patients' words may be sent to it; None where its backend is not there to say.
        endpoint: its server's address and standing; empty where it computes in this process.
        offers, features: of the backend.
        needs: what it lacks; none: it can run here.
        files: of the preset, those of the route that is taken.
        weights: and the memory for them; None where their size is not known.
        price: per million tokens; None: it has none, or it is not known.
        unpriced: why the price is not known; empty where it is and where there is none.
        price_list: name and date of the price list.
    """

    name: str
    spec: str
    preset: bool
    backend: str
    title: str
    kind: str
    context: int
    licence: str
    papers: tuple[str, ...]
    note: str
    local: bool | None
    endpoint: str
    offers: tuple[str, ...]
    features: tuple[str, ...]
    needs: tuple[Need, ...]
    files: tuple[FileState, ...]
    weights: Weights | None
    price: PerMillion | None
    unpriced: str
    price_list: str

    @property
    def ready(self) -> bool:
        """Whether it can run here."""
        return not self.needs


def survey(name: str) -> Survey:
    """All that can be said of a model without loading it, asking its server or importing its library.

    Args:
        name: a preset or a specification.

    Raises:
        UnknownName, ConfigError: the name or an option cannot be understood.
    """
    asked = parse_spec(name)
    preset = None if asked.backend else find_preset(asked.target)
    text, reason = availability(name)
    spec = parse_spec(text)
    backend = _backend(name, spec)
    files = _files(spec, preset)
    room = weights(spec, backend, preset) if _computes_here(backend, preset) else None
    local = backend.local if backend else preset.local if preset else None
    price = _price(spec, backend, preset)
    found = per_million(price) if price is not None else None
    return Survey(
        name=name,
        spec=text,
        preset=preset is not None,
        backend=spec.backend,
        title=preset.title if preset else "",
        kind=preset.kind if preset else "",
        context=preset.context if preset else 0,
        licence=preset.licence if preset else "",
        papers=preset.papers if preset else (),
        note=preset.note if preset else "",
        local=local,
        endpoint=_endpoint(backend),
        offers=tuple(sorted(backend.offers)) if backend else (),
        features=tuple(one for one in FEATURES if backend and one in backend.features),
        needs=tuple(_needs(name, reason, backend, files, room)),
        files=files,
        weights=room,
        price=found,
        unpriced=why_unknown(price) if price is not None and found is None and not local else "",
        price_list=list_date() if price is not None else "",
    )


def _backend(name: str, spec: ModelSpec) -> Backend | None:
    if spec.backend == EMBEDDED:
        return None
    try:
        return backend_for(name)
    except (ConfigError, UnknownName):
        raise
    except UserError:  # not installed, or at fault: the reason is in `availability`
        return None


def _computes_here(backend: Backend | None, preset: Preset | None) -> bool:
    if backend is None:
        return preset is not None and preset.local
    return backend.endpoint is None and not backend.by_instance


def _price(spec: ModelSpec, backend: Backend | None, preset: Preset | None) -> Price | None:
    if backend is not None:
        return backend.price
    # Of a preset whose backend is not there, the vendor's own price can be told all the same.
    return Price(spec.backend, spec.target) if preset is not None and not preset.local else None


def _endpoint(backend: Backend | None) -> str:
    endpoint = backend.endpoint if backend else None
    return f"{endpoint.url} ({endpoint.standing})" if endpoint else ""


def _files(spec: ModelSpec, preset: Preset | None) -> tuple[FileState, ...]:
    if preset is None or spec.backend not in ("llama-cpp", EMBEDDED):
        return ()
    states = []
    for file in preset.files:
        path = cache.cached_path(file.place, file.name)
        there = not why_no_file(path)
        states.append(FileState(str(path), there, path.stat().st_size if there else file.size))
    return tuple(states)


def _needs(
    name: str,
    reason: str,
    backend: Backend | None,
    files: tuple[FileState, ...],
    room: Weights | None,
) -> Iterator[Need]:
    """What is lacking, what stands first in the way first; each thing once."""
    extra = backend.missing_extra() if backend else None
    absent = [file for file in files if not file.there]
    if extra is not None:
        yield Need("extra", str(extra), _remedy(str(extra)))
    elif reason and not absent:
        key = _key(backend)
        brief = _brief_key(backend) if key == reason else _remedy(reason) + _to_fetch(reason, room)
        yield Need("key" if key == reason else "other" if backend else "backend", reason, brief)
    if absent:
        size = sum(file.size for file in absent) if all(file.size for file in absent) else 0
        told = f" ({bytes_text(size)})" if size else f" (about {bytes_text(room.size)})" if room else ""
        what = (
            reason
            if reason and extra is None
            else f"{name} is not in the model cache. Run: pmbench fetch {name}"
        )
        yield Need("files", what, f"{_remedy(what)}{told}")
    if extra is not None and (key := _key(backend)):
        yield Need("key", key, _brief_key(backend))
    if room is not None and not room.fits:
        yield _too_large(room)


def _key(backend: Backend | None) -> str:
    """Why there is no key for a server; empty where there is one, or none is needed."""
    secret = getattr(backend, "secret", None)
    if secret is None:
        return ""
    try:
        secret()
    except UserError as error:
        return str(error)
    return ""


def _brief_key(backend: Backend | None) -> str:
    named = getattr(getattr(backend, "option", None), "key", "") or " or ".join(
        getattr(backend, "key_variables", ())
    )
    return f"a key in {named}"


def _remedy(reason: str) -> str:
    """The command that mends it, else the whole reason."""
    return reason.rpartition("Run: ")[2]


def _to_fetch(reason: str, room: Weights | None) -> str:
    """The size of what the remedy brings."""
    fetches = any(word in _remedy(reason) for word in ("pmbench fetch", "hf download"))
    return f" (about {bytes_text(room.size)})" if fetches and room and not room.exact else ""


def _too_large(room: Weights) -> Need:
    about, where = "" if room.exact else "about ", "graphics memory" if room.graphics else "memory"
    size, memory = bytes_text(room.size), bytes_text(room.memory)
    return Need(
        "memory",
        f"its weights alone take {about}{size}, and this machine has {memory} of {where}",
        f"{about}{size} of {where} ({memory} here)",
    )


def bytes_text(size: int) -> str:
    """`22.9 MB`, `16 GB`: decimal units."""
    for unit, digits in (("GB", 1e9), ("MB", 1e6)):
        if size >= digits:
            value = size / digits
            return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{size / 1e3:.0f} kB"
