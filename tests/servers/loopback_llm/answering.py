"""What a model answers: scripted, chosen, structured or made from the hash of the messages."""

from __future__ import annotations

import math
from dataclasses import replace
from hashlib import blake2b, shake_128

import msgspec

from .ask import Answer, Ask, Finish, Reply, Usage
from .plan import Fault, Plan
from .structured import instance_of
from .words import WORDS, count_tokens, sentence, tokens_of

TOKENS_PER_TURN = 4  # what a turn costs beside its text
Tops = tuple[tuple[str, float], ...]


class Answerer:
    """Answers under one plan.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._prefixes: set[bytes] = set()

    def reply(self, ask: Ask) -> Reply:
        """The reply to a request: equal messages (and seeds) give equal replies.

        What was read from a cache is the exception: it tells what was seen before.
        """
        answers = tuple(self._answer(ask, sample) for sample in range(max(ask.samples, 1)))
        completion = sum(len(a.tokens) for a in answers)
        spent = ask.reasoning * len(answers)
        usage = self._usage(ask, completion + spent, spent)
        return Reply(
            ask=ask,
            model=ask.model,
            answers=answers,
            usage=usage,
            identifier=ask.digest().hex()[:24],
            reasoning_field=self.plan.reasoning_field,
        )

    def _answer(self, ask: Ask, sample: int) -> Answer:
        digest = ask.digest(sample)
        shares = self._shares(ask, digest)
        text, finish, stopped_by = self._text(ask, digest, shares), Finish.STOP, None
        for stop in ask.stop:
            if stop and stop in text:
                text, finish, stopped_by = text[: text.index(stop)], Finish.STOP_SEQUENCE, stop
        tokens = tokens_of(text)
        reasoning = ask.reasoning
        if ask.max_tokens is not None and reasoning + len(tokens) > ask.max_tokens:
            # Reasoning comes first and counts: it can leave nothing for the answer.
            tokens = tokens[: max(ask.max_tokens - reasoning, 0)]
            text, finish, stopped_by = "".join(tokens), Finish.LENGTH, None
        tops = None if ask.top is None else self._tops(ask.top, digest, tokens, shares)
        thought = (
            sentence(blake2b(digest, digest_size=32).digest()) if ask.reasoning and ask.show_reasoning else ""
        )
        return Answer(text, finish, tuple(tokens), tops, thought, None, stopped_by)

    def _text(self, ask: Ask, digest: bytes, shares: dict[str, float]) -> str:
        last = ask.last_user
        for part, answer in self.plan.answers.items():
            if part in last:
                return answer
        if ask.schema is not None:
            return msgspec.json.encode(instance_of(ask.schema, digest)).decode()
        if shares:
            return max(shares, key=lambda option: shares[option])
        return sentence(digest, self.plan.answer_words)

    def _shares(self, ask: Ask, digest: bytes) -> dict[str, float]:
        """Option → probability, when the plan says that this request is a choice."""
        last = ask.last_user
        for part, shares in self.plan.choices.items():
            if part in last:
                return dict(shares)
        return option_shares(digest, self.plan.options) if self.plan.options else {}

    def _tops(self, top: int, digest: bytes, tokens: list[str], shares: dict[str, float]) -> tuple[Tops, ...]:
        places = [self._place(top, digest, i, token) for i, token in enumerate(tokens)]
        if shares and places:
            places[0] = _spread(shares, max(top, 1))
        return tuple(places)

    def _place(self, top: int, digest: bytes, place: int, token: str) -> Tops:
        drawn = shake_128(digest + place.to_bytes(4, "big")).digest(2)
        best = 0.5 + drawn[0] / 520  # the chosen one is always the likeliest
        found, left = [(token, math.log(best))], 1 - best
        for i in range(1, top):
            left *= 0.5  # what is left is halved at every step, so that the sum stays below 1
            found.append((" " + WORDS[(drawn[1] + i) & 63], math.log(left)))
        return tuple(found)

    @staticmethod
    def prompt_tokens(ask: Ask) -> int:
        """About how many tokens the messages are."""
        return sum(count_tokens(text) + TOKENS_PER_TURN for _, text in ask.turns)

    def _usage(self, ask: Ask, completion: int, reasoning: int) -> Usage:
        sizes = [count_tokens(text) + TOKENS_PER_TURN for _, text in ask.turns]
        cached = written = 0
        if ask.marked:
            size, seen = sum(sizes[: ask.marked]), self._seen(ask, ask.marked)
            cached, written = (size, 0) if seen else (0, size)
        elif self.plan.prompt_cache:
            known = [self._seen(ask, n) for n in range(1, len(sizes) + 1)]
            cached = sum(sizes[: known.index(False) if False in known else len(known)])
        return Usage(sum(sizes), completion, cached, written, reasoning)

    def _seen(self, ask: Ask, turns: int) -> bool:
        """Whether these leading turns came before; from now on they did."""
        prefix = replace(ask, turns=ask.turns[:turns], seed=None).digest() + ask.model.encode()
        before = prefix in self._prefixes
        self._prefixes.add(prefix)
        return before


def option_shares(digest: bytes, options: tuple[str, ...]) -> dict[str, float]:
    """Option → probability as the digest decides; they add up to 0.97, other words have the rest."""
    drawn = shake_128(b"options" + digest).digest(2 * len(options))
    weights = [
        math.exp(3 * int.from_bytes(drawn[2 * i : 2 * i + 2], "big") / 65535) for i in range(len(options))
    ]
    return {option: 0.97 * w / sum(weights) for option, w in zip(options, weights, strict=True)}


def _spread(shares: dict[str, float], top: int) -> Tops:
    """First-token probabilities: an option is spread over its variants of case and leading space, as models do."""
    pool: dict[str, float] = {}
    for option, p in shares.items():
        token = tokens_of(option)[0] if option.strip() else option
        for variant, part in (
            (token, 0.6),
            (" " + token, 0.25),
            (token.swapcase(), 0.1),
            (" " + token.swapcase(), 0.05),
        ):
            pool[variant] = pool.get(variant, 0.0) + p * part
    rest = max(1 - sum(shares.values()), 0.0)
    for i, word in enumerate((" the", " I", "The")):
        pool[word] = pool.get(word, 0.0) + rest * (0.6, 0.2, 0.1)[i]
    best = sorted(pool.items(), key=lambda pair: -pair[1])[:top]
    return tuple((token, math.log(p)) for token, p in best if p > 0)


def spoil(reply: Reply, fault: Fault) -> Reply:
    """The reply with a fault in what it says; see `plan.REPLY_FAULTS`."""
    ask, kind = reply.ask, fault.kind
    nothing = Answer(text="", tokens=())
    changes: dict[str, Answer] = {
        "null_content": Answer(text=None),
        "empty_text": nothing,
        "content_filter": replace(nothing, finish=Finish.FILTERED),
        "refusal": Answer(text=None, finish=Finish.REFUSED, refusal="I'm sorry, but I can't help with that."),
    }
    if kind in changes:
        return replace(reply, answers=(changes[str(kind)],) * len(reply.answers))
    if kind == "empty_answers":
        return replace(reply, answers=())
    if kind == "wrong_model":
        return replace(reply, model=f"not-{reply.model}")
    if kind == "prompt_blocked":
        return replace(reply, answers=(), prompt_blocked=True)
    if kind == "length_without_text":
        spent = ask.max_tokens or 1024
        thought = sentence(ask.digest(), min(spent, 64)) if ask.show_reasoning else ""
        eaten = replace(nothing, finish=Finish.LENGTH, reasoning=thought)
        usage = replace(reply.usage, completion=spent, reasoning=spent)
        return replace(reply, answers=(eaten,) * len(reply.answers), usage=usage)
    if kind == "big":
        size, piece = max(int(fault.megabytes * 1e6), 1), sentence(ask.digest(), 15) + " "
        text = (piece * (size // len(piece) + 1))[:size]
        # One token, so that a stream of it is one large event and not a million small ones.
        return replace(reply, answers=(replace(nothing, text=text, tokens=(text,)),) * len(reply.answers))
    return reply
