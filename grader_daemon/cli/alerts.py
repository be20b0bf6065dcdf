"""``alerts``: what degraded, since when, and what is known of why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import click
import msgspec

from grader_daemon.alerts.settlement import is_news, silent_until
from grader_daemon.api.documents import alert_document
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.groups import GroupWithDefault
from grader_daemon.cli.options import Whole, json_option, reads
from grader_daemon.cli.times import shown_zone
from grader_daemon.domain.alert import Alert, Stream
from grader_daemon.domain.calendar import read_span
from grader_daemon.reports.phrasing import alert_lines, alert_title, stream_words
from grader_daemon.reports.safe_text import plain

_FINDINGS = 1


def _read_span(ctx: click.Context, param: click.Parameter, value: str) -> timedelta:
    """Read a span of time: 30m, 12h, 7d, 2w."""
    try:
        return read_span(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


@click.group("alerts", cls=GroupWithDefault)
def command() -> None:
    """Show alerts about quality, and answer them. Without a subcommand, it lists alerts."""


@command.command("list")
@reads
@click.option("--exit-code", is_flag=True, help="Exit with 1 if an open alert is neither acknowledged nor silenced.")
@json_option
def list_alerts(*, grader: SelfGrader, exit_code: bool, as_json: bool) -> int:
    """List alerts, the open ones first."""
    alerts, silences = grader.insight.alerts(), grader.insight.silences()
    if as_json:
        listed = [alert_document(alert, silences) for alert in alerts]
        output.document(alerts=listed)
    elif alerts:
        _table(alerts, silences)
    else:
        output.line("No alerts.")
    return _FINDINGS if exit_code and any(is_news(alert, silences) for alert in alerts) else 0


@command.command("show")
@reads
@click.argument("number", type=Whole(), metavar="NUMBER")
@json_option
def show(*, grader: SelfGrader, number: int, as_json: bool) -> None:
    """Show one alert with its evidence."""
    alert, silences = grader.insight.alert(number), grader.insight.silences()
    if as_json:
        output.document(alert=alert_document(alert, silences))
        return
    for words in (alert_title(alert), *alert_lines(alert, shown_zone())):
        output.paragraph("", plain(words))
    until = silent_until(alert, silences)
    if until is not None:
        output.line(f"Silent until {output.cell(until)}.")


@command.command("test")
@reads
@json_option
def test(*, grader: SelfGrader, as_json: bool) -> int:
    """Send a test alert to every receiver, and show each answer.

    Exit code 1 if a receiver did not get the alert.
    """
    troubles = grader.insight.test_alerts()
    if as_json:
        tried = [{"channel": channel, "arrived": said is None, "error": said} for channel, said in troubles.items()]
        output.document(receivers=tried)
    elif not troubles:
        output.paragraph(
            "", "Alerts only go to the log. To send them elsewhere, set alert_webhook_url or alert_command."
        )
    else:
        for channel, said in troubles.items():
            output.line(f"{channel}: arrived" if said is None else said)
    return _FINDINGS if any(troubles.values()) else 0


@command.command("silences")
@reads
@json_option
def list_silences(*, grader: SelfGrader, as_json: bool) -> None:
    """List silenced alerts, and when each silence ends."""
    silences = grader.insight.silences()
    if as_json:
        listed = [{"stream": msgspec.to_builtins(stream), "until": until} for stream, until in silences.items()]
        output.document(silences=listed)
    elif silences:
        rows = [(plain(stream_words(stream)), until) for stream, until in sorted(silences.items())]
        output.table(("silenced", "until"), rows)
    else:
        output.line("No alert is silenced.")


@command.command("ack")
@reads
@click.argument("number", type=Whole(), metavar="NUMBER")
@click.option("--note", help="Store this note with the alert.")
@json_option
def acknowledge(*, grader: SelfGrader, number: int, note: str | None, as_json: bool) -> None:
    """Acknowledge an alert: you know about it."""
    alert = grader.insight.acknowledge_alert(number, note)
    more = " The alert resolves automatically when its numbers are back to normal." if alert.resolved_at is None else ""
    output.result(f"Alert {number} is acknowledged.{more}", as_json=as_json, alert=alert)


@command.command("silence")
@reads
@click.argument("number", type=Whole(), metavar="NUMBER")
@click.option(
    "--for",
    "span",
    callback=_read_span,
    default="7d",
    show_default=True,
    help="Silence it for this long: 30m, 12h, 7d or 2w.",
)
@json_option
def silence(*, grader: SelfGrader, number: int, span: timedelta, as_json: bool) -> None:
    """Silence an alert, and others with the same cause, for a time. They are still recorded."""
    until = grader.insight.silence_alert(number, span)
    words = f"Alert {number} is silent until {output.cell(until)}."
    output.result(words, as_json=as_json, number=number, silent_until=until)


@command.command("unack")
@reads
@click.argument("number", type=Whole(), metavar="NUMBER")
@json_option
def unacknowledge(*, grader: SelfGrader, number: int, as_json: bool) -> None:
    """Withdraw an acknowledgement."""
    alert = grader.insight.unacknowledge_alert(number)
    output.result(f"Alert {number} is not acknowledged.", as_json=as_json, alert=alert)


@command.command("unsilence")
@reads
@click.argument("number", type=Whole(), metavar="NUMBER")
@json_option
def unsilence(*, grader: SelfGrader, number: int, as_json: bool) -> None:
    """End the silence of an alert."""
    alert = grader.insight.unsilence_alert(number)
    output.result(f"Alert {number} is not silent.", as_json=as_json, alert=alert)


def _table(alerts: list[Alert], silences: Mapping[Stream, datetime]) -> None:
    output.items(
        alerts,
        ("number", lambda alert: alert.number),
        ("state", lambda alert: _state(alert, silences)),
        ("opened", lambda alert: alert.opened_at),
        ("began", lambda alert: alert.began_at),
        ("resolved", lambda alert: alert.resolved_at),
        ("what", lambda alert: plain(alert_title(alert)).partition(": ")[2]),
    )


def _state(alert: Alert, silences: Mapping[Stream, datetime]) -> str:
    if alert.resolved_at is not None:
        return "resolved"
    known = ", known" if alert.acknowledged_at is not None else ""
    silent = ", silent" if silent_until(alert, silences) is not None else ""
    return f"{alert.level}{known}{silent}"
