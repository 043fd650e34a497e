"""PyYAML's safe loader without what a checklist needs not have and a file can do harm with."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml
from yaml.error import Mark

from pmbench_tasks.notes.documents import DEEPEST


class Refused(yaml.MarkedYAMLError):
    """YAML that is not broken, and is not read."""

    def __init__(self, problem: str, node: Any) -> None:
        mark: Mark | None = node.start_mark
        super().__init__(problem=problem, problem_mark=mark)

    def __str__(self) -> str:
        return self.problem or "is not read"


class PlainLoader(yaml.SafeLoader):
    """No aliases, no tags, no key twice, no deep nesting; scalars as in the core schema of YAML 1.2."""

    # Not those of SafeLoader, which make `no` false, 1:30 a number of minutes and 2026-01-01 a date.
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node of the document, if it is one that is read."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise Refused("an alias (*) is not read", event)
        if getattr(event, "tag", None):
            raise Refused("a tag (!) is not read", event)
        if self._depth >= DEEPEST:
            raise Refused(f"nested deeper than {DEEPEST}", event)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping whose keys are texts or numbers, each once."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise Refused("a key is a list or a mapping", key)
            if key.value in seen:
                raise Refused("the same key twice", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), [*"~nN", ""]
)
PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), [*"tTfF"]
)
PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), [*"-+0123456789"]
)
PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    # With a point, and a sign in the exponent, as PyYAML writes numbers: what it writes as text stays text.
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?$"),
    [*"-+.0123456789"],
)
