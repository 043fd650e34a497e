"""What is checked before anything is asked: numbers, what a model offers, whether recorded answers fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pmbench.core.errors import ConfigError, DoesNotOffer
from pmbench.data.fingerprint import id_shown
from pmbench.models.facade import FacadeModel

if TYPE_CHECKING:
    from pmbench.running.plan import RunRequest


MOST_OF_LABEL = 80
"""Characters of a system's label."""


def check_request(request: RunRequest) -> None:
    """Raises ConfigError where a number or the label of `pmbench run` is out of its range."""
    checks = [
        ("--limit", "1 or more", request.limit is None or request.limit >= 1),
        ("--samples", "1 or more", request.samples >= 1),
        ("--max-tokens", "1 or more", request.max_tokens is None or request.max_tokens >= 1),
        ("--temperature", "from 0 to 10", request.temperature is None or 0 <= request.temperature <= 10),
        ("--max-missing", "from 0 to 1", 0 <= request.max_missing <= 1),
        ("--seed", "from 0 to 2147483647", 0 <= request.seed < 2**31),
        *_bounds(request),
    ]
    for option, needed, fine in checks:
        if not fine:
            raise ConfigError(f"it must be {needed}", where=option)
    if request.label is not None and not (request.label.strip() and request.label.isprintable()):
        raise ConfigError("it must be printable and not empty", where="--label")
    if request.label is not None and len(request.label) > MOST_OF_LABEL:
        raise ConfigError(f"it is longer than {MOST_OF_LABEL} characters", where="--label")
    if request.samples > 1 and not request.temperature:
        raise ConfigError(
            "several samples at temperature 0 are the same answer again",
            where="--samples",
            remedy="Give a --temperature above 0",
        )


def _bounds(request: RunRequest) -> list[tuple[str, str, bool]]:
    given = {
        "--concurrency": request.concurrency,
        "--requests-per-minute": request.requests_per_minute,
        "--tokens-per-minute": request.tokens_per_minute,
        "--max-requests": request.max_requests,
        "--max-cost": request.max_cost,
    }
    return [
        (
            name,
            "above 0" if value is None or math.isfinite(value) else "a finite number",
            value is None or 0 < value < math.inf,
        )
        for name, value in given.items()
    ]


def check_needs(who: str, needs: frozenset[str], model: FacadeModel) -> None:
    """Raises ConfigError where a model does not offer what a strategy or judge needs."""
    lacking = sorted(needs - model.offers - model.backend.features)
    if lacking:
        raise DoesNotOffer(
            f"the {who} needs a model that offers {', '.join(lacking)}; {model.name} does not",
            remedy="Choose another model; see: pmbench models",
        )


def coverage(model: FacadeModel, ids: Sequence[str]) -> list[str]:
    """Notes on recorded answers that do not fit the dataset.

    Raises:
        ConfigError: none of them does.
    """
    missing, surplus = model.backend.coverage(ids)
    if len(missing) == len(ids):
        raise ConfigError(
            f"none of its ids is in the data: it has {_few(surplus)}, the data have {_few(ids)}",
            where=f"model {model.name}",
            remedy="Say which column holds the ids: --columns id=… for the data; for the answers"
            " --response-columns id=… (pmbench score) or replay:FILE?id=… (pmbench run)",
        )
    notes = list(model.backend.notes)
    if missing:
        notes.append(f"{len(missing)} of {len(ids)} instances have no recorded answer: {_few(missing)}")
    if surplus:
        notes.append(f"{len(surplus)} recorded answers belong to no instance: {_few(surplus)}")
    numbers = model.backend.read_as_numbers(ids)
    if numbers:
        notes.append(
            f"{len(numbers)} ids are the same as numbers only: {_few(list(numbers))} stand in the answers as"
            f" {_few(list(numbers.values()))}"
        )
    return notes


def _few(ids: Sequence[str]) -> str:
    """A few ids; a column of text that was taken for the ids must not be quoted."""
    shown = ", ".join(map(id_shown, ids[:3]))
    return f"{shown}, …" if len(ids) > 3 else shown or "none"
