"""Search over messages: where words stand, with a line around them and how the session ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from starlette.responses import Response

from grader_daemon.api import filter_line
from grader_daemon.api.filter_line import read_line
from grader_daemon.api.parts import MessageSearch
from grader_daemon.dashboard.addresses import message_address
from grader_daemon.dashboard.query_filter import read_filter
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.message_search import FoundMessages, MessageHit
from grader_daemon.errors import InputError
from grader_daemon.reports.told_apart import told_apart
from grader_daemon.wings import part

_SHOWN: Final = 50
_AMONG: Final = 20_000
"""So many sessions at most may meet a line of filters, the newest; their ids take 2 MB."""


class HitSession(NamedTuple):
    """A session and its hits; `title` tells it apart from the others."""

    title: str
    hits: tuple[MessageHit, ...]

    @property
    def first(self) -> MessageHit:
        """The first hit, which also says how the session ended."""
        return self.hits[0]


def search(visit: Visit) -> Response:
    """Answer with the messages that have the words of the address; without any with the form alone."""
    messages: MessageSearch = part("messages")(visit.grader.context)
    words, line, found, wrong = visit.query.get("text", ""), visit.query.get("line", ""), None, None
    if words and messages.is_on:
        found, wrong = _found(visit, messages, words, line)
    return visit.show(
        "search.html",
        words=words,
        line=line,
        line_words=filter_line.words(),
        found=found,
        sessions=() if found is None else _by_session(found.hits),
        wrong=wrong,
        at=message_address,
        is_on=messages.is_on,
        has_index=messages.has_index,
    )


def _found(visit: Visit, messages: MessageSearch, words: str, line: str) -> tuple[FoundMessages | None, str | None]:
    try:
        meant = {"keep": _keeping(visit, line)} if line else {}
        return messages.find(words, limit=_SHOWN, **meant), None
    except InputError as error:
        return None, str(error)


def _keeping(visit: Visit, line: str) -> Callable[[Grade], bool]:
    """Return which sessions a line of filters means, of whatever days unless it says some."""
    which = read_filter(read_line(line, visit.grader.grades.names), visit.grader, limit=_AMONG)
    ids = {place[-1] for place in visit.grader.context.store.grades.places(which)}
    return lambda grade: grade.session_id in ids


def _by_session(hits: Sequence[MessageHit]) -> list[HitSession]:
    """Return hits by their sessions, in the order of their first ones."""
    by_id: dict[str, list[MessageHit]] = {}
    for hit in hits:
        by_id.setdefault(hit.session_id, []).append(hit)
    titles = told_apart([each[0].task_summary or each[0].session_id for each in by_id.values()])
    in_order = (tuple(sorted(each, key=lambda hit: hit.index)) for each in by_id.values())
    return [HitSession(title, each) for title, each in zip(titles, in_order, strict=True)]


PAGES: Final = (Page("/search", search),)
