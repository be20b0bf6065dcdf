"""The first look, on one screen: what ``grader-daemon`` alone shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from textwrap import shorten

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.overview import Look, OpenSessions, Overview, overview, summary_document
from grader_daemon.api.status import Status, how_to_run
from grader_daemon.cli import output
from grader_daemon.cli.grades import titles
from grader_daemon.cli.options import is_database_named, reads
from grader_daemon.cli.status import file_words, silence_words, ungraded_words, waiting_words
from grader_daemon.cli.times import here
from grader_daemon.domain.error_groups import ErrorIssue, IssueState
from grader_daemon.domain.fleet_hosts import FleetHostState, FleetView, silent_hosts, unheard_hosts
from grader_daemon.domain.insight import Patterns
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.text import clean, count
from grader_daemon.reports.money import agents_words, spending_words
from grader_daemon.reports.numbers import TRENDED, WITHIN_HOSTS, figure_words, scheduled_words, side_words
from grader_daemon.reports.phrasing import alert_title, issue_in_brief
from grader_daemon.reports.safe_text import plain
from grader_daemon.reports.verdicts import grader_name, grader_words, rate_words, shares_words, trust_words

_SHOWN_ALERTS = 3
_SHOWN_SESSIONS = 3
_TASK_CHARACTERS = 80
_LONGER_DAYS = (30, 90, 365)


@reads
def summary(*, grader: SelfGrader, days: int, as_json: bool) -> None:
    """Print whether the daemon runs, how the last days went, and what needs a look."""
    if is_database_named():
        grader.context.check_there()
    if as_json:
        output.document(summary_document(grader.context, days=days))
    else:
        _print(overview(grader.context, days=days))


def _print(seen: Overview) -> None:
    """Print the first look: state, coverage, figures beside the days before, what to look at, and what to type next."""
    output.facts(list(_facts(seen)))
    output.line()
    output.line(f"Next: {_next(seen)}")


def _facts(seen: Overview) -> Iterator[tuple[str, str | None]]:
    yield from _whose(seen)
    if seen.patterns is None:
        yield "sessions", "none is graded yet"
        return
    yield (
        f"last {count(seen.patterns.days, 'day')}",
        (_only_older(seen.patterns, seen.status) or _coverage(seen.patterns, seen.status)),
    )
    if seen.patterns.sessions:
        yield from _figures(seen.patterns, seen)
    if not seen.alerts:
        yield "alerts", "none are open"
    for alert in seen.alerts[:_SHOWN_ALERTS]:
        yield "alert", plain(alert_title(alert))
    if len(seen.alerts) > _SHOWN_ALERTS:
        yield "", f"and {len(seen.alerts) - _SHOWN_ALERTS} more"
    tasks = titles(look.task_summary or "no request" for look in seen.looks)
    for at, (look, task) in enumerate(zip(seen.looks, tasks, strict=True)):
        yield "" if at else "look first", _look(look, task)
    yield from _news(seen.worst_error, seen.patterns.days)
    if seen.open_sessions is not None and seen.open_sessions.sessions:
        yield "open", _open(seen.open_sessions)


def _whose(seen: Overview) -> Iterator[tuple[str, str]]:
    """Return what grades these sessions: the daemon, or the machines of a fleet."""
    if seen.fleet is not None:
        yield "fleet", _fleet(seen.fleet, seen.at)
        return
    yield "daemon", _state(seen.status)
    for agent in seen.status.ungraded:
        yield "not graded", ungraded_words(agent)


def _state(status: Status) -> str:
    if not status.running:
        return f"not running: {how_to_run()}"
    waiting = waiting_words(status)
    watched = ", ".join(map(output.from_home, status.roots))
    return f"running, pid {status.pid}, on {watched}; {waiting} waiting; last session: {silence_words(status)}"


def _fleet(fleet: FleetView, now: datetime) -> str:
    """Return how many machines these are, and which were not heard of for a day, or never."""
    read = "never read completely" if fleet.read_at is None else f"read {output.cell(fleet.read_at)}"
    unread = [f"{host.unread:,} of {host.host}" for host in fleet.hosts if host.unread]
    left = f"; sessions that this version cannot read: {', '.join(unread)}" if unread else ""
    silent, unheard = _names(silent_hosts(fleet, now)), _names(unheard_hosts(fleet))
    heard = f"; no contact for a day: {silent}" if silent else ""
    never = f"; never pushed: {unheard}" if unheard else ""
    return f"{count(len(fleet.hosts), 'machine')}, {read}{heard}{never}{left}"


def _names(hosts: Sequence[FleetHostState]) -> str:
    more = f" and {len(hosts) - _SHOWN_SESSIONS} more" if len(hosts) > _SHOWN_SESSIONS else ""
    return ", ".join(host.host for host in hosts[:_SHOWN_SESSIONS]) + more


def _coverage(patterns: Patterns, status: Status) -> str:
    """Return what the figures rest on, and what they leave out."""
    left = (
        (patterns.open_sessions, "still open"),
        (patterns.unanswered, "without an answer or a tool call"),
        *((status.files.get(state, 0), file_words(state)) for state in ("retry", "dead")),
    )
    said = [f"{number:,} {words}" for number, words in left if number]
    said += filter(None, [side_words(patterns.overall.spending, scheduled=patterns.scheduled)])
    counted = f"{count(patterns.sessions, 'session')} counted{scheduled_words(patterns.scheduled)}"
    return f"{counted}; not counted: {', '.join(said)}" if said else counted


def _only_older(patterns: Patterns, status: Status) -> str | None:
    """Return how many sessions ended before these days, and the command that shows them; None if some ended later."""
    ended = None if status.last_ended_at is None else here(status.last_ended_at).date()
    older = status.files.get("graded", 0)
    if ended is None or ended >= patterns.first_day or not older:
        return None
    needed = (patterns.last_day - ended).days + 1
    days = next((each for each in _LONGER_DAYS if each >= needed), needed)
    return f"no session; {older:,} older, the last of {ended}: grader-daemon -d {days}"


def _figures(patterns: Patterns, seen: Overview) -> Iterator[tuple[str, str]]:
    overall, before = patterns.overall, f"the {count(patterns.days, 'day')} before"
    yield from _verdicts(seen)
    for measure in TRENDED:
        yield f"  {measure.name.lower()}", figure_words(getattr(overall, measure.group), measure, before=before)
    if len(patterns.groups[Dimension.HOST]) > 1:
        yield "  machines", WITHIN_HOSTS
    agents = agents_words(patterns.groups[Dimension.AGENT])
    if agents:
        yield "  agents", clean(f"{agents}; by agent: grader-daemon report patterns")
    spent = None if overall.spending is None else spending_words(overall.spending, days=patterns.days)
    if spent:
        yield "  spent", "; ".join(spent)


def _verdicts(seen: Overview) -> Iterator[tuple[str, str]]:
    """Return the three shares, the rate where labels put it right, and how far verdicts can be trusted."""
    if seen.verdicts is not None:
        yield "  verdicts", shares_words(seen.verdicts)
    if seen.checked is not None:
        yield "  completion rate", rate_words(seen.checked)
    for change in [change for change in seen.grader_changes if change.moved_verdicts][:1]:
        yield "  grader changed", grader_words(change)
    if seen.trust is not None:
        yield "  trust", f"verdicts by the {grader_name(seen.trust.by)}, {trust_words(seen.trust)}"


def _look(look: Look, task: str) -> str:
    return f"{clean(look.session_id)}: {look.why}; {shorten(task, _TASK_CHARACTERS, placeholder='…')}"


def _news(issue: ErrorIssue | None, days: int) -> Iterator[tuple[str, str]]:
    """Return the new or returned error group of most sessions, with its counts of these days."""
    if issue is None:
        yield "new error", "none"
        return
    told = issue_in_brief(issue, within=f" in {count(days, 'day')}")
    yield "returned error" if issue.state is IssueState.RETURNED else "new error", told


def _open(found: OpenSessions) -> str:
    since = "" if found.since is None else f", the oldest began {output.cell(found.since)}"
    circling = found.in_circles
    shown = ", ".join(clean(each) for each in circling[:_SHOWN_SESSIONS])
    more = f" and {len(circling) - _SHOWN_SESSIONS} more" if len(circling) > _SHOWN_SESSIONS else ""
    stuck = f"; {count(len(circling), 'session')} may go in circles: {shown}{more}" if circling else ""
    return f"{count(found.sessions, 'session')}{since}{stuck}"


def _next(seen: Overview) -> str:
    """Return the command that helps most now."""
    status = seen.status
    if (seen.patterns is None or not seen.patterns.sessions) and status.ungraded:
        return output.from_home(status.ungraded[0].fix)
    if not status.running and seen.fleet is None:
        return "grader-daemon service install" if seen.has_systemd else "grader-daemon run"
    if seen.alerts:
        return f"grader-daemon alerts show {seen.alerts[0].number}"
    if status.files.get("dead"):
        return "grader-daemon doctor"
    if seen.worst_error is not None:
        return f"grader-daemon report errors show {seen.worst_error.fingerprint}"
    return "grader-daemon list"
