"""``alerts``: what degraded, since when, and what is known of why."""

from __future__ import annotations

from datetime import timedelta

import click
import msgspec

from grader_daemon.api.insight import InsightReader
from grader_daemon.cli import output
from grader_daemon.cli.options import ListedByDefault, Whole, asks, json_option
from grader_daemon.domain.alert import Alert
from grader_daemon.domain.calendar import read_span
from grader_daemon.domain.schema import SCHEMA_VERSION
from grader_daemon.reports.quoting import plain
from grader_daemon.reports.wording import alert_lines, alert_title

_FINDINGS = 1


def _read_span(ctx: click.Context, param: click.Parameter, value: str) -> timedelta:
    """Read a span of time: 30m, 12h, 7d, 2w."""
    try:
        return read_span(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


@click.group("alerts", cls=ListedByDefault)
def command() -> None:
    """Alerts about quality; without a command they are listed."""


@command.command("list")
@asks(InsightReader)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if an alert is open.")
@json_option
def list_alerts(*, grader: InsightReader, exit_code: bool, as_json: bool) -> int:
    """List alerts, the open ones first."""
    alerts = grader.alerts()
    if as_json:
        output.document({"schema_version": SCHEMA_VERSION, "alerts": msgspec.to_builtins(alerts)})
    elif alerts:
        _table(alerts)
    else:
        output.line("No alerts.")
    return _FINDINGS if exit_code and any(alert.resolved_at is None for alert in alerts) else 0


@command.command("show")
@asks(InsightReader)
@click.argument("number", type=Whole(), metavar="NUMBER")
@json_option
def show(*, grader: InsightReader, number: int, as_json: bool) -> None:
    """Show one alert with its evidence."""
    alert = grader.alert(number)
    if as_json:
        output.document({"schema_version": SCHEMA_VERSION, "alert": msgspec.to_builtins(alert)})
        return
    for words in (alert_title(alert), *alert_lines(alert)):
        output.paragraph("", plain(words))


@command.command("ack")
@asks(InsightReader)
@click.argument("number", type=Whole(), metavar="NUMBER")
@click.option("--note", help="What you know of it.")
@json_option
def acknowledge(*, grader: InsightReader, number: int, note: str | None, as_json: bool) -> None:
    """Note that you know of an alert."""
    alert = grader.acknowledge_alert(number, note)
    if as_json:
        output.document({"schema_version": SCHEMA_VERSION, "alert": msgspec.to_builtins(alert)})
        return
    output.line(
        f"Alert {number} is acknowledged. It resolves by itself when its numbers are back."
        if alert.resolved_at is None
        else f"Alert {number} is acknowledged."
    )


@command.command("silence")
@asks(InsightReader)
@click.argument("number", type=Whole(), metavar="NUMBER")
@click.option("--for", "span", callback=_read_span, default="7d", show_default=True, help="30m, 12h, 7d or 2w.")
@json_option
def silence(*, grader: InsightReader, number: int, span: timedelta, as_json: bool) -> None:
    """Be told nothing of what this alert is about, for a time. It is still watched and recorded."""
    until = grader.silence_alert(number, span)
    if as_json:
        output.document({"schema_version": SCHEMA_VERSION, "number": number, "silent_until": until})
    else:
        output.line(f"Alert {number} is silent until {output.cell(until)}.")


def _table(alerts: list[Alert]) -> None:
    output.table(
        ("number", "state", "opened", "began", "resolved", "what"),
        [
            (
                alert.number,
                _state(alert),
                alert.opened_at,
                alert.began_at,
                alert.resolved_at,
                plain(alert_title(alert)).partition(": ")[2],
            )
            for alert in alerts
        ],
    )


def _state(alert: Alert) -> str:
    if alert.resolved_at is not None:
        return "resolved"
    return f"{alert.level}, known" if alert.acknowledged_at is not None else alert.level
