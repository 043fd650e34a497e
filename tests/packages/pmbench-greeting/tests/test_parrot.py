"""The parrot keeps the promises of a backend."""

from pmbench.core.model import Completion
from pmbench.models.backend import Request
from pmbench.testing import BackendSuite


class TestParrot(BackendSuite):
    spec = "parrot:grey"
    deterministic = True
    counts = False

    def tells(self, request: Request, completion: Completion) -> bool:
        first = request.messages[-1]["content"].split()[0]
        return first in completion.text
