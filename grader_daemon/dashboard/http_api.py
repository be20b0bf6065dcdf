"""The page for programs: the JSON documents of the commands below ``/api``.

Each `Endpoint` says what it takes as a type: the query of a question, the body of what changes something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from grader_daemon.api.documents import (
    alert_document,
    calibration_state_document,
    explanation_document,
    grade_document,
    session_document,
    transcript_document,
    usage_document,
)
from grader_daemon.api.json_text import json_text
from grader_daemon.api.overview import summary_document
from grader_daemon.api.session_filter import ADDRESSED
from grader_daemon.dashboard.addresses import read_alert_number
from grader_daemon.dashboard.query_filter import read_filter, written_place
from grader_daemon.dashboard.refusals import PLACE, refused
from grader_daemon.dashboard.visit import Visit
from grader_daemon.domain.analysis import Category
from grader_daemon.domain.calendar import read_span
from grader_daemon.domain.error_groups import IssueState
from grader_daemon.domain.usage_by_day import UsageSplit
from grader_daemon.errors import GraderError, InputError, NotFoundError

_MOST_LISTED: Final = 1000
_MOST_DAYS: Final = 100_000
_LARGEST: Final = 2**63 - 1

_Days = Annotated[int, msgspec.Meta(ge=1, le=_MOST_DAYS, description="Number of days, up to today.")]
_Limit = Annotated[int, msgspec.Meta(ge=1, le=_MOST_LISTED, description="Maximum number of entries.")]


class _Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of an endpoint; of itself none."""


class _Week(_Question, frozen=True):
    days: _Days = 7


class _Usage(_Week, frozen=True):
    by: Annotated[UsageSplit, msgspec.Meta(description="How to group it.")] = UsageSplit.MODEL


class _Errors(_Question, frozen=True):
    days: _Days = 30
    state: IssueState | None = None
    limit: _Limit = 50


class _Failed(_Question, frozen=True):
    tool: Annotated[str, msgspec.Meta(description="The failed tool.")]
    category: Annotated[Category, msgspec.Meta(description="The kind of error.")]
    command: Annotated[str | None, msgspec.Meta(description="Only failures of this command: `git push`.")] = None
    days: _Days | None = None


class _Quarter(_Question, frozen=True):
    days: _Days = 90


class _Part(_Question, frozen=True):
    first: Annotated[int, msgspec.Meta(ge=0, description="The first message to return.")] = 0
    count: Annotated[int, msgspec.Meta(ge=1, le=_MOST_LISTED, description="Maximum number of messages.")] = 200


class _After(_Question, frozen=True):
    after: Annotated[int, msgspec.Meta(ge=0, le=_LARGEST, description="The `seq` of the last change you read.")] = 0
    limit: _Limit = 1000


class _Report(_Question, frozen=True):
    week: Annotated[str | None, msgspec.Meta(description="An ISO week like 2026-W47; default: the last one over.")] = (
        None
    )


class _Choice(_Question, frozen=True):
    task_type: Annotated[str | None, msgspec.Meta(description="Only this task type.")] = None
    default: Annotated[str | None, msgspec.Meta(description="The model to compare with.")] = None
    max_cost: Annotated[float, msgspec.Meta(gt=0, description="Maximum cost of a done task, in dollars.")] | None = None


class _AboutSkills(_Question, frozen=True):
    name: Annotated[str, msgspec.Meta(description="A task type, or a skill, installed or not.")]


class _Alike(_Question, frozen=True):
    asked: Annotated[str, msgspec.Meta(description="The beginning of a session id, or the text of a request.")]
    limit: Annotated[int, msgspec.Meta(ge=1, le=_MOST_LISTED, description="Maximum number of sessions.")] = 10


class _Label(_Question, frozen=True):
    completed: bool | None = None
    quality: Annotated[int, msgspec.Meta(ge=1, le=5)] | None = None
    note: str | None = None


class _Note(_Question, frozen=True):
    note: str | None = None


class _Span(_Question, frozen=True, rename={"span": "for"}):
    span: Annotated[str, msgspec.Meta(description="30m, 12h, 7d or 2w.")] = "7d"


