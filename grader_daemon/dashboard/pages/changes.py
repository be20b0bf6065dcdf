"""Changes: what changed in how agents are set up, how their work went before and since, and the sessions of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import urlencode
from xml.etree.ElementTree import Element

from starlette.responses import Response

from grader_daemon.dashboard.addresses import Choice
from grader_daemon.dashboard.session_filter import address
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.calendar import read_since
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.setup_changes import SetupChanges, SetupEffect
from grader_daemon.errors import InputError
from grader_daemon.reports.effect_words import basis_words, effect_lines, effect_title, unsteady_words
from grader_daemon.reports.finding_charts import change_strip
from grader_daemon.reports.numbers import BAD_ENDINGS, COMPLETION, count, direction_of, scheduled_words
from grader_daemon.reports.safe_text import Words

_SPANS: Final[Mapping[str, str]] = MappingProxyType(
    {"7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year"}
)
_USUAL_SPAN: Final = "90d"
_LISTED: Final = 50
_LEAST_REACH: Final = 0.1
"""What the scale of the differences shows to either side where they are smaller."""


class Shown(NamedTuple):
    """An effect in its words; `meaning` says in one what the difference is, `drawn` is None where there are too few.

    `before` and `since` are the addresses of the sessions; None for an agent without a name, whom no filter finds.
    """

    meaning: str
    title: Words
    lines: tuple[Words, ...]
    drawn: Element | None
    before: str | None
    since: str | None


def changes(visit: Visit) -> Response:
    """Answer with what changed since the beginning that is asked for, the newest first."""
    asked = visit.query.get("since", _USUAL_SPAN)
    found, wrong = None, None
    try:
        _, found = visit.site.recent(f"changes since {asked}", lambda: _found(visit, asked))
    except InputError as error:
        wrong = str(error)
    effects = () if found is None else found.effects
    return visit.show(
        "changes.html",
        status=200 if wrong is None else 400,
        wrong=wrong,
        looked_at=None
        if found is None
        else f"{count(found.sessions, 'finished task')} looked at{scheduled_words(found.scheduled)}",
        basis=basis_words(effects),
        effects=list(_shown(effects[:_LISTED], visit.now, visit.site.settings.zone)),
        left_out=len(effects[_LISTED:]),
        unsteady=[] if found is None else [unsteady_words(each) for each in found.unsteady],
        spans=[Choice(words, _address(span), span == asked) for span, words in _SPANS.items()],
        asked="" if asked in _SPANS else asked,
    )


PAGES: Final = (Page("/changes", changes),)


def _found(visit: Visit, asked: str) -> SetupChanges:
    try:
        since = read_since(asked)
    except ValueError as error:
        raise InputError(f"since: {error}") from error
    return visit.grader.setup.changes(since)


def _address(span: str) -> str:
    return "/changes" if span == _USUAL_SPAN else f"/changes?{urlencode({'since': span})}"


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
        )


def _meaning(effect: SetupEffect) -> str:
    if not effect.is_sure and effect.facts_differ:
        return direction_of(effect.ended_badly, BAD_ENDINGS)
    if effect.completion.change.value is None:
        return "too few"
    return direction_of(effect.completion, COMPLETION) if effect.is_sure else "not sure"


def _reach(change: Estimate) -> float:
    return max(abs(end) for end in (change.value or 0.0, change.low or 0.0, change.high or 0.0))


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
