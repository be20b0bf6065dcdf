"""``run``: the daemon, in the foreground."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType

import click

from grader_daemon import log
from grader_daemon.cli.options import read_settings, settings_options
from grader_daemon.daemon.service import Service


@click.command("run")
@settings_options
@click.option("--once", is_flag=True, help="Grade what is there and end.")
@click.option("--quiet-seconds", type=float, help="Grade a session when its file was not written to for so long.")
@click.option("--log-level", help="debug, info, warning or error.")
@click.option("--log-format", help="auto, console or json.")
def command(
    *,
    watch_roots: tuple[Path, ...],
    db_path: Path | None,
    once: bool,
    quiet_seconds: float | None,
    log_level: str | None,
    log_format: str | None,
) -> None:
    """Watch the folders and grade sessions as they finish, until SIGTERM or Ctrl-C."""
    settings = read_settings(
        watch_roots=watch_roots,
        db_path=db_path,
        quiet_seconds=quiet_seconds,
        log_level=log_level,
        log_format=log_format,
    )
    log.configure(level=settings.log_level, log_format=settings.log_format)
    service = Service(settings)

    def stop(_: int, __: FrameType | None) -> None:
        # The handler runs in the service's own thread, which may hold the lock that stop() needs.
        threading.Thread(target=service.stop, name="stop").start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    service.run(once=once)
