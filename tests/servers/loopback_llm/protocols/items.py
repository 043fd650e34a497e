"""One item of a batch job: a request that is answered without a connection of its own."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

from ..answering import spoil
from ..plan import REPLY_FAULTS, Fault
from ..wire import Call, Json, Refused
from .endpoint import ModelEndpoint, State


@dataclass(frozen=True, slots=True)
class Item:
    """What became of an item.

    Args:
        status: as if it had been a request of its own.
        body: the document of the answer, or the vendor's error object.
    """

    status: int
    body: Json


def request_digest(path: str, raw: bytes) -> bytes:
    """Names a request: equal for equal paths and bodies."""
    return blake2b(path.encode() + b"\0" + raw, digest_size=12).digest()


def answer_item(path: str, raw: bytes, state: State) -> Item:
    """Answers an item as its path would, with the faults that the plan has for batch jobs."""
    from .routes import find  # the table of paths knows the batch jobs, which need it

    route = find("POST", path, {})
    digest = request_digest(path, raw)
    if route is None:
        return Item(404, {"error": {"message": f"Invalid URL ({path})", "type": "invalid_request_error"}})
    endpoint, params = route
    call = Call("POST", path, {}, {}, raw, params, digest)
    fault: Fault | None = None
    try:
        if isinstance(endpoint, ModelEndpoint):
            ask = endpoint.read(call)
            fault = state.chooser.choose_in_batch(path, digest, ask.last_user)
            if fault is not None and fault.kind not in REPLY_FAULTS:
                raise Refused(fault.status or 500, fault.message or "The server had an error")
            reply = state.answerer.reply(ask)
            item = Item(200, endpoint.whole(spoil(reply, fault) if fault else reply))
        else:
            document: Any = msgspec.json.decode(endpoint.answer(call, state).body)
            item = Item(200, document)
    except Refused as refused:
        item = Item(refused.status, endpoint.vendor.error(refused, f"req_{digest.hex()}"))
    state.ledger.item(path, digest.hex(), item.status, fault.name if fault else "")
    return item
