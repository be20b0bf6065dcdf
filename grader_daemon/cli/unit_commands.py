"""What is said of a service that was installed or is asked about: the daemon, or what sends to the fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from grader_daemon.cli import output

if TYPE_CHECKING:
    from grader_daemon.service.install import Installation, ServiceStatus


class Service(NamedTuple):
    """The words for a service: the commands that install it, edit its unit and show its troubles, and a start of it."""

    install: str
    edit: str
    troubles: str
    started: str


def print_installation(done: Installation, service: Service, *, as_json: bool) -> None:
    """Print what was done, in words or as a JSON document."""
    output.document(done) if as_json else _tell(done, service)


def status_facts(status: ServiceStatus, service: Service) -> list[tuple[str, Any]]:
    """Return how it is, as names and values."""
    return [
        ("service", _state(status)),
        ("installed", status.unit if status.installed else f"no: {service.install}"),
        *([("edited", f"by hand: lines of your own belong into a drop-in: {service.edit}")] if status.edited else []),
        *([("outdated", f"other settings or another version since: {service.install}")] if status.outdated else []),
        ("starts with your session", status.enabled),
        ("goes on after logout", f"no: {_linger(status.user)}" if status.lingers is False else status.lingers),
        *([("says", status.says)] if status.says else []),
        *([("restarts", f"{status.restarts}: {service.troubles}")] if status.restarts else []),
        *([("last exit", f"{output.cell(status.ended_at)}, {status.ended}")] if status.ended else []),
    ]


def _tell(done: Installation, service: Service) -> None:
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
        output.line(f"{service.started}, pid {done.pid}.")
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


def _state(status: ServiceStatus) -> str:
    if status.running:
        return f"running, pid {status.pid}, since {output.cell(status.since)}"
    return f"not running ({status.state})"


def _linger(user: str) -> str:
    return f"loginctl enable-linger {user}"
