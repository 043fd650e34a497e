"""Creates a backend in a process of its own and tells what that brought about. Run by its path.

Reads an object of JSON from the standard input: the search path, the backend's class, the specification.
Writes one: for each step the modules that it imported, the connections and the large files that it opened.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

LARGE = 1_000_000
"""Bytes of a file that nobody needs before a model is opened."""

CODE = (".py", ".pyc", ".so", ".pyd", ".zip")


def main() -> None:
    """Create, ask whether it can run, ask for the identity."""
    asked = json.load(sys.stdin)
    sys.path[:] = asked["path"]
    watch = Watch()
    sys.addaudithook(watch)

    import importlib

    from pmbench.models import catalogue
    from pmbench.models.spec import ModelSpec

    kind: Any = importlib.import_module(asked["module"])
    for name in asked["name"].split("."):
        kind = getattr(kind, name)
    spec = ModelSpec(**asked["spec"])
    backend = kind(spec, catalogue.options_of(kind, spec))
    told = {"create": watch.step()}
    backend.unavailable()
    told["unavailable"] = watch.step()
    backend.identity()
    told["identity"] = {**watch.step(), "files": []}  # it may read what it names the digest of
    json.dump(told, sys.stdout)


class Watch:
    """An audit hook that keeps what a backend may not do before it is opened."""

    def __init__(self) -> None:
        self.connections: list[str] = []
        self.files: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take one event."""
        if event in ("socket.connect", "socket.bind", "subprocess.Popen"):
            self.connections.append(f"{event} {arguments[1]!r}")
        elif event == "open" and isinstance(arguments[0], str | os.PathLike):
            path = os.fspath(arguments[0])
            if isinstance(path, str) and not path.endswith(CODE):
                self._opened(path)

    def _opened(self, path: str) -> None:
        try:
            size = os.stat(path).st_size  # noqa: PTH116 - imports nothing while something is imported
        except (OSError, ValueError):
            return
        if size > LARGE:
            self.files.append(path)

    def step(self) -> dict[str, list[str]]:
        """What there was since the last step; all modules that are there."""
        found = {"modules": sorted(sys.modules), "connections": self.connections, "files": self.files}
        self.connections, self.files = [], []
        return found


if __name__ == "__main__":
    main()
