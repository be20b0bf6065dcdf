"""One connection of a browser or a program, which has so long to ask and to listen, and is dropped then.

The server bounds how many there are; who opens one, says nothing and stays would keep others out.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

ASKING_SECONDS: Final = 10.0
"""From the first byte of a request, or the opening of the connection, to the last byte of the request."""

LISTENING_SECONDS: Final = 30.0
"""How long a client may take to read on, once all buffers between are full."""


class Connection(H11Protocol):
    """HTTP as uvicorn speaks it, with both bounds."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._asking: asyncio.TimerHandle | None = None
        self._listening: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as theirs
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._asking = self._drop_after(ASKING_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        for waiting in (self._asking, self._listening):
            if waiting is not None:
                waiting.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; a request that is whole ends the wait for it, one that has begun begins another."""
        super().data_received(data)
        if self._is_asked:
            if self._asking is not None:
                self._asking.cancel()
                self._asking = None
        elif self._asking is None:
            self._asking = self._drop_after(ASKING_SECONDS)

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        self._listening = self._drop_after(LISTENING_SECONDS)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        super().resume_writing()
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None

    @property
    def _is_asked(self) -> bool:
        """True if a request has come whole, and is being answered."""
        return self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete

    def _drop_after(self, seconds: float) -> asyncio.TimerHandle:
        return self.loop.call_later(seconds, self.transport.abort)
