"""``push fleet``: the grades of this machine, to the PostgreSQL of a team."""

from __future__ import annotations

from contextlib import closing
from typing import Final

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.following import follow as follow_feed
from grader_daemon.cli.following import rounds
from grader_daemon.cli.options import asks, json_option
from grader_daemon.fleet.admin import fleet_push

_LOOKS_EVERY_SECONDS: Final = 0.5


@click.command("fleet")
@asks
@click.option("--follow", "-f", is_flag=True, help="Go on, and send what changes, until Ctrl-C.")
@click.option("--take-over", is_flag=True, help="This machine takes the place of the one that pushed by this login.")
@json_option
def command(*, grader: SelfGrader, follow: bool, take_over: bool, as_json: bool) -> None:
    """Send grades to the PostgreSQL of a team, which the setting fleet_url names; see `fleet`.

    Each time it goes on where both sides have it, so it may be away for weeks. Rows are sent, never transcripts.
    """
    if follow and as_json:
        raise click.UsageError("give --follow or --json, not both")
    with closing(fleet_push(grader.context, take_over=take_over)) as export:
        if follow:
            follow_feed(export, looks_every_seconds=_LOOKS_EVERY_SECONDS)
        sent = sum(done.sessions for done in rounds(export))
    output.result(f"Sent {sent:,} session{'' if sent == 1 else 's'}.", as_json=as_json, sessions=sent)
