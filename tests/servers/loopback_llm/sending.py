"""How an answer goes over the wire: whole, in events, or with a fault on its way."""

from __future__ import annotations

import asyncio
import socket
import struct

from aiohttp import web

from .plan import Fault
from .wire import Payload


class NoAnswer(Exception):
    """The connection is to be closed; nothing more is sent on it."""


async def send(request: web.BaseRequest, payload: Payload, delay: float) -> web.StreamResponse:
    """Sends an answer as it should be.

    Args:
        request: what is answered.
        payload: the answer.
        delay: seconds between two events.
    """
    if payload.frames is None:
        headers = {"Content-Type": payload.content_type, **payload.headers}
        return web.Response(body=payload.body, status=payload.status, headers=headers)
    response = await _begin(request, payload)
    if not delay:
        await response.write(b"".join(payload.frames))
    else:
        for frame in payload.frames:
            await response.write(frame)
            await asyncio.sleep(delay)
    return response


async def send_with_fault(
    request: web.BaseRequest, payload: Payload, fault: Fault, release: asyncio.Event
) -> web.StreamResponse:
    """Sends an answer with one of `plan.WIRE_FAULTS`.

    Args:
        request: what is answered.
        payload: the answer.
        fault: what happens to it.
        release: set when hanging answers are to be let go.

    Raises:
        NoAnswer: when the connection has to be closed now.
    """
    kind = fault.kind
    if kind == "disconnect":
        raise NoAnswer
    if kind == "hung":
        await release.wait()
        raise NoAnswer
    if kind == "truncated_json" and payload.frames is None:
        payload.body = payload.body[: len(payload.body) // 2]
        return await send(request, payload, 0)
    if kind == "truncated_json" and payload.frames:
        # Of a stream: one event with half a document in it, and the end.
        payload.frames = [
            *_first_half(payload.frames),
            payload.frames[-2][: len(payload.frames[-2]) // 2] + b"\n\n",
        ]
        return await send(request, payload, 0)
    if kind == "truncated_stream" and payload.frames:
        payload.frames = _first_half(payload.frames)
        return await send(request, payload, 0)
    if kind == "stream_error" and payload.frames:
        payload.frames = [*_first_half(payload.frames), payload.error_frame]
        return await send(request, payload, 0)
    return await _send_part(request, payload, fault, release)


def _first_half(frames: list[bytes]) -> list[bytes]:
    return frames[: max(len(frames) // 2, 1)]


async def _begin(request: web.BaseRequest, payload: Payload) -> web.StreamResponse:
    headers = {
        "Content-Type": "text/event-stream; charset=utf-8",
        "Cache-Control": "no-cache",
        **payload.headers,
    }
    response = web.StreamResponse(status=payload.status, headers=headers)
    response.enable_chunked_encoding()
    await response.prepare(request)
    return response


async def _send_part(
    request: web.BaseRequest, payload: Payload, fault: Fault, release: asyncio.Event
) -> web.StreamResponse:
    """Sends half of an answer whose head promised all of it, and then what the fault wants."""
    if payload.frames is None:
        whole = payload.body
        headers = {"Content-Type": payload.content_type, "Content-Length": str(len(whole)), **payload.headers}
        response = web.StreamResponse(status=payload.status, headers=headers)
        await response.prepare(request)
    else:
        whole = b"".join(payload.frames)
        response = await _begin(request, payload)
    if fault.kind == "drip":
        for i in range(len(whole)):
            await response.write(whole[i : i + 1])
            await asyncio.sleep(fault.ms / 1000)
        return response
    await response.write(whole[: len(whole) // 2])
    if fault.kind == "stalled":
        await release.wait()
    elif fault.kind == "reset":
        await asyncio.sleep(0.01)  # so that the client has read the first half and is in the middle of it
        _reset_on_close(request)
    raise NoAnswer


def _reset_on_close(request: web.BaseRequest) -> None:
    # With a lingering time of zero, closing sends RST in place of FIN.
    if request.transport is not None:
        sock: socket.socket = request.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
