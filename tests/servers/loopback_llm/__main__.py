"""`python -m loopback_llm --port 0`: serves on loopback and prints one line of JSON that names the port."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from .serving import serve


def main() -> None:
    """Serves until standard input ends (with `--until-eof`) or the process is told to stop."""
    parser = argparse.ArgumentParser(prog="loopback_llm", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 (the default) for any free one")
    parser.add_argument("--until-eof", action="store_true", help="stop when standard input ends: no orphans")
    parser.add_argument("--loop", choices=("auto", "asyncio", "uvloop"), default="auto")
    options = parser.parse_args()

    def ready(port: int) -> None:
        sys.stdout.write(json.dumps({"port": port}) + "\n")
        sys.stdout.flush()

    # What is loaded by now stays for good: the collector need not look at it again and again.
    gc.freeze()
    run = _runner(options.loop)
    try:
        run(serve(options.host, options.port, ready, until_eof=options.until_eof))
    except KeyboardInterrupt:
        sys.exit(0)


def _runner(loop: str) -> Callable[[Coroutine[Any, Any, None]], None]:
    if loop != "asyncio":
        try:
            import uvloop
        except ImportError:
            if loop == "uvloop":
                raise
        else:
            run: Callable[[Coroutine[Any, Any, None]], None] = uvloop.run
            return run
    return asyncio.run


if __name__ == "__main__":
    main()
