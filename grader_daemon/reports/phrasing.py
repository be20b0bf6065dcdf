"""The sentences of reports: what they rest on, error issues and what helped, alerts and their causes.

Text, Markdown, pages and the commands all take them from here, so that they say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Final

from grader_daemon.domain.alert import (
    SCHEDULED,
    Alert,
    AlertKind,
    Decomposition,
    DropCause,
    ShareChange,
    Stream,
    StreamDrop,
)
from grader_daemon.domain.calendar import day_of, local
from grader_daemon.domain.error_groups import ErrorIssue, StepCount, remedies
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.insight import Coverage, Suggestion, WeeklyReport
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.text import count
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.reports.change_words import change_words
from grader_daemon.reports.issue_names import tool_words
from grader_daemon.reports.numbers import (
    BAD_ENDINGS,
    MEASURES,
    WEEK_BEFORE,
    count_words,
    estimate_words,
    figure_words,
    part_words,
)
from grader_daemon.reports.safe_text import LONGEST_ID, LONGEST_LINE, Words, joined, name, plain, remark
from grader_daemon.reports.verdicts import grader_name, grader_words, rate_words, shares_words, trust_words

INTERVALS_NOTE: Final = (
    "In parentheses: 95 % ranges. A change is clear if its range excludes 0. Scores go from 1 (worst) to 5 (best)."
)
MORE_OF_A_SESSION: Final[Words] = ("Details of a session: ", name("grader-daemon why ID"), ".")
MOST_STEPS: Final = 4
"""Most steps after a failure in a sentence."""
MOST_SESSIONS: Final = 5
"""Most examples in a sentence."""
MOST_CHANGES: Final = 6
"""Most streams and shares in a sentence on an alert."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_GROUP_OF = {
    Dimension.TASK_TYPE: "task type ",
    Dimension.TOOL: "tool ",
    Dimension.MODEL: "model ",
    Dimension.PLATFORM: "platform ",
    Dimension.CATEGORY: "error ",
    Dimension.AGENT: "agent ",
    Dimension.ENDING: "ending ",
    Dimension.STANDING: "result ",
    Dimension.PROJECT: "project ",
    Dimension.KIND: "kind ",
    Dimension.HOST: "machine ",
    Dimension.USER: "machines of ",
    Dimension.TASK_MODEL: "task type and model ",
    Dimension.JOB: "scheduled job ",
}
CAUSE_OF: Final = {
    DropCause.MIX: "Different tasks came in",
    DropCause.WORK: "The same tasks went worse",
    DropCause.BOTH: "Different tasks came in, and the same tasks went worse",
    DropCause.UNCLEAR: "Too few sessions to tell whether different tasks came in, or the same tasks went worse",
}
"""Causes of a drop, in the words of an alert."""


def day(when: date) -> str:
    """Return a day as it is said: 16 November 2026."""
    return f"{when.day} {_MONTHS[when.month - 1]} {when.year}"


def days(first: date, last: date) -> str:
    """Return a span of days, saying month and year once where they are the same."""
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {day(last)}"
    if first.year == last.year:
        return f"{first.day} {_MONTHS[first.month - 1]} to {day(last)}"
    return f"{day(first)} to {day(last)}"


def moment(when: datetime, zone: tzinfo | None) -> str:
    """Return a moment in `zone` (None: the machine's), which is named: 16 November 2026, 09:10 UTC."""
    here = local(when, zone)
    return f"{day(here.date())}, {here:%H:%M %Z}"


def notes(report: WeeklyReport) -> tuple[Words, ...]:
    """Return what a reader must know before any number: the week goes on, the numbers are other ones than before."""
    unfinished = () if report.complete else (("The week is not over: provisional.",),)
    return (*unfinished, *_revision(report))


def coverage_words(coverage: Coverage) -> Words:
    """Return how much of what was there a report rests on."""
    if not coverage.seen:
        return ("The agents wrote no session files in this week.",)
    parts = (
        (True, f"{coverage.graded:,} graded"),
        (coverage.open_sessions, f"{coverage.open_sessions:,} still open and not counted"),
        (coverage.skipped, _skipped(coverage.skipped)),
        (coverage.waiting, f"{coverage.waiting:,} waiting to be retried"),
        (coverage.dead, f"{coverage.dead:,} that could not be graded"),
    )
    said = ", ".join(words for applies, words in parts if applies)
    return (f"{count(coverage.seen, 'session file')} of this week: {said}.",)


