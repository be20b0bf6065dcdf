"""``run``: the daemon, in the foreground."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from types import FrameType

import click

from grader_daemon import log
from grader_daemon.cli import output
from grader_daemon.cli.options import read_settings, settings_options
from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.supervisor import Supervisor
from grader_daemon.errors import ConfigurationError

_EX_CONFIG = 78
"""Of sysexits.h; the unit does not restart on it, because that would not help."""


@click.command("run")
@settings_options
@click.option("--once", is_flag=True, help="Grade what is there and end.")
@click.option(
    "--quiet-seconds",
    type=float,
    metavar="SECONDS",
    help="Grade a session when its file was not written to for so long.",
)
@click.option("--log-level", help="debug, info, warning or error.")
@click.option("--log-format", help="auto, console or json.")
def command(
    *,
    once: bool,
    quiet_seconds: float | None,
    log_level: str | None,
    log_format: str | None,
) -> int:
    """Watch the folders and grade sessions as they finish, until SIGTERM or Ctrl-C.

    With --once, exit code 1 if a file could not be graded.
    """
    try:
        settings = read_settings(
            quiet_seconds=quiet_seconds,
            log_level=log_level,
            log_format=log_format,
        )
        log.configure(level=settings.log_level, log_format=settings.log_format, zone=settings.zone)
        supervisor = Supervisor(settings, Notifier(os.environ))
    except ConfigurationError as error:
        if not log.is_journal(sys.stderr):
            raise
        output.error(f"grader-daemon: {error}")
        raise click.exceptions.Exit(_EX_CONFIG) from error

    def stop(_: int, __: FrameType | None) -> None:
        # The handler runs in the service's own thread, which may hold the lock that stop() needs.
        threading.Thread(target=supervisor.stop, name="stop").start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    faulthandler.enable()
    try:
        return 1 if supervisor.run(once=once) else 0
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # it ends already: asked again, it need not end worse
