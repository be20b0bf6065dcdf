"""The stream of events by which an open page hears that something changed: one for each tab that is looked at.

An event carries no data but its id, the mark of `ChangeWatch`: a page that gets another one than it was drawn at asks
for itself again, and shows what is new. So nothing can be missed, in whatever order things come. The format is that
of the HTML standard, section 9.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from grader_daemon.api.change_watch import ChangeWatch

_LOOKS_EVERY_SECONDS: Final = 0.1
_ALIVE_EVERY_SECONDS: Final = 15.0
"""So often a stream says something, whatever happens: else nobody notices that the other side is gone."""

_RECONNECT_MS: Final = 2000
_LONGEST_MARK: Final = 100


class Live:
    """Looks for changes while anybody listens, and wakes up those who do."""

    def __init__(self, watch: ChangeWatch, more: Callable[[], str]) -> None:
        """`more` is a mark of what changes beside the database."""
        self._watch = watch
        self._more = more
        self._mark = ""
        self._listeners = 0
        self._looking: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()

    async def answer(self, request: Request) -> Response:
        """Answer with a stream, from the mark that the page has seen."""
        seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
        return StreamingResponse(self._told(seen[:_LONGEST_MARK]), media_type="text/event-stream")

    async def close(self) -> None:
        """Stop looking."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        self._watch.close()

    async def _told(self, seen: str) -> AsyncGenerator[str]:
        """Yield an event for each mark that differs from the one before, and a comment where none does for long."""
        self._listeners += 1
        if self._looking is None:
            self._mark = self._watch.look() + self._more()
            self._looking = asyncio.create_task(self._look())
        try:
            yield f"retry: {_RECONNECT_MS}\n\n"
            while True:
                if self._mark != seen:
                    seen = self._mark
                    yield f"id: {seen}\nevent: change\ndata:\n\n"
                elif not await self._is_changed(seen):
                    yield ": nothing new\n\n"
        finally:
            self._listeners -= 1
            if not self._listeners and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _is_changed(self, seen: str) -> bool:
        try:
            async with asyncio.timeout(_ALIVE_EVERY_SECONDS), self._changed:
                await self._changed.wait_for(lambda: self._mark != seen)
        except TimeoutError:
            return False
        return True

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOKS_EVERY_SECONDS)
            mark = self._watch.look() + self._more()
            if mark != self._mark:
                self._mark = mark
                async with self._changed:
                    self._changed.notify_all()
