"""Prompts: Jinja2 files next to the task that uses them, hashed into a run's digest."""

from __future__ import annotations

import re
import secrets
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pmbench.core.digest import digest_bytes
from pmbench.core.errors import ConfigError
from pmbench.core.model import Message
from pmbench.core.registry import resource

if TYPE_CHECKING:
    from jinja2 import Template

_PART = re.compile(r"^\[(system|user|assistant)\][ \t]*\n", re.MULTILINE)

_MARK = f"\ue000{secrets.token_hex(8)}\ue000"
"""What `{{ shared }}` writes until it is taken out again; no text of a dataset can hold it."""


class Prompt:
    """A prompt that a package ships, by `package:path`. Nothing is read before it is used.

    Values are inserted as they are: braces and tags in a value are never read as a template, and no value can
    start a part of its own.
    """

    def __init__(self, reference: str) -> None:
        self.reference = reference

    @cached_property
    def source(self) -> str:
        """The template's text.

        Raises:
            ConfigError: there is no such file.
        """
        return self._bytes.decode("utf-8").replace("\r\n", "\n")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file (64 hexadecimal digits)."""
        return digest_bytes(self._bytes)

    def render(self, **values: Any) -> str:
        """The whole file with its values.

        Raises:
            jinja2.UndefinedError: the template names a value that was not given.
        """
        return _template(self.source).render(**{"shared": "", **values}).strip()

    def messages(self, **values: Any) -> list[Message]:
        """The file's parts, each begun by a line `[system]`, `[user]` or `[assistant]`, as a conversation.

        A file without such a line is one user turn; a part that renders to nothing is left out. `{{ shared }}` in the
        last part stands where the beginning ends that many prompts of this file share: it writes nothing, and is
        handed on as `shared` of that turn.
        """
        turns = [
            cast("Message", {"role": role, "content": part.render(**{"shared": _MARK, **values}).strip()})
            for role, part in self._parts
        ]
        for turn in turns:
            before, mark, after = turn["content"].partition(_MARK)
            if mark:
                turn["content"], turn["shared"] = before + after.replace(_MARK, ""), len(before)
        return [turn for turn in turns if turn["content"]]

    @cached_property
    def _bytes(self) -> bytes:
        try:
            return cast("bytes", resource(self.reference).read_bytes())
        except (OSError, ImportError) as error:
            raise ConfigError(
                f"the prompt cannot be read ({type(error).__name__})",
                where=self.reference,
                remedy="Write it as package:path of a file that the package ships",
            ) from error

    @cached_property
    def _parts(self) -> list[tuple[str, Template]]:
        pieces = _PART.split(self.source)
        if len(pieces) == 1:
            return [("user", _template(pieces[0]))]
        return [(role, _template(text)) for role, text in zip(pieces[1::2], pieces[2::2], strict=True)]


def _template(source: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    # Prompts are plain text for a model, not HTML: escaping would change what it reads.
    environment = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True)  # noqa: S701
    return environment.from_string(source)