_Sessions = msgspec.defstruct(
    "_Sessions",
    [
        *((each.name, (each.takes if isinstance(each.takes, type) else str) | None, None) for each in ADDRESSED),
        ("before", Annotated[str | None, msgspec.Meta(description="The `next` value of the previous page.")], None),
        ("limit", _Limit, 50),
    ],
    bases=(_Question,),
    frozen=True,
)


class Endpoint(NamedTuple):
    """An address for programs: the name of its document in ``docs/schemas``, and the type of what it takes."""

    method: str
    address: str
    document: str
    answer: Callable[[Visit, Any], Mapping[str, Any] | msgspec.Struct]
    takes: type[msgspec.Struct] = _Question

    @property
    def about(self) -> str:
        """Description of what it does, in a line."""
        return (self.answer.__doc__ or "").partition("\n")[0]

    @property
    def writes(self) -> bool:
        """True if it changes something."""
        return self.method != "GET"


def answered(endpoint: Endpoint, visit: Visit, given: bytes) -> Response:
    """Answer with a document; what a program can cause is one line in `error`. `given` is the body."""
    try:
        try:
            taken = _read(endpoint, visit, given)
        except msgspec.MsgspecError as error:
            raise HTTPException(400, str(error)) from error
        return Response(f"{json_text(endpoint.answer(visit, taken))}\n", media_type="application/json")
    except NotFoundError as error:
        return refused(404, str(error))
    except InputError as error:
        return refused(400, str(error))
    except GraderError as error:
        return refused(503, str(error))


def _read(endpoint: Endpoint, visit: Visit, given: bytes) -> msgspec.Struct:
    if endpoint.writes:
        return msgspec.json.decode(given or b"{}", type=endpoint.takes)
    named = [name for name, value in visit.request.query_params.multi_items() if value]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise HTTPException(400, f"{twice} appears twice: give it once")
    return msgspec.convert(visit.query, type=endpoint.takes, strict=False)


def _summary(visit: Visit, asked: _Week) -> dict[str, Any]:
    """Return an overview: whether the daemon runs, how good the last days were, and what to do next."""
    return summary_document(visit.grader.context, days=asked.days)


def _status(visit: Visit, _: _Question) -> msgspec.Struct:
    """Return the state of the daemon: folders, backlog and files it could not grade."""
    return visit.grader.status()


def _patterns(visit: Visit, asked: _Week) -> msgspec.Struct:
    """Return figures for groups of sessions in the last days, with 95 % ranges."""
    return visit.grader.insight.patterns(asked.days)


def _usage(visit: Visit, asked: _Usage) -> dict[str, Any]:
    """Return cost and tokens for the last days, by day and group, and the most expensive sessions."""
    return usage_document(visit.grader.insight, visit.grader.grades, days=asked.days, split=asked.by)


def _sessions(visit: Visit, asked: Any) -> dict[str, Any]:
    """Return one page of grades, newest session first."""
    page = visit.grader.grades.page(read_filter(visit.query, visit.grader, limit=asked.limit))
    trust = visit.grader.grades.trust()
    grades = [grade_document(stored.grade, stored.id, trust=trust) for stored in page.grades]
    return {"grades": grades, "next": None if page.next is None else written_place(page.next)}


def _session(visit: Visit, _: _Question) -> dict[str, Any]:
    """Return the grade of a session; the beginning of its id is enough."""
    return session_document(visit.grader.grades, visit.path["session_id"])


def _why(visit: Visit, _: _Question) -> dict[str, Any]:
    """Return the reasons for a grade, with the messages that prove them."""
    grades = visit.grader.grades
    return explanation_document(grades.explain(visit.path["session_id"]), trust=grades.trust())


def _transcript(visit: Visit, asked: _Part) -> dict[str, Any]:
    """Return a session's messages as redacted text, with the findings in each."""
    told = visit.grader.grades.transcript(visit.path["session_id"], first=asked.first, count=asked.count)
    return transcript_document(told)


def _errors(visit: Visit, asked: _Errors) -> dict[str, Any]:
    """Return error groups, the most common first; ignored groups only on request."""
    states = None if asked.state is None else frozenset({asked.state})
    return {"issues": visit.grader.insight.error_issues(days=asked.days, states=states, limit=asked.limit)}


