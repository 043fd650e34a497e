"""The plan of a server: what it answers, how slowly, and what goes wrong when.

It comes as JSON over `POST /__control__` and replaces the plan before it. A key that is not known is an error,
so that a misspelt fault cannot make a test pass.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]

# What an answer can be made to say; each protocol has its own form of it.
REPLY_FAULTS = frozenset(
    {
        "empty_answers",
        "null_content",
        "empty_text",
        "content_filter",
        "prompt_blocked",
        "refusal",
        "length_without_text",
        "wrong_model",
        "big",
    }
)
# What takes the place of an answer.
INSTEAD_FAULTS = frozenset({"status", "error_under_200", "html", "redirect"})
# What happens to an answer on its way.
WIRE_FAULTS = frozenset(
    {
        "truncated_json",
        "cut_body",
        "reset",
        "disconnect",
        "hung",
        "stalled",
        "drip",
        "truncated_stream",
        "stream_error",
    }
)
# Those of the wire that need events to happen to; a request without a stream passes them unharmed.
STREAM_FAULTS = frozenset({"truncated_stream", "stream_error"})
FAULTS = REPLY_FAULTS | INSTEAD_FAULTS | WIRE_FAULTS | {"slow"}


class Latency(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How long an answer takes; drawn for each request from its hash, so that order does not matter.

    Args:
        kind: fixed; uniform between `low_ms` and `high_ms`; exponential with the mean `ms`; or lognormal with
            the median `ms` and the shape `sigma`.
    """

    kind: Literal["fixed", "uniform", "exponential", "lognormal"] = "fixed"
    ms: NotNegative = 0
    low_ms: NotNegative = 0
    high_ms: NotNegative = 0
    sigma: NotNegative = 0.5


