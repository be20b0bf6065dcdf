"""``fleet``: one PostgreSQL for the grades of many machines, in the hands of its administrator."""

from __future__ import annotations

import sys
import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from grader_daemon import log
from grader_daemon.bootstrap import utc_now
from grader_daemon.cli import output
from grader_daemon.cli.groups import Group
from grader_daemon.cli.options import asks, fleet_option, json_option, read_settings, settings_options
from grader_daemon.cli.reading import read_fleet
from grader_daemon.cli.unit_commands import NOT_RUNNING, force_option, install_service, print_uninstalled, status_facts
from grader_daemon.domain.fleet_hosts import is_silent, is_unwatched
from grader_daemon.domain.text import clean, duration_words
from grader_daemon.errors import ConfigurationError
from grader_daemon.fleet.admin import checked_name, configuration_line, fleet_database, fleet_url
from grader_daemon.fleet.copy_settings import settings_of_copy
from grader_daemon.fleet.follow import watch_fleet
from grader_daemon.wings import rows_below

if TYPE_CHECKING:
    from grader_daemon.api.grader import SelfGrader
    from grader_daemon.fleet.server_admin import FleetDatabase, FleetHost
    from grader_daemon.fleet.systemd_unit import PusherStatus

_CLOCKS_DIFFER_SECONDS: Final = 60.0
_DAYS_FROM: Final = 2
_url_option = click.option(
    "--url", metavar="URL", help="Connect to the fleet's PostgreSQL here, with an administrator's login."
)


@click.group("fleet", cls=Group, rows=rows_below("fleet"))
def command() -> None:
    """Set up a fleet (the grades of many machines in one PostgreSQL), and add and remove machines."""


@command.command("install")
@settings_options
@force_option
@json_option
def install(*, force: bool, as_json: bool) -> None:
    """Install `fleet push --follow` as a service. Run this again after you change settings or upgrade.

    First set the destination as fleet_url in the settings file. The service keeps the settings you give here and other
    GRADER_… variables.
    """
    install_service("pusher", force=force, as_json=as_json)


@command.command("uninstall")
@json_option
def uninstall(*, as_json: bool) -> None:
    """Stop sending from this machine and remove the service. Sent grades stay in the fleet."""
    from grader_daemon.service.manager import user_service

    print_uninstalled(user_service("pusher").uninstall(), stays="Sent grades stay.", as_json=as_json)


@command.command("service-status")
@asks
@json_option
def service_status(*, grader: SelfGrader, as_json: bool) -> int:
    """Show the state and backlog of the service that sends grades. Exit code 3 if it does not run."""
    from grader_daemon.fleet.systemd_unit import PUSHER, pusher_status, unsent

    context = grader.context
    status = pusher_status(context.settings, behind=unsent(context.store) if context.has_database else None)
    output.document(status) if as_json else output.facts([*status_facts(status, PUSHER), *_more(status)])
    return 0 if status.running else NOT_RUNNING


@command.command("init")
@settings_options
@_url_option
@json_option
def init(*, url: str | None, as_json: bool) -> None:
    """Create or upgrade the fleet's tables, in the schema `grader`. Then upgrade machines with other versions."""
    with _fleet(url) as fleet:
        made = fleet.make()
    if as_json:
        output.document(made)
    elif made.before == made.version:
        output.line(f"Nothing to do: the fleet's database has schema {made.version}.")
    else:
        output.line(f"The fleet's database has schema {made.version}. Next: grader-daemon fleet add-host NAME")


@command.command("add-host")
@settings_options
@click.argument("name")
@click.option("--user", metavar="USER", help="Store USER as the machine's owner, to filter and compare by.")
@_url_option
@json_option
def add_host(*, name: str, user: str | None, url: str | None, as_json: bool) -> None:
    """Create a machine's login, and print the line for its settings file. The password is shown only once."""
    host = checked_name(name)
    with _fleet(url) as fleet:
        login = fleet.add(host, user=user)
    words = configuration_line(login, setting="fleet_url")
    output.result(words, as_json=as_json, host=host, user=user, role=login.role, line=words)


@command.command("add-member")
@settings_options
@click.argument("name")
@_url_option
@json_option
def add_member(*, name: str, url: str | None, as_json: bool) -> None:
    """Create the login of a member: a person who can read all grades, label, and handle alerts.

    The command prints, only once, the line for this person's settings file.
    """
    member = checked_name(name)
    with _fleet(url) as fleet:
        login = fleet.add_member(member)
    words = configuration_line(login, setting="fleet_read_url")
    output.result(words, as_json=as_json, member=member, role=login.role, line=words)


@command.command("remove-member")
@settings_options
@click.argument("name")
@_url_option
@json_option
def remove_member(*, name: str, url: str | None, as_json: bool) -> None:
    """Remove a person's login. Their labels stay."""
    member = checked_name(name)
    with _fleet(url) as fleet:
        fleet.remove_member(member)
    output.result(f"Removed {member}.", as_json=as_json, member=member)


