"""``dashboard``: what the prompt shows, in a browser on this machine, live."""

from __future__ import annotations

import os
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader_daemon import log
from grader_daemon.api.context import check_database
from grader_daemon.cli import output
from grader_daemon.cli.groups import Group
from grader_daemon.cli.options import (
    Amount,
    Whole,
    config_flag,
    flags_again,
    fleet_option,
    given_flags,
    json_option,
    read_settings,
    settings_options,
)
from grader_daemon.cli.reading import settings_to_read
from grader_daemon.cli.unit_commands import NOT_RUNNING, file_facts, force_option, print_installation, print_uninstalled
from grader_daemon.domain.this_machine import is_this_machine
from grader_daemon.errors import ConfigurationError
from grader_daemon.log.rotation import LOG_FILE
from grader_daemon.wings import part

if TYPE_CHECKING:
    import socket

    from grader_daemon.api.parts import SharedCopies
    from grader_daemon.dashboard.first_grading import FirstGrading
    from grader_daemon.dashboard.systemd_unit import DashboardStatus
    from grader_daemon.settings import Settings

_LARGEST_PORT = 65_535


@click.group("dashboard", cls=Group, invoke_without_command=True)
@settings_options
@fleet_option
@click.option("--open", "opens", is_flag=True, help="Open the dashboard in a browser.")
@click.option("--port", type=Whole(min=0, max=_LARGEST_PORT), help="Listen on this port; 0 chooses a free one.")
@click.option("--idle-exit", type=Amount(), metavar="SECONDS", help="Exit after this many seconds without a request.")
@click.pass_context
def command(ctx: click.Context, *, opens: bool, port: int | None, idle_exit: float | None) -> None:
    """Serve the dashboard (web pages) until Ctrl-C: how good the agents are, what fails, what to look at.

    If the dashboard is installed as a service, show its address.
    """
    if ctx.invoked_subcommand is not None:
        return
    from grader_daemon.dashboard.server import passed_socket, serve  # loads a web server

    settings = settings_to_read(read_settings())
    handed_over = passed_socket()
    if handed_over is None:  # a service that ended at each start would not be started again
        check_database(settings)
    keeps_log = handed_over is not None or LOG_FILE in os.environ
    listening = handed_over or _listening(settings, port)
    if listening is None:
        _tell(_entrance(settings), settings, opens=opens)
        return
    log.configure(level=settings.log_level, log_format=settings.log_format, zone=settings.zone)

    def tell(address: str) -> None:
        if keeps_log:  # output of a service is kept: no token in it
            output.line("Running as a service; `grader-daemon dashboard status` shows the address.")
        else:
            _tell(address, settings, opens=opens)
            output.line("Ctrl-C ends it.")
        output.flush()

    first_grading = None if keeps_log or _is_of_fleet(settings) else _first_grading()
    with _following(settings):
        serve(settings, listening, idle_exit=idle_exit, tell=tell, first_grading=first_grading)


@command.command("install")
@settings_options
@click.option("--open", "opens", is_flag=True, help="Open the dashboard in a browser.")
@force_option
@json_option
def install(*, opens: bool, force: bool, as_json: bool) -> None:
    """Install the dashboard as a service, which systemd starts when a browser asks for a page.

    On macOS, launchd runs the dashboard all the time. Run this command again after you change settings.
    """
    from grader_daemon.dashboard.systemd_unit import page_status
    from grader_daemon.service.manager import user_service

    settings, service = read_settings(), user_service("page")
    done = service.install(settings, force=force)
    if as_json:
        is_open = page_status(settings).listening
        output.document(units=done.units, written=done.written, kept=done.kept, enabled=done.enabled, listening=is_open)
        return
    print_installation(done, service.unit)
    _tell(_entrance(settings), settings, opens=opens)


