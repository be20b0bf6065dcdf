"""Cards of the first page: what needs a person now, in the order of what waiting costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote
from xml.etree.ElementTree import Element

from grader_daemon.api.overview import Overview
from grader_daemon.dashboard.addresses import message_address
from grader_daemon.domain.alert import Alert
from grader_daemon.domain.claims import Claim, Support
from grader_daemon.domain.error_groups import ErrorIssue, IssueState
from grader_daemon.domain.fleet_hosts import is_behind, left_of, silent_hosts, unheard_hosts
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.text import age_words, count
from grader_daemon.reports.issue_names import issue_name
from grader_daemon.reports.phrasing import alert_title, step_words, sure_step
from grader_daemon.reports.safe_text import Words, joined, name
from grader_daemon.reports.session_words import claim_words, why_words
from grader_daemon.reports.story import repeated_now, repeated_words

MOST: Final = 5
CONTRADICTED_READ: Final = 21
"""So many sessions with a contradicted claim are read: of more it is said that there are 20 or more."""

_QUOTED: Final = 2
_ALERTS: Final = 2
NEWS_SHOWN: Final = 2
"""So many errors that are new or back are shown, those in most sessions."""
_LEAST_SESSIONS: Final = 2
_LONGEST: Final = 90


class Quote(NamedTuple):
    """Words of an answer, and the cause for which the record speaks against them."""

    said: str
    happened: str
    address: str


class Card(NamedTuple):
    """One thing that needs a person: a sentence, a picture, what shows more or mends it, and quotations."""

    tag: str
    words: Words
    address: str | None = None
    command: str | None = None
    quotes: tuple[Quote, ...] = ()
    picture: Element | None = None


class Today(NamedTuple):
    """Material of the cards: the figures, the newest sessions with a contradicted claim, open ones, news of errors.

    `line_of` draws the days around an alert.
    """

    seen: Overview
    contradicted: Sequence[Grade]
    running: Sequence[Grade]
    news: Sequence[ErrorIssue]
    title_of: Callable[[Grade], str]
    line_of: Callable[[Alert], Element | None]


def cards_of(today: Today) -> list[Card]:
    """Return the cards, those first that cost most while they wait."""
    return [
        card
        for kind in (_machine, _stuck, _contradicted, _worse, _errors, _given_up, _ungraded)
        for card in kind(today)
    ]


def _machine(today: Today) -> Iterator[Card]:
    """Yield what keeps grades from being made, here or on the machines of a fleet."""
    seen = today.seen
    if seen.fleet is not None:
        yield from _fleet(seen)
    elif not seen.status.running:
        command = f"grader-daemon {'service install' if seen.has_systemd else 'run'}"
        yield Card("Not running", ("The daemon does not run, so nothing new is graded",), command=command)
    elif seen.status.daemon is not None and seen.status.daemon.longest_wait:
        waiting = f"The daemon is behind: {count(seen.status.daemon.backlog, 'file')} waiting"
        yield Card("Behind", (waiting,), "/health")


def _fleet(seen: Overview) -> Iterator[Card]:
    assert seen.fleet is not None
    if is_behind(seen.fleet, seen.at):
        read = "is being read for the first time" if seen.fleet.read_at is None else "has not been read for a while"
        yield Card("Behind", (f"The fleet's database {read}, so these figures are old",))
    if left := left_of(seen.fleet):
        still = (
            f"Up to {left:,} older sessions are still being read, newest first: long periods are incomplete until then"
        )
        yield Card("Reading", (still,))
    silent: list[Words] = [(name(host.host),) for host in silent_hosts(seen.fleet, seen.at)]
    if silent:
        yield Card("Silent", ("No contact for a day: ", *joined(silent, ", ")))
    unheard: list[Words] = [(name(host.host),) for host in unheard_hosts(seen.fleet)]
    if unheard:
        yield Card("New", ("Never sent grades: ", *joined(unheard, ", ")))
    for host in seen.fleet.hosts:
        if host.unread:
            behind = " cannot be read by this version of grader-daemon"
            yield Card("Not read", (f"{count(host.unread, 'session')} of ", name(host.host), behind))


def _stuck(today: Today) -> Iterator[Card]:
    """Yield open sessions that may go in circles."""
    for grade in today.running:
        if grade.had_infinite_loop_risk:
            yield Card("Stuck now", (name(today.title_of(grade), _LONGEST), *_circles(grade, today)), _session(grade))


def _circles(grade: Grade, today: Today) -> Words:
    """Return what an open session does over and over, and how long it runs."""
    began = grade.session_start
    running = "" if began is None else f", running for {age_words(began, today.seen.at)}"
    repeated = repeated_now(grade)
    if not repeated:
        return (f"{running}: {grade.total_errors:,} of {count(grade.tool_calls, 'call')} failed",)
    return (f"{running}: ", *repeated_words(repeated))


def _contradicted(today: Today) -> Iterator[Card]:
    found, days = len(today.contradicted), today.seen.patterns.days if today.seen.patterns else 0
    if not found:
        return
    most = CONTRADICTED_READ - 1
    some = f"{count(found, 'answer')} {'says' if found == 1 else 'say'}"
    said = f"{most} or more answers say" if found > most else some
    yield Card(
        "False claim",
        (f"{said} something that tool calls contradict, in {count(days, 'day')}",),
        f"/sessions?days={days}&claim={Support.CONTRADICTED}",
        quotes=tuple(_quotes(today)),
    )


def _quotes(today: Today) -> Iterator[Quote]:
    for grade in today.contradicted[:_QUOTED]:
        claim = next((claim for claim in grade.claims if claim.support is Support.CONTRADICTED), None)
        if claim is not None:
            yield Quote(name(_said(claim), _LONGEST).text, why_words(claim) or claim.support, _session(grade))


def _said(claim: Claim) -> str:
    return f"“{claim.words}”" if claim.words else claim_words(claim)


def _worse(today: Today) -> Iterator[Card]:
    for alert in today.seen.alerts[:_ALERTS]:
        yield Card("Got worse", alert_title(alert), f"/alerts/{alert.number}", picture=today.line_of(alert))
    more = len(today.seen.alerts) - _ALERTS
    if more > 0:
        yield Card("Got worse", (f"{count(more, 'more alert')} {'is' if more == 1 else 'are'} open",), "/alerts")


def _errors(today: Today) -> Iterator[Card]:
    """Yield errors that are new or back, in two sessions or more, with the next step that helped surely."""
    for issue in [issue for issue in today.news if issue.sessions >= _LEAST_SESSIONS]:
        step, told = sure_step(issue.steps), f" in {count(issue.sessions, 'session')}"
        helped: Words = () if step is None else ("; recovered after ", *step_words(step))
        called = name("".join(issue_name(issue)), _LONGEST)
        tag = "Returned error" if issue.state is IssueState.RETURNED else "New error"
        yield Card(tag, (called, told, *helped), f"/errors/{quote(issue.fingerprint)}")


def _given_up(today: Today) -> Iterator[Card]:
    dead = today.seen.status.files.get("dead", 0)
    if dead:
        yield Card("Not graded", (f"{count(dead, 'file')} could not be graded",), "/health")


def _ungraded(today: Today) -> Iterator[Card]:
    for agent in today.seen.status.ungraded if today.seen.fleet is None else ():
        left = f"{agent.title} has {agent.sessions:,}{' or more' if agent.is_more else ''} sessions that are not graded"
        yield Card("Not graded", (left,), command=agent.fix)


def _session(grade: Grade) -> str:
    return message_address(grade.session_id, None)