@command.command("remove-host")
@settings_options
@click.argument("name")
@_url_option
@click.option("--yes", is_flag=True, help="Remove it without asking.")
@json_option
def remove_host(*, name: str, url: str | None, yes: bool, as_json: bool) -> None:
    """Remove a machine and all it sent. The machine's own database keeps the grades."""
    host = checked_name(name)
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("there is no terminal to ask: use --yes to remove the host with its data")
        click.confirm(f"Remove {host} and everything it sent?", abort=True)
    with _fleet(url) as fleet:
        removed = fleet.remove(host)
    output.result(f"Removed {host} and {removed:,} of its grades.", as_json=as_json, host=host, grades=removed)


@command.command("pull")
@settings_options
@fleet_option
@json_option
def pull(*, as_json: bool) -> None:
    """Update this machine's local copy of the fleet's last days.

    Other commands update the copy too, but spend at most a second on older sessions. If you interrupt `pull`, its next
    run continues.
    """
    from grader_daemon.api.grader import SelfGrader

    with SelfGrader(settings=settings_of_copy(read_settings()), clock=utc_now) as grader:
        sessions = read_fleet(grader)
    output.result(f"Read {sessions:,} session{'' if sessions == 1 else 's'}.", as_json=as_json, sessions=sessions)


@command.command("watch")
@settings_options
@fleet_option
def watch() -> None:
    """Watch a fleet until Ctrl-C: update the local copy, raise and send alerts, write reports.

    If several machines watch a fleet, one is active, and another takes over when the active one ends.
    """
    settings = read_settings()
    log.configure(level=settings.log_level, log_format=settings.log_format, zone=settings.zone)
    watch_fleet(settings_of_copy(settings), threading.Event())


@command.command("status")
@settings_options
@click.option(
    "--url", metavar="URL", help="Connect to the fleet here. Default: setting fleet_read_url, else fleet_url."
)
@json_option
def status(*, url: str | None, as_json: bool) -> None:
    """Show each machine's version, last contact, backlog and clock."""
    settings = read_settings()
    by_person = None if settings.fleet_server is not None else settings.fleet_read_url
    if url is None and settings.fleet_url is None and settings.fleet_server is not None:
        raise ConfigurationError(
            "fleet status needs the fleet's database, which a server does not hand on: name it with --url"
        )
    with fleet_database(url or (by_person.get_secret_value() if by_person else fleet_url(settings))) as fleet:
        hosts, watch, now = fleet.hosts(), fleet.watch(), fleet.now()
    if as_json:
        output.document(hosts=hosts, watch=watch)
        return
    if not hosts:
        output.line("No machines yet: grader-daemon fleet add-host NAME")
        return
    output.table(
        ("host", "user", "version", "last seen", "backlog", "clock"),
        [
            (host.host, host.user, _version(host), host.last_seen, _behind(host), _clock(host.clock_ahead))
            for host in hosts
        ],
    )
    for host in hosts:
        _warn_of(host, now)
    if watch is not None and is_unwatched(watch, now):
        since = "" if watch.worked_at is None else f" since {output.cell(watch.worked_at)}"
        output.warning(f"no machine watches this fleet{since}: it raises no alerts. Next: grader-daemon fleet watch")


def _warn_of(host: FleetHost, now: datetime) -> None:
    heard_at = host.last_seen or host.added_at
    if is_silent(heard_at, now):
        ago = _apart(now - heard_at)
        output.warning(f"no contact with {host.host} since {output.cell(heard_at)}, {ago} ago")
    if host.other_machine_at is not None:
        output.warning(f"a second machine tried to send as {host.host} on {output.cell(host.other_machine_at)}")
    if host.clock_ahead is not None and abs(host.clock_ahead) > _CLOCKS_DIFFER_SECONDS:
        output.warning(f"the clock of {host.host} was {_clock(host.clock_ahead)}: correct it")


def _clock(ahead: float | None) -> str | None:
    if not ahead:
        return None if ahead is None else "right"
    return f"{_apart(timedelta(seconds=abs(ahead)))} {'ahead' if ahead > 0 else 'behind'}"


def _apart(span: timedelta) -> str:
    days = round(span / timedelta(days=1))
    return duration_words(span.total_seconds()) if days < _DAYS_FROM else f"{days:,} days"


def _behind(host: FleetHost) -> int | None:
    return None if host.version is None else host.behind


def _version(host: FleetHost) -> str:
    return "never pushed" if host.version is None else clean(host.version)


def _fleet(url: str | None) -> FleetDatabase:
    read_settings()
    if url is None:
        raise click.UsageError("give --url: the URL of the fleet's database, with an administrator's login")
    return fleet_database(url)


def _more(status: PusherStatus) -> list[tuple[str, str]]:
    behind = "nothing is graded yet" if status.behind is None else f"{status.behind:,} changes"
    trouble = [("last trouble", f"{output.cell(status.trouble_at)}, {status.trouble}")] if status.trouble else []
    return [("backlog", behind), *trouble]
