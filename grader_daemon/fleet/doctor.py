"""The checks of a fleet: does what sends to it run, and does anybody watch it? The server is asked for the latter."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import Finding, ok, unknown, warning
from grader_daemon.domain.fleet_hosts import is_unwatched
from grader_daemon.domain.text import count
from grader_daemon.errors import CallError, ConfigurationError, ServiceError
from grader_daemon.fleet.admin import fleet_database, fleet_files
from grader_daemon.fleet.systemd_unit import PUSHER, PusherStatus, pusher_status, unsent
from grader_daemon.integrations.posting import Poster

_BY_HAND = "grader-daemon fleet push"
_ON_THE_SERVER = "on its machine: grader-daemon fleet serve status"
_SERVER_SECONDS = 5.0
_NEW_TROUBLE = timedelta(minutes=6)
"""A server that is away is tried every 5 minutes, so what was said before is over."""


def pusher(context: DoctorContext) -> Finding:
    """Check that grades of this machine get to the fleet."""
    if context.settings.fleet_url is None:
        return ok("no fleet (shared database of many machines) is set: no grade leaves this machine")
    try:
        fleet_files(context.settings)
    except ConfigurationError as error:
        return warning(f"nothing is sent: {error}", "install it in the environment of grader-daemon")
    behind = unsent(context.store) if context.has_database else 0
    left = f"{count(behind, 'change')} not sent yet" if behind else "nothing waits to be sent"
    try:
        status = pusher_status(context.settings, behind=behind)
    except ServiceError:
        said = f"{left}; without systemd it is unknown whether anything sends automatically"
        return unknown(said, _BY_HAND) if behind else ok(said)
    if status.running:
        return _running(status, left, context)
    return _not_running(status, left)


def watched(context: DoctorContext) -> Finding:
    """Check that somebody raises the alerts of the fleet that is looked at from here, by asking its server."""
    url = context.settings.fleet_read_url
    if url is None:
        return ok("this machine does not read a fleet")
    if context.settings.fleet_server is not None:
        return _served(context.settings.fleet_server)
    with fleet_database(url.get_secret_value()) as fleet:
        watch = fleet.watch()
    if watch is None:
        return unknown("unknown: the login in fleet_read_url may not read the fleet, because it is not a member's")
    if is_unwatched(watch, context.now):
        return warning("no machine watches the fleet, so it raises no alerts", "grader-daemon fleet watch")
    return ok(f"{watch.member or 'somebody'} watches the fleet")


def _served(server: str) -> Finding:
    """Check that a server of a fleet is there, which watches it: without a token it lets nobody in."""
    try:
        answer = Poster(f"{server}/api/prompt", timeout_seconds=_SERVER_SECONDS).post(b"{}", {}, most_bytes=0)
    except CallError as error:
        return warning(f"{server} does not answer: {error}", _ON_THE_SERVER)
    if answer.status != HTTPStatus.UNAUTHORIZED:
        return warning(f"{server} answers {answer.status}, which no fleet server does", _ON_THE_SERVER)
    return ok(f"{server} answers, and watches the fleet")


def _running(status: PusherStatus, left: str, context: DoctorContext) -> Finding:
    said = f"it runs, pid {status.pid}, {left}"
    is_in_trouble = status.trouble_at is not None and context.now - status.trouble_at < _NEW_TROUBLE
    if status.behind and is_in_trouble:
        return warning(
            f"{said}: {status.trouble}", "correct what it reports; systemctl --user restart grader-push does not wait"
        )
    if status.outdated:
        return warning(f"{said}; settings or version changed since its start", PUSHER.install)
    return ok(said)


def _not_running(status: PusherStatus, left: str) -> Finding:
    if status.installed:
        why = f": {status.trouble}" if status.trouble else ""
        return warning(f"its service does not run ({status.ended or status.state}), {left}{why}", PUSHER.install)
    if status.behind:
        return warning(f"{left}, and no service sends", f"{PUSHER.install}; to send once: {_BY_HAND}")
    return ok(f"{left}; no service is installed")
