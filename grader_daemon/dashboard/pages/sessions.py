"""Sessions: which there were, found by any filter, and two of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

from msgspec.structs import replace
from starlette.responses import Response

from grader_daemon.api import filter_line
from grader_daemon.api.filter_line import read_line, write_line
from grader_daemon.api.grades import GradeFilter, SortKey, StoredGrade
from grader_daemon.api.grades import Page as GradePage
from grader_daemon.api.session_filter import ADDRESSED, Filter
from grader_daemon.api.steps import aligned_steps
from grader_daemon.api.tables import TableForm, table_lines
from grader_daemon.dashboard import scope
from grader_daemon.dashboard.addresses import Choice, message_address
from grader_daemon.dashboard.query_filter import (
    NAMES,
    address,
    fields,
    in_scope,
    is_timeless,
    read_filter,
    written_place,
)
from grader_daemon.dashboard.saved_views import LONGEST_NAME, remove_view, rename_view, save_view, saved_views
from grader_daemon.dashboard.scope import read_scope
from grader_daemon.dashboard.scope_line import scope_line
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.analysis import FailureKind
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import ASSISTANT
from grader_daemon.domain.text import count, duration_words
from grader_daemon.errors import InputError, NotFoundError
from grader_daemon.patterns.twins import Nearness
from grader_daemon.reports.block_kinds import Block
from grader_daemon.reports.blocks import blocks_of
from grader_daemon.reports.money import price_words, used_words
from grader_daemon.reports.numbers import UNKNOWN
from grader_daemon.reports.session_words import agent_words, claim_words, of_five, state_words
from grader_daemon.reports.told_apart import told_apart
from grader_daemon.reports.verdicts import likely_done, outcome_words

_PAGE: Final = 50
_IN_TABLE: Final = 1_000
"""So many take less than a second, in which no other page is answered."""
_FOLDED: Final = frozenset(NAMES) - {"text", "verdict", "state", "sort", "reverse", *scope.NAMES}
"""Filters that do not stand beside the search."""

VIEWS: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("All", {}),
    ("Running now", {"state": "open"}),
    ("Not done", {"verdict": "not_done"}),
    ("Unsure", {"verdict": "unsure"}),
    ("Claims contradicted", {"claim": "contradicted"}),
    ("Most failures", {"sort": "errors"}),
    ("Most expensive", {"sort": "cost"}),
    ("Your labels", {"person": "1"}),
)
_COMPARED: Final = 2
_NEARNESS: Final[Mapping[str, str]] = {
    Nearness.SAME_REQUEST: "the same task",
    Nearness.LIKE_REQUEST: "nearly the same task",
    Nearness.SAME_PROJECT: "the same type of task in the same project",
    Nearness.SAME_TYPE: "the same type of task",
}
_LAST_MESSAGES: Final = 20
_LONGEST_ANSWER: Final = 10_000
_COUNTED: Final = 5_000
"""So many places are read in a few milliseconds; of more it is said that there are more."""


class Side(NamedTuple):
    """One of two sessions that are compared."""

    stored: StoredGrade
    answer: tuple[Block, ...]
    note: str | None

    @property
    def grade(self) -> Grade:
        """Its grade."""
        return self.stored.grade


class Difference(NamedTuple):
    """A line of a comparison: what, and how it is in each."""

    words: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """True if it is not the same in both."""
        return len(set(self.values)) > 1


class Order(NamedTuple):
    """Order that the head of a column leads to; `shown` is how the column is sorted now, None if it is not."""

    address: str
    shown: str | None


def sessions(visit: Visit) -> Response:
    """Answer with a page of the list."""
    query, wrong, status = visit.query, None, 200
    page, place = GradePage(grades=[], next=None), Paging("", None, None)
    try:
        if "line" in query:
            return visit.go_to("/sessions", **_line(visit, query["line"]))
        which = read_filter(in_scope(query), visit.grader, limit=_PAGE)
        page = visit.grader.grades.page(which)
        place = paging(visit, query, which, page)
    except NotFoundError as error:  # an empty list: bookmarks outlive sessions
        wrong = str(error)
    except InputError as error:
        wrong, status = str(error), 400
    grades = [stored.grade for stored in page.grades]
    saved, kept = saved_views(visit.grader.context), _kept(query)
    offered, scoped = fields(visit.grader), {name: query[name] for name in scope.NAMES if name in query}
    return visit.show(
        "sessions.html",
        status=status,
        grades=grades,
        asked=told_apart([grade.task_summary or grade.session_id for grade in grades]),
        wrong=wrong,
        line=query.get("line") or write_line(query),
        line_words=filter_line.words(),
        scope=scope_line(visit, timeless=is_timeless(query)),
        scoped=scoped,
        views=[
            *(Choice(words, address(scoped | given), _asked(query) == given) for words, given in VIEWS),
            *(Choice(name, address(given), kept == given) for name, given in saved.items()),
        ],
        saved=next((name for name, given in saved.items() if kept == given), None),
        longest_name=LONGEST_NAME,
        kept=urlencode(kept),
        chosen=[
            (_words(each, query), address(query, **{each.name: None}))
            for each in ADDRESSED
            if each.name in _asked(query)
        ],
        always=[field for field in offered if field.asks.name not in _FOLDED],
        folded=[field for field in offered if field.asks.name in _FOLDED],
        sorts=tuple(SortKey),
        with_agents=len({agent_words(grade) for grade in grades}) > 1,
        with_hosts=any(grade.host is not None for grade in grades),
        with_cost=any(grade.cost_usd is not None for grade in grades),
        place=place,
        table=scope.at("/sessions.csv", kept),
        in_table=_IN_TABLE,
        sorted_by=partial(_sorted_by, query),
        is_first="before" not in query,
        trust=visit.grader.grades.trust(),
    )


def sessions_table(visit: Visit) -> Response:
    """Answer with the first sessions of a list, with all that is known of them, as a table for other programs."""
    which = read_filter(in_scope(visit.query), visit.grader, limit=_IN_TABLE)
    grades = visit.grader.grades
    lines = table_lines(grades.page(which).grades, TableForm.CSV, grades.trust())
    return Response(
        "".join(f"{line}\r\n" for line in lines),
        media_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="sessions.csv"'},
    )


def name_view(visit: Visit) -> Response:
    """Keep a list of sessions under a name, change that name, or forget it."""
    said, name, old = visit.form.get("mark", ""), visit.form.get("name", ""), visit.form.get("old", "")
    query = _kept(dict(parse_qsl(visit.form.get("view", ""))))
    _check(visit, query)
    context = visit.grader.context
    marks: Mapping[str, Callable[[], None]] = {
        "save": lambda: save_view(context, name, query),
        "rename": lambda: rename_view(context, old, name),
        "remove": lambda: remove_view(context, old),
    }
    if said not in marks:
        raise InputError(f"a view can be {', '.join(marks)}, not {said[:40]!r}")
    marks[said]()
    return visit.go_to(address(query))


def compare(visit: Visit) -> Response:
    """Answer with two sessions side by side."""
    ids = visit.request.query_params.getlist("id")
    if len(ids) != _COMPARED:
        raise InputError(f"choose two sessions in the list to compare, not {len(ids)}")
    sides = [_side(visit, session_id) for session_id in ids]
    nearness = _NEARNESS.get(visit.query.get("near", ""))
    return visit.show(
        "compare.html",
        sides=sides,
        lines=list(_lines([side.grade for side in sides])),
        nearness=nearness,
        steps=aligned_steps(visit.grader.context, *(side.stored for side in sides)),
        message_address=message_address,
    )


class Paging(NamedTuple):
    """Words on what a page shows, and the addresses of those before and behind; None where there is none."""

    words: str
    previous: str | None
    next: str | None


def paging(visit: Visit, query: Mapping[str, str], which: GradeFilter, page: GradePage) -> Paging:
    """Return the place of a page that `which` asked for; the list is read anew, so the place is that of now."""
    places = visit.grader.context.store.grades.places(replace(which, before=None, limit=_COUNTED + 1))
    whole = f"{_COUNTED:,} or more sessions" if len(places) > _COUNTED else count(len(places), "session")
    following = None if page.next is None else address(query, before=written_place(page.next))
    if which.before is None:
        shown = len(page.grades)
        return Paging(whole if shown == len(places) else f"1\N{EN DASH}{shown} of {whole}", None, following)
    ahead = sum(place <= which.before if which.lowest_first else place >= which.before for place in places)
    if ahead > _COUNTED:
        return Paging(f"after the first {_COUNTED:,} sessions", None, following)
    assert which.limit is not None  # a page has one
    previous = (
        address(query)
        if ahead <= which.limit
        else address(query, before=written_place(places[ahead - which.limit - 1]))
    )
    return Paging(f"{ahead + 1:,}\N{EN DASH}{ahead + len(page.grades):,} of {whole}", previous, following)


def _line(visit: Visit, line: str) -> dict[str, str]:
    """Return the address that a line of filters stands for.

    Raises:
        InputError: something in it cannot be asked for.
    """
    asked = read_line(line, visit.grader.grades.names)
    _check(visit, asked)
    return asked


def _check(visit: Visit, query: Mapping[str, str]) -> None:
    """Read what an address asks for, before somebody is led there.

    Raises:
        InputError: something in it cannot be asked for.
    """
    read_scope(query)
    read_filter(in_scope(query), visit.grader, limit=_PAGE)


def _kept(query: Mapping[str, str]) -> dict[str, str]:
    """Return what an address asks for, by which a view that was saved is known again."""
    return {name: query[name] for name in NAMES if name in query}


def _asked(query: Mapping[str, str]) -> dict[str, str]:
    """Return what an address asks for beside the scope of all pages."""
    return {name: query[name] for name in NAMES if name in query and name not in scope.NAMES}


def _words(asked: Filter, query: Mapping[str, str]) -> str:
    """Return a filter as an address has it, in words."""
    name = asked.name.replace("_", " ")
    return name if asked.is_flag else f"{name}: {query[asked.name]}"


def _sorted_by(query: Mapping[str, str], key: str) -> Order:
    """Return the order that the head of a column stands for: the highest first, and the lowest once it is that."""
    is_current, is_reversed = query.get("sort", SortKey.ENDED) == key, "reverse" in query
    sort, reverse = None if key == SortKey.ENDED else key, "1" if is_current and not is_reversed else None
    shown = ("ascending" if is_reversed else "descending") if is_current else None
    return Order(address(query, sort=sort, reverse=reverse), shown)


def _side(visit: Visit, session_id: str) -> Side:
    """Read a session as far as it is compared: its grade, and the text of the agent near its end."""
    grades = visit.grader.grades
    start = grades.transcript(session_id, count=1)
    end = grades.transcript(session_id, first=max(0, start.total - _LAST_MESSAGES), longest=_LONGEST_ANSWER)
    said = [message.text for message in end.messages if message.role == ASSISTANT and message.text.strip()]
    return Side(start.stored, blocks_of(said[-1] if said else ""), start.note)


def _recovered_words(grade: Grade) -> str | None:
    """Return how many errors were got over, as the list of them below has it."""
    if not grade.errors:
        return None
    recovered = sum(error.kind is FailureKind.RECOVERED for error in grade.errors)
    return f"{recovered:,} of {len(grade.errors):,}"


def _failure_words(grade: Grade) -> str:
    """Return how many calls failed; probes stand in the list of them, too, and are no errors."""
    probes = len(grade.failures) - len(grade.errors)
    return f"{grade.total_errors:,}" + (f", and {count(probes, 'probe')}" if probes else "")


def _lines(grades: Sequence[Grade]) -> Iterator[Difference]:
    """Yield what can be compared of two grades, in the words of the command line."""
    told = (
        ("verdict", lambda grade: outcome_words(grade.outcome)),
        ("likely done", likely_done),
        ("tool efficiency", lambda grade: of_five(grade.efficiency)),
        ("response quality", lambda grade: of_five(grade.quality)),
        ("errors recovered", _recovered_words),
        ("tool calls", lambda grade: f"{grade.tool_calls:,}"),
        ("failures", _failure_words),
        ("task type", lambda grade: grade.task_type),
        ("agent", agent_words),
        ("model", lambda grade: grade.model),
        ("state", state_words),
        ("lasted", lambda grade: None if grade.duration_seconds is None else duration_words(grade.duration_seconds)),
        ("tokens", used_words),
        ("cost", price_words),
        ("claims", lambda grade: "; ".join(f"{claim_words(claim)}: {claim.support}" for claim in grade.claims) or None),
    )
    for words, value in told:
        values = tuple(value(grade) or UNKNOWN for grade in grades)
        if set(values) != {UNKNOWN}:
            yield Difference(words, values)


PAGES: Final = (
    Page("/sessions", sessions),
    Page("/sessions.csv", sessions_table),
    Page("/sessions/views", name_view, writes=True),
    Page("/compare", compare),
)
