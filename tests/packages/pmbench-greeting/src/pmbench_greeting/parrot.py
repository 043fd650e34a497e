"""A backend that answers at once, and whose requests can be made to fail or wait, and counted, from outside.

PARROT_LOG names a file that gets one line for each request; PARROT_SECONDS is how long a request takes;
PARROT_FAIL is a part of a message whose requests fail for good.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Completion
from pmbench.models.backend import Backend, Request


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
        asked = request.messages[-1]["content"]
        if log := os.environ.get("PARROT_LOG"):
            with Path(log).open("a") as file:
                file.write(f"{os.getpid()}\n")
        await asyncio.sleep(float(os.environ.get("PARROT_SECONDS", "0")))
        if (part := os.environ.get("PARROT_FAIL")) and part in asked:
            raise RequestFailed("told-to")
        greeting = "Dear patient, " if len(asked) % 2 else ""
        return Completion(f"{greeting}you wrote: {asked}")
