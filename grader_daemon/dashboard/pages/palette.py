"""Entries of the palette: pages, views, names, errors and commands at once, sessions and messages by their words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from grader_daemon.api.grades import GradeFilter
from grader_daemon.api.parts import MessageSearch
from grader_daemon.dashboard.addresses import BAR, GRADER, PROBLEMS, message_address
from grader_daemon.dashboard.pages.sessions import VIEWS
from grader_daemon.dashboard.query_filter import address
from grader_daemon.dashboard.saved_views import saved_views
from grader_daemon.dashboard.scope import at
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.dashboard.words import shown
from grader_daemon.domain.calendar import last_days
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.rollup import Dimension
from grader_daemon.errors import InputError
from grader_daemon.reports.issue_names import tool_words
from grader_daemon.reports.told_apart import told_apart
from grader_daemon.reports.verdicts import outcome_words
from grader_daemon.wings import part

_MOST_BYTES: Final = 20_000
_LONGEST: Final = 90
_LONGEST_HIT, _LONGEST_TITLE = 150, 50
_NAMES: Final = 30
"""So many projects, models and agents, those with most sessions, and so many errors at most."""
_ERROR_DAYS: Final = 30
_SESSIONS: Final = 8
_MESSAGES: Final = 12
"""So many messages at most, the first of each session."""
_LEAST_OF_AN_ID: Final = 4

_COMMANDS: Final = {
    "grader-daemon": "show the current state on one screen",
    "grader-daemon label": "label sessions",
    "grader-daemon list --verdict not-done": "list the newest sessions that are not done",
    "grader-daemon report errors": "list errors by cause, and what helped",
    "grader-daemon changes": "show changes in agents' set-up and their effect",
    "grader-daemon report usage": "show tokens and cost by day",
    "grader-daemon report": "show the weekly report",
    "grader-daemon doctor": "check the machine and the set-up",
    "grader-daemon status": "show whether the daemon runs and what is waiting",
    "grader-daemon sources": "list the agents on this machine",
    "grader-daemon service install": "run the daemon as a service",
    "grader-daemon backup create": "copy the database",
}


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the palette: it leads to an address, or a command is copied."""

    kind: str
    words: str
    address: str = ""
    command: str = ""


def palette(visit: Visit) -> Response:
    """Answer with the entries that are there before anybody types, or with what has words or is the one with an id."""
    text = visit.query.get("text")
    if not visit.grader.context.has_database:
        found: Iterable[Entry] = () if text else _pages(visit)
    elif text:
        found = (*_sessions(visit, text), *_messages(visit, text))
    else:
        found = (*_pages(visit), *_views(visit), *_commands(), *_errors(visit), *_names(visit))
    return Response(_bounded(found), media_type="application/json")


PAGES: Final = (Page("/palette.json", palette, bare=True),)


def _bounded(entries: Iterable[Entry]) -> bytes:
    """Return entries as JSON, the first of them where all are too many bytes."""
    parts, size = [], 2
    for each in entries:
        part = msgspec.json.encode(each)
        size += len(part) + 1
        if size > _MOST_BYTES:
            break
        parts.append(part)
    return b"[" + b",".join(parts) + b"]"


def _entry(kind: str, words: str, to: str, *, longest: int = _LONGEST) -> Entry:
    readable = str(shown(words))
    return Entry(kind, readable if len(readable) <= longest else f"{readable[: longest - 1]}…", to)


def _pages(visit: Visit) -> Iterator[Entry]:
    pages = [(each.words, each.address) for each in (*BAR, *GRADER)]
    tabs = [(f"Problems: {each.words}", each.address) for each in PROBLEMS]
    for words, place in (*pages, *tabs, ("Search messages", "/search")):
        yield _entry("page", words, visit.at(place))


def _views(visit: Visit) -> Iterator[Entry]:
    for words, asked in VIEWS:
        yield _entry("view", f"Sessions: {words}", visit.at(address(asked)))
    for name, query in saved_views(visit.grader.context).items():
        yield _entry("view", f"Sessions: {name}", address(query))


def _commands() -> Iterator[Entry]:
    for command, words in _COMMANDS.items():
        yield Entry("command", words, command=command)


def _names(visit: Visit) -> Iterator[Entry]:
    """Yield projects and agents, which become the scope of the page of sessions, and models."""
    for dimension in (Dimension.PROJECT, Dimension.AGENT, Dimension.MODEL):
        for name in visit.grader.grades.names(dimension)[:_NAMES]:
            yield _entry(dimension.value, name, visit.at(at("/sessions", {dimension.value: name})))


def _errors(visit: Visit) -> Iterator[Entry]:
    issues, span = visit.grader.context.store.issues, last_days(_ERROR_DAYS, visit.grader.context.today)
    seen = issues.seen(span)[:_NAMES]
    signs = {sign.fingerprint: sign for sign in issues.signs(seen)}
    for sign in (signs[fingerprint] for fingerprint in seen if fingerprint in signs):
        called = f"{tool_words(sign.tool)} {sign.command or ''}".strip()
        words = f"{sign.signal or sign.category.replace('_', ' ')} · {called}"
        yield _entry("error", words, visit.at(f"/errors/{quote(sign.fingerprint)}"))


def _sessions(visit: Visit, text: str) -> Iterator[Entry]:
    grades = visit.grader.grades
    found: list[Grade] = []
    if len(text) >= _LEAST_OF_AN_ID:
        with suppress(InputError):  # it is the beginning of no id, or of several
            found.append(grades.find(text).grade)
    with suppress(InputError):  # there is no word in it
        found += [each.grade for each in grades.page(GradeFilter(text=text, limit=_SESSIONS)).grades]
    for grade in {grade.session_id: grade for grade in found}.values():
        words = f"{visit.site.title(grade)} · {grade.session_id[:12]}"
        yield _entry("session", words, visit.at(message_address(grade.session_id, None)))


def _messages(visit: Visit, text: str) -> Iterator[Entry]:
    """Yield the first message with the words of each session, with its verdict, where messages can be searched."""
    messages: MessageSearch = part("messages")(visit.grader.context)
    if not messages.is_on:
        return
    with suppress(InputError):  # there is no word in it
        hits = messages.find(text, limit=_MESSAGES, keep=_once()).hits
        titles = told_apart([hit.task_summary or hit.session_id for hit in hits])
        for title, hit in zip(titles, hits, strict=True):
            to = visit.at(message_address(hit.session_id, hit.index))
            said = f"{title[:_LONGEST_TITLE]}: {hit.excerpt or 'the file is gone or cannot be read'}"
            yield _entry(f"message, {outcome_words(hit.outcome)}", said, to, longest=_LONGEST_HIT)


def _once() -> Callable[[Grade], bool]:
    """Return a filter that keeps a session when it comes for the first time."""
    known: set[str] = set()

    def keep(grade: Grade) -> bool:
        is_new = grade.session_id not in known
        known.add(grade.session_id)
        return is_new

    return keep
