"""``fleet serve`` and the tokens of members: page, API and prompt of a fleet, from the one copy of it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from grader_daemon import log
from grader_daemon.bootstrap import SOURCES, utc_now
from grader_daemon.cli import output
from grader_daemon.cli.groups import Group
from grader_daemon.cli.options import Whole, fleet_option, json_option, read_settings, settings_options
from grader_daemon.cli.unit_commands import NOT_RUNNING, force_option, install_service, print_uninstalled, status_facts
from grader_daemon.dashboard.members import keep_out, let_in, member_door, read_members, tokens_path
from grader_daemon.domain.text import clean
from grader_daemon.errors import GraderError, InputError
from grader_daemon.setting_types import is_fleet_name
from grader_daemon.wings import part

if TYPE_CHECKING:
    from grader_daemon.api.parts import SharedCopies
    from grader_daemon.settings import Settings

_LARGEST_PORT: Final = 65_535
_MOST_CONNECTIONS: Final = 512
"""Each page that is open holds one."""


@click.group("serve", cls=Group, invoke_without_command=True)
@settings_options
@fleet_option
@click.option("--port", type=Whole(min=0, max=_LARGEST_PORT), help="Listen on this port; 0 chooses a free one.")
@click.pass_context
def serve(ctx: click.Context, *, port: int | None) -> None:
    """Serve dashboard, API and prompt to a fleet's members until Ctrl-C. This includes `fleet watch`.

    Members need a token (`fleet add-token`) and can only read. Other machines must use https, with your certificate or
    through a reverse proxy on this machine.
    """
    if ctx.invoked_subcommand is not None:
        return
    from grader_daemon.dashboard.app import make_app
    from grader_daemon.dashboard.prompt import Prompt
    from grader_daemon.dashboard.server import Tls, bind, serve_app  # loads a web server
    from grader_daemon.dashboard.site import Site

    settings = read_settings()
    log.configure(level=settings.log_level, log_format=settings.log_format, zone=settings.zone)
    copies: SharedCopies = part("copies")
    copied = copies.settings_of(settings)
    listening = bind(settings.fleet_serve_address, settings.fleet_serve_port if port is None else port)
    door = member_door(settings, listening.getsockname()[1])
    if not door().members:
        output.warning("no member has a token yet: grader-daemon fleet add-token NAME")
    with _watching(copies, copied), TemporaryDirectory() as home:
        serve_app(
            make_app(Site(_of_no_machine(copied), door), Prompt(copied, Path(home))),
            listening,
            tls=Tls(settings.fleet_serve_certificate_file, settings.fleet_serve_key_file, "fleet_serve"),
            on_ready=lambda: _tell(door().origin),
            most_connections=_MOST_CONNECTIONS,
        )


@serve.command("install")
@settings_options
@force_option
@json_option
def install(*, force: bool, as_json: bool) -> None:
    """Install `fleet serve` as a systemd service on this machine.

    First set the fleet's address as fleet_read_url in the settings file. Run this again after you change settings or
    the certificate, or upgrade.
    """
    install_service("server", force=force, as_json=as_json)


@serve.command("uninstall")
@json_option
def uninstall(*, as_json: bool) -> None:
    """Stop serving from this machine and remove the service. The local copy and the tokens stay."""
    from grader_daemon.service.manager import user_service

    print_uninstalled(user_service("server").uninstall(), stays="The local copy and the tokens stay.", as_json=as_json)


@serve.command("status")
@settings_options
@json_option
def status(*, as_json: bool) -> int:
    """Show the state of the service that serves the fleet. Exit code 3 if it does not run."""
    from grader_daemon.service.manager import user_service

    service = user_service("server")
    found = service.status(read_settings())
    output.document(found) if as_json else output.facts(status_facts(found, service.unit))
    return 0 if found.running else NOT_RUNNING


@click.command("add-token")
@settings_options
@click.argument("name")
@json_option
def add_token(*, name: str, as_json: bool) -> None:
    """Create a member's token for `fleet serve`. The token is shown only once and replaces an earlier one."""
    if not is_fleet_name(name):
        raise InputError(f"{name!r} is not a valid name: use up to 40 characters of a-z, 0-9, - and _")
    settings = read_settings()
    copies: SharedCopies = part("copies")
    copies.settings_of(settings)  # refuses where there is no fleet to serve
    origin = member_door(settings, settings.fleet_serve_port)().origin
    token = let_in(tokens_path(settings), name, now=utc_now())
    if as_json:
        output.document(member=name, address=origin, token=token)
        return
    output.line(f"{origin}/?token={token}")


@click.command("remove-token")
@settings_options
@click.argument("name")
@json_option
def remove_token(*, name: str, as_json: bool) -> None:
    """Revoke a member's token; it is refused from the next request on."""
    keep_out(tokens_path(read_settings()), name)
    output.result(f"Revoked the token of {clean(name)}.", as_json=as_json, member=name)


@click.command("tokens")
@settings_options
@json_option
def tokens(*, as_json: bool) -> None:
    """List the members with a token, and since when they have it."""
    members = read_members(tokens_path(read_settings()))
    if as_json:
        output.document(members=[{"member": each.name, "made_at": each.made_at} for each in members])
    elif members:
        output.table(("member", "made"), [(clean(each.name), each.made_at) for each in members])
    else:
        output.line("No member has a token: grader-daemon fleet add-token NAME")


@contextmanager
def _watching(copies: SharedCopies, settings: Settings) -> Iterator[None]:
    """Watch the fleet meanwhile; what waiting does not help ends this process, as a signal does, and is raised."""
    stop, failed = threading.Event(), list[GraderError]()

    def watch() -> None:
        try:
            copies.watch(settings, stop)
        except GraderError as error:
            failed.append(error)
            os.kill(os.getpid(), signal.SIGTERM)

    watching = threading.Thread(target=watch, name="fleet")
    watching.start()
    try:
        yield
    finally:
        stop.set()
        watching.join()
    if failed:
        raise failed[0]


def _of_no_machine(settings: Settings) -> Settings:
    """Return settings that name no session, no skill and no repository of this machine: members are not shown those."""
    return settings.model_copy(
        update={"sources": (), "sources_declined": tuple(SOURCES), "skill_roots": (), "outcomes_git": False}
    )


def _tell(origin: str) -> None:
    output.line(f"Serving the fleet at {origin}")
    output.flush()