def _error(visit: Visit, _: _Question) -> dict[str, Any]:
    """Return one error group, with agents' next steps and how often they worked."""
    return {"issue": visit.grader.insight.error_issue(visit.path["issue_id"])}


def _alternatives(visit: Visit, asked: _Failed) -> dict[str, Any]:
    """Return agents' next steps after one kind of error of a tool, the most reliable first."""
    tried = visit.grader.insight.alternatives(asked.tool, asked.category, command=asked.command, days=asked.days)
    return {"alternatives": tried}


def _alerts(visit: Visit, _: _Question) -> dict[str, Any]:
    """Return alerts, open ones first."""
    insight = visit.grader.insight
    silences = insight.silences()
    return {"alerts": [alert_document(alert, silences) for alert in insight.alerts()]}


def _alert(visit: Visit, _: _Question) -> dict[str, Any]:
    """Return one alert with its evidence."""
    insight = visit.grader.insight
    return {"alert": alert_document(insight.alert(_number(visit)), insight.silences())}


def _report(visit: Visit, asked: _Report) -> msgspec.Struct:
    """Return the weekly report."""
    return visit.grader.insight.weekly_report(asked.week)


def _route(visit: Visit, asked: _Choice) -> msgspec.Struct:
    """Return how well each model does each task type, and which model to prefer."""
    return visit.grader.routing.route(task_type=asked.task_type, default=asked.default, most_usd=asked.max_cost)


def _setup_changes(visit: Visit, asked: _Quarter) -> msgspec.Struct:
    """Return changes in agents' set-up, with figures before and since."""
    return visit.grader.setup.changes(timedelta(days=asked.days))


def _skills(visit: Visit, _: _Question) -> msgspec.Struct:
    """Return the agents' skills, most used first."""
    return visit.grader.setup.skills()


def _skill(visit: Visit, _: _Question) -> msgspec.Struct:
    """Return one skill with its versions, and figures before and since each."""
    return visit.grader.setup.skill(visit.path["name"])


def _skill_advice(visit: Visit, asked: _AboutSkills) -> msgspec.Struct:
    """Return a skill that could help with a task type, if one is needed."""
    return visit.grader.recommend_skill(asked.name)


def _similar(visit: Visit, given: _Alike) -> msgspec.Struct:
    """Return other sessions with the same request and how they ended."""
    return visit.grader.grades.similar(given.asked, limit=given.limit)


def _calibration(visit: Visit, _: _Question) -> dict[str, Any]:
    """Return which grader decides and why, and how well verdicts agree with labels."""
    return calibration_state_document(visit.grader.calibration.state())


def _changes(visit: Visit, asked: _After) -> dict[str, Any]:
    """Return changes after a given change: grades, labels, withdrawn grades, alerts."""
    store = visit.grader.context.store
    return {"database": store.identity, "changes": visit.grader.grades.changes(after=asked.after, limit=asked.limit)}


def _label(visit: Visit, said: _Label) -> dict[str, Any]:
    """Label a session: whether the task is done, and how good the answer is."""
    session_id = visit.path["session_id"]
    labels = visit.grader.labels
    return {"feedback": labels.add(session_id, completed=said.completed, quality=said.quality, note=said.note)}


def _unlabel(visit: Visit, _: _Question) -> dict[str, Any]:
    """Undo the last label of a session."""
    return {"taken_back": visit.grader.labels.undo(visit.path["session_id"])}


def _resolve(visit: Visit, _: _Question) -> dict[str, Any]:
    """Resolve an error group; if it occurs again, it counts as returned."""
    return {"issue": visit.grader.insight.resolve_error(visit.path["issue_id"])}


def _ignore(visit: Visit, _: _Question) -> dict[str, Any]:
    """Hide an error group from lists."""
    return {"issue": visit.grader.insight.ignore_error(visit.path["issue_id"])}


def _reopen(visit: Visit, _: _Question) -> dict[str, Any]:
    """Undo `resolve` or `ignore`."""
    return {"issue": visit.grader.insight.reopen_error(visit.path["issue_id"])}


