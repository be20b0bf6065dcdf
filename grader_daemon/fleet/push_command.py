"""``fleet push``: the grades of this machine, to the PostgreSQL of a team."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.following import follow as follow_feed
from grader_daemon.cli.following import rounds
from grader_daemon.cli.options import asks, json_option
from grader_daemon.fleet.admin import fleet_push

_LOOKS_EVERY_SECONDS: Final = 0.5
_COLLECTS_EVERY: Final = 100_000
"""New objects between two looks for cycles, of which a batch makes none: by default (700) they take a tenth of it."""


@click.command("push")
@asks
@click.option("--follow", "-f", is_flag=True, help="Keep running and send each change, until Ctrl-C.")
@click.option("--take-over", is_flag=True, help="Let this machine replace the one that used this login before.")
@json_option
def command(*, grader: SelfGrader, follow: bool, take_over: bool, as_json: bool) -> None:
    """Send grades to your team's PostgreSQL, set in fleet_url.

    Each run continues where the last one ended, even after weeks. Messages of sessions are never sent.
    """
    if follow and as_json:
        raise click.UsageError("give --follow or --json, not both")
    with collecting_rarely(), closing(fleet_push(grader.context, take_over=take_over)) as export:
        if follow:
            follow_feed(export, looks_every_seconds=_LOOKS_EVERY_SECONDS)
        sent = sum(done.sessions for done in rounds(export))
    output.result(f"Sent {sent:,} session{'' if sent == 1 else 's'}.", as_json=as_json, sessions=sent)


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Have Python look for unreachable cycles of objects more rarely in this block."""
    before = gc.get_threshold()
    gc.set_threshold(_COLLECTS_EVERY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
