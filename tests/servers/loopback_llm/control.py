"""Commands and bookkeeping, over the same port but under paths that no vendor has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from .plan import PlanError, read_plan
from .protocols.endpoint import State
from .wire import encode

if TYPE_CHECKING:
    from .server import LoopbackServer

CONTROL_PATHS = frozenset({"/__control__", "/__stats__", "/__reset__"})


async def control(server: LoopbackServer, request: web.BaseRequest, path: str, body: bytes) -> web.Response:
    """Answers `POST /__control__`, `GET /__stats__` (`?log=0` without the list of requests) and `POST /__reset__`."""
    wanted = "GET" if path == "/__stats__" else "POST"
    if request.method != wanted:
        return _json({"error": f"{path} takes {wanted}"}, 405)
    if path == "/__stats__":
        ledger = server.state.ledger
        told = ledger.told(log=request.query.get("log") != "0")
        if server.state.limiter is not None:
            told["rate_limit"] = server.state.limiter.told(ledger.now())
        return _json(told)
    if path == "/__reset__":
        server.state = State()
        server.let_go()
        return _json({})
    try:
        server.state.follow(read_plan(body))
    except PlanError as error:
        return _json({"error": str(error)}, 400)
    return _json({})


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=encode(value), status=status, content_type="application/json")