@command.command("uninstall")
@json_option
def uninstall(*, as_json: bool) -> None:
    """Stop the dashboard's service, close its port, and remove both unit files."""
    from grader_daemon.service.manager import user_service

    print_uninstalled(user_service("page").uninstall(), as_json=as_json)


@command.command("status")
@settings_options
@json_option
def status(*, as_json: bool) -> int:
    """Show the address of the dashboard and the state of its service. Exit code 3 if its port is not open."""
    from grader_daemon.dashboard.systemd_unit import page_status

    settings = read_settings()
    page = page_status(settings)
    output.document(page) if as_json else _print_status(page, settings)
    return 0 if page.listening else NOT_RUNNING


@command.command("new-token")
@settings_options
def new_token() -> None:
    """Replace the token for the dashboard. The old token no longer works, in browsers and programs."""
    from grader_daemon.dashboard.access import renew_token

    renew_token(read_settings())
    output.line("Created a new token; the old one no longer works. New address: `grader-daemon dashboard status`.")


@contextmanager
def _following(settings: Settings) -> Iterator[None]:
    """Keep what the page shows up to date meanwhile, if it is of a fleet."""
    if not _is_of_fleet(settings):
        yield
        return
    known: SharedCopies = part("copies")
    stop = threading.Event()
    following = threading.Thread(target=known.follow, args=(settings, stop), name="fleet")
    following.start()
    try:
        yield
    finally:
        stop.set()
        following.join()


def _first_grading() -> FirstGrading:
    """Return what grades this machine's sessions at a click, by the flags of this command."""
    from grader_daemon.dashboard.first_grading import FirstGrading

    flags = given_flags()

    def read() -> Settings:
        from grader_daemon.settings import load_settings  # nobody clicks on most pages

        return load_settings(**flags)

    return FirstGrading(read, config=config_flag(), options=flags_again())


def _is_of_fleet(settings: Settings) -> bool:
    if settings.fleet_read_url is None:
        return False
    known: SharedCopies = part("copies")
    return known.is_of(settings)


def _listening(settings: Settings, port: int | None) -> socket.socket | None:
    """Return the socket to serve; None where the service of the page has its port."""
    from grader_daemon.dashboard.server import bind

    try:
        return bind(settings.dashboard_address, settings.dashboard_port if port is None else port)
    except ConfigurationError:
        if port is None and not _is_of_fleet(settings) and _is_installed(settings):
            return None
        raise


def _is_installed(settings: Settings) -> bool:
    from grader_daemon.dashboard.systemd_unit import page_status
    from grader_daemon.errors import ServiceError

    try:
        return page_status(settings).is_here
    except ServiceError:
        return False


def _entrance(settings: Settings) -> str:
    from grader_daemon.dashboard.access import make_access

    return make_access(settings, settings.dashboard_port).entrance


def _tell(address: str, settings: Settings, *, opens: bool) -> None:
    output.line(f"Open {address}")
    if not is_this_machine(settings.dashboard_address):
        output.line("Other machines can reach it.")
    output.line("Anyone with this address can see and label all sessions.")
    if opens:
        from grader_daemon.dashboard.access import write_way_in

        webbrowser.open(write_way_in(address, _own_place(settings)).as_uri())


def _own_place(settings: Settings) -> Path:
    """Return a folder for what is forgotten when the person leaves; where there is none, that of the database."""
    given = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    return given if given.is_absolute() and given.is_dir() else settings.db_path.parent


def _print_status(page: DashboardStatus, settings: Settings) -> None:
    from grader_daemon.dashboard.systemd_unit import PAGE

    closed = "closed" if page.installed else f"not installed: {PAGE.install}"
    output.facts(
        [
            ("port", "open" if page.listening else closed),
            ("process", f"runs, pid {page.pid}" if page.running else "starts on request"),
            *file_facts(PAGE, edited=page.edited, outdated=page.outdated),
            *([("open", _entrance(settings))] if page.is_here else []),
        ]
    )
