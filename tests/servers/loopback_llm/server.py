"""The server: takes calls, finds what answers them, and lets happen what the plan wants to go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from .answering import spoil
from .ask import Ask
from .chooser import seconds_of
from .control import CONTROL_PATHS, control
from .ledger import CLIENT_LEFT, Entry, key_name
from .plan import INSTEAD_FAULTS, REPLY_FAULTS, WIRE_FAULTS, Fault
from .protocols.endpoint import Endpoint, ModelEndpoint, State
from .protocols.items import request_digest
from .protocols.routes import find
from .sending import NoAnswer, send, send_with_fault
from .vendors import OPENAI, Vendor, failure, http_date, masked
from .wire import Call, Payload, Refused, encode

LARGEST_BODY = 256 * 1024 * 1024
_PAGE = b"<!DOCTYPE html><html><head><title>Gateway</title></head><body><h1>Please sign in</h1></body></html>"


class LoopbackServer:
    """Holds the state and handles every request."""

    def __init__(self) -> None:
        self.state = State()
        self.release = asyncio.Event()

    def let_go(self) -> None:
        """Ends all hanging answers."""
        self.release.set()
        self.release = asyncio.Event()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answers one request."""
        path = request.path
        connection: Any = request.protocol
        if path in CONTROL_PATHS:
            body = await request.read()
            connection.forget_control(self.state.ledger)
            return await control(self, request, path, body)
        ledger, entry = self.state.ledger, self.state.ledger.arrive(path)
        try:
            raw = await request.read()
            entry.received = connection.take()
            if "://" in request.raw_path:  # a client that takes this server for a proxy names the whole URL
                ledger.through_proxy += 1
            call = Call(request.method, path, request.query, request.headers, raw)
            call.digest = request_digest(path, raw)
            entry.digest = call.digest.hex()
            return await self._serve(request, call, entry)
        except NoAnswer:
            if request.transport is not None:
                request.transport.close()
            raise asyncio.CancelledError from None
        except (asyncio.CancelledError, ConnectionError):
            entry.status = CLIENT_LEFT
            raise
        finally:
            ledger.leave(entry)

    async def _serve(self, request: web.BaseRequest, call: Call, entry: Entry) -> web.StreamResponse:
        state, release = self.state, self.release  # a reset in the meantime concerns those that come after it
        number = len(state.ledger.entries)
        route = find(call.method, call.path, call.headers)
        vendor = route[0].vendor if route else OPENAI
        request_id = f"req_{call.digest.hex()[:16]}_{number}"
        headers = {vendor.request_id_header: request_id, **state.plan.headers}
        fault: Fault | None = None
        try:
            if route is None:
                raise Refused(404, f"Invalid URL ({call.method} {call.path})")
            endpoint, call.params = route
            self._check_key(call, vendor, entry)
            ask = endpoint.read(call) if isinstance(endpoint, ModelEndpoint) else None
            self._limit(ask, vendor, headers)
            fault = state.chooser.choose(call.path, call.digest, ask.last_user if ask else "")
            await self._wait(fault, call)
            payload = self._payload(endpoint, call, ask, fault, request_id)
        except Refused as refused:
            payload = failure(vendor, refused, request_id)
        payload.headers.update(headers)
        entry.status = payload.status
        if fault is not None and fault.kind in WIRE_FAULTS:
            entry.fault = fault.name
            if fault.kind in ("hung", "disconnect"):
                entry.status = 0
            return await send_with_fault(request, payload, fault, release)
        entry.fault = fault.name if fault else ""
        return await send(request, payload, state.plan.stream_delay_ms / 1000)

    async def _wait(self, fault: Fault | None, call: Call) -> None:
        plan = self.state.plan
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.ms / 1000)
        elif plan.latency:
            await asyncio.sleep(seconds_of(plan.latency, plan.seed, call.digest))

    def _check_key(self, call: Call, vendor: Vendor, entry: Entry) -> None:
        wanted, given = self.state.plan.key, vendor.key_of(call.headers, call.query)
        entry.key = key_name(given)
        if wanted is not None and given != wanted:
            # Vendors quote a part of the key: what a client prints of an error must not hold it.
            raise Refused(401, f"Incorrect API key provided: {masked(given)}.")

    def _limit(self, ask: Ask | None, vendor: Vendor, headers: dict[str, str]) -> None:
        limiter = self.state.limiter
        if limiter is None:
            return
        tokens = self.state.answerer.prompt_tokens(ask) if ask else 0
        standing = limiter.admit(self.state.ledger.now(), tokens)
        headers.update(vendor.rate_headers(standing))
        if standing.wait:
            after = standing.wait if limiter.limit.retry_after else None
            raise Refused(429, "Rate limit reached for requests", retry_after=after)

    def _payload(
        self,
        endpoint: Endpoint | ModelEndpoint,
        call: Call,
        ask: Ask | None,
        fault: Fault | None,
        request_id: str,
    ) -> Payload:
        if fault is not None and fault.kind in INSTEAD_FAULTS:
            return _instead(endpoint.vendor, fault, ask, request_id)
        if isinstance(endpoint, Endpoint):
            return endpoint.answer(call, self.state)
        assert ask is not None
        reply = self.state.answerer.reply(ask)
        if fault is not None and fault.kind in REPLY_FAULTS:
            if fault.kind == "prompt_blocked" and endpoint.vendor.name != "google":
                raise Refused(
                    400, _BLOCKED[endpoint.vendor.name], code=_BLOCKED_CODE.get(endpoint.vendor.name)
                )
            reply = spoil(reply, fault)
        if ask.stream:
            return Payload(frames=list(endpoint.frames(reply)), error_frame=endpoint.vendor.error_frame())
        return Payload(encode(endpoint.whole(reply)))


_BLOCKED = {
    "openai": "The response was filtered due to the prompt triggering the content management policy.",
    "anthropic": "Output blocked by content filtering policy",
}
_BLOCKED_CODE = {"openai": "content_filter"}


def _instead(vendor: Vendor, fault: Fault, ask: Ask | None, request_id: str) -> Payload:
    """What is sent in place of an answer."""
    if fault.kind == "html":
        return Payload(_PAGE, status=fault.status or 200, content_type="text/html; charset=utf-8")
    if fault.kind == "redirect":
        return Payload(status=fault.status or 307, content_type="text/plain", headers={"Location": fault.to})
    message = fault.message or "The server had an error while processing your request."
    if fault.quote and ask is not None:
        message = f"{message} Your input was: {ask.last_user}"
    status = fault.status or 500
    payload = failure(
        vendor, Refused(status, message, retry_after=fault.retry_after, code=fault.code), request_id
    )
    if fault.kind == "error_under_200":
        payload.status = 200
    payload.headers.update(_retry_headers(fault), **fault.headers)
    return payload


def _retry_headers(fault: Fault) -> Mapping[str, str]:
    headers = {}
    if fault.retry_after is not None and fault.retry_after_date:
        headers["retry-after"] = http_date(fault.retry_after)
    if fault.retry_after_ms is not None:
        headers["retry-after-ms"] = f"{fault.retry_after_ms:g}"
    return headers
