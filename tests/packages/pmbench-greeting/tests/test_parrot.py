"""The parrot keeps the promises of a backend."""

from pmbench.core.model import Completion
from pmbench.models.backend import Request
from pmbench.testing import BackendSuite


class TestParrot(BackendSuite):
    spec = "parrot:grey"
    deterministic = True
    counts = False

    def tells(self, request: Request, completion: Completion) -> bool:
        greets = len(request.messages[-1]["content"]) % 2 == 1
        return completion.text.startswith("Dear patient, you wrote:" if greets else "you wrote:")
