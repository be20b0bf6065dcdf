"""The server of the page: it listens on this machine, ends on a signal or when nobody has looked for a while."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from grader_daemon.dashboard.access import MOST_HEADER_BYTES, door_of, make_access
from grader_daemon.dashboard.app import make_app
from grader_daemon.dashboard.connection import Connection
from grader_daemon.dashboard.first_grading import FirstGrading
from grader_daemon.dashboard.site import Site
from grader_daemon.errors import ConfigurationError

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_MOST_CONNECTIONS: Final = 64
_FIRST_PASSED: Final = 3
_ENDING_SECONDS: Final = 1
_LOOKS_EVERY_SECONDS: Final = 5.0


def passed_socket() -> socket.socket | None:
    """Return the socket that a service manager opened for this process (sd_listen_fds(3)); None: it did not."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS") != "1":
        return None
    return socket.socket(fileno=_FIRST_PASSED)


def bind(address: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 is any that is free.

    Raises:
        ConfigurationError: the port is taken, or it or the address may not be used.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # Without its protocol asyncio does not know TCP, and the end of each answer waits 40 ms for an acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
    except OSError as error:
        listening.close()
        raise ConfigurationError(
            f"port {port} of {address} cannot be used ({error.strerror}): choose another with --port or dashboard_port"
        ) from error
    return listening


class Tls(NamedTuple):
    """A certificate with its key, and the beginning of the names of the settings that have them."""

    certificate: Path | None
    key: Path | None
    named: str


def serve(
    settings: Settings,
    listening: socket.socket,
    *,
    idle_exit: float | None,
    tell: Callable[[str], None],
    first_grading: FirstGrading | None = None,
) -> None:
    """Serve the page of this machine until a signal; with `idle_exit`, until nobody has looked for so many seconds.

    `tell` is given the address with its token when the page can be opened; `first_grading` is what the page may begin.

    Raises:
        ConfigurationError: the certificate or its key cannot be used.
    """
    access = make_access(settings, listening.getsockname()[1])
    serve_app(
        make_app(Site(settings, door_of(settings, access), first_grading=first_grading)),
        listening,
        tls=Tls(settings.dashboard_certificate_file, settings.dashboard_key_file, "dashboard"),
        idle_exit=idle_exit,
        on_ready=lambda: tell(access.entrance),
    )


def serve_app(
    app: ASGIApp,
    listening: socket.socket,
    *,
    tls: Tls,
    on_ready: Callable[[], None],
    idle_exit: float | None = None,
    most_connections: int = _MOST_CONNECTIONS,
) -> None:
    """Serve pages until a signal; with `idle_exit`, until nobody has looked for so many seconds.

    Raises:
        ConfigurationError: the certificate or its key cannot be used.
    """
    activity = _Activity(app)
    config = uvicorn.Config(
        activity,
        http=Connection,
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",  # what fails is said by our log, once; strangers write nothing into it
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=most_connections,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        timeout_graceful_shutdown=_ENDING_SECONDS,
        ssl_certfile=tls.certificate,
        ssl_keyfile=tls.key,
    )
    try:
        config.load()
    except OSError as error:
        raise ConfigurationError(
            f"{tls.named}_certificate_file and {tls.named}_key_file cannot be used: {error.strerror or error}"
        ) from error
    _Server(config, activity, idle_exit=idle_exit, on_ready=on_ready).run(sockets=[listening])


class _Activity:
    """Knows whether anybody looks."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open = 0
        self._last: float | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and note that somebody looks."""
        self._open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open -= 1
            self._last = None

    def idle_seconds(self, now: float) -> float:
        """Return for how long nothing was asked for and no stream was open, by the clock of the loop."""
        if self._open > 1:  # the lifespan of the application is one
            self._last = None
            return 0.0
        if self._last is None:
            self._last = now
        return now - self._last


class _Server(uvicorn.Server):
    """Ends well on a signal, and wakes up only when there is something to do."""

    def __init__(
        self, config: uvicorn.Config, activity: _Activity, *, idle_exit: float | None, on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._activity = activity
        self._idle_exit = idle_exit
        self._on_ready = on_ready
        self._ended = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Have the signals that ask for an end wake up the loop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._ended.set)
        yield

    async def main_loop(self) -> None:
        """Wait for the end."""
        self._on_ready()
        pause = None if self._idle_exit is None else min(self._idle_exit, _LOOKS_EVERY_SECONDS)
        loop = asyncio.get_running_loop()
        while not self._ended.is_set():
            try:
                await asyncio.wait_for(self._ended.wait(), pause)
            except TimeoutError:
                if self._idle_exit is not None and self._activity.idle_seconds(loop.time()) >= self._idle_exit:
                    return
