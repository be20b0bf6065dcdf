"""Errors: failures of one cause, on which days they came, and what surely helped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote
from xml.etree.ElementTree import Element

from starlette.responses import Response

from grader_daemon.api.grades import GradeFilter
from grader_daemon.dashboard.addresses import Choice, message_address
from grader_daemon.dashboard.query_filter import day_address
from grader_daemon.dashboard.scope import Scope, at
from grader_daemon.dashboard.scope_line import scope_line
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.error_groups import ErrorIssue, IssueState, StepCount
from grader_daemon.domain.estimate import Estimate, Figure
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import SessionKind
from grader_daemon.errors import InputError
from grader_daemon.reports.charts import ChartDay, strip
from grader_daemon.reports.finding_charts import day_bars, day_chart, failures_words
from grader_daemon.reports.issue_names import issue_name, shown_tools
from grader_daemon.reports.numbers import COMPLETION, estimate_words
from grader_daemon.reports.phrasing import issue_title, sure_step

_LISTED: Final = 50
_MOST_LISTED: Final = 500
_SESSIONS: Final = 6
_STEPS: Final = 8


class Shown(NamedTuple):
    """A session that had an error, and where in it the error stands first."""

    grade: Grade
    at: int | None
    address: str


def errors(visit: Visit) -> Response:
    """Answer with the error issues of some days, those in most sessions first."""
    scope, state = visit.scope, visit.query.get("state", "")
    if state not in ("", *IssueState):
        raise InputError(f"state must be one of {', '.join(IssueState)}, not {state[:40]!r}")
    count = _count(visit.query.get("count", str(_LISTED)))
    states = frozenset({IssueState(state)}) if state else None
    insight = visit.grader.insight
    found = insight.error_issues(days=scope.days, states=states, among=_among(visit), limit=count + 1)
    issues = found[:count]
    more = min(count + _LISTED, _MOST_LISTED)
    return visit.show(
        "errors.html",
        scope=scope_line(visit, note=_note(scope)),
        issues=issues,
        issue_name=issue_name,
        tools=shown_tools(issues),
        days=insight.issue_days(issues),
        day_bars=day_bars,
        sure_step=sure_step,
        states=[_choice(each or "all except ignored", visit, "state", each, state) for each in ("", *IssueState)],
        more=_address(visit, "count", str(more)) if len(found) > count < more else None,
    )


def error(visit: Visit) -> Response:
    """Answer with one error issue."""
    insight, grades = visit.grader.insight, visit.grader.grades
    issue = insight.error_issue(visit.path["fingerprint"])
    days = insight.issue_days([issue])[issue.fingerprint]
    charted = [
        ChartDay(
            name=f"{day}",
            words=failures_words(day, failures),
            address=day_address(Scope(), day, issue=issue.fingerprint),
        )
        for day, failures in days.items()
    ]
    sessions = grades.page(GradeFilter(issue=issue.fingerprint, limit=_SESSIONS)).grades
    steps = sorted(issue.steps, key=lambda step: step.remedy_odds, reverse=True)
    return visit.show(
        "error.html",
        issue=issue,
        title=issue_title(issue),
        name=issue_name(issue),
        days=days,
        charted=charted,
        chart=day_chart(days, identifier="days", links=charted),
        sessions=[_shown(stored.grade, issue) for stored in sessions],
        steps=steps[:_STEPS],
        others=steps[_STEPS:],
        alternatives=insight.other_steps(issue)[:_STEPS],
        drawn_rate=_drawn_rate,
        rate_words=lambda step: estimate_words(step.recovery, COMPLETION),
        sure=sure_step(issue.steps),
        all_sessions=at("/sessions", {"issue": issue.fingerprint}),
    )


def mark(visit: Visit) -> Response:
    """Note what a person says of an error."""
    insight = visit.grader.insight
    marks: Mapping[str, Callable[[str], ErrorIssue]] = {
        "resolve": insight.resolve_error,
        "ignore": insight.ignore_error,
        "reopen": insight.reopen_error,
    }
    said = visit.form.get("mark", "")
    if said not in marks:
        raise InputError(f"an error can be marked {', '.join(marks)}, not {said[:40]!r}")
    return visit.go_to(f"/errors/{quote(marks[said](visit.path['fingerprint']).fingerprint)}")


PAGES: Final = (
    Page("/errors", errors),
    Page("/errors/{fingerprint}", error),
    Page("/errors/{fingerprint}", mark, writes=True),
)


def _count(given: str) -> int:
    if not (given.isascii() and given.isdigit() and 0 < len(given) <= len(str(_MOST_LISTED))):
        raise InputError(f"{given[:40]!r} is not a valid number of errors")
    return min(max(int(given), 1), _MOST_LISTED)


def _among(visit: Visit) -> GradeFilter:
    scope = visit.scope
    since = None if scope.days is None else visit.grader.grades.begin_of(scope.days)
    return GradeFilter(since=since, project=scope.project, agent=scope.agent, host=scope.host)


def _note(scope: Scope) -> str:
    """Return what of a scope the list has only in part."""
    narrowed = "These errors occurred in the chosen sessions; their figures cover all sessions."
    work = "Only errors in people's sessions count."
    is_narrowed, is_of_others = scope.project or scope.agent or scope.host, scope.kind not in (None, SessionKind.MAIN)
    return " ".join([*([narrowed] if is_narrowed else []), *([work] if is_of_others else [])])


def _choice(words: str, visit: Visit, name: str, value: str, shown: str) -> Choice:
    return Choice(words, _address(visit, name, value), value == shown)


def _address(visit: Visit, name: str, value: str) -> str:
    """Return the address of this list with one choice made otherwise."""
    kept = {"state": visit.query["state"]} if "state" in visit.query else {}
    return at("/errors", {key: said for key, said in {**visit.scope.query, **kept, name: value}.items() if said})


def _shown(grade: Grade, issue: ErrorIssue) -> Shown:
    at = next((each.index for each in grade.failures if each.fingerprint == issue.fingerprint), None)
    return Shown(grade, at, message_address(grade.session_id, at))


def _drawn_rate(step: StepCount) -> Element:
    figure = Figure(now=step.recovery, before=Estimate(), change=Estimate())
    return strip(figure, COMPLETION, highest=COMPLETION.highest)
