"""What a plan will take, before anything is asked: requests, tokens and money.

A strategy is tried on some instances with a model that answers nothing: what it would have asked first is counted
token by token. Later requests are taken to be as long as the first. What the store has is not taken off.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from pmbench.core.errors import RequestFailed
from pmbench.core.instance import Instance
from pmbench.core.model import Choice, Completion, Message, Usage
from pmbench.core.task import StrategyContext
from pmbench.models.backend import Request
from pmbench.models.cost.prices import dollars, why_unknown
from pmbench.models.cost.tokens import TokenCounter, counter
from pmbench.models.facade import CHOICE_TOKENS
from pmbench.running.faults import fault, is_ours

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pmbench.models.facade import FacadeModel
    from pmbench.running.plan import Plan

MOST_TRIED = 200
"""Instances that a strategy is tried on, spread over the data."""

SECONDS, SECONDS_EACH = 20.0, 5.0
"""How long strategies are tried: all in all, and one instance."""

Ends = tuple[int, int]
"""Fewest and most."""


@dataclass(frozen=True)
class Part:
    """What the requests to the model, or to the judge of a role, take.

    Attributes:
        name: of the model.
        requests: fewest and most.
        prompt_tokens: of the fewest and of the most requests.
        answer_tokens: the most that answers may have, all together; None where this is not known.
        counter: how tokens were counted.
        cost: US dollars of the fewest requests with the shortest answers, and of the most with the longest;
            of prompts alone where the length of answers is not known. None where there is no price.
        unpriced: why the price is not known; empty where it is, and where there is none to know.
        tried: instances whose first request was counted; 0: it was not, only texts of the data were.
        notes: what else has to be known of the numbers.
    """

    name: str
    requests: Ends
    prompt_tokens: Ends
    answer_tokens: int | None
    counter: str
    cost: tuple[float, float] | None = None
    unpriced: str = ""
    tried: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Estimate:
    """What a plan will take: of the model, and of those judges that are models, by role."""

    model: Part
    judges: dict[str, Part]

    @property
    def parts(self) -> list[Part]:
        """The model's and the judges'."""
        return [self.model, *self.judges.values()]

    @property
    def judge_requests(self) -> Ends:
        """Fewest and most requests to all judges."""
        ends = [part.requests for part in self.judges.values()]
        return sum(low for low, _ in ends), sum(high for _, high in ends)


def estimate(plan: Plan) -> Estimate:
    """Estimate a plan. Asks no model, opens no embedder and reaches no network.

    Raises:
        UserError: the strategy cannot even be tried, for a reason that the user can mend.
    """
    return Estimate(_of_model(plan), {role: _of_judge(plan, role) for role in plan.judge_models})


@dataclass(frozen=True)
class _Asked:
    """The first request of an instance, in tokens, and how many there may be of it."""

    requests: Ends
    prompt: int
    answer: int


class _Silent:
    """A model that answers nothing and keeps what it was asked first."""

    def __init__(self, model: FacadeModel) -> None:
        self.name, self.offers, self._sampling = model.name, model.offers, model.sampling
        self.features = model.features
        self.parallel, self.chooses_in_words = model.parallel, model.chooses_in_words
        self._backend = model.backend
        self.first: tuple[Sequence[Message], int] | None = None

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
        attempt: int = 0,
    ) -> Completion:
        own = self._sampling.max_tokens
        self._keep(messages, max_tokens if own is None else own)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        self._keep(messages, (self._sampling.max_tokens or CHOICE_TOKENS) if self.chooses_in_words else 1)

    async def reward(self, messages: Sequence[Message]) -> float:
        self._keep(messages, 0)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._keep([{"role": "user", "content": text} for text in texts], 0)

    def _keep(self, messages: Sequence[Message], answer: int) -> NoReturn:
        if self.first is None:
            asked = tuple(message.copy() for message in messages)
            # A model that thinks has room for it beside the answer, and it is paid for as the answer is.
            most = self._backend.answer_tokens(Request(asked, max_tokens=answer)) if answer else 0
            self.first = asked, most
        raise RequestFailed("not-asked")


class _NoEmbedder:
    """Stands for the run's embedder, which is not loaded for an estimate."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise RequestFailed("not-asked")


def _of_model(plan: Plan) -> Part:
    ends = [plan.strategy.estimate(instance.inputs, plan.task.option) for instance in plan.chosen]
    count = counter(plan.model.backend)
    if not any(most for _, most in ends):
        return Part(plan.model.name, (0, 0), (0, 0), 0, count.name)
    asked, failures = asyncio.run(_try(plan, ends, count))
    if asked:
        some = f"{len(failures)} of the instances could not be tried ({failures[0]})" if failures else ""
        return _part(plan, plan.model, ends, asked, count, some, tried=True)
    why = failures[0] if failures else "it asks nothing"
    note = f"the strategy could not be tried ({why}): tokens are those of its inputs, prompts not counted"
    asked = [
        _Asked(ends[place], count.count(_json(plan.chosen[place].inputs)), 0)
        for place in _spread(len(ends), MOST_TRIED)
    ]
    return _part(plan, plan.model, ends, asked, count, note, tried=False)


