"""Errors: those that a user can cause and mend, and those that one request or one score can meet.

No message here may hold text of a dataset: they name files, rows, columns and ids only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pmbench.core.model import Usage


class UserError(Exception):
    """Something the user can mend: one line saying what, where and what to do.

    Args:
        what: what is wrong, without the place.
        where: file, row, column, key or option it was found at.
        remedy: what to do about it.
    """

    exit_status = 2

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        if self.remedy:
            line = f"{line.rstrip('.')}. {self.remedy}"
        return " ".join(line.split())


class UnknownName(UserError):
    """A name that is not in a list; the nearest names are suggested."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, remedy: str = "") -> None:
        from pmbench.core.names import nearest_names

        names = sorted(known)
        near = nearest_names(name, names)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(names) or 'none'}."
        super().__init__(f"no {kind} called {name!r}", remedy=f"{hint} {remedy}".strip())


class DataError(UserError):
    """A dataset that cannot be read: the file, row and column are named, their text is not."""


class ConfigError(UserError):
    """An option, a specification or a configuration that cannot be understood."""


class DoesNotOffer(ConfigError):
    """A model cannot do what a strategy or a judge's role needs of it."""


class MissingExtra(UserError):
    """An optional dependency is not installed.

    Args:
        need: what was asked for.
        extra: the extra of the distribution `pmbench` that brings it.
        module: the module that could not be imported.
    """

    def __init__(self, need: str, extra: str, module: str) -> None:
        super().__init__(
            f"{need} needs the module {module!r}, which is not installed",
            remedy=f'Run: pip install "pmbench[{extra}]"',
        )
        self.extra = extra


class ModelUnavailable(UserError):
    """A model that cannot run here: its files, its backend or its machine are missing."""


class PolicyError(UserError):
    """A plan that would send text of a dataset where its sensitivity forbids it."""


class StorageError(UserError):
    """The runs folder or the completion store cannot be written or read."""


class RunLocked(UserError):
    """Another process is at work in this run folder."""


class RequestFailed(Exception):
    """A model's backend could not answer one request.

    Attributes:
        kind: a short word that is counted (`timeout`, `rate-limit`, `server`, `null`, `cut-off`, `absent`…).
        retryable: whether the same request may succeed later.
        retry_after: seconds the server asked to wait, if it did.
        usage: tokens that were paid for without an answer, where the server told.
    """

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind, self.detail = kind, detail
        self.retryable, self.retry_after, self.usage = retryable, retry_after, usage


class Halted(Exception):
    """No further request can be sent now: a budget is used up, a server fails all the time, a job is under way.

    The run stops cleanly, incomplete, and can be gone on with.

    Args:
        why: in words, without a full stop.
        to_go_on: what to do to go on with the run.
        waiting: whether time alone will bring what is lacking, as of a batch job under way.
    """

    def __init__(
        self, why: str, *, to_go_on: str = "To go on, give the same command again", waiting: bool = False
    ) -> None:
        super().__init__(why)
        self.why, self.to_go_on, self.waiting = why, to_go_on, waiting


class Unscored(Exception):
    """Raised by `Task.score` where no honest number exists; the score is counted as missing.

    Attributes:
        kind: a short word that is counted (`unparsed`, `no-sentence`…).
    """

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind, self.detail = kind, detail
