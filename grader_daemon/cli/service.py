"""``service``: the daemon in the hands of systemd's user manager."""

from __future__ import annotations

import click

from grader_daemon import bootstrap
from grader_daemon.api.service import Installation, ServiceStatus, UserService, read_daemon_log
from grader_daemon.cli import output
from grader_daemon.cli.options import Group, Whole, json_option, read_settings, settings_options

_NOT_RUNNING = 3
_INSTALL = "grader-daemon service install"
_EDIT = "systemctl --user edit grader-daemon"
_PRIORITIES = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")


@click.group("service", cls=Group)
def command() -> None:
    """The daemon as a service of systemd's user manager."""


@command.command("install")
@settings_options
@click.option("--force", is_flag=True, help="Replace a unit that was edited by hand; a copy of it is kept.")
@json_option
def install(*, force: bool, as_json: bool) -> None:
    """Write the unit, enable it, and start the daemon; run it again after a change of settings or an upgrade.

    Settings that are given here, and GRADER_… variables, are passed on to the daemon.
    """
    done = UserService(clock=bootstrap.utc_now).install(read_settings(), force=force)
    if as_json:
        output.document(done)
    else:
        _print_installation(done)


@command.command("uninstall")
@json_option
def uninstall(*, as_json: bool) -> None:
    """Stop the daemon and remove the unit; grades and settings stay."""
    kept = UserService(clock=bootstrap.utc_now).uninstall()
    done = f"Stopped and removed. Your grades stay in {kept}."
    words = "Nothing to do: no service is installed." if kept is None else done
    output.result(words, as_json=as_json, removed=kept is not None, writable=kept)


@command.command("status")
@settings_options
@json_option
def status(*, as_json: bool) -> int:
    """Show how the service is. Exit code 3 if it does not run."""
    service = UserService(clock=bootstrap.utc_now).status(read_settings())
    if as_json:
        output.document(service)
    else:
        _print_status(service)
    return 0 if service.running else _NOT_RUNNING


@command.command("logs")
@settings_options
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines, until Ctrl-C.")
@click.option("-n", "--lines", type=Whole(min=1), default=50, show_default=True, help="The last so many.")
@click.option("-p", "--priority", type=click.Choice(_PRIORITIES), help="Only lines of this priority, and worse ones.")
def logs(*, follow: bool, lines: int, priority: str | None) -> None:
    """Show the service's log: `-p warning` is the alerts and the troubles."""
    read_settings()  # for the zone of its times
    for entry in read_daemon_log(lines=lines, priority=priority, follow=follow):
        output.log_line(entry.at, _PRIORITIES[entry.priority], entry.message)
        output.flush()


def _print_installation(done: Installation) -> None:
    if not (done.written or done.enabled or done.started):
        output.line(f"Nothing to do: the service is installed as your settings ask for, and runs, pid {done.pid}.")
    if done.kept is not None:
        output.line(f"Kept the edited unit as {done.kept}.")
    if done.written:
        output.line(f"Wrote {done.unit}.")
        output.line(_permissions(done))
    if done.enabled:
        output.line("Enabled: it starts with your session.")
    if done.started:
        output.line(f"Started: it is ready, pid {done.pid}.")
    if done.lingers is False:
        output.line(f"It ends when you log out. To keep it running: {_linger(done.user)}")


def _permissions(done: Installation) -> str:
    """One line about the sandbox."""
    writes = " and ".join(str(folder) for folder in done.writable)
    if done.programs:
        names = " and ".join(done.programs)
        reach = f"for {names} it may use the network, your session's sockets and calls that few programs need"
    elif done.network:
        reach = f"for {' and '.join(done.network)} it may use the network"
    else:
        reach = "it has no network"
    return f"It can write in {writes} and nowhere else; {reach}."


def _print_status(service: ServiceStatus) -> None:
    output.facts(
        [
            ("service", _state(service)),
            ("installed", service.unit if service.installed else f"no: {_INSTALL}"),
            *([("edited", f"by hand: lines of your own belong into a drop-in: {_EDIT}")] if service.edited else []),
            *([("outdated", f"other settings or another version since: {_INSTALL}")] if service.outdated else []),
            ("starts with your session", service.enabled),
            ("goes on after logout", f"no: {_linger(service.user)}" if service.lingers is False else service.lingers),
            *([("says", service.says)] if service.says else []),
            *([("restarts", f"{service.restarts}: grader-daemon service logs -p warning")] if service.restarts else []),
            *([("last exit", f"{output.cell(service.ended_at)}, {service.ended}")] if service.ended else []),
        ]
    )


def _state(service: ServiceStatus) -> str:
    if service.running:
        return f"running, pid {service.pid}, since {output.cell(service.since)}"
    return f"not running ({service.state})"


def _linger(user: str) -> str:
    return f"loginctl enable-linger {user}"
