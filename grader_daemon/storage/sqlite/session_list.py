"""The list of sessions: narrow rows in the order in which people read them, kept beside the grades that they are of.

A row of `session_list` is a function of the rows of its grade, and so are those of `session_facets` and
`session_words`: SQL makes all of them from there, in the transaction that changes the grade.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import apsw

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.claims import Support
from grader_daemon.domain.group_names import NAME_CHARACTERS
from grader_daemon.domain.verdict import Outcome, VerdictBy
from grader_daemon.errors import InputError
from grader_daemon.storage.records import GradeFilter, PageKey, SortKey
from grader_daemon.storage.sqlite.cost_order import ABOVE_ALL, BELOW_ALL, ended_within, find_by_cost, is_by_cost
from grader_daemon.storage.sqlite.database import LISTED, Database, listed
from grader_daemon.storage.sqlite.indexed_words import index_words
from grader_daemon.storage.sqlite.listed_grade import ENDED_AT
from grader_daemon.storage.sqlite.listing_index import FACETS
from grader_daemon.storage.sqlite.rows import ANSWERED, BY_LABEL, COMPLETED, HAS_SCORES, to_text

LISTING: Final = ("session_list", "session_facets", "session_words")
"""Tables that hold nothing but what the rows of grades say."""

_OF = "session_grades AS g LEFT JOIN session_details AS d ON d.session_id = g.session_id"


def _claims(support: Support) -> str:
    counted = f"(SELECT count(*) FROM json_each(d.claims) WHERE value ->> 'support' = '{support}')"
    return f"iif(d.claims = '[]', 0, {counted})"  # most have none


_VALUES = {
    "ended_at": ENDED_AT,
    "session_id": "g.session_id",
    "id": "g.id",
    "state": "coalesce(d.state, 'complete')",
    "task_type": "coalesce(d.task_type, 'general')",
    "model": "g.model",
    "platform": "g.platform",
    "project": "d.project",
    "host": "coalesce(d.fleet_host, d.host)",
    "verdict_by": "coalesce(d.verdict_by, 'rules')",
    "completed": COMPLETED,
    "p_completed": "d.p_completed",
    "efficiency": f"iif({HAS_SCORES}, g.tool_calls_efficient, NULL)",
    "quality": f"iif({HAS_SCORES} OR d.automatic_quality IS NOT NULL, g.response_quality, NULL)",
    "errors": "g.total_errors",
    "calls": "coalesce(d.tool_calls, 0)",
    "cost_usd": "d.cost_usd",
    "unsure": f"NOT {BY_LABEL} AND {ANSWERED} AND (coalesce(d.unsure OR d.state = 'open', 1) OR ({COMPLETED}) IS NULL)",
    "agent": "d.agent",
    "kind": "coalesce(d.kind, 'main')",
    "request": "d.request",
    **{
        name: f"d.{name}"
        for name in (
            *("agent_version", "system_prompt_digest", "tools_digest", "skills", "early_errors"),
            *("ending", "standing", "job"),
        )
    },
    **{support.value: _claims(support) for support in Support},
}
"""Each column of `session_list`, by what it is made of."""
LIST_AS_KEPT = f"SELECT {', '.join(_VALUES)} FROM session_list"
LIST_AS_GRADED = f"SELECT {', '.join(_VALUES.values())} FROM {_OF}"
_WORDS = (
    "SELECT g.id, concat_ws(' ', g.task_summary, d.request_words) FROM session_grades AS g"
    " LEFT JOIN session_details AS d ON d.session_id = g.session_id WHERE g.task_summary IS NOT NULL"
)
_THESE = f"g.session_id IN {LISTED}"


_PLACE: Final = ("l.ended_at", "l.session_id")
_SORTED_BY: Final = {
    SortKey.PROBABILITY: "l.p_completed",
    SortKey.EFFICIENCY: "l.efficiency",
    SortKey.QUALITY: "l.quality",
    SortKey.ERRORS: "l.errors",
    SortKey.CALLS: "l.calls",
    SortKey.COST: "l.cost_usd",
    SortKey.WORST: (
        "CASE WHEN l.verdict_by IN ('person', 'reward') THEN NULL"
        " WHEN NOT l.completed AND NOT l.unsure THEN 2.0 ELSE 1.0 - l.p_completed END"
    ),
}
_EQUAL: Final = (
    *("state", "task_type", "agent", "model", "platform", "project", "kind", "host"),
    *("completed", "unsure", "verdict_by", "ending", "standing", "job"),
)
_INDEXED: Final = {
    ("state", SessionState.OPEN): "l.state = 'open'",
    ("verdict_by", VerdictBy.PERSON): "l.verdict_by = 'person'",
}
"""Conditions in the words of an index that holds such sessions alone: SQLite uses it for no value that is given."""
OF_VERDICT: Final = {
    Outcome.DONE: "l.completed AND NOT l.unsure",
    Outcome.NOT_DONE: "NOT l.completed AND NOT l.unsure",
    Outcome.UNSURE: "l.unsure",
    Outcome.NO_ANSWER: "l.completed IS NULL AND NOT l.unsure",
}
"""See `Grade.outcome`."""
_BEGINS: Final = "has_words_that_begin_so"
_FACET = "SELECT id FROM session_facets WHERE facet = '{}' AND value = ?"
_ISSUE = "l.session_id IN (SELECT session_id FROM session_failures WHERE fingerprint = ? AND ended_at IS NOT NULL)"
_OUTCOME = "l.session_id IN (SELECT session_id FROM session_outcomes WHERE became = ?)"
_USER = "l.host IN (SELECT host FROM fleet_hosts WHERE user = ?)"
_TEXT = "SELECT rowid FROM session_words WHERE session_words MATCH ?"
_FEW = 1000
"""So many sessions are looked up one by one within 8 ms; a look through a list of a million takes some 60."""
_NEWEST = 20_000
"""So many sessions are looked through in 4 ms: often enough of them are what is asked for."""
_LATEST = 1_000
"""Of so many the tasks are read in 5 ms; the index of words gathers all words that begin so first, which takes 100 ms
for those of a million tasks."""
_SAID = f"EXISTS (SELECT 1 FROM session_grades AS g WHERE g.id = l.id AND {_BEGINS}(g.task_summary, ?))"
_HIGHEST: Final = {SortKey.EFFICIENCY: 5, SortKey.QUALITY: 5, SortKey.WORST: 2}
"""The values above which there is none."""
_LOWEST: Final = {SortKey.EFFICIENCY: 1, SortKey.QUALITY: 1, SortKey.ERRORS: 0, SortKey.CALLS: 0}
"""The values below which there is none."""
_LOOKED_UP = f"(l.ended_at, l.session_id) IN (SELECT {ENDED_AT}, g.session_id FROM {_OF} WHERE g.id IN {LISTED})"


class _Stretch(NamedTuple):
    """A part of the list: sessions that ended from then on, none with a lower id, or before `until`.

    `first` is a column with the value of those that are sorted before all others. `is_short` says that their tasks are
    read, in place of the index of words.
    """

    ended_at: str = ""
    lowest_id: int = 0
    until: str = ""
    first: tuple[str, int] | None = None
    is_short: bool = False


_ALL = _Stretch()


class _Having(NamedTuple):
    """Sessions whose ids a query gives for a value; `looked_up` are all of them, as a list for SQL, if they are few."""

    ids: str
    value: str
    looked_up: str | None

    def within(self, stretch: _Stretch) -> tuple[str, Sequence[Any]]:
        """Return the condition that a session of this part is one of them."""
        if self.looked_up is not None:
            return _LOOKED_UP, (self.looked_up,)
        if self.ids == _TEXT and stretch.is_short:
            return _SAID, (self.value,)
        number = "rowid" if self.ids == _TEXT else "id"
        return f"l.id IN ({self.ids} AND {number} >= ?)", (self.value, stretch.lowest_id)


class SessionList:
    """The tables that sessions are found by."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.connection.create_scalar_function(_BEGINS, self._begins, 2, deterministic=True)

    def forget(self, session_ids: Sequence[str]) -> None:
        """Remove sessions from the list; call it before their grades change, in the same transaction."""
        execute, these = self._database.connection.execute, listed(session_ids)
        execute(
            f"DELETE FROM session_list WHERE (ended_at, session_id) IN"
            f" (SELECT {ENDED_AT}, g.session_id FROM {_OF} WHERE {_THESE})",
            (these,),
        )
        for facets in FACETS:
            execute(f"DELETE FROM session_facets WHERE (facet, value, id) IN ({facets} AND {_THESE})", (these,))
        execute(
            f"DELETE FROM session_words WHERE rowid IN (SELECT g.id FROM session_grades AS g WHERE {_THESE})", (these,)
        )

    def add(self, session_ids: Sequence[str]) -> None:
        """Add sessions to the list as their grades are now."""
        execute, these = self._database.connection.execute, listed(session_ids)
        self.update_verdicts(session_ids)
        for facets in FACETS:
            execute(f"INSERT OR IGNORE INTO session_facets {facets} AND {_THESE}", (these,))
        execute(f"INSERT INTO session_words (rowid, task_summary) {_WORDS} AND {_THESE}", (these,))

    def update_verdicts(self, session_ids: Sequence[str]) -> None:
        """Update in the list what the verdicts on sessions are now, of which nothing else changed."""
        self._database.connection.execute(
            f"INSERT OR REPLACE INTO session_list ({', '.join(_VALUES)}) {LIST_AS_GRADED} WHERE {_THESE}",
            (listed(session_ids),),
        )

    def rebuild(self) -> None:
        """Make the list anew from all grades; call it inside a transaction."""
        execute = self._database.connection.execute
        for table in LISTING:
            execute(f"DELETE FROM {table}")
        execute(f"INSERT INTO session_list ({', '.join(_VALUES)}) {LIST_AS_GRADED}")
        for facets in FACETS:
            execute(f"INSERT OR IGNORE INTO session_facets {facets}")
        execute(f"INSERT INTO session_words (rowid, task_summary) {_WORDS}")

    def find(self, which: GradeFilter) -> list[tuple[int, PageKey]]:
        """Return the ids of grades, in order, each with its place.

        Raises:
            InputError: there is no word to look for in the text.
        """
        if is_by_cost(which) and not ended_within(self._database, which.since, sessions=_NEWEST):
            return find_by_cost(self._database, which)
        asked = list(self._several(which))
        for stretch in self._to_read(which, asked):
            found = self._within(stretch, which, [_Having(ids, values[-1], None) for ids, values in asked])
            if len(found) == which.limit:
                return found
        several = [self._having(ids, values) for ids, values in asked]
        part: _Stretch | None = None
        if _may_end_soon(which, of_many=any(each.looked_up is None for each in several)):
            part = self._newest(which, _NEWEST)
        elif which.lowest_first and which.sort in _LOWEST and which.limit is not None and which.before is None:
            part = self._oldest(which, _NEWEST)
        if part is not None:
            found = self._within(part, which, several)
            if len(found) == which.limit:
                return found
        return self._within(_ALL, which, several)

    def _to_read(self, which: GradeFilter, asked: Sequence[tuple[str, Sequence[str]]]) -> Iterator[_Stretch]:
        """Yield parts of the list that may hold a page of a text, and whose tasks are read sooner than words gathered.

        The second ends where whole words alone would fill the page.
        """
        if which.text is None or not _may_end_soon(which, of_many=True):
            return
        yield self._newest(which, _LATEST)._replace(is_short=True)
        if which.sort is SortKey.ENDED:
            newest = self._newest(which, _NEWEST)
            whole = self._within(newest, which, [_Having(ids, values[0], None) for ids, values in asked])
            if len(whole) == which.limit:
                yield newest._replace(ended_at=str(whole[-1][1][0]), is_short=True)

    def _newest(self, which: GradeFilter, count: int) -> _Stretch:
        """Return the newest part of the list, of so many sessions, or the next one behind a page."""
        behind = "" if which.before is None else f"WHERE ({', '.join(_PLACE)}) < (?, ?)"
        newest = (
            f"SELECT l.ended_at, l.id FROM session_list AS l {behind} ORDER BY {' DESC, '.join(_PLACE)} DESC LIMIT ?"
        )
        [(ended_at, lowest_id)] = self._database.rows(
            f"SELECT coalesce(min(ended_at), ''), coalesce(min(id), 0) FROM ({newest})", (*(which.before or ()), count)
        )
        best = _HIGHEST.get(which.sort)
        return _Stretch(ended_at, lowest_id, first=None if best is None else (_SORTED_BY[which.sort], best))

    def _oldest(self, which: GradeFilter, count: int) -> _Stretch:
        """Return those with the lowest value among the oldest sessions that a filter begins with, of so many."""
        beyond = self._database.rows(
            "SELECT ended_at FROM session_list WHERE ended_at >= ? ORDER BY ended_at, session_id LIMIT 1 OFFSET ?",
            (to_text(which.since) or "", count),
        )
        until = str(beyond[0][0]) if beyond else ""
        return _Stretch(until=until, first=(_SORTED_BY[which.sort], _LOWEST[which.sort]))

    def _within(self, stretch: _Stretch, which: GradeFilter, several: Sequence[_Having]) -> list[tuple[int, PageKey]]:
        """Find what meets a filter in a part of the list."""
        place, conditions = _place(which), [*_conditions(which), *(each.within(stretch) for each in several)]
        conditions += _ended(stretch, which)
        if stretch.first is not None:
            column, value = stretch.first
            conditions.append((f"{column} = ?", (value,)))
        where = " AND ".join(condition for condition, _ in conditions) or "true"
        values = [value for _, given in conditions for value in given]
        sorted_by = place if stretch.first is None else _PLACE
        order = (" ASC, " if which.lowest_first else " DESC, ").join([*sorted_by, ""])[:-2]
        limit = -1 if which.limit is None else which.limit
        rows = self._database.rows(
            f"SELECT l.id, {', '.join(place)} FROM session_list AS l WHERE {where} ORDER BY {order} LIMIT ?",
            (*values, limit),
        )
        return [(row[0], row[1:]) for row in rows]

    def _several(self, which: GradeFilter) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield how sessions are found by what they have several of, and the values to ask for; see `_having`."""
        if which.tool is not None:
            yield _FACET.format("tool"), (which.tool[:NAME_CHARACTERS],)
        if which.error is not None:
            yield _FACET.format("error"), (which.error,)
        if which.text is not None:
            yield _TEXT, self._words(which.text)

    def _having(self, ids: str, values: Sequence[str]) -> _Having:
        """Return the sessions whose ids a query gives: few are looked up, for many the list is looked through.

        What is asked for is the last value; one before it gives some of the same sooner.
        """
        few: list[Any] = []
        for value in values:
            few = self._database.rows(f"{ids} LIMIT {_FEW + 1}", (value,))
            if len(few) > _FEW:
                return _Having(ids, values[-1], looked_up=None)
        return _Having(ids, values[-1], looked_up=listed([row[0] for row in few]))

    def _words(self, text: str) -> tuple[str, str]:
        """Ask for all words of a text, and for words that begin so, in the language of FTS5.

        Raises:
            InputError: there is none.
        """
        words = index_words(self._database.connection, text)
        if not words:
            raise InputError(f"{text!r} has no word to search for")
        whole = [f'"{word}"' for word in words]
        return " ".join(whole), " ".join(f"{word} *" for word in whole)

    def _begins(self, *values: apsw.SQLiteValue) -> bool:
        """Return whether a task, the first value, has words that begin as all of those do that `_words` asks for."""
        said = index_words(self._database.connection, str(values[0] or ""))
        return all(any(word.startswith(one) for word in said) for one in str(values[1]).split('"')[1::2])


def _ended(stretch: _Stretch, which: GradeFilter) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield when a session ended that meets a filter in a part of the list, each bound once: SQLite reads by the first.

    Of two it would look through what lies between them.
    """
    since = max(stretch.ended_at, to_text(which.since) or "")
    until = min(filter(None, (stretch.until, to_text(which.until))), default="")
    if since:
        yield "l.ended_at >= ?", (since,)
    if until:
        yield "l.ended_at < ?", (until,)


