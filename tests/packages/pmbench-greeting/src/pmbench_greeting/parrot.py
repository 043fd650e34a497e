"""A backend that answers at once, and whose requests can be made to fail or wait, and counted, from outside.

PARROT_LOG names a file that gets one line for each request; PARROT_SECONDS is how long a request takes;
PARROT_FAIL is a part of a message whose requests fail for good.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Completion
from pmbench.models.backend import Backend, Request

SOUNDS = ("", " Squawk!", " Croak!", " Hello!")


class Parrot(Backend):
    name = "parrot"
    local = True
    features = frozenset({"temperature", "seed"})
    parallel = 4

    def unavailable(self) -> str:
        return ""

    def identity(self) -> Mapping[str, str]:
        return {"engine": "parrot", "version": "1", "target": self.spec.target}

    async def chat(self, request: Request) -> Completion:
        if request.stop or request.schema is not None:
            raise RequestFailed("unsupported", "a parrot says it all, in its own way")
        if not request.messages or request.max_tokens < 1:
            raise RequestFailed("invalid", "there is nothing to say")
        asked = request.messages[-1]["content"]
        if log := os.environ.get("PARROT_LOG"):
            with Path(log).open("a") as file:
                file.write(f"{os.getpid()}\n")
        await asyncio.sleep(float(os.environ.get("PARROT_SECONDS", "0")))
        if (part := os.environ.get("PARROT_FAIL")) and part in asked:
            raise RequestFailed("told-to")
        greeting = "Dear patient, " if len(asked) % 2 else ""
        sound = SOUNDS[request.engine_seed % len(SOUNDS)] if request.temperature > 0 else ""
        words = re.findall(r"\s*\S+|\s+$", f"{greeting}you wrote: {asked}{sound}")
        said = "".join(words[: request.max_tokens])
        return Completion(said, finish="length" if len(words) > request.max_tokens else "stop")
