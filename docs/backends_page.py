"""The parts of `docs/backends.md` that are made from the backends and from the conformance suite."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from pmbench.core import registry
from pmbench.models.backend import FEATURES, Backend
from pmbench.models.spec import ModelSpec, parse_spec
from pmbench.testing import BackendSuite

EXAMPLES: Mapping[str, Sequence[str]] = {
    "anthropic": ("claude-sonnet-4-5", "claude-opus-5", "claude-opus-5?thinking=off"),
    "google": ("gemini-2.0-flash", "gemini-2.5-pro?logprobs=on", "gemini-embedding-001"),
    "hf": ("CHAT", "PLAIN", "REWARD", "EMBED"),
    "llama-cpp": ("model.gguf",),
    "openai": (
        "gpt-4o",
        "gpt-4o?api=responses",
        "gpt-5",
        "qwen3?base_url=http://127.0.0.1:8000/v1",
        "text-embedding-3-small",
    ),
    "replay": ("answers.jsonl",),
    "vllm": ("CHAT", "PLAIN", "REWARD"),
}
"""Models of each kind that a backend knows; those in capitals are folders that are made for the purpose."""

FOLDERS: Mapping[str, Mapping[str, Any]] = {
    "CHAT": {"architectures": ["Qwen3ForCausalLM"]},
    "PLAIN": {"architectures": ["LlamaForCausalLM"]},
    "REWARD": {"architectures": ["LlamaForSequenceClassification"], "num_labels": 1},
    "EMBED": {"architectures": ["BertModel"]},
}
OFFERS = ("chat", "choose", "reward", "embed")


def backends_page(page: str) -> str:
    """The page with its made parts made anew.

    Raises:
        LookupError: a backend of this package has no examples here, or an option no description.
    """
    kinds = dict(_kinds())
    parts: Mapping[str, Callable[[], Iterator[str]]] = {
        "table": lambda: _table(kinds),
        "options": lambda: _options(kinds),
        "promises": _promises,
    }
    for name, made in parts.items():
        begin, end = f"<!-- made by `make docs`: {name} -->\n", "<!-- end -->"
        head, found, rest = page.partition(begin)
        if not found:
            raise LookupError(f"docs/backends.md has no part {name!r}")
        page = head + begin + "\n".join(made()) + "\n" + rest[rest.index(end) :]
    return page


def _kinds() -> Iterator[tuple[str, type[Backend]]]:
    """The backends of this package, not those of plugins that are installed beside it."""
    for entry in registry.listing(registry.BACKENDS):
        if entry.package == "pmbench":
            if entry.loaded is None:
                raise LookupError(f"the backend {entry.name!r}: {entry.error}")
            yield entry.name, entry.loaded


def _table(kinds: Mapping[str, type[Backend]]) -> Iterator[str]:
    with _folders():
        made = {
            name: [_made(kind, f"{name}:{example}") for example in EXAMPLES[name]]
            for name, kind in kinds.items()
        }
        yield f"| | {' | '.join(f'`{name}`' for name in made)} |"
        yield "|---" * (len(made) + 1) + "|"
        for title, cell in _rows():
            yield f"| {title} | {' | '.join(cell(backends) for backends in made.values())} |"


def _rows() -> Iterator[tuple[str, Callable[[list[Backend]], str]]]:
    yield "computes", lambda made: "on a server" if made[0].endpoint else "in this process"
    yield (
        "needs the extra",
        lambda made: ", ".join(f"`{extra}`" for extra in sorted(set(made[0].requires.values()))) or "–",
    )
    yield (
        "key",
        lambda made: "<br>".join(f"`{name}`" for name in getattr(made[0], "key_variables", ())) or "–",
    )
    for offered in OFFERS:
        yield f"**{offered}**", lambda made, offered=offered: _offered(made, offered)  # type: ignore[misc]
    for feature, meaning in FEATURES.items():
        yield f"{feature}: {meaning}", lambda made, feature=feature: _featured(made, feature)  # type: ignore[misc]
    yield "requests in flight", lambda made: str(made[0].parallel)
    yield "answers are kept", lambda made: "yes" if made[0].keeps else "no: they are a file already"


def _offered(made: list[Backend], offered: str) -> str:
    has = sum(offered in backend.offers for backend in made)
    chats = [backend for backend in made if "chat" in backend.offers]
    if offered == "choose":
        exact = sum("choose" in backend.offers for backend in chats)
        return "yes" if exact == len(chats) else "some; else in words" if exact else "in words"
    if not has:
        return "–"
    return "yes" if has == len(made) or offered == "chat" else "models for it"


def _featured(made: list[Backend], feature: str) -> str:
    chats = [backend for backend in made if "chat" in backend.offers]
    has = sum(feature in backend.features for backend in chats)
    return "–" if not has else "yes" if has == len(chats) else "some"


def _options(kinds: Mapping[str, type[Backend]]) -> Iterator[str]:
    for name, kind in kinds.items():
        yield f"### `{name}:`"
        yield ""
        yield "| option | default | meaning |"
        yield "|---|---|---|"
        described = dict(_described(kind.options))
        for field in msgspec.structs.fields(kind.options):
            if field.encode_name not in described:
                raise LookupError(f"the option {field.encode_name!r} of {name} has no description")
            choices = [f"`{value}`" for value in get_args(field.type)]
            meaning = described[field.encode_name].replace("|", r"\|")
            values = f" ({', '.join(choices)})" if choices else ""
            default = f"`{field.default}`" if field.default != "" else ""
            yield f"| `{field.encode_name}` | {default} | {meaning}{values} |"
        yield ""


def _described(kind: type) -> Iterator[tuple[str, str]]:
    """Options with what the docstrings of a class and of those that it stands on say of them."""
    for base in reversed(kind.__mro__):
        block = (inspect.cleandoc(base.__dict__.get("__doc__") or "")).partition("Attributes:\n")[2]
        for entry in re.split(r"\n(?= {4}\w)", block):
            names, colon, text = " ".join(entry.split()).partition(": ")
            if colon:
                for name in names.split(","):
                    yield name.strip(), text.rstrip(".")


def _promises() -> Iterator[str]:
    """What the suite tests, in its own words, room by room."""
    yield "What it tests, each where the backend offers it:"
    yield ""
    for room in BackendSuite.__mro__[1:]:
        found = [value for name, value in vars(room).items() if name.startswith("test_")]
        for test in found:
            yield f"- {' '.join((inspect.getdoc(test) or '').split())}"


def _made(kind: type[Backend], name: str) -> Backend:
    """A backend as if all that it requires were installed."""
    spec = parse_spec(name)
    shown: Any = type(kind.__name__, (kind,), {"missing_extra": lambda _self: None})
    folder = Path(spec.target).absolute()
    if spec.target in FOLDERS:
        spec = ModelSpec(spec.given, spec.backend, str(folder), spec.options)
    backend: Backend = shown(spec, msgspec.convert(spec.options, kind.options, strict=False))
    return backend


@contextlib.contextmanager
def _folders() -> Iterator[None]:
    """A folder, the current one meanwhile, that holds what a model's folder says of itself, and no weights."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as home:
        for name, config in FOLDERS.items():
            folder = Path(home) / name
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 4096, **config}))
            (folder / "chat_template.jinja").write_text(
                "{{ enable_thinking }}" if name == "CHAT" else "{{ messages }}"
            )
        os.chdir(home)
        try:
            yield
        finally:
            os.chdir(before)