def total_words(report: WeeklyReport) -> str:
    """Return how many sessions the week had, beside the week before, and their verdicts."""
    if report.total_sessions:
        total = count_words(report.total_sessions, "finished session", earlier=report.sessions_before)
        shares = "" if report.verdicts is None else f": {shares_words(report.verdicts)}"
        return f"{total}{shares}"
    if report.sessions_before:
        return f"No session finished this week; {report.sessions_before:,} {WEEK_BEFORE}"
    return f"No session finished this week, nor {WEEK_BEFORE}"


def scheduled_words(report: WeeklyReport) -> tuple[str, ...]:
    """Return how many runs of schedules stand beside the sessions that are counted, and how they did; none without."""
    runs = report.scheduled
    if runs is None:
        return ()
    bad = figure_words(runs.ended_badly, BAD_ENDINGS)
    shares = shares_words(VerdictCounts(runs.done, runs.not_done, runs.unsure))
    return (f"+ {runs.sessions + runs.unanswered:,} scheduled, counted separately: {shares}; bad endings: {bad}.",)


def unanswered_words(report: WeeklyReport) -> tuple[str, ...]:
    """Return how many sessions had nothing to judge; nothing without any."""
    if not report.unanswered:
        return ()
    verb = "is" if report.unanswered == 1 else "are"
    return (f"{count(report.unanswered, 'session')} ended without an answer or a tool call and {verb} not counted.",)


def grader_sentences(report: WeeklyReport) -> tuple[str, ...]:
    """Return when another grader that moved verdicts came into force in the weeks of the trend, a sentence each."""
    changes = [change for change in report.grader_changes if change.moved_verdicts]
    return tuple(f"Grader changed on {grader_words(change)}." for change in changes)


def trust_sentence(report: WeeklyReport) -> str:
    """Return how far the verdicts can be trusted."""
    return f"Verdicts by the {grader_name(report.trust.by)}, {trust_words(report.trust)}."


def checked_words(checked: Estimate) -> tuple[str, ...]:
    """Return the rate of completion by random reviews of the last eight weeks, or what it takes to know one."""
    return (f"Completion rate: {rate_words(checked)}.",)


def people_words(report: WeeklyReport) -> tuple[Words, ...]:
    """Return how often people objected, and asked for the same again; nothing where nobody could."""
    if report.people is None or not report.total_sessions:
        return ()
    sessions = count(report.total_sessions, "session")
    objected = f"In {report.people.objected:,} of {sessions}, a person complained, corrected the agent or gave up"
    again = f"After {report.people.asked_again:,} of them, a person asked for the same again"
    return ((f"{objected}. {again}.",),)


def suggestion_lines(suggestion: Suggestion) -> tuple[Words, ...]:
    """Return the numbers that triggered a suggestion, and sessions that show why."""
    because: Words = (f"Because {remark(suggestion.because)}",)
    return (because, *examples("For example", suggestion.sessions))


def issue_title(issue: ErrorIssue) -> Words:
    """Name an issue and say how much it weighs."""
    weight = f"{count(issue.failures, 'failure')} in {count(issue.sessions, 'session')}"
    return (*call(issue.tool, issue.command), ": ", name(issue.subcategory or issue.category), f", {weight}")


def issue_lines(issue: ErrorIssue, zone: tzinfo | None = UTC) -> tuple[Words, ...]:
    """Return what an issue looks like, what helped, and where it occurs; for days and `zone` see `alert_lines`."""
    signal, example = name(issue.signal, LONGEST_LINE), name(issue.example, LONGEST_LINE)
    shown: tuple[Words, ...] = (("It says ", signal),) if issue.signal else ()
    if issue.example and example != signal:
        shown += (("For example ", example),)
    return (*shown, (*helped(issue.steps), "."), *_spread(issue, zone), *examples("Last in", issue.latest))


