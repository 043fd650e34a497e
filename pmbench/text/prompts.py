"""Prompts: Jinja2 files next to the task that uses them, hashed into a run's digest."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pmbench.core.digest import digest_bytes
from pmbench.core.errors import ConfigError
from pmbench.core.model import Message
from pmbench.core.registry import resource

if TYPE_CHECKING:
    from jinja2 import Template

_PART = re.compile(r"^\[(system|user|assistant|more)\][ \t]*\n", re.MULTILINE)


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
        return _template(self.source).render(**values).strip()

    def messages(self, **values: Any) -> list[Message]:
        """The file's parts, each begun by a line `[system]`, `[user]` or `[assistant]`, as a conversation.

        A file without such a line is one user turn; a part that renders to nothing is left out. A line `[more]`
        goes on with the turn before it, after a blank line: what stands above it is marked as the beginning that
        many prompts of this file share.
        """
        turns: list[Message] = []
        for role, part in self._parts:
            content = part.render(**values).strip()
            if role == "more" and turns and content:
                above = turns[-1]["content"]
                turns[-1] = {
                    "role": turns[-1]["role"],
                    "content": f"{above}\n\n{content}",
                    "shared": len(above),
                }
            elif content:
                turns.append(
                    cast("Message", {"role": "user" if role == "more" else role, "content": content})
                )
        return turns

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
