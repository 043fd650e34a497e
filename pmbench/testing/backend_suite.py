"""The conformance suite for backends: every promise that can be checked from outside, as one test."""

from __future__ import annotations

from pmbench.testing.chatting import Chatting
from pmbench.testing.crowds import Crowds
from pmbench.testing.features import Features
from pmbench.testing.hostile import Hostile
from pmbench.testing.numbers import Numbers
from pmbench.testing.starting import Starting


class BackendSuite(Starting, Chatting, Features, Crowds, Numbers, Hostile):
    """Subclass it in a test file, name a model, and run pytest. See `Suite` for what a subclass may say.

    Which tests apply is decided by what the backend says of itself (`offers`, `features`, `by_instance`); a
    test that does not apply is skipped with the reason. A backend that cannot run here fails the tests that
    ask it something.
    """