def _acknowledge(visit: Visit, said: _Note) -> dict[str, Any]:
    """Acknowledge an alert."""
    return {"alert": visit.grader.insight.acknowledge_alert(_number(visit), said.note)}


def _unacknowledge(visit: Visit, _: _Question) -> dict[str, Any]:
    """Undo an acknowledgement."""
    return {"alert": visit.grader.insight.unacknowledge_alert(_number(visit))}


def _silence(visit: Visit, said: _Span) -> dict[str, Any]:
    """Silence an alert, and others with the same cause, for a time."""
    try:
        span: timedelta = read_span(said.span)
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    number = _number(visit)
    return {"number": number, "silent_until": visit.grader.insight.silence_alert(number, span)}


def _unsilence(visit: Visit, _: _Question) -> dict[str, Any]:
    """End the silence of an alert."""
    return {"alert": visit.grader.insight.unsilence_alert(_number(visit))}


def _number(visit: Visit) -> int:
    return read_alert_number(visit.path["number"])


_SESSION: Final = f"{PLACE}/sessions/{{session_id:path}}"
_ISSUE: Final = f"{PLACE}/errors/{{issue_id}}"
_ALERT: Final = f"{PLACE}/alerts/{{number}}"

ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    Endpoint("GET", f"{PLACE}/summary", "summary", _summary, _Week),
    Endpoint("GET", f"{PLACE}/status", "status", _status),
    Endpoint("GET", f"{PLACE}/patterns", "patterns", _patterns, _Week),
    Endpoint("GET", f"{PLACE}/usage", "usage", _usage, _Usage),
    Endpoint("GET", f"{PLACE}/sessions", "sessions", _sessions, _Sessions),
    Endpoint("GET", f"{_SESSION}/why", "why", _why),
    Endpoint("GET", f"{_SESSION}/transcript", "transcript", _transcript, _Part),
    Endpoint("POST", f"{_SESSION}/label", "label", _label, _Label),
    Endpoint("DELETE", f"{_SESSION}/label", "label-undo", _unlabel),
    Endpoint("GET", _SESSION, "show", _session),
    Endpoint("GET", f"{PLACE}/errors", "errors-list", _errors, _Errors),
    Endpoint("GET", f"{PLACE}/alternatives", "errors-alternatives", _alternatives, _Failed),
    Endpoint("GET", _ISSUE, "errors-show", _error),
    Endpoint("POST", f"{_ISSUE}/resolve", "errors-show", _resolve),
    Endpoint("POST", f"{_ISSUE}/ignore", "errors-show", _ignore),
    Endpoint("POST", f"{_ISSUE}/reopen", "errors-show", _reopen),
    Endpoint("GET", f"{PLACE}/alerts", "alerts-list", _alerts),
    Endpoint("GET", _ALERT, "alerts-show", _alert),
    Endpoint("POST", f"{_ALERT}/ack", "alerts-ack", _acknowledge, _Note),
    Endpoint("DELETE", f"{_ALERT}/ack", "alerts-ack", _unacknowledge),
    Endpoint("POST", f"{_ALERT}/silence", "alerts-silence", _silence, _Span),
    Endpoint("DELETE", f"{_ALERT}/silence", "alerts-ack", _unsilence),
    Endpoint("GET", f"{PLACE}/report", "report", _report, _Report),
    Endpoint("GET", f"{PLACE}/route", "route", _route, _Choice),
    Endpoint("GET", f"{PLACE}/setup-changes", "setup-changes", _setup_changes, _Quarter),
    Endpoint("GET", f"{PLACE}/skills", "skills-list", _skills),
    Endpoint("GET", f"{PLACE}/skills/{{name:path}}", "skills-show", _skill),
    Endpoint("GET", f"{PLACE}/skill-advice", "skills-suggest", _skill_advice, _AboutSkills),
    Endpoint("GET", f"{PLACE}/similar", "similar", _similar, _Alike),
    Endpoint("GET", f"{PLACE}/calibration", "calibration-show", _calibration),
    Endpoint("GET", f"{PLACE}/changes", "changes", _changes, _After),
)
