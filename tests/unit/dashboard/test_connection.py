"""Who opens a connection must ask and listen in time; who does is answered as ever."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from grader_daemon.dashboard import connection
from grader_daemon.dashboard.connection import Connection

_SOON = 0.05
_LATER = 5.0
_PARTS, _PART = 100, 500_000  # more than the buffers between two sockets hold
_WHOLE = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ASKING_SECONDS", _SOON)
    monkeypatch.setattr(connection, "LISTENING_SECONDS", _SOON)


async def _echo(_: Scope, receive: Receive, send: Send) -> None:
    """Answer with what was sent, twice as late as a client may be with a request of its own."""
    body = (await receive()).get("body", b"")
    await asyncio.sleep(2 * _SOON)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


async def _pour(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(_PARTS):
        await send({"type": "http.response.body", "body": bytes(_PART), "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def _connected(app: ASGIApp) -> AsyncIterator[tuple[StreamReader, StreamWriter, ServerState]]:
    """Connect to a server of an application."""
    config, state = uvicorn.Config(app, ws="none", log_config=None, timeout_keep_alive=60), ServerState()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(config, state, {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    async with asyncio.timeout(_LATER):
        yield reader, writer, state
    writer.close()
    server.close()
    await server.wait_closed()


async def _rest(reader: StreamReader) -> bytes:
    """Return what comes until the connection ends."""
    said = []
    with suppress(ConnectionResetError):
        while more := await reader.read(65_536):
            said.append(more)
    return b"".join(said)


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET / HTT", id="half-a-line"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\n", id="headers-without-an-end"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab", id="half-a-body"),
    ],
)
def test_who_does_not_ask_in_time_is_dropped(part: bytes) -> None:
    async def ask() -> bytes:
        async with _connected(_echo) as (reader, writer, _):
            writer.write(part)
            return await _rest(reader)

    assert asyncio.run(ask()) == b""


def test_who_asked_in_time_may_wait_for_the_answer_and_must_ask_again_in_time() -> None:
    async def ask() -> tuple[bytes, bytes]:
        async with _connected(_echo) as (reader, writer, _):
            writer.write(_WHOLE[:20])
            await writer.drain()
            writer.write(_WHOLE[20:])
            answer = await reader.readuntil(b"\r\n\r\nab")
            writer.write(b"GET")
            return answer, await _rest(reader)

    answer, rest = asyncio.run(ask())
    assert answer.startswith(b"HTTP/1.1 200")
    assert rest == b""


def test_who_does_not_listen_in_time_is_dropped() -> None:
    async def ask() -> int:
        async with _connected(_pour) as (reader, writer, state):
            transport = cast(asyncio.Transport, writer.transport)
            transport.pause_reading()
            writer.write(_WHOLE)
            await _until(lambda: bool(state.connections))
            await _until(lambda: not state.connections)
            transport.resume_reading()
            return len(await _rest(reader))

    assert asyncio.run(ask()) < _PARTS * _PART


def test_who_listens_gets_all() -> None:
    """A busy machine may keep one who listens from reading for that long: three may try."""

    async def ask() -> int:
        async with _connected(_pour) as (reader, writer, _):
            writer.write(_WHOLE.replace(b"Host", b"Connection: close\r\nHost"))
            return len(await _rest(reader))

    assert any(asyncio.run(ask()) > _PARTS * _PART for _ in range(3))


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)
