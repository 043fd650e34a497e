"""What `--dry-run` says a plan will take, against sums by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pmbench.cli.estimates import estimate_lines
from pmbench.core.dataset import DatasetSpec
from pmbench.core.errors import ConfigError, RequestFailed
from pmbench.core.instance import Instance, Response
from pmbench.core.metric import Mean
from pmbench.core.model import Model, Usage
from pmbench.core.options import Options
from pmbench.core.task import JudgeRole, StrategyContext, Task
from pmbench.data.loading import Dataset, Source
from pmbench.models.backend import Backend, BackendOptions, Price
from pmbench.models.cost.prices import dollars
from pmbench.models.cost.tokens import TURN, approximate
from pmbench.models.facade import FacadeModel, Sampling
from pmbench.models.spec import parse_spec
from pmbench.models.store import CompletionStore
from pmbench.models.traffic.budget import Budget
from pmbench.running.estimating import MOST_TRIED, Estimate, estimate
from pmbench.running.folder import RunFolder
from pmbench.running.judges import JudgeChoice
from pmbench.running.plan import Plan, RunRequest
from pmbench.running.records import Asked, Scoring

GPT_4O = Price("openai", "gpt-4o-of-nobody")
HEAD = "Answer the patient's message.\n\n"
MOST = 300


class Untouched(Backend):
    """A backend that must not be asked, opened or looked at any closer."""

    name: ClassVar[str] = "untouched"
    offers = frozenset({"chat"})

    def __init__(self, price: Price | None, *, local: bool = False) -> None:
        super().__init__(parse_spec("untouched:model"), BackendOptions())
        self.price, self.local = price, local

    def unavailable(self) -> str:
        raise AssertionError("it was looked at")

    def identity(self) -> Mapping[str, str]:
        raise AssertionError("it was looked at")

    async def open(self) -> None:
        raise AssertionError("it was opened")


class Chats:
    """A strategy that may ask twice, the second time only if it is answered."""

    needs = frozenset({"chat"})

    def describe(self) -> Mapping[str, Any]:
        return {}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        return 1, 2

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        completion = await model.chat(
            [{"role": "user", "content": HEAD + inputs["message"]}], max_tokens=MOST
        )
        await model.chat([{"role": "user", "content": completion.text * 99}], max_tokens=9999)
        return Response(completion.text)


class Differs(Chats):
    """The same, done as a test says."""

    def __init__(
        self, do: Callable[[Mapping[str, Any], Model, StrategyContext], Any], ends: Any = (1, 1)
    ) -> None:
        self.do, self.ends = do, ends

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        return self.ends(inputs) if callable(self.ends) else self.ends

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        return await self.do(inputs, model, context)


class Letters(Task):
    """A task with one role."""

    name = "letters"
    dataset = DatasetSpec(())
    strategies: ClassVar[Mapping[str, Any]] = {"chats": Chats()}
    metrics = (Mean("right"),)
    judges: ClassVar[Mapping[str, JudgeRole]] = {
        "content": JudgeRole(lambda parts: Chats(), "decides", requests=lambda instance, settings: (2, 3))  # type: ignore[arg-type]
    }


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Plan]]:
    """Makes a plan over messages of as many characters as a list says."""
    (tmp_path / "pmbench.toml").write_text('[prices."openai:gpt-4o-of-nobody"]\ninput = 2.0\noutput = 10.0\n')
    monkeypatch.setenv("PMBENCH_CONFIG", str(tmp_path / "pmbench.toml"))
    store = CompletionStore(tmp_path / "completions.sqlite")

    def plan(
        strategy: Any = None,
        lengths: tuple[int, ...] = (40, 80),
        *,
        backend: Backend | None = None,
        judge: Backend | None = None,
        samples: int = 1,
        sampling: Sampling | None = None,
        batch_api: bool = False,
    ) -> Plan:
        instances = [
            Instance(str(n), {"message": "m" * size}, {"reply": "r" * 20}) for n, size in enumerate(lengths)
        ]
        dataset = Dataset(instances, [], "f" * 64, Source("file", "x.jsonl"), "public", {}, frozenset())
        model = FacadeModel("model", backend or Untouched(GPT_4O), store, sampling=sampling or Sampling())
        judges = {"content": FacadeModel("judge", judge, store)} if judge else {}
        return Plan(
            request=RunRequest("letters", "model", tmp_path, samples=samples, batch_api=batch_api),
            task=Letters(),
            dataset=dataset,
            chosen=instances,
            strategy_name="chats",
            strategy=strategy or Chats(),
            model=model,
            judges={},
            judge_choices={role: JudgeChoice("judge", "judge", Options()) for role in judges},
            judge_models=judges,
            embedder=None,
            asked=Asked("letters", 1, {}, "chats", {}, {}, "f" * 64, None, None, 0, samples),
            scoring=Scoring(1, {}),
            folder=RunFolder(tmp_path / "run"),
            store=store,
            budget=Budget(),
            remote=[],
            notes=[],
        )

    yield plan
    store.close()


def first(size: int) -> int:
    """Tokens of the first request about a message of that many characters."""
    return approximate(HEAD + "m" * size) + TURN


def test_requests_tokens_and_money_by_hand(make: Callable[..., Plan]) -> None:
    found = estimate(make()).model
    assert found.requests == (2, 4)
    assert found.prompt_tokens == (first(40) + first(80), 2 * (first(40) + first(80)))
    assert found.answer_tokens == 4 * MOST
    assert (found.counter, found.tried, found.notes) == ("about four characters a token", 2, [])
    least = ((first(40) + first(80)) * 2.0 + 2 * 10.0) / 1e6
    most = (2 * (first(40) + first(80)) * 2.0 + 4 * MOST * 10.0) / 1e6
    assert found.cost == pytest.approx((least, most))


def test_samples_and_the_runs_own_limit_count(make: Callable[..., Plan]) -> None:
    once, thrice = estimate(make()).model, estimate(make(samples=3, sampling=Sampling(max_tokens=7))).model
    assert thrice.requests == (6, 12)
    assert thrice.prompt_tokens == tuple(3 * tokens for tokens in once.prompt_tokens)
    assert thrice.answer_tokens == 12 * 7


def test_jobs_of_a_batch_api_cost_half_where_the_backend_has_one(make: Callable[..., Plan]) -> None:
    without, has = Untouched(GPT_4O), Untouched(GPT_4O)
    has.jobs = object()  # type: ignore[assignment]
    usual = estimate(make()).model.cost
    assert usual is not None
    assert estimate(make(backend=without, batch_api=True)).model.cost == usual
    assert estimate(make(backend=has, batch_api=True)).model.cost == pytest.approx(
        [half / 2 for half in usual]
    )


def test_of_many_instances_some_are_tried_and_stand_for_all(make: Callable[..., Plan]) -> None:
    tried: list[int] = []

    async def count(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        tried.append(len(inputs["message"]))
        await model.chat([{"role": "user", "content": inputs["message"]}], max_tokens=10)
        raise AssertionError("there is no answer")

    lengths = tuple(4 * (n % 50) for n in range(5000))
    found = estimate(make(Differs(count), lengths)).model
    assert len(tried) == MOST_TRIED == found.tried
    assert max(tried) > 180  # spread over the data
    assert found.requests == (5000, 5000)
    whole = sum(length // 4 + TURN for length in lengths)
    assert found.prompt_tokens[1] == pytest.approx(whole, rel=0.1)
    assert found.answer_tokens == 50_000


def test_those_that_ask_more_weigh_more(make: Callable[..., Plan]) -> None:
    """Every other instance asks ten times as often with prompts ten times as long."""

    async def ask(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        await model.chat([{"role": "user", "content": inputs["message"]}], max_tokens=1)
        return Response("")

    lengths = tuple(4000 if n % 2 else 400 for n in range(1000))
    ends = lambda inputs: (len(inputs["message"]) // 400,) * 2  # noqa: E731
    found = estimate(make(Differs(ask, ends), lengths)).model
    assert found.requests == (5500, 5500)
    assert found.tried == MOST_TRIED
    whole = 500 * (100 + TURN) + 500 * 10 * (1000 + TURN)
    assert found.prompt_tokens[1] == pytest.approx(whole, rel=0.05)


def test_a_strategy_that_goes_on_without_answers_is_counted_by_its_first_request(
    make: Callable[..., Plan],
) -> None:
    async def stubborn(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        async def ask(text: str) -> None:
            await model.chat([{"role": "user", "content": text}], max_tokens=5)

        done = await asyncio.gather(*(ask("m" * size) for size in (40, 4000, 4000)), return_exceptions=True)
        assert all(isinstance(one, RequestFailed) for one in done)
        return Response("")

    found = estimate(make(Differs(stubborn, (3, 3)))).model
    assert found.prompt_tokens == (2 * 3 * (10 + TURN),) * 2
    assert found.answer_tokens == 6 * 5


def test_choices_and_rewards_have_short_answers(make: Callable[..., Plan]) -> None:
    async def choose(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        await model.choose([{"role": "user", "content": "which"}], ["a", "b"])
        return Response("")

    async def reward(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        await model.reward([{"role": "user", "content": "which"}])
        return Response("")

    by_words, exact = Untouched(GPT_4O), Untouched(GPT_4O)
    exact.offers = frozenset({"chat", "choose"})
    assert estimate(make(Differs(choose), backend=by_words)).model.answer_tokens == 2 * 16
    assert estimate(make(Differs(choose), backend=exact)).model.answer_tokens == 2
    assert estimate(make(Differs(reward), backend=exact)).model.answer_tokens == 0


async def needs_embedder(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
    assert context.embedder is not None
    await context.embedder.embed([inputs["message"]])
    return Response("")


async def breaks(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
    raise KeyError(inputs["message"])


async def asks_nothing(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
    return Response("")


@pytest.mark.parametrize(
    ("do", "words"),
    [
        (needs_embedder, "needs more than the model"),
        (breaks, "KeyError at"),
        (asks_nothing, "it asked nothing"),
    ],
)
def test_a_strategy_that_cannot_be_tried_is_counted_by_its_inputs_and_that_is_said(
    make: Callable[..., Plan], do: Any, words: str
) -> None:
    found = estimate(make(Differs(do, (1, 2)))).model
    inputs = sum(approximate(f'{{"message":"{"m" * size}"}}') for size in (40, 80))
    assert found.prompt_tokens == (inputs, 2 * inputs)
    assert found.answer_tokens is None and found.tried == 0
    assert words in found.notes[0] and "prompts not counted" in found.notes[0]
    assert "mmm" not in "".join(estimate_lines(Estimate(found, {})))


def test_some_that_fail_are_said(make: Callable[..., Plan]) -> None:
    async def sometimes(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        if len(inputs["message"]) == 80:
            raise KeyError
        return await Chats()(inputs, model, context)

    found = estimate(make(Differs(sometimes))).model
    assert found.tried == 1 and found.requests == (2, 2)
    assert found.prompt_tokens == (2 * first(40),) * 2
    assert "1 of the instances could not be tried (KeyError at" in found.notes[0]


def test_what_the_user_has_to_mend_is_an_error(make: Callable[..., Plan]) -> None:
    async def misused(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        raise ConfigError("a column that there is not")

    with pytest.raises(ConfigError):
        estimate(make(Differs(misused)))


def test_a_strategy_that_hangs_does_not_hold_up_the_plan(
    make: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        await asyncio.Event().wait()
        return Response("")

    monkeypatch.setattr("pmbench.running.estimating.SECONDS_EACH", 0.01)
    found = estimate(make(Differs(hangs))).model
    assert "TimeoutError" in found.notes[0]


def test_recorded_answers_take_nothing(make: Callable[..., Plan]) -> None:
    found = estimate(make(Differs(asks_nothing, (0, 0))))
    assert found.model.requests == (0, 0) and found.model.prompt_tokens == (0, 0)
    assert list(estimate_lines(found)) == [
        "requests  0 to the model, 0 to judges",
        "money     none: nothing here has a price",
    ]


def test_a_judge_is_estimated_by_the_instances_texts_and_its_requests(make: Callable[..., Plan]) -> None:
    found = estimate(make(judge=Untouched(GPT_4O)))
    part = found.judges["content"]
    assert (part.requests, found.judge_requests) == ((4, 6), (4, 6))
    texts = [
        approximate(f'{{"message":"{"m" * size}"}}') + approximate(f'{{"reply":"{"r" * 20}"}}')
        for size in (40, 80)
    ]
    assert part.prompt_tokens == (2 * sum(texts), 3 * sum(texts))
    assert part.answer_tokens is None
    assert part.cost == pytest.approx((2 * sum(texts) * 2 / 1e6, 3 * sum(texts) * 2 / 1e6))
    lines = "\n".join(estimate_lines(found))
    assert "requests  2 to 4 to the model, 4 to 6 to judges" in lines
    assert "a rough guess" in lines and "answers not counted" in lines
    assert "in all" in lines


def test_lines_of_a_plan_with_a_price(make: Callable[..., Plan]) -> None:
    lines = list(estimate_lines(estimate(make())))
    assert lines[0] == "requests  2 to 4 to the model, 0 to judges"
    assert lines[1].startswith("tokens    about 54 to 108 ")
    assert lines[1].endswith(
        "of prompts to the model, at most 1,200 of answers (about four characters a token)"
    )
    assert lines[2] == "          from the first request of each of 2 instances"
    assert lines[3] == "money     about $0.0001 to $0.0122 for the model"
    assert "the store has" in lines[4]


def test_an_unknown_price_is_said_and_not_invented(make: Callable[..., Plan]) -> None:
    unknown = Untouched(Price("openai", "a-model-that-nobody-sells"))
    lines = "\n".join(estimate_lines(estimate(make(backend=unknown))))
    assert "money     unknown for the model: genai-prices" in lines
    assert "a-model-that-nobody-sells" in lines and "$" not in lines
    nameless = "\n".join(estimate_lines(estimate(make(backend=Untouched(None)))))
    assert "money     unknown for the model" in nameless
    here = "\n".join(estimate_lines(estimate(make(backend=Untouched(None, local=True)))))
    assert "money     none: nothing here has a price" in here


def test_steps_of_a_price_are_those_of_each_request(make: Callable[..., Plan]) -> None:
    """900,000 characters are 225,000 tokens, for which Gemini costs more; two short ones are not added up to it."""

    async def ask(inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        await model.chat([{"role": "user", "content": inputs["message"]}], max_tokens=0)
        return Response("")

    gemini = Price("google", "gemini-2.5-pro")
    found = estimate(make(Differs(ask), (900_000, 600_000, 600_000), backend=Untouched(gemini))).model
    each = [dollars(gemini, Usage(tokens + TURN)) for tokens in (225_000, 150_000, 150_000)]
    assert found.cost == pytest.approx((sum(filter(None, each)),) * 2)
    assert found.cost == pytest.approx(((225_004 * 2.5 + 300_008 * 1.25) / 1e6,) * 2)
