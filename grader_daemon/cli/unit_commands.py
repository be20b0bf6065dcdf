"""Lines that commands share which install a service, ask how it is, or take it away: the daemon, or one of a wing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from grader_daemon.cli import output
from grader_daemon.cli.options import read_settings
from grader_daemon.integrations.machine import has_launchd

if TYPE_CHECKING:
    from grader_daemon.service.install import Installation, ServiceStatus
    from grader_daemon.service.unit_value import Unit

NOT_RUNNING: Final = 3
"""Exit code of a status command where the service does not run, or its port is closed."""

force_option = click.option(
    "--force", is_flag=True, help="Replace the service's unit file even if you edited it, and keep a copy of your file."
)


def install_service(name: str, *, force: bool, as_json: bool) -> None:
    """Install a service that runs all the time by the settings that are given, and print what was done."""
    import msgspec  # `--help` must not wait for these

    from grader_daemon.service.manager import user_service

    service = user_service(name)
    done = service.install(read_settings(), force=force)
    if not as_json:
        print_installation(done, service.unit)
        return
    fields = msgspec.structs.asdict(done)
    (unit,) = fields.pop("units")
    fields["kept"] = next(iter(done.kept), None)
    output.document(unit=unit, **fields)


def print_installation(done: Installation, unit: Unit) -> None:
    """Print what was done."""
    if not (done.written or done.enabled or done.started):
        runs = f", and runs, pid {done.pid}" if done.pid else ""
        output.line(f"Nothing to do: the service matches your settings{runs}.")
    for kept in done.kept:
        output.line(f"Kept the edited unit as {kept}.")
    if done.written:
        output.line(f"Wrote {_listed(done.units)}.")
        output.line(_sandbox(done, unit))
    if done.enabled:
        output.line(f"Enabled: {unit.enabled}.")
    if done.started and unit.started:
        output.line(f"{unit.started}, pid {done.pid}.")
    if done.lingers is False and not unit.waits:  # nobody misses what waits for a visit after a logout
        output.line(f"It ends when you log out. To keep it running: {_linger(done.user)}")


def print_uninstalled(kept: str | None, *, stays: str = "", as_json: bool, **fields: Any) -> None:
    """Print whether there was a service to remove, which left these folders, and what `stays`."""
    done = f"Stopped and removed. {stays}".rstrip()
    words = "Nothing to do: no service is installed." if kept is None else done
    output.result(words, as_json=as_json, removed=kept is not None, **fields)


def status_facts(status: ServiceStatus, unit: Unit) -> list[tuple[str, Any]]:
    """Return how a service is that runs all the time, as names and values."""
    told_by = f"grep -v info ~/Library/Logs/grader-daemon/{unit.name}.log" if has_launchd() else None
    troubles = unit.troubles or told_by or f"journalctl --user -u {unit.name}"
    return [
        ("service", _state(status)),
        ("installed", status.unit if status.installed else f"no: {unit.install}"),
        *file_facts(unit, edited=status.edited, outdated=status.outdated),
        ("starts with your session", status.enabled),
        ("runs after logout", _after_logout(status)),
        *([("says", status.says)] if status.says else []),
        *([("restarts", f"{status.restarts}: {troubles}")] if status.restarts else []),
        *([("last exit", f"{output.cell(status.ended_at)}, {status.ended}")] if status.ended else []),
    ]


def file_facts(unit: Unit, *, edited: bool, outdated: bool) -> list[tuple[str, Any]]:
    """Return what there is to say of the files of a service."""
    drop_in = f"put your own lines into a drop-in: systemctl --user edit {unit.name}"
    belong = "put your own settings into the settings file" if has_launchd() else drop_in
    return [
        *([("edited", f"edited by hand: {belong}")] if edited else []),
        *([("outdated", f"settings or version changed since: {unit.install}")] if outdated else []),
    ]


def _sandbox(done: Installation, unit: Unit) -> str:
    if not done.writable:
        return "It has your rights: launchd has no sandbox for it."
    return f"It can write only to {_listed(done.writable)}; {_reach(done, unit)}."


def _reach(done: Installation, unit: Unit) -> str:
    """Return what its sandbox leaves open beside files."""
    if done.programs:
        names = _listed(done.programs)
        return f"for {names} it may use the network, your session's sockets and rarely needed system calls"
    if done.network:
        return f"for {_listed(done.network)} it may use the network"
    return "it has no network except its port" if unit.waits else "it has no network"


def _state(status: ServiceStatus) -> str:
    if status.running:
        return f"running, pid {status.pid}, since {output.cell(status.since)}"
    return f"not running ({status.state})"


def _after_logout(status: ServiceStatus) -> str | bool | None:
    if has_launchd():
        return False
    return f"no: {_linger(status.user)}" if status.lingers is False else status.lingers


def _listed(names: Iterable[object]) -> str:
    return " and ".join(map(str, names))


def _linger(user: str) -> str:
    return f"loginctl enable-linger {user}"
