"""``fleet install``, ``uninstall`` and ``service-status``: the pusher as a service of systemd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader_daemon.cli import output
from grader_daemon.cli.options import asks, json_option, settings_options
from grader_daemon.cli.unit_commands import NOT_RUNNING, force_option, install_service, print_uninstalled, status_facts

if TYPE_CHECKING:
    from grader_daemon.api.grader import SelfGrader
    from grader_daemon.fleet.systemd_unit import PusherStatus


@click.command("install")
@settings_options
@force_option
@json_option
def install(*, force: bool, as_json: bool) -> None:
    """Have systemd run `push fleet --follow` on this machine; again after a change of settings or an upgrade.

    Where to stands in the settings file, as fleet_url; settings that are given here, and other GRADER_… variables, are
    passed on.
    """
    install_service("pusher", force=force, as_json=as_json)


@click.command("uninstall")
@json_option
def uninstall(*, as_json: bool) -> None:
    """Stop sending from this machine and remove the unit; what was sent stays."""
    from grader_daemon.service.install import UserService

    print_uninstalled(UserService("pusher").uninstall(), stays="What was sent stays.", as_json=as_json)


@click.command("service-status")
@asks
@json_option
def service_status(*, grader: SelfGrader, as_json: bool) -> int:
    """Show how that service is, and how far it is behind. Exit code 3 if it does not run."""
    from grader_daemon.fleet.systemd_unit import PUSHER, pusher_status, unsent

    context = grader.context
    status = pusher_status(context.settings, behind=unsent(context.store) if context.has_database else None)
    output.document(status) if as_json else output.facts([*status_facts(status, PUSHER), *_more(status)])
    return 0 if status.running else NOT_RUNNING


COMMANDS = (install, uninstall, service_status)


def _more(status: PusherStatus) -> list[tuple[str, str]]:
    behind = "nothing is graded yet" if status.behind is None else f"{status.behind:,} changes"
    trouble = [("last trouble", f"{output.cell(status.trouble_at)}, {status.trouble}")] if status.trouble else []
    return [("behind by", behind), *trouble]
