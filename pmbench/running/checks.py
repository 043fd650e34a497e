"""What is checked before anything is asked: numbers, judges, what a model offers, whether recorded answers fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pmbench.core.errors import ConfigError, UnknownName
from pmbench.core.task import EMBEDDED, Task
from pmbench.models.facade import FacadeModel
from pmbench.models.presets import presets

if TYPE_CHECKING:
    from pmbench.running.plan import RunRequest


def check_numbers(request: RunRequest) -> None:
    """Raises ConfigError where a number of `pmbench run` is out of its range."""
    checks = [
        ("--limit", "1 or more", request.limit is None or request.limit >= 1),
        ("--samples", "1 or more", request.samples >= 1),
        ("--max-tokens", "1 or more", request.max_tokens is None or request.max_tokens >= 1),
        ("--temperature", "from 0 to 10", request.temperature is None or 0 <= request.temperature <= 10),
        ("--max-missing", "from 0 to 1", 0 <= request.max_missing <= 1),
        ("--seed", "from 0 to 2147483647", 0 <= request.seed < 2**31),
    ]
    for option, needed, fine in checks:
        if not fine:
            raise ConfigError(f"it must be {needed}", where=option)
    if request.samples > 1 and not request.temperature:
        raise ConfigError(
            "several samples at temperature 0 are the same answer again",
            where="--samples",
            remedy="Give a --temperature above 0",
        )


def check_judges(task: Task, judges: Mapping[str, str]) -> None:
    """Raises UnknownName where a role is not the task's, or a judge is neither a preset nor a specification."""
    for role, name in judges.items():
        if role not in task.judges:
            raise UnknownName(f"judge role of {task.name}", role, task.judges)
        if ":" not in name and name.partition("?")[0] not in (known := {EMBEDDED, *presets()}):
            raise UnknownName("judge", name, known, remedy="See: pmbench models")


def check_needs(who: str, needs: frozenset[str], model: FacadeModel) -> None:
    """Raises ConfigError where a model does not offer what a strategy or judge needs."""
    lacking = sorted(needs - model.offers)
    if lacking:
        raise ConfigError(
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
            remedy="Say which column holds the ids: --columns id=… for the data, replay:FILE?id=… for the answers",
        )
    notes = []
    if missing:
        notes.append(f"{len(missing)} of {len(ids)} instances have no recorded answer: {_few(missing)}")
    if surplus:
        notes.append(f"{len(surplus)} recorded answers belong to no instance: {_few(surplus)}")
    return notes


def _few(ids: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in ids[:3])
    return f"{shown}, …" if len(ids) > 3 else shown or "none"
