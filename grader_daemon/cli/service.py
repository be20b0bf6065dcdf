"""``service``: the daemon in the hands of the service manager, systemd or launchd."""

from __future__ import annotations

import click

from grader_daemon.cli import output
from grader_daemon.cli.groups import Group
from grader_daemon.cli.options import Whole, json_option, read_settings, settings_options
from grader_daemon.cli.unit_commands import NOT_RUNNING, force_option, install_service, print_uninstalled, status_facts
from grader_daemon.service.daemon_unit import DAEMON
from grader_daemon.service.manager import PRIORITIES, read_service_log, user_service


@click.group("service", cls=Group)
def command() -> None:
    """Run the daemon as a systemd user service, or with launchd on macOS."""


@command.command("install")
@settings_options
@force_option
@json_option
def install(*, force: bool, as_json: bool) -> None:
    """Install, enable and start the service. Run this again after you change settings or upgrade.

    The service keeps the settings you give here and the current GRADER_… variables.
    """
    install_service("daemon", force=force, as_json=as_json)


@command.command("uninstall")
@json_option
def uninstall(*, as_json: bool) -> None:
    """Stop the daemon and remove its service. Grades and settings stay."""
    kept = user_service("daemon").uninstall()
    print_uninstalled(kept, stays=f"Your grades stay in {kept}.", as_json=as_json, writable=kept)


@command.command("status")
@settings_options
@json_option
def status(*, as_json: bool) -> int:
    """Show the state of the service. Exit code 3 if it does not run."""
    service = user_service("daemon").status(read_settings())
    output.document(service) if as_json else output.facts(status_facts(service, DAEMON))
    return 0 if service.running else NOT_RUNNING


@command.command("logs")
@settings_options
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines until Ctrl-C.")
@click.option("-n", "--lines", type=Whole(min=1), default=50, show_default=True, help="Show this many newest lines.")
@click.option("-p", "--priority", type=click.Choice(PRIORITIES), help="Show only lines of this priority or worse.")
def logs(*, follow: bool, lines: int, priority: str | None) -> int:
    """Show the service's log; `-p warning` shows only alerts and problems. Exit code 1 if there is no log."""
    read_settings()  # for the zone of its times
    entry = None
    for entry in read_service_log(DAEMON, lines=lines, priority=priority, follow=follow):
        output.log_line(entry.at, PRIORITIES[entry.priority], entry.message)
        output.flush()
    if entry is not None:
        return 0
    if priority is not None:
        output.error(f"No line of level {priority} or worse.")
        return 0
    output.error("grader-daemon: no log of the service was found; see: grader-daemon service status")
    return 1
