"""From a conversation to token ids by the model's own chat template, and from token ids to text.

What stands in a message can never end a turn or begin one: control tokens are read from the template only. A
text in a message that spells one (`<|im_end|>`) is cut in two before it is made into tokens, so that it stays
what the patient wrote. All other prompts get the very ids that transformers itself gives them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.core.model import Message
from pmbench.models.backends.hf.folder import ModelFolder
from pmbench.models.paths import shortened

if TYPE_CHECKING:
    from pmbench.models.backends.hf.groups import Tokens

SWITCH = "enable_thinking"
"""The variable by which a chat template is told whether the model may think."""

_CHANNELS = ("<|channel|>", "<|message|>")
_FINAL = "<|channel|>final<|message|>"
_SAID = re.compile(
    r"<\|channel\|>(\w+)[^<]*<\|message\|>(.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)", re.DOTALL
)
"""One message of an answer that is written in channels: thoughts in `analysis`, the answer in `final`."""

_STAND_INS = range(0xE000, 0xF8FF)
"""Private-use characters: no tokenizer and no template gives them a meaning."""


class Speech(msgspec.Struct, dict=True):
    """The tokenizer of a model with its chat template.

    Attributes:
        tokenizer: of transformers.
        template: the chat template; empty for a model that is given plain texts.
    """

    tokenizer: Any
    template: str

    def prompt(
        self, messages: Sequence[Message], *, thinking: bool | None = None, answer: bool = True
    ) -> Tokens:
        """Token ids of a conversation.

        Args:
            messages: the conversation.
            thinking: what the template is told; None: nothing. False takes a model that writes in channels to
                its answer at once.
            answer: whether the beginning of the model's own turn follows.

        Raises:
            RequestFailed: `invalid`: the template cannot take these messages.
        """
        character = self._stand_in(messages)
        spelled: list[str] = []

        def hide(match: re.Match[str]) -> str:
            if match[0] not in spelled:
                spelled.append(match[0])
            return f"{character}{spelled.index(match[0])}{character}"

        hidden = [
            {**message, "content": self._controls(message["role"]).sub(hide, message["content"])}
            for message in messages
        ]
        text = self._rendered(hidden, thinking, answer)
        if answer and thinking is False and self._in_channels:
            text += _FINAL
        if not spelled:
            return self.encode(text)
        return self._cut(text, character, spelled)

    def encode(self, text: str) -> Tokens:
        """Token ids of a text, control tokens read as such, none added."""
        ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return np.asarray(ids, np.int32)

    def plain(self, text: str) -> Tokens:
        """Token ids of a text for a model that embeds, with what its tokenizer puts around one."""
        return np.asarray(self.tokenizer(text, verbose=False)["input_ids"], np.int32)

    def text(self, ids: Sequence[int]) -> str:
        """The text of token ids, control tokens left out."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def answer(self, ids: Sequence[int]) -> tuple[str, str]:
        """The text of an answer, and the thoughts that a model which writes in channels has set apart."""
        if not self._in_channels:
            return self.text(ids), ""
        whole = self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        said = _SAID.findall(whole)
        if not said:
            return self.text(ids), ""
        thoughts = [text.strip() for channel, text in said if channel != "final"]
        return "".join(text for channel, text in said if channel == "final"), "\n".join(thoughts)

    def token(self, token: int) -> str:
        """The text of one token, with the space that it may begin with."""
        return str(self.tokenizer.decode([token], clean_up_tokenization_spaces=False))

    @functools.cached_property
    def ends(self) -> frozenset[int]:
        """The tokens that end a turn: the tokenizer's own, and the one that the template puts after an answer."""
        found = {self.tokenizer.eos_token_id} - {None}
        if self._in_channels:  # what ends a message there does not end the turn
            return frozenset(found)
        try:
            turn: list[Message] = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "xyz"}]
            after = self._rendered(turn, None, False).rpartition("xyz")[2]
        except RequestFailed:
            return frozenset(found)
        first = self.encode(after.lstrip())[:1].tolist() if after.strip() else []
        return frozenset(found | (set(first) & self._control_ids))

    @functools.cached_property
    def _added(self) -> dict[str, bool]:
        """Texts that are a token of their own, and whether they are control tokens.

        Others are whole words or signs that a tokenizer has for speed; those count only if the template uses them.
        """
        added = self.tokenizer.added_tokens_decoder.values()
        return {
            token.content: bool(token.special)
            for token in added
            if token.special or (token.content.strip() and token.content in self.template)
        }

    @functools.cached_property
    def _in_channels(self) -> bool:
        return all(self._added.get(token) for token in _CHANNELS)

    @functools.cached_property
    def _control_ids(self) -> frozenset[int]:
        added = self.tokenizer.added_tokens_decoder.items()
        return frozenset(int(number) for number, token in added if token.special)

    def _controls(self, role: str) -> re.Pattern[str]:
        """What must stay plain text in a message. A template may look into the model's own earlier turns."""
        return self._of_the_model if role == "assistant" else self._of_others

    @functools.cached_property
    def _of_the_model(self) -> re.Pattern[str]:
        return _any_of([text for text, control in self._added.items() if control])

    @functools.cached_property
    def _of_others(self) -> re.Pattern[str]:
        return _any_of(list(self._added))

    def _stand_in(self, messages: Sequence[Message]) -> str:
        whole = "".join(message["content"] for message in messages)
        return next(chr(code) for code in _STAND_INS if chr(code) not in whole)

    def _rendered(self, messages: Sequence[Any], thinking: bool | None, answer: bool) -> str:
        import jinja2

        switch = {} if thinking is None else {SWITCH: thinking}
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    list(messages),
                    chat_template=self.template,
                    tokenize=False,
                    add_generation_prompt=answer,
                    **switch,
                )
            )
        except (jinja2.TemplateError, TypeError, ValueError, KeyError, IndexError, AttributeError):
            # Its message may quote what it was given.
            raise RequestFailed("invalid", "the model's chat template cannot take these messages") from None

    def _cut(self, text: str, character: str, spelled: list[str]) -> Tokens:
        """Token ids of a text in which control tokens of messages are numbers between two stand-ins."""
        pieces, between = [""], re.split(f"{character}(\\d+){character}", text)
        for place, part in enumerate(between):
            if place % 2 == 0:
                pieces[-1] += part
            else:
                word = spelled[int(part)]
                half = max(1, len(word) // 2)
                pieces[-1] += word[:half]
                pieces.append(word[half:])
        # A piece in the middle is put behind a control token, for some tokenizers begin a text with a space.
        anchor = self.tokenizer.eos_token or ""
        before = len(self.encode(anchor))
        ids = [self.encode(pieces[0]), *(self.encode(anchor + piece)[before:] for piece in pieces[1:])]
        made = np.concatenate(ids)
        if self._count(made) != self._count(self.encode(re.sub(f"{character}\\d+{character}", "", text))):
            raise RequestFailed(
                "invalid", "a message spells a control token that cannot be told from a real one"
            )
        return made

    def _count(self, ids: Tokens) -> dict[int, int]:
        places, counts = np.unique(ids, return_counts=True)
        return {int(p): int(c) for p, c in zip(places, counts, strict=True) if int(p) in self._control_ids}


def open_speech(folder: ModelFolder, template: str) -> Speech:
    """The tokenizer of a model, with this chat template.

    Raises:
        ModelUnavailable: its files are missing or cannot be read.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder.path), local_files_only=True)
    except Exception as error:  # noqa: BLE001 - errors of several libraries, down to bare ones
        raise ModelUnavailable(
            f"its tokenizer cannot be loaded ({type(error).__name__})", where=shortened(str(folder.path))
        ) from None
    return Speech(tokenizer, template)


def _any_of(texts: Sequence[str]) -> re.Pattern[str]:
    """A pattern for any of these texts, the longest first; one that matches nothing where there are none."""
    ordered = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered)) or r"(?!)")