def _conditions(which: GradeFilter) -> list[tuple[str, Sequence[Any]]]:
    """Return what a row must meet, whenever it ended, with the values of each condition."""
    single = (
        *(
            (f"l.{column} = ?", getattr(which, column))
            for column in _EQUAL
            if (column, getattr(which, column)) not in _INDEXED and not isinstance(getattr(which, column), tuple)
        ),
        (_ISSUE, which.issue),
        (_USER, which.user),
        (_OUTCOME, which.outcome),
    )
    conditions: list[tuple[str, Sequence[Any]]] = [(sql, (value,)) for sql, value in single if value is not None]
    if isinstance(which.model, tuple):
        conditions.append((f"l.model IN ({', '.join('?' * len(which.model))})", which.model))
    conditions += [(sql, ()) for (column, value), sql in _INDEXED.items() if getattr(which, column) == value]
    if which.verdict is not None:
        conditions.append((OF_VERDICT[which.verdict], ()))
    if which.claim is not None:
        conditions.append((f"l.{which.claim} > 0", ()))
    if which.before is not None:
        side = ">" if which.lowest_first else "<"
        marks = ", ".join("?" * len(which.before))
        conditions.append((f"({', '.join(_place(which))}) {side} ({marks})", which.before))
    return conditions


def _may_end_soon(which: GradeFilter, *, of_many: bool) -> bool:
    """Return whether the newest sessions may be all that is asked for, where asking for all takes long."""
    if which.limit is None or which.lowest_first:
        return False
    if which.sort is SortKey.ENDED:
        return of_many
    return which.sort in _HIGHEST and which.before is None


def _place(which: GradeFilter) -> tuple[str, ...]:
    """Return the columns that a page is in the order of."""
    column = _SORTED_BY.get(which.sort)
    if column is None:
        return _PLACE
    return (f"coalesce({column}, {ABOVE_ALL if which.lowest_first else BELOW_ALL})", *_PLACE)
