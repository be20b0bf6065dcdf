"""Changes: what changed in how agents are set up, how their work went before and since, and the sessions of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from starlette.responses import Response

from grader_daemon.api.grades import GradeFilter
from grader_daemon.dashboard.query_filter import address, read_filter
from grader_daemon.dashboard.scope import LONGEST, Scope, at
from grader_daemon.dashboard.scope_line import scope_line
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.setup_changes import SetupEffect, SetupKind
from grader_daemon.errors import InputError, NotFoundError
from grader_daemon.patterns.twins import twins
from grader_daemon.reports.effect_words import (
    basis_words,
    direction_told,
    effect_lines,
    effect_title,
    examined_words,
    unsteady_words,
)
from grader_daemon.reports.finding_charts import change_strip
from grader_daemon.reports.safe_text import Words

_LISTED: Final = 50
_NEAREST: Final = 50
"""Twins are looked for among so many sessions of either side, those next to the change."""
_LEAST_REACH: Final = 0.1
"""What the scale of the differences shows to either side where they are smaller."""


class Shown(NamedTuple):
    """An effect in its words; `meaning` says in one what the difference is, `drawn` is None where there are too few.

    `before` and `since` are the addresses of the sessions; None for an unnamed agent, whom no filter finds.
    `twins` leads to one of each side by side; None where no difference is sure.
    """

    meaning: str
    title: Words
    lines: tuple[Words, ...]
    drawn: Element | None
    before: str | None
    since: str | None
    twins: str | None


def changes(visit: Visit) -> Response:
    """Answer with what changed in the last days, the newest first."""
    days, scope = visit.scope.days or LONGEST, visit.scope
    _, found = visit.site.recent(
        f"changes and work of {days} days", lambda: visit.grader.setup.changes(timedelta(days=days))
    )
    effects = [effect for effect in found.effects if _is_of(effect, scope)]
    shown = list(_shown(effects[:_LISTED], visit.now, visit.site.settings.zone))
    left = " and ".join(name for name, value in (("project", scope.project), ("machine", scope.host)) if value)
    note = f"A change applies to all work of an agent, so the {left} filter does not apply here." if left else ""
    return visit.show(
        "changes.html",
        scope=scope_line(visit, note=note),
        examined=examined_words(found, visit.site.settings.zone),
        basis=basis_words(effects),
        effects=shown,
        has_lines=any(each.drawn is not None for each in shown),
        left_out=len(effects[_LISTED:]),
        unsteady=[unsteady_words(each) for each in found.unsteady],
    )


def compare_twins(visit: Visit) -> Response:
    """Lead to a session before a change and one since, the nearest there are, side by side."""
    query = visit.query
    if not {"first", "last"} <= query.keys():
        raise InputError("the address of this comparison is incomplete: start at /changes")
    whose = {name: query[name] for name in ("agent", "kind") if name in query}
    sides = (
        {**whose, "until": query["first"], "model": query.get("before")},
        {**whose, "since": query["last"], "model": query.get("after"), "reverse": "1"},
    )
    before, since = ([stored.grade for stored in visit.grader.grades.page(_side(visit, side)).grades] for side in sides)
    found = twins(before, since)
    if found is None:
        raise NotFoundError("no two sessions near this change have the same type of task")
    ids = [("id", each.session_id) for each in (found.before, found.since)]
    return visit.go_to(at("/compare", [*ids, ("near", found.nearness)]))


PAGES: Final = (Page("/changes", changes), Page("/changes/twins", compare_twins))


def _is_of(effect: SetupEffect, scope: Scope) -> bool:
    """Return whether a change is one of an agent, or of all, and shows in the work that is asked for."""
    is_of_jobs = scope.kind is SessionKind.CRON
    if scope.kind is not None and any(change.scheduled is not is_of_jobs for change in effect.changes):
        return False
    return scope.agent is None or any(change.agent in (None, scope.agent) for change in effect.changes)


def _shown(effects: Iterable[SetupEffect], now: datetime, zone: tzinfo | None) -> Iterable[Shown]:
    """Yield effects as they are shown, with their differences on one scale."""
    known = list(effects)
    reach = max([_LEAST_REACH, *(_reach(effect.completion.change) for effect in known)])
    for effect in known:
        change = effect.completion.change
        first, last = effect.changes[0].at, effect.changes[-1].at
        yield Shown(
            meaning=_meaning(effect),
            title=effect_title(effect),
            lines=tuple(effect_lines(effect, zone)),
            drawn=None if change.value is None else change_strip(change, reach=reach),
            before=_sessions(effect, since=effect.since, until=first),
            since=_sessions(effect, since=last, until=effect.until if effect.until < now else None),
            twins=None if direction_told(effect) is None else _twins(effect),
        )


def _meaning(effect: SetupEffect) -> str:
    if (told := direction_told(effect)) is not None:
        return told
    return "too few" if effect.completion.change.value is None else "not sure"


def _reach(change: Estimate) -> float:
    return max(abs(end) for end in (change.value or 0.0, change.low or 0.0, change.high or 0.0))


def _side(visit: Visit, asked: Mapping[str, str | None]) -> GradeFilter:
    """Return the filter of the sessions next to a change."""
    given = {name: value for name, value in asked.items() if value is not None}
    return read_filter(given, visit.grader, limit=_NEAREST)


def _twins(effect: SetupEffect) -> str | None:
    """Return what leads to two sessions of a change; where the model changed, each has its own."""
    models = [change for change in effect.changes if change.kind is SetupKind.MODEL]
    agent, kind = effect.changes[0].agent, SessionKind.CRON if effect.changes[0].scheduled else SessionKind.MAIN
    said = {"agent": agent, "kind": kind, "first": effect.changes[0].at, "last": effect.changes[-1].at}
    if models:
        said |= {"before": models[0].before, "after": models[-1].after}
    query = {name: f"{value}" for name, value in said.items() if value is not None}
    return None if agent == "" else at("/changes/twins", query)


def _sessions(effect: SetupEffect, *, since: datetime, until: datetime | None) -> str | None:
    """Return where the sessions of one side are listed, with those whose work was not done on the other."""
    agent = effect.changes[0].agent
    if agent == "":
        return None
    return address(
        {},
        agent=agent,
        kind=SessionKind.CRON if effect.changes[0].scheduled else SessionKind.MAIN,
        since=since.isoformat(),
        until=None if until is None else until.isoformat(),
    )
