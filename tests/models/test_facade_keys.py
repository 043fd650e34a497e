"""Keys of the store: whatever decides an answer changes the key, nothing else does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flaky_backend import Flaky, facade
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pmbench.models.backend import Request
from pmbench.models.facade import FacadeModel
from pmbench.models.spec import parse_spec
from pmbench.models.store import CompletionStore

TEXT = st.text(max_size=8)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXT}),
    min_size=1,
    max_size=3,
).map(tuple)
FIELDS: dict[str, Any] = {
    "messages": MESSAGES,
    "max_tokens": st.integers(1, 9999),
    "temperature": st.floats(0.0, 2.0),
    "stop": st.lists(TEXT, max_size=2).map(tuple),
    "schema": st.none() | st.dictionaries(TEXT, TEXT, max_size=2),
    "seed": st.integers(0, 99),
    "options": st.lists(TEXT, max_size=3).map(tuple),
    "sample": st.integers(0, 9),
    "attempt": st.integers(0, 9),
    "shared": st.integers(0, 9),
}
REQUESTS = st.builds(Request, **FIELDS, instance=TEXT)


@pytest.fixture(scope="module")
def store() -> Iterator[CompletionStore]:
    with tempfile.TemporaryDirectory() as folder:
        opened = CompletionStore(Path(folder) / "completions.sqlite")
        yield opened
        opened.close()


def test_every_field_of_a_request_is_looked_at_here() -> None:
    assert {*FIELDS, "instance"} == set(Request.__struct_fields__)


@settings(deadline=None)
@given(request=REQUESTS, name=st.sampled_from(sorted(FIELDS)), data=st.data())
def test_any_change_of_a_deciding_field_changes_the_key(
    store: CompletionStore, request: Request, name: str, data: st.DataObject
) -> None:
    changed = msgspec.structs.replace(request, **{name: data.draw(FIELDS[name])})
    assume(getattr(changed, name) != getattr(request, name))
    model = facade(Flaky(), store)
    assert model.key("chat", changed) != model.key("chat", request)


@settings(deadline=None)
@given(request=REQUESTS, other=TEXT)
def test_the_instance_decides_only_where_the_backend_says_so(
    store: CompletionStore, request: Request, other: str
) -> None:
    assume(other != request.instance)
    elsewhere = msgspec.structs.replace(request, instance=other)
    backend = Flaky()
    model = facade(backend, store)
    assert model.key("chat", elsewhere) == model.key("chat", request)
    backend.by_instance = True
    assert model.key("chat", elsewhere) != model.key("chat", request)


@settings(deadline=None)
@given(request=REQUESTS)
def test_another_model_another_kind_another_key_and_the_same_again_the_same(
    store: CompletionStore, request: Request
) -> None:
    def key(kind: str = "chat", **identity: str) -> str:
        return facade(Flaky(identity=identity), store).key(kind, request)

    assert key(weights="a") == key(weights="a")
    assert (
        len({key(weights="a"), key(weights="b"), key(weights="a", version="2"), key("choose", weights="a")})
        == 4
    )


def test_a_backend_that_says_nothing_of_itself_shares_no_answers_between_models(
    store: CompletionStore,
) -> None:
    def model(target: str) -> FacadeModel:
        backend = Flaky(identity={})
        backend.spec = parse_spec(target)
        return facade(backend, store)

    request = Request(({"role": "user", "content": "hello"},))
    assert model("flaky:one").key("chat", request) != model("flaky:two").key("chat", request)
    assert model("flaky:one").identity() == {"spec": "flaky:one"}


def test_a_key_stays_the_same_between_versions(store: CompletionStore) -> None:
    """A change here throws away every stored completion of every user: only ever on purpose."""
    request = Request(({"role": "user", "content": "hello"},))
    assert facade(Flaky(), store).key("chat", request) == PINNED


PINNED = "86caa465033c2c59a2065a397bafd686d945b59a115e64e79d1a87cc63304110"
