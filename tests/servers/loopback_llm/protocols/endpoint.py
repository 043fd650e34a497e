"""What an endpoint is: something under a path that answers calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..answering import Answerer
from ..ask import Ask, Reply
from ..chooser import Chooser
from ..jobs import JobStore
from ..ledger import Ledger
from ..limiter import Limiter
from ..plan import Plan
from ..vendors import Vendor
from ..wire import Call, Json, Payload


@dataclass(slots=True)
class State:
    """All that the server knows; a reset makes a new one, a plan replaces what hangs on it."""

    plan: Plan = field(default_factory=Plan)
    ledger: Ledger = field(default_factory=Ledger)
    jobs: JobStore = field(default_factory=JobStore)
    chooser: Chooser = field(init=False)
    answerer: Answerer = field(init=False)
    limiter: Limiter | None = field(init=False)

    def __post_init__(self) -> None:
        self.follow(self.plan)

    def follow(self, plan: Plan) -> None:
        """From now on go by this plan; numbers of requests and attempts begin anew."""
        self.plan, self.chooser, self.answerer = plan, Chooser(plan), Answerer(plan)
        self.limiter = Limiter(plan.rate_limit) if plan.rate_limit else None


class Endpoint(ABC):
    """Answers calls that ask no model: lists, files, batch jobs, embeddings."""

    vendor: Vendor

    @abstractmethod
    def answer(self, call: Call, state: State) -> Payload:
        """The answer to a call."""


class ModelEndpoint(ABC):
    """Answers calls that ask a model for text."""

    vendor: Vendor

    @abstractmethod
    def read(self, call: Call) -> Ask:
        """What the call asks for."""

    @abstractmethod
    def whole(self, reply: Reply) -> Json:
        """The reply as one document."""

    @abstractmethod
    def frames(self, reply: Reply) -> Iterable[bytes]:
        """The reply as server-sent events."""


def joined_text(content: object) -> str:
    """The text of a message's content: itself, or its parts' texts; what is not text is named by its type."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            texts.append(str(part["text"]) if "text" in part else f"[{part.get('type', 'part')}]")
    return "\n".join(texts)
