"""What `--judge role=NAME?option=value` means: a model or the role's own method, and the role's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import msgspec

from pmbench.core.errors import ConfigError, UnknownName
from pmbench.core.options import Options, decisive, option_names, typed_options
from pmbench.core.task import EMBEDDED, Task
from pmbench.models.presets import presets
from pmbench.models.spec import parse_spec


@dataclass(frozen=True)
class JudgeChoice:
    """The judge of one role.

    Attributes:
        model: a preset or specification, without the role's options; `embedded` for the role's own method.
        settings: the role's options.
        shown: as it is shown and compared: the model, and those of the role's options that are not the default.
    """

    model: str
    settings: Options
    shown: str


def choose_judge(task: Task | type[Task], role: str, given: str | None = None) -> JudgeChoice:
    """Understand a judge's name; the role's default where none is given.

    An option that the role has is the role's; every other one is the model's.

    Raises:
        UnknownName: there is no such role, judge or option.
        ConfigError: a value of the wrong type.
    """
    if role not in task.judges:
        raise UnknownName(f"judge role of {task.name}", role, task.judges)
    part = task.judges[role]
    spec = parse_spec(given if given is not None else part.default)
    known = {EMBEDDED, *presets()}
    if not spec.backend and spec.target not in known:
        raise UnknownName("judge", spec.target, known, remedy="See: pmbench models")
    embedded = not spec.backend and spec.target == EMBEDDED
    own = {
        name: value for name, value in spec.options.items() if embedded or name in option_names(part.options)
    }
    settings = typed_options(part.options, own, of=f"judge {role}", remedy=f"See: pmbench tasks {task.name}")
    rest = {name: value for name, value in spec.options.items() if name not in own}
    model = str(msgspec.structs.replace(spec, options=rest)) if own else spec.given.strip()
    return JudgeChoice(model, settings, model + _shown(settings, "&" if rest else "?"))


def judges_of(given: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """What several `--judge` options mean: each judge of a role with each judge of every other role.

    Raises:
        ConfigError: the same judge twice for one role.
    """
    by_role: dict[str, list[str]] = {}
    for role, name in given:
        if name in by_role.setdefault(role, []):
            raise ConfigError(f"{role}={name} is given twice", where="--judge", remedy="Keep one")
        by_role[role].append(name)
    return [dict(zip(by_role, names, strict=True)) for names in product(*by_role.values())]


def check_judges(task: Task, judges: Mapping[str, str]) -> None:
    """Raises UnknownName or ConfigError where a role is not the task's, or a judge cannot be understood."""
    for role, name in judges.items():
        choose_judge(task, role, name)


def _shown(settings: Options, mark: str) -> str:
    default = type(settings)()
    changed = {
        name: value
        for name, value in msgspec.to_builtins(settings).items()
        if value != msgspec.to_builtins(default)[name]
    }
    places = changed.keys() - decisive(settings).keys()
    words = [
        # Where something lies is nobody's business but the user's: what is shown gets into leaderboards.
        f"{name}={Path(value).name if name in places else str(value).lower() if isinstance(value, bool) else value}"
        for name, value in changed.items()
    ]
    return mark + "&".join(words) if words else ""