def issue_in_brief(issue: ErrorIssue, *, within: str = "") -> str:
    """Return how much an issue weighs, `within` a time such as " in 7 days", and what helped."""
    after = plain(helped(issue.steps))
    return f"{plain(issue_title(issue))}{within}; {after[0].lower()}{after[1:]}"


def helped(steps: Iterable[StepCount]) -> Words:
    """Return after which next steps an error was recovered, and how often: the surest remedies first."""
    tried = tuple(steps)
    if not tried:
        return ("The next steps of the agents are unknown",)
    surest = remedies(tried)[:MOST_STEPS]
    if surest:
        return ("The call worked after: ", *joined([step_words(step) for step in surest], ", "))
    recovered, tries = sum(step.recovered for step in tried), sum(step.tries for step in tried)
    if not recovered:
        return (f"The call never worked later in {count(tries, 'try', 'tries')}",)
    return (f"The call worked later in {recovered:,} of {count(tries, 'try', 'tries')}; no next step clearly helped",)


def sure_step(steps: Iterable[StepCount]) -> StepCount | None:
    """Return the surest remedy after an error; None where there is none: few tries would read as advice."""
    return next(iter(remedies(tuple(steps))), None)


def step_words(step: StepCount) -> Words:
    """Return one next step, and after how many tries the error was recovered: "terminal curl 12 of 14 tries"."""
    odds = f" {step.recovered:,} of {count(step.tries, 'try', 'tries')}"
    if step.is_retry:
        return ("a retry", odds)
    return (*call(step.tool, step.command), odds)


def call(tool: str | None, command: str | None) -> Words:
    """Name what was called: a tool, for shells with the family of the command."""
    called: Words = (tool_words(tool),) if tool is None else (name(tool_words(tool)),)
    return called if command is None else (*called, " ", name(command))


def alert_title(alert: Alert) -> Words:
    """Return how bad an alert is, of what, and how that stood before and stands since."""
    number = "" if alert.number is None else f" {alert.number}"
    told = joined([drop_words(drop) for drop in alert.drops[:1]], "")
    return (f"Alert{number}, {alert.level}: ", *told)


def alert_lines(alert: Alert, zone: tzinfo | None = UTC) -> tuple[Words, ...]:
    """Return when an alert opened, its likely cause, where else it shows, and what became of it; times are in `zone`.

    Reports tell them in UTC: one that is made again elsewhere must be the same.
    """
    return (
        opening_words(alert, zone),
        *_causes(alert),
        *_listed("What changed since: ", [_share(change) for change in alert.changes]),
        *_setup_change(alert, zone),
        *_listed("Also affected: ", [drop_words(drop) for drop in alert.drops[1:]]),
        *examples("Sessions that explain the alert best:", alert.sessions),
        *_outcome(alert, zone),
    )


def alert_cause(alert: Alert) -> str:
    """Return in a line what is known of why; nothing where nothing is."""
    changed = _listed("What changed since: ", [_share(change) for change in alert.changes[:1]])
    return " ".join(plain(words) for words in (*_causes(alert), *changed, *_setup_change(alert, UTC)))


def drop_words(drop: StreamDrop) -> Words:
    """Return a stream, and how it stood before and stands since."""
    measure = MEASURES[drop.stream.metric]
    before, since = estimate_words(drop.before, measure), estimate_words(drop.since, measure)
    return (*stream_words(drop.stream, drop.called), f", {before} before, {since} since")


def stream_words(stream: Stream, called: str | None = None) -> Words:
    """Name a metric and the sessions that it is of: "completion rate of task type debugging".

    `called` is the name of what the stream has but a key of.
    """
    key: Words = () if called in (None, stream.name) else (" (", name(stream.name), ")")
    return (f"{MEASURES[stream.metric].name.lower()} of ", *group_words(stream.dimension, called or stream.name), *key)


def group_words(dimension: Dimension, of: str) -> Words:
    """Name the sessions of a group: "task type debugging", "all sessions"."""
    if (dimension, of) == SCHEDULED:
        return ("scheduled runs",)
    return ("all sessions",) if dimension is Dimension.OVERALL else (_GROUP_OF[dimension], name(of))