class Fault(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One thing that goes wrong, whom it meets and its details.

    Whom it meets: all of the conditions that are given must hold; with none, every request.

    Args:
        kind: one of `FAULTS`, or a status between 400 and 599 as text or number ("429" is `status` with 429).
        probability: of each attempt, drawn anew every time the same request comes.
        share: of the requests, the same ones every time they come: these fail for ever.
        ordinals: numbers of requests since the plan was set, from 1.
        after: every request whose number is greater.
        attempts: numbers of the attempt at the same request (equal path and body), from 1.
        contains: text within the last user message.
        path: how the path begins.
        batch: whether it meets the items of batch jobs (and nothing else).
        status: for `status`, `html`, `redirect`.
        retry_after: seconds, sent as Retry-After (and Google's retryDelay).
        retry_after_ms: milliseconds, sent as `retry-after-ms`.
        retry_after_date: send Retry-After as a date instead.
        message: of the error object.
        code: the error object's code (`insufficient_quota`), type (Anthropic) or status (Google), in place of the
            usual one of this status.
        quote: whether the error's message quotes the last user message, as some servers do.
        ms: for `slow` the latency, for `drip` the time between two bytes.
        to: where `redirect` leads.
        megabytes: how much text `big` sends.
        headers: further headers of what `status` answers.
    """

    kind: str | int
    probability: Share | None = None
    share: Share | None = None
    ordinals: frozenset[int] | None = None
    after: int | None = None
    attempts: frozenset[int] | None = None
    contains: str | None = None
    path: str | None = None
    batch: bool = False
    status: int | None = None
    retry_after: NotNegative | None = None
    retry_after_ms: NotNegative | None = None
    retry_after_date: bool = False
    message: str | None = None
    code: str | None = None
    quote: bool = False
    ms: NotNegative = 1000
    to: str = ""
    megabytes: NotNegative = 10
    headers: dict[str, str] = {}

    @property
    def name(self) -> str:
        """Its name in the statistics: the kind, or the status of a `status`."""
        return str(self.status) if self.kind == "status" else str(self.kind)


class RateLimit(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How many requests are let through; those above get 429.

    Args:
        per_second: requests per second in the long run.
        burst: how many more than that may come within one second.
        tokens_per_second: tokens of prompts per second, where that is limited too.
        tokens_burst: how many more tokens may come within one second.
        retry_after: whether a 429 says when to come back.
        enforced: whether those above get 429; if not, the limiter only watches.
    """

    per_second: Annotated[float, msgspec.Meta(gt=0)]
    burst: NotNegative = 0
    tokens_per_second: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tokens_burst: NotNegative = 0
    retry_after: bool = True
    enforced: bool = True


class BatchJobs(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How batch jobs go.

    Args:
        polls: how often a job answers that it is in progress before it ends.
        ends: how it ends. Of a job that ends `expired` or `cancelled` the first half of the items has results.
    """

    polls: int = 0
    ends: Literal["completed", "failed", "expired", "cancelled"] = "completed"


class Plan(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Everything that can be commanded.

    Args:
        seed: of all draws.
        latency: of every answer (a number is fixed milliseconds).
        stream_delay_ms: between two events of a stream.
        faults: what goes wrong. Of those whose conditions hold the first one happens; `probability`s (and
            `share`s) share one draw, so 0.1 of one and 0.1 of the next are a fifth of the requests.
        answers: text within the last user message → the answer. The first that fits is taken.
        answer_words: how many words an answer that is not scripted has; None for 5 to 12.
        options: options of a choice: the answer is one of them, and the first token's log-probabilities spread
            over them, as the hash of the messages decides.
        choices: text within the last user message → option → probability; what is left goes to other words.
        models: the models that are listed.
        reasoning_field: under which name chat messages carry reasoning (`reasoning_content`, `reasoning`).
        prompt_cache: whether prompts that begin with turns seen before count as cached (OpenAI, Google).
        embedding_dimensions: the length of vectors, where the request names none.
        key: the only key that is accepted.
        rate_limit: how many requests are let through.
        batches: how batch jobs go.
        headers: further headers of every answer.
    """

    seed: int = 0
    latency: Latency | NotNegative = 0
    stream_delay_ms: NotNegative = 0
    faults: tuple[Fault, ...] = ()
    answers: dict[str, str] = {}
    answer_words: Annotated[int, msgspec.Meta(ge=1)] | None = None
    options: tuple[str, ...] = ()
    choices: dict[str, dict[str, Share]] = {}
    models: tuple[str, ...] = ("loopback-small", "loopback-large")
    reasoning_field: str | None = None
    prompt_cache: bool = False
    embedding_dimensions: Annotated[int, msgspec.Meta(ge=1)] = 32
    key: str | None = None
    rate_limit: RateLimit | None = None
    batches: BatchJobs = BatchJobs()
    headers: dict[str, str] = {}


class PlanError(ValueError):
    """A plan that cannot be understood."""


def read_plan(raw: bytes) -> Plan:
    """Reads a plan from JSON.

    Raises:
        PlanError: saying which key is wrong.
    """
    try:
        plan = msgspec.json.decode(raw or b"{}", type=Plan)
    except msgspec.MsgspecError as error:
        raise PlanError(str(error)) from None
    return msgspec.structs.replace(plan, faults=tuple(_checked(fault) for fault in plan.faults))


def _checked(fault: Fault) -> Fault:
    kind = str(fault.kind)
    if kind.isdigit() and 400 <= int(kind) <= 599:
        changes: dict[str, Any] = {"kind": "status", "status": fault.status or int(kind)}
        return msgspec.structs.replace(fault, **changes)
    if kind not in FAULTS:
        raise PlanError(f"no fault called {kind!r}; there are: a status, {', '.join(sorted(FAULTS))}")
    if kind == "status" and not fault.status:
        raise PlanError("the fault `status` needs a `status`")
    if kind == "redirect" and not fault.to:
        raise PlanError("the fault `redirect` needs `to`")
    return fault
