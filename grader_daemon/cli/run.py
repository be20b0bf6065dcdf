"""``run``: the daemon, in the foreground."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
import msgspec
import structlog

from grader_daemon import log
from grader_daemon.api.permissions import exposed_places
from grader_daemon.api.ungraded import ungraded_agents
from grader_daemon.cli import output
from grader_daemon.cli.loading import loading
from grader_daemon.cli.options import given_flags, settings_options, tell_doubts
from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.settings_apart import read_apart, read_here
from grader_daemon.daemon.supervisor import Supervisor
from grader_daemon.errors import ConfigurationError
from grader_daemon.setting_sources import setting_of
from grader_daemon.system.open_files import is_journal

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_log = structlog.get_logger()
_MEANINGLESS = (signal.SIGUSR1, signal.SIGUSR2)
"""They would kill whoever does not know them."""

_EX_CONFIG = 78
"""Of sysexits.h; the unit does not restart on it, because that would not help."""


@click.command("run")
@settings_options
@click.option("--once", is_flag=True, help="Grade the existing sessions and exit.")
@click.option(
    "--quiet-seconds",
    type=float,
    metavar="SECONDS",
    help="Grade a session when nothing has written to its file for this long.",
)
@click.option("--log-level", help="Log only this level and worse: debug, info, warning or error.")
@click.option("--log-format", help="Write log lines as auto, console or json.")
def command(*, once: bool, quiet_seconds: float | None, log_level: str | None, log_format: str | None) -> int:
    """Watch the folders and grade sessions as they finish, until SIGTERM, Ctrl-C, or the end of the terminal.

    On SIGHUP, the daemon reloads settings and rules, unless the signal comes from a closing terminal.

    With --once, exit code 1 if a file could not be graded, or a folder or adapter is missing or cannot be read.
    """
    flags = given_flags(quiet_seconds=quiet_seconds, log_level=log_level, log_format=log_format)

    def read() -> Settings:
        settings = _read_quickly(flags) if once else read_apart(flags)
        tell_doubts(settings)
        log.configure(level=settings.log_level, log_format=settings.log_format, zone=settings.zone)
        return settings

    try:
        supervisor = Supervisor(read, Notifier(os.environ))
    except ConfigurationError as error:
        if not is_journal(sys.stderr):
            raise
        output.error(f"grader-daemon: {error}")
        raise click.exceptions.Exit(_EX_CONFIG) from error

    _tell_surroundings(supervisor.settings)
    faulthandler.enable()
    with _signals(supervisor):
        left = supervisor.run(once=once)
    return 1 if left or (once and _lacks_a_source(supervisor.settings)) else 0


def _read_quickly(flags: Mapping[str, Any]) -> Settings:
    """Read the settings for a run that ends: it holds no memory for long."""
    with loading():
        return read_here(flags)


def _tell_surroundings(settings: Settings) -> None:
    for place in exposed_places(settings):
        _log.warning("place.exposed", **msgspec.structs.asdict(place))
    for agent in ungraded_agents(settings):
        _log.warning("agent.ungraded", **msgspec.structs.asdict(agent))


@contextmanager
def _signals(supervisor: Supervisor) -> Iterator[None]:
    """Have the signals that ask for an end stop the daemon, and those that mean nothing here do nothing.

    What was to be ignored from the start stays so, but for SIGTERM: nohup(1) asks to outlive the terminal.
    """

    # Handlers run in the service's own thread, which may hold the lock that both need.
    def stop(_: int, __: FrameType | None) -> None:
        threading.Thread(target=supervisor.stop, name="stop").start()

    had_terminal = _has_terminal()

    def hang_up(number: int, frame: FrameType | None) -> None:
        if had_terminal and not _has_terminal():
            stop(number, frame)
        else:
            threading.Thread(target=supervisor.reload, name="reload").start()

    handlers = {signal.SIGINT: stop, signal.SIGQUIT: stop, signal.SIGHUP: hang_up}
    heard = [number for number in handlers if signal.getsignal(number) is not signal.SIG_IGN]
    ending = [signal.SIGTERM, *heard]
    for number in ending:
        signal.signal(number, handlers.get(number, stop))
    for number in _MEANINGLESS:
        signal.signal(number, lambda _, __: None)  # unlike SIG_IGN, this is not left to the programs that we start
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_IGN)  # it ends already: asked again, it need not end worse


def _has_terminal() -> bool:
    """Return whether this process belongs to a terminal that is there; the kernel takes it away before it tells."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _lacks_a_source(settings: Settings) -> bool:
    """Return whether an adapter is missing, or a folder that somebody named.

    The default folder may be missing: the agent may not have run yet.
    """
    if settings.sources_not_installed:
        return True
    named = [name for name in settings.sources if setting_of(name) in settings.model_fields_set]
    return not all(os.path.isdir(root) for name in named for root in settings.roots_of(name))
