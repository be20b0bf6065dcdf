"""Many tabs at once, one that stopped reading, and a daemon beside them that grades hundreds of sessions a minute.

A tab is what `live.js` is to the server: a stream, and the page again when the stream says that something changed,
then four times as long a pause as that took. Browsers would take the processors that are measured.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.benchmarks import machine
from tests.benchmarks.dashboard_server import Dashboard, served
from tests.benchmarks.live import Renames, make_sessions, snapshots, watch_rows, write_steadily
from tests.benchmarks.machine import Figure, at_most
from tests.benchmarks.process import Daemon, Sandbox, make_sandbox
from tests.benchmarks.sessions import write_sessions
from tests.benchmarks.targets import (
    PAGE_CROWD_ANSWER_SECONDS,
    PAGE_CROWD_GROWTH_MEGABYTES,
    PAGE_CROWD_MORE_DESCRIPTORS,
)

_TABS = 20
_A_SECOND = 500 / 60
_SIZE = 20_000
_QUIET_SECONDS = 2.0
_GIVE_UP_SECONDS = 20.0
_BETWEEN_LOOKS = 0.001
_BETWEEN_QUESTIONS = 1.0
_WARM_SECONDS = 10.0
_PAUSE_BY_ANSWER = 4
_MARK = re.compile(rb'data-mark="([^"]*)"')
_SHOWN = ("/", "/sessions", "/errors", "/health")
_ASKED = (*_SHOWN, "/alerts", "/reports", "/review", "/trust", "/sessions?text=the")
_BEFORE, _FIRST_SEED = 2_000, 100_000
_REST_SECONDS, _REST_SHARE = 5.0, 0.02


class Seen(NamedTuple):
    """How sessions came and went: from last write to committed row in seconds, and how many never came."""

    took: list[float]
    lost: int
    cpu_seconds: float


class Asked(NamedTuple):
    """How the server answered meanwhile: the slowest page, and what it holds at the begin and the end."""

    slowest: float
    answers: int
    more_bytes: int
    more_descriptors: int
    cpu_share: float


def crowd(folder: Path, *, seconds: float) -> list[Figure]:
    """Let sessions come in at a daemon that has graded some, first alone and then beside tabs that look."""
    sandbox = make_sandbox(folder, settings={"GRADER_QUIET_SECONDS": str(_QUIET_SECONDS)})
    before = sandbox.root / "before" / "sessions"
    before.mkdir(parents=True)
    write_sessions([before] * _BEFORE, size=_SIZE, first_seed=_FIRST_SEED)
    with sandbox.daemon() as daemon:
        daemon.wait_for_event("session.graded")
        _rest(daemon)
        alone = _arrive(sandbox, daemon, seconds, first_seed=0)
        with served(sandbox) as dashboard, _tabs(dashboard), _stopped_reading(dashboard):
            asking = _Asking(dashboard)
            beside = _arrive(sandbox, daemon, seconds, first_seed=_BEFORE)
            asked = asking.end()
    return [*_latency("alone", alone), *_latency(f"beside {_TABS} tabs", beside), *_server(asked)]


def _rest(daemon: Daemon) -> None:
    """Wait until the daemon has graded all that was there, and done what follows, such as reports."""
    machine.progress("waiting for the daemon to rest")
    busy = [daemon.cpu_clock]

    def rests() -> bool:
        time.sleep(_REST_SECONDS)
        busy.append(daemon.cpu_clock)
        return busy[-1] - busy[-2] < _REST_SHARE * _REST_SECONDS

    daemon.wait_until(rests, "the daemon rests")


def _latency(where: str, seen: Seen) -> Iterator[Figure]:
    took = [(each - _QUIET_SECONDS) * 1000 for each in seen.took]
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        value = machine.percentile(took, share)
        yield at_most(f"daemon {where}: last write to committed row, {name}", value, target=None, unit="ms")
    yield at_most("  not graded", seen.lost, target=0, unit="sessions", digits=0)
    yield at_most("  daemon's CPU per session", seen.cpu_seconds / len(took) * 1000, target=None, unit="ms", digits=2)


def _server(asked: Asked) -> list[Figure]:
    return [
        at_most(
            f"slowest of {asked.answers} answers meanwhile",
            asked.slowest,
            target=PAGE_CROWD_ANSWER_SECONDS,
            unit="s",
            digits=2,
        ),
        at_most("dashboard's CPU", asked.cpu_share * 100, target=None, unit="%", digits=0),
        at_most("  more memory", asked.more_bytes / 1e6, target=PAGE_CROWD_GROWTH_MEGABYTES, unit="MB"),
        at_most(
            "  more descriptors", asked.more_descriptors, target=PAGE_CROWD_MORE_DESCRIPTORS, unit="files", digits=0
        ),
    ]


def _arrive(sandbox: Sandbox, daemon: Daemon, seconds: float, *, first_seed: int) -> Seen:
    """Write sessions for some seconds, and watch their rows come."""
    machine.progress(f"sessions come in for {seconds:.0f} s")
    sessions = make_sessions([_SIZE], first_seed + round(seconds * _A_SECOND))[first_seed:]
    folder = sandbox.root / "agent" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    renames, reader, cpu = Renames(), sandbox.reader(), daemon.cpu_seconds_with_helpers()
    until = time.monotonic() + seconds + _QUIET_SECONDS + _GIVE_UP_SECONDS
    with snapshots(folder, fsync=True) as begin:
        arguments = (begin, sessions, renames)
        writer = threading.Thread(target=write_steadily, args=arguments, kwargs={"rate": _A_SECOND})
        writer.start()
        expected = frozenset(session.session_id for session in sessions)
        rows = list(watch_rows(reader, expected=expected, until=until, poll_seconds=_BETWEEN_LOOKS))
        writer.join()
    reader.close()
    took = [row.seen - renames.moments[row.session_id] for row in rows]
    return Seen(took, len(sessions) - len(rows), daemon.cpu_seconds_with_helpers() - cpu)


class _Asking:
    """Asks for one page after the other, a second apart, in a thread."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard
        self._ended = threading.Event()
        self._slowest = 0.0
        self._answers = 0
        self._begin: tuple[int, int] | None = None
        self._cpu, self._began = dashboard.cpu_clock, time.monotonic()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def end(self) -> Asked:
        """Stop, and return what was seen."""
        cpu, took = self._dashboard.cpu_clock - self._cpu, time.monotonic() - self._began
        self._ended.set()
        self._thread.join()
        if self._begin is None:
            raise SystemExit("too short a time to see what grows")
        memory, descriptors = (now - before for now, before in zip(_held(self._dashboard), self._begin, strict=True))
        return Asked(self._slowest, self._answers, memory, descriptors, cpu / took)

    def _ask(self) -> None:
        while True:
            for page in _ASKED:
                if self._ended.wait(_BETWEEN_QUESTIONS):
                    return
                self._slowest = max(self._slowest, self._dashboard.ask(page).seconds)
                self._answers += 1
            if self._begin is None and time.monotonic() - self._began > _WARM_SECONDS:
                self._begin = _held(self._dashboard)


