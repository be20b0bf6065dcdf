"""``export scores``: scores for other programs, from the change feed."""

from __future__ import annotations

from typing import Final

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.following import follow as follow_feed
from grader_daemon.cli.following import rounds, told
from grader_daemon.cli.groups import Group
from grader_daemon.cli.options import asks, json_option
from grader_daemon.errors import CallError
from grader_daemon.push.score_export import Recognized, ScoreExport
from grader_daemon.push.targets import langfuse_export, otlp_export, phoenix_export

_LOOKS_EVERY_SECONDS: Final = 2.0


@click.group("scores", cls=Group)
def command() -> None:
    """Send scores to other servers. Nothing is sent until you set a destination."""


_follow_option = click.option("--follow", "-f", is_flag=True, help="Keep running and send each change, until Ctrl-C.")
_from_now = click.option("--from-now", is_flag=True, help="Send only what changes from now on.")
_force = click.option("--force", is_flag=True, help="Send without asking whether the server knows your sessions.")


@command.command("otlp")
@asks
@_follow_option
@_from_now
@json_option
def otlp(*, grader: SelfGrader, follow: bool, from_now: bool, as_json: bool) -> None:
    """Send scores as OpenTelemetry events (gen_ai.evaluation.result) to the URL in otlp_logs_url.

    The first run sends all grades; later runs send only new and changed ones. After an interruption it may send up to
    200 sessions again, with the same ids.
    """
    _push(otlp_export(grader.context), follow=follow, from_now=from_now, as_json=as_json)


@command.command("langfuse")
@asks
@_follow_option
@_from_now
@_force
@json_option
def langfuse(*, grader: SelfGrader, follow: bool, from_now: bool, force: bool, as_json: bool) -> None:
    """Send the scores of sessions to Langfuse, set in langfuse_url.

    Nothing is sent if Langfuse knows none of your ten newest session ids. Scores that Langfuse refuses are skipped and
    listed. Each run continues where the last one ended.
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
    """Send scores to Arize Phoenix as session annotations, to the URL in phoenix_url.

    Nothing is sent if Phoenix knows none of your ten newest session ids. At the end, the command reports how many
    sessions Phoenix did not accept. Each run continues where the last one ended.
    """
    export = phoenix_export(grader.context)
    _push(export, follow=follow, from_now=from_now, as_json=as_json, asked=None if force else "Phoenix")


def _push(export: ScoreExport, *, follow: bool, from_now: bool, as_json: bool, asked: str | None = None) -> None:
    """Send what there is, or for ever; `asked` names a server that is asked first whether it knows the sessions."""
    if follow and as_json:
        raise click.UsageError("give --follow or --json, not both")
    recognized = Recognized() if asked is None else _recognized(export, asked, is_told=not as_json)
    if from_now:
        export.begin_now()
    if follow:
        follow_feed(export, looks_every_seconds=_LOOKS_EVERY_SECONDS)
    done = [told(each) for each in rounds(export)]
    sent, passed_over = sum(each.sessions for each in done), sum(each.passed_over.sessions for each in done)
    words = f"Sent {sent:,} session{'' if sent == 1 else 's'}{f', skipped {passed_over:,}' if passed_over else ''}."
    found = {"sessions": sent, "passed_over": passed_over, "asked": recognized.asked, "known": recognized.known}
    output.result(words, as_json=as_json, **found)


def _recognized(export: ScoreExport, server: str, *, is_told: bool) -> Recognized:
    recognized = export.recognized()
    words = f"{server} knows {recognized.known} of your {recognized.asked} newest sessions by their ids"
    if recognized.asked and not recognized.known:
        raise CallError(f"{words}, so nothing was sent; see docs/metrics.md, or send anyway with --force")
    if recognized.asked and is_told:
        output.line(f"{words}.")
    return recognized
