"""Messages that hold the model's control tokens, put to llama.cpp as the text that they are.

llama.cpp writes messages and chat template into one text and then reads every control token in it as one,
wherever it came from: a message with `<|im_end|>` in it would end its own turn, and could begin one of the
system. So such messages (there are hardly ever any) are put to the engine in another way. Each control token
that stands in a message is replaced by a sign that no message has, the template is applied, the parts of its
result that have such a sign get their words back and are made tokens as text, and only the template's own
control tokens are read as such. No letter of a message is changed.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from pmbench.core.errors import RequestFailed

Prompt = list[int | str]
"""Parts of a prompt: numbers of tokens, and texts whose control tokens are meant."""

_SECONDS = 600.0
_SIGNS = (*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE))
"""Characters that mean nothing, for private use."""


class Speaker:
    """Asks the engine in this process what its library has no call for, over loopback.

    Args:
        address: where it listens.
        key: what it wants to see.
    """

    def __init__(self, address: str, key: str) -> None:
        self._host, self._key = urlsplit(address).netloc, key

    def tokens(self, text: str, *, control: bool, begins: bool = False) -> list[int]:
        """The tokens of a text; with `control` those that control the model are read as such.

        With `begins` it begins a prompt: what the model wants at its very start (BOS) is there too.
        """
        return [int(token) for token in self._tokenized(text, control, pieces=False, begins=begins)]

    def pieces(self, text: str) -> dict[int, str]:
        """The tokens of a text, control tokens among them, each with its text; without those of bare bytes."""
        found = self._tokenized(text, True, pieces=True)
        return {int(token["id"]): token["piece"] for token in found if isinstance(token["piece"], str)}

    def templated(self, body: Mapping[str, Any]) -> str:
        """The prompt that the chat template makes of a chat request.

        Raises:
            RequestFailed: `invalid` or, in a request that has a JSON schema, `schema`: it cannot take that.
        """
        try:
            return str(self._said("/apply-template", body)["prompt"])
        except RequestFailed as error:
            if error.kind == "invalid" and "response_format" in body:
                raise RequestFailed("schema", "the engine cannot enforce this JSON schema") from None
            raise

    def _tokenized(self, text: str, control: bool, *, pieces: bool, begins: bool = False) -> list[Any]:
        asked = {"content": text, "add_special": begins, "parse_special": control, "with_pieces": pieces}
        found: list[Any] = self._said("/tokenize", asked)["tokens"]
        return found

    def _said(self, path: str, body: Mapping[str, Any]) -> Any:
        connection = http.client.HTTPConnection(self._host, timeout=_SECONDS)
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            connection.request("POST", path, json.dumps(body).encode(), headers)
            response = connection.getresponse()
            text, status = response.read(), response.status
        except (OSError, http.client.HTTPException) as error:
            raise RequestFailed(
                "server", f"the engine failed ({type(error).__name__})", retryable=True
            ) from None
        finally:
            connection.close()
        # Its own words may quote what it was asked.
        if status != 200:
            raise RequestFailed("invalid", f"the engine cannot take these messages ({status})")
        return msgspec.json.decode(text)


def as_text(speaker: Speaker, body: Mapping[str, Any], room: int) -> Prompt | None:
    """The prompt of a chat request some message of which holds control tokens; None where none does.

    Args:
        speaker: the way to the engine.
        body: the request.
        room: tokens of the context; what is much longer than that is not looked through.

    Raises:
        RequestFailed: `too-long`; `control-tokens` where the chat template does not give a message back as it
            is, so that nothing can be said of what its control tokens became; `schema`; `invalid`; `server`.
    """
    contents = [message["content"] for message in body["messages"]]
    injected = _control_texts(speaker, "\n".join(contents), most=2 * room)
    if not injected:
        return None
    signs = _unused_signs(contents, injected)
    pattern = _any_of(injected)
    masked = [
        {**message, "content": pattern.sub(lambda found: signs[found[0]], message["content"])}
        for message in body["messages"]
    ]
    wanted = sum(len(pattern.findall(content)) for content in contents)
    prompt = speaker.templated({**body, "messages": masked})
    words = {sign: text for text, sign in signs.items()}
    if sum(prompt.count(sign) for sign in words) != wanted:
        raise RequestFailed("control-tokens", "the chat template changes a message that holds control tokens")
    return _parts(speaker, prompt, words)


def _parts(speaker: Speaker, prompt: str, words: Mapping[str, str]) -> Prompt:
    # What begins a prompt (BOS) is put before its first text, so there is one, if an empty one.
    parts: list[int | str] = [""]
    for text in _any_of(_control_texts(speaker, prompt), keep=True).split(prompt):
        if any(sign in text for sign in words):
            restored = "".join(words.get(sign, sign) for sign in text)
            parts += speaker.tokens(restored, control=False)
        elif isinstance(last := parts[-1], str):
            parts[-1] = last + text
        elif text:
            parts.append(text)
    return parts


def _control_texts(speaker: Speaker, text: str, *, most: int | None = None) -> set[str]:
    """The control tokens in a text: what is one token where they are looked for, and another thing where not."""
    tokens = speaker.tokens(text, control=True)
    if most is not None and len(tokens) > most:
        raise RequestFailed("too-long", f"messages of {len(tokens)} tokens, a context of {most // 2}")
    plain = set(speaker.tokens(text, control=False))
    if plain.issuperset(tokens):
        return set()
    return {
        piece
        for token, piece in speaker.pieces(text).items()
        if token not in plain
        and speaker.tokens(piece, control=True) == [token] != speaker.tokens(piece, control=False)
    }


def _unused_signs(contents: Sequence[str], injected: Iterable[str]) -> dict[str, str]:
    used = {sign for content in contents for sign in content}
    free = (chr(code) for code in _SIGNS if chr(code) not in used)
    return dict(zip(sorted(injected), free, strict=False))


def _any_of(texts: Iterable[str], *, keep: bool = False) -> re.Pattern[str]:
    """A pattern of any of these texts, the longer one of two that begin alike; `keep` for what splits to keep."""
    listed = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True)) or r"(?!)"
    return re.compile(f"({listed})" if keep else listed)