def _held(dashboard: Dashboard) -> tuple[int, int]:
    return dashboard.resident_bytes(), dashboard.descriptors


@contextmanager
def _tabs(dashboard: Dashboard) -> Iterator[None]:
    """Keep tabs open, in a process of their own."""
    process = multiprocessing.get_context("spawn").Process(
        target=_keep_tabs, args=(urlsplit(dashboard.base).netloc, dashboard.token), daemon=True
    )
    process.start()
    try:
        yield
    finally:
        is_whole = process.is_alive()
        process.terminate()
        process.join()
    if not is_whole:
        raise SystemExit("a tab was refused, or its stream ended")


@contextmanager
def _stopped_reading(dashboard: Dashboard) -> Iterator[None]:
    """Have a client that asks for a stream and for pages and reads nothing, as a suspended browser."""
    host, _, port = urlsplit(dashboard.base).netloc.partition(":")
    streams = [socket.create_connection((host, int(port))) for _ in range(2)]
    for stream, addresses in zip(streams, (["/events"], ["/sessions"] * 100), strict=True):
        stream.sendall(b"".join(_request(f"{host}:{port}", dashboard.token, address) for address in addresses))
    try:
        yield
    finally:
        for stream in streams:
            stream.close()


def _keep_tabs(netloc: str, token: str) -> None:
    with suppress(KeyboardInterrupt):
        asyncio.run(_look(netloc, token))
    os._exit(1)  # a tab ended


async def _look(netloc: str, token: str) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(_TABS):
            group.create_task(_tab(netloc, token, _SHOWN[number % len(_SHOWN)]))


async def _tab(netloc: str, token: str, address: str) -> None:
    """Show a page, and show it anew when something changed, as `live.js` does."""
    host, _, port = netloc.partition(":")
    hearing, telling = await asyncio.open_connection(host, int(port))
    mark = await _shown(netloc, token, address)
    telling.write(_request(netloc, token, f"/events?after={mark}"))
    changed = asyncio.Event()

    async def refresh() -> None:
        while True:
            await changed.wait()
            changed.clear()
            began = time.monotonic()
            await _shown(netloc, token, address)
            await asyncio.sleep(_PAUSE_BY_ANSWER * (time.monotonic() - began))

    async with asyncio.TaskGroup() as group:
        group.create_task(refresh())
        while line := await hearing.readline():
            if line.startswith(b"event: change"):
                changed.set()
        raise ConnectionError("the stream ended")


async def _shown(netloc: str, token: str, address: str) -> str:
    """Ask for a page and return its mark."""
    host, _, port = netloc.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(_request(netloc, token, address))
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    if length is None or b" 200 " not in head[:20]:
        raise ConnectionError(head.decode())
    mark = _MARK.search(await reader.readexactly(int(length[1])))
    writer.close()
    return "" if mark is None else mark[1].decode()


def _request(netloc: str, token: str, address: str) -> bytes:
    return f"GET {address} HTTP/1.1\r\nHost: {netloc}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
