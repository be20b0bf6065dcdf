"""``fleet install``, ``uninstall`` and ``service-status``: what sends to the fleet as a service of systemd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader_daemon.cli import output
from grader_daemon.cli.options import asks, json_option, read_settings, settings_options
from grader_daemon.cli.unit_commands import Service, print_installation, status_facts

if TYPE_CHECKING:
    from grader_daemon.api.grader import SelfGrader
    from grader_daemon.fleet.systemd_unit import PusherService, PusherStatus

_NOT_RUNNING = 3
_PUSHER = Service(
    install="grader-daemon fleet install",
    edit="systemctl --user edit grader-push",
    troubles="journalctl --user -u grader-push",
    started="Started",
)


@click.command("install")
@settings_options
@click.option("--force", is_flag=True, help="Replace a unit that was edited by hand; a copy of it is kept.")
@json_option
def install(*, force: bool, as_json: bool) -> None:
    """Have systemd run `push fleet --follow` on this machine; again after a change of settings or an upgrade.

    Where to stands in the settings file, as fleet_url; settings that are given here, and other GRADER_… variables, are
    passed on.
    """
    done = _service().install(read_settings(), force=force)
    print_installation(done, _PUSHER, as_json=as_json)


@click.command("uninstall")
@json_option
def uninstall(*, as_json: bool) -> None:
    """Stop sending from this machine and remove the unit; what was sent stays."""
    removed = _service().uninstall()
    words = "Stopped and removed. What was sent stays." if removed else "Nothing to do: no service is installed."
    output.result(words, as_json=as_json, removed=removed)


@click.command("service-status")
@asks
@json_option
def service_status(*, grader: SelfGrader, as_json: bool) -> int:
    """Show how that service is, and how far it is behind. Exit code 3 if it does not run."""
    from grader_daemon.fleet.systemd_unit import unsent

    context = grader.context
    behind = unsent(context.store) if context.has_database else None
    status = _service().status(context.settings, behind=behind)
    if as_json:
        output.document(status)
    else:
        output.facts([*status_facts(status, _PUSHER), *_more(status)])
    return 0 if status.running else _NOT_RUNNING


COMMANDS = (install, uninstall, service_status)


def _more(status: PusherStatus) -> list[tuple[str, str]]:
    behind = "nothing is graded yet" if status.behind is None else f"{status.behind:,} changes"
    trouble = [("last trouble", f"{output.cell(status.trouble_at)}, {status.trouble}")] if status.trouble else []
    return [("behind by", behind), *trouble]


def _service() -> PusherService:
    from grader_daemon import bootstrap
    from grader_daemon.fleet.systemd_unit import PusherService

    return PusherService(clock=bootstrap.utc_now)
