"""The socket of the page."""

from __future__ import annotations

import asyncio
import socket

import pytest

from grader_daemon.dashboard.server import bind


@pytest.mark.parametrize("address", [pytest.param("127.0.0.1", id="ipv4"), pytest.param("::1", id="ipv6")])
def test_answers_are_sent_at_once(address: str) -> None:
    async def waits_for_acknowledgements() -> bool:
        accepted: asyncio.Future[asyncio.BaseTransport] = asyncio.get_running_loop().create_future()

        class Accepting(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                accepted.set_result(transport)

        server = await asyncio.get_running_loop().create_server(Accepting, sock=bind(address, 0))
        async with server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
            answering = (await accepted).get_extra_info("socket")
            without_delay = answering.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            writer.close()
        return not without_delay

    assert not asyncio.run(waits_for_acknowledgements())