def opening_words(alert: Alert, zone: tzinfo | None) -> Words:
    """Return when an alert opened and what it is of began, and which threshold raised it if one did."""
    opened = f"Opened {moment(alert.opened_at, zone)}; it began about {moment(alert.began_at, zone)}"
    if alert.kind is AlertKind.THRESHOLD:
        return (f"{opened}. Threshold of your rules: ", name(alert.rule or ""), ".")
    return (f"{opened}.",)


def examples(lead: str, sessions: Iterable[str]) -> tuple[Words, ...]:
    """Name sessions that show it, if there are any."""
    named: list[Words] = [(name(session, LONGEST_ID),) for session in sessions]
    return ((f"{lead} ", *joined(named[:MOST_SESSIONS], ", ")),) if named else ()


def _revision(report: WeeklyReport) -> tuple[Words, ...]:
    late = report.late_sessions
    if late > 0:
        return ((f"Revision {report.revision}: {count(late, 'session')} arrived after the first report.",),)
    if late < 0:
        return ((f"Revision {report.revision}: {count(-late, 'session')} fewer than in the first report.",),)
    if report.revision > 1:
        return ((f"Revision {report.revision}: some sessions were graded again since the first report.",),)
    return ()


def _skipped(skipped: Mapping[str, int]) -> str:
    reasons = sorted(skipped.items(), key=lambda entry: (-entry[1], entry[0]))
    said = ", ".join(f"{remark(reason.replace('_', ' '), LONGEST_ID)} {times:,}" for reason, times in reasons)
    return f"{sum(skipped.values()):,} skipped ({said})"


def _spread(issue: ErrorIssue, zone: tzinfo | None) -> tuple[Words, ...]:
    """Return when, in what work, and in how many sessions a call worked after the last error, before an answer."""
    types = sorted(issue.task_types.items(), key=lambda entry: (-entry[1], entry[0]))
    named: list[Words] = [(name(task_type), f" {sessions:,}") for task_type, sessions in types]
    first, last = day(day_of(issue.first_seen, zone)), day(day_of(issue.last_seen, zone))
    span = first if first == last else f"{first} to {last}"
    sessions = f"{issue.recovered:,} of {count(issue.sessions, 'session')}"
    recovered = f"in {sessions}, a call worked after the last error and an answer followed"
    work: Words = ("; by task type: ", *joined(named[:MOST_CHANGES], ", ")) if named else ()
    return ((f"Seen {span}; {recovered}", *work, "."),)


def _causes(alert: Alert) -> tuple[Words, ...]:
    if alert.decomposition is None or not alert.drops:
        return ()
    return ((_cause(alert.decomposition, alert.drops[0].stream),),)


def _cause(split: Decomposition, stream: Stream) -> str:
    measure = MEASURES[stream.metric]
    mix, work = part_words(split.mix, split.mix_margin, measure), part_words(split.work, split.work_margin, measure)
    return f"{CAUSE_OF[split.cause]}: {mix} from the mix of task types, {work} within task types."


def _share(change: ShareChange) -> Words:
    before, since = (f"{share * 100:.0f} %" for share in (change.before, change.since))
    return (*group_words(change.dimension, change.name), f": {before} of sessions before, {since} since")


def _listed(lead: str, parts: list[Words]) -> tuple[Words, ...]:
    if not parts:
        return ()
    more = len(parts) - MOST_CHANGES
    end = f"; and {more:,} more." if more > 0 else "."
    return ((lead, *joined(parts[:MOST_CHANGES], "; "), end),)


def _setup_change(alert: Alert, zone: tzinfo | None) -> tuple[Words, ...]:
    """Return what changed next to its beginning; that it did is no proof that it was the cause."""
    change = alert.setup_change
    return () if change is None else (("Nearest change: ", *change_words(change), f", {moment(change.at, zone)}."),)


def _outcome(alert: Alert, zone: tzinfo | None) -> tuple[Words, ...]:
    said: list[Words] = []
    if alert.acknowledged_at is not None:
        said.append((f"Acknowledged {moment(alert.acknowledged_at, zone)}.",))
    if alert.note:
        said.append((f"Note: {remark(alert.note)}",))
    closing = "Still open." if alert.resolved_at is None else f"Resolved {moment(alert.resolved_at, zone)}."
    return (*said, (closing,))
