"""The stream: who is told what, and that nobody looks for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from starlette.requests import Request
from starlette.responses import StreamingResponse

from grader_daemon.dashboard.live import Live


class Watch:
    """A database that changes when the test says so; counts how often it is looked at."""

    def __init__(self) -> None:
        self.mark = "1-1"
        self.looks = 0
        self.closed = False

    def look(self) -> str:
        self.looks += 1
        return self.mark

    def close(self) -> None:
        self.closed = True


async def _next(stream: AsyncGenerator[str]) -> str:
    """Return what is told next, but for how soon to come again."""
    told = await anext(stream)
    return await anext(stream) if told.startswith("retry") else told


def _run(test: Callable[[Live, Watch], Awaitable[None]], *, more: str = "") -> Watch:
    watch = Watch()

    async def run() -> None:
        live = Live(watch, lambda: more)  # type: ignore[arg-type]  # as far as it is used
        async with asyncio.timeout(10):
            await test(live, watch)
            await live.close()

    asyncio.run(run())
    assert watch.closed
    return watch


def test_a_page_that_missed_something_is_told_at_once() -> None:
    async def test(live: Live, _: Watch) -> None:
        assert await _next(live._told("1-0")) == "id: 1-1\nevent: change\ndata:\n\n"

    _run(test)


def test_the_last_event_that_a_browser_had_counts_more_than_its_address() -> None:
    async def test(live: Live, _: Watch) -> None:
        headers = [(b"last-event-id", b"1-0")]
        request = Request({"type": "http", "method": "GET", "query_string": b"after=1-1", "headers": headers})
        answer = await live.answer(request)
        assert isinstance(answer, StreamingResponse)
        assert answer.media_type == "text/event-stream"
        told = [part async for part, _ in _first_two(answer)]
        assert told == ["retry: 2000\n\n", "id: 1-1\nevent: change\ndata:\n\n"]

    _run(test)


async def _first_two(answer: StreamingResponse) -> AsyncGenerator[tuple[object, int]]:
    number = 0
    async for part in answer.body_iterator:
        yield part, number
        number += 1
        if number == 2:
            return


def test_everybody_who_listens_is_told_of_a_change() -> None:
    async def test(live: Live, watch: Watch) -> None:
        waiting = [asyncio.ensure_future(_next(live._told("1-1"))) for _ in range(20)]
        await asyncio.sleep(0)
        watch.mark = "1-2"
        assert set(await asyncio.gather(*waiting)) == {"id: 1-2\nevent: change\ndata:\n\n"}

    _run(test)


def test_nobody_looks_when_nobody_listens_any_more() -> None:
    async def test(live: Live, watch: Watch) -> None:
        assert watch.looks == 0
        stream = live._told("1-0")
        await _next(stream)
        await stream.aclose()
        looks = watch.looks
        await asyncio.sleep(0.25)
        assert watch.looks == looks > 0

    _run(test)


def test_change_beside_the_database_is_told_too() -> None:
    async def test(live: Live, _: Watch) -> None:
        assert await _next(live._told("1-1")) == "id: 1-1+\nevent: change\ndata:\n\n"

    _run(test, more="+")