def _of_judge(plan: Plan, role: str) -> Part:
    """The responses to be judged are not there yet: each request is taken to hold the instance once."""
    model, settings = plan.judge_models[role], plan.judge_choices[role].settings
    ends = [plan.task.judges[role].requests(instance, settings) for instance in plan.chosen]
    count = counter(model.backend)
    asked = []
    for place in _spread(len(ends), MOST_TRIED):
        texts = _json(plan.chosen[place].inputs), _json(plan.chosen[place].target)
        asked.append(_Asked(ends[place], sum(map(count.count, texts)), 0))
    note = "a rough guess: responses are not known yet, each request is taken to hold one instance's texts"
    return _part(plan, model, ends, asked, count, note, tried=False)


def _part(
    plan: Plan,
    model: FacadeModel,
    ends: Sequence[Ends],
    asked: Sequence[_Asked],
    count: TokenCounter,
    note: str,
    *,
    tried: bool,
) -> Part:
    """From the requests of some instances to those of all: in proportion to how many each may make."""
    low, high = (plan.request.samples * sum(end[side] for end in ends) for side in (0, 1))
    here = [sum(one.requests[side] for one in asked) for side in (0, 1)]
    scales = [whole / part if part else 0.0 for whole, part in zip((low, high), here, strict=True)]
    prompts = [sum(one.requests[side] * one.prompt for one in asked) for side in (0, 1)]
    answers = sum(one.requests[1] * one.answer for one in asked)
    batch = plan.request.batch_api and model.backend.jobs is not None
    cost, unpriced = _money(model, asked, scales, batch=batch)
    return Part(
        model.name,
        (low, high),
        (round(scales[0] * prompts[0]), round(scales[1] * prompts[1])),
        round(scales[1] * answers) if tried else None,
        count.name,
        cost,
        unpriced,
        len(asked) if tried else 0,
        [note] if note else [],
    )


def _money(
    model: FacadeModel, asked: Sequence[_Asked], scales: Sequence[float], *, batch: bool
) -> tuple[tuple[float, float] | None, str]:
    """Least and most US dollars, or why there are none. Prices may have steps, so each request is priced alone."""
    price = model.backend.price
    if price is None:
        return None, "" if model.local else "nobody's prices are known to be those of its server"
    least = most = 0.0
    for one in asked:
        short = dollars(price, Usage(one.prompt, min(1, one.answer)), batch=batch)
        long = dollars(price, Usage(one.prompt, one.answer), batch=batch)
        if short is None or long is None:
            if model.local:  # a server of one's own, for which nobody sends a bill
                return None, ""
            return None, why_unknown(price) or f"the prices of {price.model} have none for answers"
        least, most = least + one.requests[0] * short, most + one.requests[1] * long
    return (scales[0] * least, scales[1] * most), ""


async def _try(plan: Plan, ends: Sequence[Ends], count: TokenCounter) -> tuple[list[_Asked], list[str]]:
    """Try the strategy; what was asked first of each instance, and of those that failed by themselves how."""
    asked: list[_Asked] = []
    failures: list[str] = []
    until = time.monotonic() + SECONDS
    for place in _spread(len(plan.chosen), MOST_TRIED):
        if not ends[place][1]:
            continue
        if time.monotonic() > until:
            break
        model = _Silent(plan.model)
        failure = await _try_one(plan, plan.chosen[place], model)
        if model.first is not None:
            messages, answer = model.first
            asked.append(_Asked(ends[place], count.count_messages(messages), answer))
        elif ends[place][0] or failure:
            failures.append(failure or "it asked nothing")
    return asked, failures


async def _try_one(plan: Plan, instance: Instance, model: _Silent) -> str:
    """Try the strategy on one instance; how it failed, if not for want of an answer."""
    context = StrategyContext(plan.task.option, _NoEmbedder(), plan.request.seed)
    try:
        async with asyncio.timeout(SECONDS_EACH):
            await plan.strategy(instance.inputs, model, context)
    except RequestFailed as error:
        return "" if model.first is not None else f"needs more than the model: {error.kind}"
    except BaseException as error:
        if is_ours(error):
            raise
        return fault(error)
    return ""


def _spread(total: int, most: int) -> list[int]:
    """At most so many places, one anywhere in each of as many equal parts: data may repeat themselves evenly."""
    if total <= most:
        return list(range(total))
    drawn = random.Random(0)
    return [min(int((part + drawn.random()) * total / most), total - 1) for part in range(most)]


def _json(value: Mapping[str, Any]) -> str:
    """A mapping as a prompt might show it; what JSON cannot hold by its own words."""
    return msgspec.json.encode(dict(value), enc_hook=str).decode()
