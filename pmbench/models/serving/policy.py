"""Where text of a dataset may be sent. Refused at plan, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pmbench.core.dataset import Sensitivity
from pmbench.core.errors import PolicyError
from pmbench.models.backend import Backend
from pmbench.models.settings import settings_file


@dataclass(frozen=True)
class Part:
    """A part of a plan that is handed text of the dataset.

    Attributes:
        role: `model`, `judge content`, `embedder`.
        name: as the user gave it.
        backend: what it would be sent by.
    """

    role: str
    name: str
    backend: Backend


def check_policy(parts: Iterable[Part], sensitivity: Sensitivity, *, allow_remote: bool) -> list[str]:
    """The parts of a plan that send text to another machine, in words, where the data's sensitivity allows it.

    `public` text may go anywhere; `deidentified` text to a remote model if the user says so; `phi` never, but to an
    endpoint that the organisation trusts, which is named all the same.

    Raises:
        PolicyError: a part would send text where it must not go; it says which part, and where.
    """
    remote, sent = [], []
    for part in parts:
        if not part.backend.local:
            remote.append(part)
        endpoint = part.backend.endpoint
        if endpoint is not None and endpoint.standing == "trusted":
            trusted = f"trusted by {settings_file()}"
            plain = ", not encrypted" if endpoint.origin.startswith("http:") else ""
            sent.append(f"{part.role} {part.name}: {endpoint.origin} ({trusted}{plain})")
    if remote and sensitivity == "deidentified" and not allow_remote:
        raise PolicyError(
            f"the data are deidentified and would be sent to {_told(remote)}",
            remedy="Allow it with --allow-remote, or choose a model that runs here",
        )
    if remote and sensitivity == "phi":
        raise PolicyError(f"the data are phi and would be sent to {_told(remote)}", remedy=_FOR_PHI)
    return [*(f"{part.role} {part.name}: {_place(part.backend)}" for part in remote), *sent]


_FOR_PHI = (
    "phi never leaves this machine: choose a model that runs here, or list your organisation's own endpoint under"
    " [policy] trusted_endpoints in pmbench.toml; data that are no patients' words: --sensitivity public"
)


def _told(parts: Iterable[Part]) -> str:
    return "; ".join(f"{_place(part.backend)} ({part.role} {part.name})" for part in parts)


def _place(backend: Backend) -> str:
    return backend.endpoint.origin if backend.endpoint is not None else f"the backend {backend.name}"
