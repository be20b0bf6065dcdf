"""``push``: scores for other programs, from the change feed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from grader_daemon.api.fleet import fleet_push
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.push import Exported, Recognized, ScoreExport, langfuse_export, otlp_export, phoenix_export
from grader_daemon.cli import output
from grader_daemon.cli.options import Group, asks, json_option
from grader_daemon.errors import CallError, DeliveryError

if TYPE_CHECKING:
    from grader_daemon.jobs.fleet_push import FleetPush

_LOOKS_EVERY_SECONDS: Final = 2.0
_FLEET_LOOKS_EVERY_SECONDS: Final = 0.5
_PAUSES: Final = (5.0, 15.0, 60.0, 300.0)
"""After the first time that nobody took anything, the second, and so on; the last one for all that follow."""

_Export: TypeAlias = "ScoreExport | FleetPush"


@click.group("push", cls=Group)
def command() -> None:
    """Hand scores to programs that collect them; nothing is sent unless you say where to."""


_follow_option = click.option("--follow", "-f", is_flag=True, help="Go on, and send what changes, until Ctrl-C.")
_from_now = click.option("--from-now", is_flag=True, help="Pass over all that changed so far.")
_force = click.option("--force", is_flag=True, help="Send without asking whether the server knows your sessions.")


@command.command("otlp")
@asks
@_follow_option
@_from_now
@json_option
def otlp(*, grader: SelfGrader, follow: bool, from_now: bool, as_json: bool) -> None:
    """Send scores as events gen_ai.evaluation.result of OpenTelemetry, to the setting otlp_logs_url.

    Each time it goes on where it was: the first time all grades are sent, later those that are new, or say something
    else. Interrupted, it may send up to 200 sessions again, under the same ids.
    """
    _push(otlp_export(grader.context), follow=follow, from_now=from_now, as_json=as_json)


@command.command("langfuse")
@asks
@_follow_option
@_from_now
@_force
@json_option
def langfuse(*, grader: SelfGrader, follow: bool, from_now: bool, force: bool, as_json: bool) -> None:
    """Send scores of sessions to Langfuse, at the setting langfuse_url.

    First it asks whether Langfuse knows ten of your sessions under their ids, says how many, and sends nothing where it
    knows none; a score that Langfuse finds wrong is told, and passed over. Each time it goes on where it was, as
    `push otlp`.
    """
    export = langfuse_export(grader.context)
    _push(export, follow=follow, from_now=from_now, as_json=as_json, asked=None if force else "Langfuse")


@command.command("phoenix")
@asks
@_follow_option
@_from_now
@_force
@json_option
def phoenix(*, grader: SelfGrader, follow: bool, from_now: bool, force: bool, as_json: bool) -> None:
    """Send scores to Arize Phoenix as annotations of sessions, at the setting phoenix_url.

    First it asks whether Phoenix knows ten of your sessions under their ids, says how many, and sends nothing where it
    knows none; later it says of how many sessions Phoenix took nothing. Each time it goes on where it was, as
    `push otlp`.
    """
    export = phoenix_export(grader.context)
    _push(export, follow=follow, from_now=from_now, as_json=as_json, asked=None if force else "Phoenix")


@command.command("fleet")
@asks
@_follow_option
@click.option("--take-over", is_flag=True, help="This machine takes the place of the one that pushed by this login.")
@json_option
def fleet(*, grader: SelfGrader, follow: bool, take_over: bool, as_json: bool) -> None:
    """Send grades to the PostgreSQL of a team, which the setting fleet_url names; see `fleet`.

    Each time it goes on where both sides have it, so it may be away for weeks. Rows are sent, never transcripts.
    """
    if follow and as_json:
        raise click.UsageError("give --follow or --json, not both")
    with closing(fleet_push(grader.context, take_over=take_over)) as export:
        if follow:
            _follow(export, looks_every_seconds=_FLEET_LOOKS_EVERY_SECONDS)
        sent = sum(done.sessions for done in _rounds(export))
    output.result(f"Sent {sent:,} session{'' if sent == 1 else 's'}.", as_json=as_json, sessions=sent)


def _push(export: ScoreExport, *, follow: bool, from_now: bool, as_json: bool, asked: str | None = None) -> None:
    """Send what there is, or for ever; `asked` names a server that is asked first whether it knows the sessions."""
    if follow and as_json:
        raise click.UsageError("give --follow or --json, not both")
    recognized = Recognized() if asked is None else _recognized(export, asked, is_told=not as_json)
    if from_now:
        export.begin_now()
    if follow:
        _follow(export)
    done = [_told(each) for each in _rounds(export)]
    sent, passed_over = sum(each.sessions for each in done), sum(each.passed_over.sessions for each in done)
    words = f"Sent {sent:,} session{'' if sent == 1 else 's'}{f', passed over {passed_over:,}' if passed_over else ''}."
    told = {"sessions": sent, "passed_over": passed_over, "asked": recognized.asked, "known": recognized.known}
    output.result(words, as_json=as_json, **told)


def _recognized(export: ScoreExport, server: str, *, is_told: bool) -> Recognized:
    recognized = export.recognized()
    words = f"{server} knows {recognized.known} of your {recognized.asked} newest sessions by their ids"
    if recognized.asked and not recognized.known:
        raise CallError(f"{words}, so nothing was sent; see docs/metrics.md, or send all the same with --force")
    if recognized.asked and is_told:
        output.line(f"{words}.")
    return recognized


def _rounds(export: _Export) -> Iterator[Exported]:
    """Yield what was handed over, batch by batch, until there is no more."""
    while (done := export.run()).more:
        yield done


def _told(done: Exported) -> Exported:
    for line in done.passed_over.lines:
        output.warning(line)
    return done


def _follow(export: _Export, *, looks_every_seconds: float = _LOOKS_EVERY_SECONDS) -> None:
    """Send for ever; a receiver that is down is tried again, one that refuses ends it."""
    waiting = threading.Event()
    pauses, is_away = _pauses(), False
    while True:
        try:
            done = _told(export.run())
            if is_away:
                output.line("The receiver takes it again.")
                pauses, is_away = _pauses(), False
            while done.more:
                done = _told(export.run())
            waiting.wait(looks_every_seconds)
        except DeliveryError as error:
            pause, is_away = next(pauses), True
            output.warning(f"{error}; tried again in {pause:g} s")
            waiting.wait(pause)


def _pauses() -> Iterator[float]:
    return chain(_PAUSES, repeat(_PAUSES[-1]))
