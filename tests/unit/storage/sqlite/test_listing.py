from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import apsw
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import Category, Failure, FailureKind, SessionState, Subcategory, ToolUse
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.feedback import FeedbackSource, Said
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import InputError
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import GradeFilter, SortKey
from grader_daemon.storage.sqlite import session_list
from grader_daemon.storage.sqlite.database import IN_MEMORY
from grader_daemon.storage.sqlite.schema import migrations
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.earlier import LATER, add_migration
from tests.strategies import NOW, grade, new_grade
from tests.tables import for_each
from tests.unit.storage.sqlite.test_rollups import Event, happened, histories

ISSUE = "1-00000000000a"
TIMEOUT = Failure(2, "browser", Category.TIMEOUT, None, ISSUE)
PROBE = Failure(2, "read_file", Category.FILE_NOT_FOUND, kind=FailureKind.PROBE)
NOT_APPLIED = Failure(2, "edit", Category.COMMAND_FAILED, subcategory=Subcategory.EDIT_NOT_APPLIED)
AFTER_ONE_HOUR, AFTER_TWO_HOURS = NOW + timedelta(hours=1), NOW + timedelta(hours=2)


def save(store: SqliteStore, *made: Grade) -> None:
    with store.transaction():
        save_grades(store, [new_grade(one) for one in made])


def ids(store: SqliteStore, which: GradeFilter) -> list[str]:
    return [stored.grade.session_id for stored in store.grades.page(which).grades]


def on_the_list(connection: apsw.Connection) -> dict[str, list[Any]]:
    """All that sessions are found by."""
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.spoken USING fts5vocab(main, session_words, instance)")
    return {
        table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()
        for table in ("session_list", "session_facets", "spoken")
    }


def claims(*supports: Support) -> tuple[Claim, ...]:
    return tuple(Claim(ClaimKind.FILE_WRITTEN, support, 'a "support":"contradicted" b', 3) for support in supports)


# -- it always says what the grades say ----------------------------------------------------------------------------


@given(history=histories())
def test_the_list_is_always_what_the_grades_give(history: list[Event]) -> None:
    for store in happened(history):
        kept = on_the_list(store.connection)
        with store.transaction():
            store.list.rebuild()
        assert kept == on_the_list(store.connection)


def test_what_a_person_says_is_on_the_list_at_once(store: SqliteStore) -> None:
    save(store, grade(session_id="a", task_completed=True), grade(session_id="b", task_completed=True))

    with store.transaction():
        add_feedback(store, [Said(session_id="a", completed=False, by="me", source=FeedbackSource.LABEL)], now=NOW)

    assert ids(store, GradeFilter(completed=False)) == ["a"]
    assert ids(store, GradeFilter(verdict_by=VerdictBy.PERSON)) == ["a"]


def test_grades_of_an_earlier_version_are_put_on_the_list(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    save(
        store,
        grade(
            session_id="a",
            claims=claims(Support.VERIFIED, Support.CONTRADICTED),
            failures=(TIMEOUT, PROBE),
            agent="hermes",
        ),
        grade(
            session_id="b",
            tools=(ToolUse("x" * 200, 1, 0),),
            task_summary=None,
            ended_at=AFTER_ONE_HOUR,
            agent="hermes",
        ),
    )
    before = on_the_list(store.connection)
    add_migration(monkeypatch, f"{LATER} DELETE FROM session_list; DELETE FROM session_facets;")

    with closing(SqliteStore(store.path)) as migrated:
        found = on_the_list(migrated.connection)

    assert found == before
    assert len(found["session_list"]) == 2


def test_grades_of_an_earlier_version_are_found_by_finer_kinds_of_errors(store: SqliteStore) -> None:
    save(store, grade(session_id="a", failures=(NOT_APPLIED,)), grade(session_id="b"))
    before = on_the_list(store.connection)
    store.connection.execute("DELETE FROM session_facets WHERE value = 'edit_not_applied'")

    store.connection.execute({number: sql for number, _, sql in migrations()}[17])

    assert on_the_list(store.connection) == before
    assert ids(store, GradeFilter(error=Subcategory.EDIT_NOT_APPLIED)) == ["a"]


def test_what_is_not_known_of_a_session_without_an_answer_is_not_listed(store: SqliteStore) -> None:
    save(store, grade(session_id="dead", scored=False), grade(session_id="judged", scored=False))
    with store.transaction():
        add_feedback(store, [Said(session_id="judged", completed=False, by="me", source=FeedbackSource.LABEL)], now=NOW)

    rows = store.rows("SELECT session_id, completed, efficiency, quality FROM session_list ORDER BY 1")

    assert rows == [("dead", None, None, None), ("judged", 0, None, None)]
    assert ids(store, GradeFilter(completed=True)) == []


# -- filters -------------------------------------------------------------------------------------------------------


@pytest.fixture
def four(store: SqliteStore) -> SqliteStore:
    """Four sessions, each an hour after the one before."""
    save(
        store,
        grade(
            session_id="b",
            ended_at=AFTER_ONE_HOUR,
            task_type="testing",
            p_completed=0.4,
            unsure=True,
            tools=(ToolUse("browser", 2, 1), ToolUse("terminal", 1, 0)),
            failures=(TIMEOUT,),
            total_errors=1,
            task_summary="Fix the date-parser of the café",
        ),
        grade(session_id="a", ended_at=NOW, task_completed=False, platform="cron", project="/work", failures=(PROBE,)),
        grade(
            session_id="d",
            ended_at=NOW + timedelta(hours=3),
            graded_at=NOW + timedelta(hours=3),
            state=SessionState.OPEN,
            task_completed=False,
            p_completed=0.4,
            unsure=True,
            verdict_by=VerdictBy.PERSON,
            task_summary="Fix the tests",
        ),
        grade(
            session_id="c",
            ended_at=AFTER_TWO_HOURS,
            graded_at=AFTER_TWO_HOURS,
            model="n",
            p_completed=0.6,
            verdict_by=VerdictBy.MODEL,
            claims=claims(Support.VERIFIED, Support.UNSUPPORTED),
            failures=(NOT_APPLIED,),
        ),
    )
    return store


@for_each(
    ("which", "expected"),
    [
        pytest.param(GradeFilter(), "dcba", id="all-newest-first"),
        pytest.param(GradeFilter(lowest_first=True), "abcd", id="oldest-first"),
        pytest.param(GradeFilter(limit=2), "dc", id="limit"),
        pytest.param(GradeFilter(limit=0), "", id="limit-zero"),
        pytest.param(GradeFilter(since=AFTER_ONE_HOUR), "dcb", id="since-is-inclusive"),
        pytest.param(GradeFilter(until=AFTER_ONE_HOUR), "a", id="until-is-exclusive"),
        pytest.param(
            GradeFilter(since=AFTER_ONE_HOUR.astimezone(timezone(timedelta(hours=5)))),
            "dcb",
            id="since-in-another-zone",
        ),
        pytest.param(GradeFilter(state="open"), "d", id="state"),
        pytest.param(GradeFilter(task_type="testing"), "b", id="task-type"),
        pytest.param(GradeFilter(model="n"), "c", id="model"),
        pytest.param(GradeFilter(model=("n", "m", "?")), "dcba", id="any-of-several-models"),
        pytest.param(GradeFilter(model=("n", "?")), "c", id="one-of-several-models"),
        pytest.param(GradeFilter(platform="cron"), "a", id="platform"),
        pytest.param(GradeFilter(project="/work"), "a", id="project"),
        pytest.param(GradeFilter(host="here"), "dcba", id="host"),
        pytest.param(GradeFilter(host="there"), "", id="another-host"),
        pytest.param(GradeFilter(completed=False), "da", id="not-completed"),
        pytest.param(GradeFilter(completed=True, model="n"), "c", id="several"),
        pytest.param(GradeFilter(verdict_by=VerdictBy.PERSON), "d", id="judged-by-a-person"),
        pytest.param(GradeFilter(unsure=True), "b", id="unsure-leaves-out-what-a-person-judged"),
        pytest.param(GradeFilter(unsure=False), "dca", id="not-unsure"),
        pytest.param(GradeFilter(claim=Support.UNSUPPORTED), "c", id="a-claim-that-nothing-shows"),
        pytest.param(GradeFilter(claim=Support.CONTRADICTED), "", id="the-words-of-a-claim-are-not-its-support"),
        pytest.param(GradeFilter(tool="browser"), "b", id="tool"),
        pytest.param(GradeFilter(tool="terminal", until=AFTER_TWO_HOURS), "ba", id="tool-and-time"),
        pytest.param(GradeFilter(tool=""), "", id="a-tool-without-a-name"),
        pytest.param(GradeFilter(error=Category.TIMEOUT), "b", id="error"),
        pytest.param(GradeFilter(error=Category.FILE_NOT_FOUND), "", id="a-probe-is-no-error"),
        pytest.param(GradeFilter(error=Subcategory.EDIT_NOT_APPLIED), "c", id="a-finer-kind-of-error"),
        pytest.param(GradeFilter(error=Category.COMMAND_FAILED), "c", id="a-category-with-its-finer-kinds"),
        pytest.param(GradeFilter(issue=ISSUE), "b", id="issue"),
        pytest.param(GradeFilter(text="fix"), "db", id="a-word-in-any-case"),
        pytest.param(GradeFilter(text="arser"), "", id="a-word-must-begin-so"),
        pytest.param(GradeFilter(text="cafe date-pars"), "b", id="accents-hyphens-and-beginnings"),
        pytest.param(GradeFilter(text='fix" OR "look'), "", id="the-language-of-queries-is-not-spoken"),
    ],
)
@pytest.mark.parametrize(
    ("few", "latest", "newest", "limit"),
    [
        pytest.param(1000, 1000, 20_000, None, id="few"),
        pytest.param(0, 1000, 20_000, None, id="many"),
        pytest.param(0, 1000, 20_000, 1, id="one-among-the-latest"),
        pytest.param(0, 1, 20_000, 1, id="one-among-the-newest"),
        pytest.param(0, 1, 3, 1, id="one-among-three"),
        pytest.param(0, 1, 1, 1, id="one-or-more-elsewhere"),
    ],
)
def test_grades_are_filtered(
    *,
    four: SqliteStore,
    which: GradeFilter,
    expected: str,
    few: int,
    latest: int,
    newest: int,
    limit: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many there are of them, and wherever."""
    monkeypatch.setattr(session_list, "_FEW", few)
    monkeypatch.setattr(session_list, "_LATEST", latest)
    monkeypatch.setattr(session_list, "_NEWEST", newest)
    asked = which if which.limit is not None else msgspec.structs.replace(which, limit=limit)

    assert "".join(ids(four, asked)) == expected[: asked.limit]


@pytest.mark.parametrize(
    "which",
    [
        pytest.param(GradeFilter(tool="terminal", limit=20), id="tool"),
        pytest.param(GradeFilter(text="fix", limit=20), id="word"),
        pytest.param(GradeFilter(text="fi i", limit=20), id="beginnings-of-words"),
        pytest.param(GradeFilter(sort=SortKey.QUALITY, limit=20), id="quality"),
        pytest.param(GradeFilter(sort=SortKey.WORST, limit=20), id="proofs-that-it-was-not-done"),
        pytest.param(GradeFilter(sort=SortKey.EFFICIENCY, tool="terminal", limit=20), id="both"),
    ],
)
def test_what_many_newest_sessions_have_is_found_among_them(
    store: SqliteStore, which: GradeFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a history of any length costs the same: what is read of the list are its newest sessions."""
    monkeypatch.setattr(session_list, "_FEW", 0)
    monkeypatch.setattr(session_list, "_NEWEST", 50)
    used = (ToolUse("terminal", 1, 0),)
    many = [
        grade(session_id=f"{number:03}", ended_at=NOW + timedelta(minutes=number), task_summary="Fix it", tools=used)
        for number in range(100)
    ]
    extreme = {"response_quality": 5, "tool_calls_efficient": 5, "task_completed": False}
    save(store, *(msgspec.structs.replace(each, **extreme) for each in many))
    asked: list[str] = []

    def note(_: object, sql: str, __: object) -> bool:
        asked.append(sql)
        return True

    store.connection.exec_trace = note
    found = ids(store, which)
    store.connection.exec_trace = None

    assert found == [f"{number:03}" for number in range(99, 79, -1)]
    assert [sql for sql in asked if "FROM session_list AS l WHERE" in sql and "l.ended_at >= ?" not in sql] == []


@pytest.mark.parametrize("sort", [SortKey.EFFICIENCY, SortKey.QUALITY, SortKey.ERRORS, SortKey.CALLS])
def test_lowest_values_that_many_oldest_sessions_have_are_found_among_them(
    store: SqliteStore, sort: SortKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_list, "_NEWEST", 50)
    lowest = {"response_quality": 1, "tool_calls_efficient": 1, "total_errors": 0, "failures": (), "tool_calls": 0}
    ends = [NOW - timedelta(minutes=100 - number) for number in range(100)]
    save(store, *(grade(session_id=f"{number:03}", ended_at=at, **lowest) for number, at in enumerate(ends)))
    asked: list[str] = []

    def note(_: object, sql: str, __: object) -> bool:
        asked.append(sql)
        return True

    store.connection.exec_trace = note
    found = ids(store, GradeFilter(sort=sort, lowest_first=True, since=ends[1], limit=20))
    store.connection.exec_trace = None

    assert found == [f"{number:03}" for number in range(1, 21)]
    assert [sql for sql in asked if "FROM session_list AS l WHERE" in sql and "l.ended_at < ?" not in sql] == []


@pytest.mark.parametrize(
    ("text", "latest", "expected"),
    [
        pytest.param("fix", 50, "baba", id="whole-word-of-many"),
        pytest.param("fi", 50, "baba", id="beginning-of-one"),
        pytest.param("light fix", 50, "bbbb", id="both"),
        pytest.param("fix", 1, "baba", id="behind-the-latest"),
        pytest.param("fix lighthouse", 1, "bbbb", id="both-behind-the-latest"),
    ],
)
def test_words_that_begin_so_are_not_gathered_for_a_page_of_many(
    *, store: SqliteStore, text: str, latest: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gathering them takes the longer the more sessions there are."""
    monkeypatch.setattr(session_list, "_LATEST", latest)
    tasks = {"a": "Fix it", "b": "Fixes of the lighthouse: fix it", "c": "Look"}
    save(
        store,
        *(
            grade(
                session_id=f"{number:03}{name}", ended_at=NOW + timedelta(minutes=3 * number + place), task_summary=task
            )
            for number in range(30)
            for place, (name, task) in enumerate(tasks.items())
        ),
    )
    gathered: list[str] = []

    def note(_: object, sql: str, values: Any) -> bool:
        gathered.extend(str(value) for value in values or () if "MATCH" in sql and "*" in str(value))
        return True

    store.connection.exec_trace = note
    found = ids(store, GradeFilter(text=text, limit=4))
    store.connection.exec_trace = None

    assert "".join(each[-1] for each in found) == expected
    assert gathered == []


@pytest.mark.parametrize(
    "which",
    [
        pytest.param(GradeFilter(tool="browser", limit=20), id="tool"),
        pytest.param(GradeFilter(error=Category.TIMEOUT, limit=20), id="error"),
        pytest.param(GradeFilter(text="cafe", limit=20), id="word"),
        pytest.param(GradeFilter(text="nowhere", limit=20), id="absent-word"),
        pytest.param(GradeFilter(tool="browser", text="cafe", sort=SortKey.QUALITY), id="both-sorted"),
    ],
)
def test_few_sessions_are_found_without_a_look_through_the_list(four: SqliteStore, which: GradeFilter) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_: object, sql: str, values: Any) -> bool:
        asked.append((sql, values))
        return True

    four.connection.exec_trace = note
    four.list.find(which)
    four.connection.exec_trace = None

    plans = [
        str(row[3])
        for sql, values in asked
        if "min(ended_at)" not in sql  # where the newest begin: it stops at its limit
        for row in four.connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)
    ]

    assert [plan for plan in plans if plan.startswith("SCAN l")] == []
    assert "SEARCH l USING PRIMARY KEY (ended_at=? AND session_id=?)" in plans


def statements_of(store: SqliteStore, which: GradeFilter) -> list[tuple[str, Any]]:
    """What is asked of the database to find sessions: statements with their values."""
    asked: list[tuple[str, Any]] = []

    def note(_: object, sql: str, values: Any) -> bool:
        asked.append((sql, values))
        return True

    store.connection.exec_trace = note
    store.list.find(which)
    store.connection.exec_trace = None
    return asked


@pytest.mark.parametrize(
    ("which", "index"),
    [
        pytest.param(GradeFilter(state=SessionState.OPEN, limit=20), "session_list_open", id="open"),
        pytest.param(GradeFilter(state="open", model="m", limit=20), "session_list_open", id="open-of-a-model"),
        pytest.param(GradeFilter(verdict_by=VerdictBy.PERSON, limit=20), "session_list_judged", id="judged"),
        pytest.param(GradeFilter(claim=Support.CONTRADICTED), "session_list_contradicted", id="contradicted"),
        pytest.param(GradeFilter(sort=SortKey.COST, limit=20), "session_list_cost", id="dearest"),
    ],
)
def test_what_few_sessions_are_an_index_holds_alone(four: SqliteStore, which: GradeFilter, index: str) -> None:
    asked = statements_of(four, which)

    plan = [str(row[3]) for row in four.connection.execute(f"EXPLAIN QUERY PLAN {asked[0][0]}", asked[0][1])]
    assert [index in step for step in plan] == [True]


def test_of_a_long_span_too_the_newest_alone_are_looked_through_in_order(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite reads by the first of two bounds: all that ended since the other one would be sorted."""
    monkeypatch.setattr(session_list, "_NEWEST", 3)
    ends = [NOW - timedelta(hours=number) for number in range(9)]
    save(store, *(grade(session_id=f"{place}", ended_at=at, task_completed=False) for place, at in enumerate(ends)))
    which = GradeFilter(sort=SortKey.WORST, since=ends[7], limit=2)

    *_, [sql, values] = statements_of(store, which)

    assert sql.count("l.ended_at >= ?") == 1
    plan = [str(row[3]) for row in store.connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert plan == ["SEARCH l USING PRIMARY KEY (ended_at>?)"]
    assert ids(store, which) == ["0", "1"]


@pytest.mark.parametrize("lowest_first", [True, False])
def test_an_order_is_walked_through_also_within_a_span(
    four: SqliteStore, monkeypatch: pytest.MonkeyPatch, *, lowest_first: bool
) -> None:
    monkeypatch.setattr(session_list, "_NEWEST", 0)
    until = NOW + timedelta(days=9)
    which = GradeFilter(sort=SortKey.COST, lowest_first=lowest_first, since=NOW, until=until, limit=2)

    asked = statements_of(four, which)

    [[sql, values]] = [each for each in asked if "cost_usd IS NOT NULL" in each[0]]
    plan = [str(row[3]) for row in four.connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert [step.partition(" (")[0] for step in plan] == ["SEARCH l USING INDEX session_list_cost"]


@pytest.mark.parametrize("text", ["", "-", '"*"', "\ud800"])
def test_a_text_without_a_word_is_refused(store: SqliteStore, text: str) -> None:
    with pytest.raises(InputError, match="no word to search for"):
        store.grades.page(GradeFilter(text=text))


def test_a_long_name_of_a_tool_is_found_by_what_is_kept_of_it(store: SqliteStore) -> None:
    save(store, grade(session_id="a", tools=(ToolUse("x" * 200, 1, 0),)))
    assert ids(store, GradeFilter(tool="x" * 200)) == ["a"]


# -- pages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lowest_first", [False, True])
@pytest.mark.parametrize("sort", SortKey)
def test_pages_give_each_session_once_in_order(store: SqliteStore, sort: SortKey, lowest_first: bool) -> None:
    save(
        store,
        *(
            grade(
                session_id=f"s{number}",
                ended_at=NOW + timedelta(hours=number // 3),  # some end at the same moment
                p_completed=None if number % 4 == 0 else number % 3 / 10,
                tool_calls_efficient=1 + number % 5,
                response_quality=1 + number % 3,
                total_errors=number % 2,
                tool_calls=number % 6,
                cost_usd=None if number % 3 == 0 else number % 4 / 100,
            )
            for number in range(11)
        ),
    )
    which = GradeFilter(sort=sort, lowest_first=lowest_first)

    pages = [store.grades.page(msgspec.structs.replace(which, limit=3))]
    while (key := pages[-1].next) is not None:
        pages.append(store.grades.page(msgspec.structs.replace(which, limit=3, before=key)))

    assert [len(page.grades) for page in pages] == [3, 3, 3, 2]
    assert [stored for page in pages for stored in page.grades] == store.grades.page(which).grades
    assert len(set(ids(store, which))) == 11


_values = st.none() | st.sampled_from([0.0, 0.25, 1.0])
_moments = st.none() | st.integers(0, 5).map(lambda hours: NOW - timedelta(hours=hours))


@given(
    rows=st.lists(st.tuples(_values, st.integers(0, 2), st.integers(0, 4)), max_size=12),
    which=st.builds(
        GradeFilter,
        sort=st.sampled_from([SortKey.PROBABILITY, SortKey.COST, SortKey.QUALITY, SortKey.CALLS]),
        lowest_first=st.booleans(),
        since=_moments,
        until=_moments,
        limit=st.just(3),
    ),
    newest=st.sampled_from([0, 3, 100]),
)
def test_each_order_is_that_of_sorted_rows(
    rows: list[tuple[float | None, int, int]], which: GradeFilter, newest: int
) -> None:
    """Whether a part of the sessions is looked through, all of them, or an index."""
    ended = [(value, low, NOW - timedelta(hours=hours), f"{n:02}") for n, (value, low, hours) in enumerate(rows)]
    since, until = which.since or NOW - timedelta(1), which.until or NOW + timedelta(1)
    unknown = 9e9 if which.lowest_first else -1.0
    by_value = which.sort in {SortKey.PROBABILITY, SortKey.COST}
    shown = [
        ((unknown if value is None else value) if by_value else low, at, session_id)
        for value, low, at, session_id in ended
        if since <= at < until
    ]
    shown.sort(reverse=not which.lowest_first)

    with pytest.MonkeyPatch.context() as patched, closing(SqliteStore(IN_MEMORY)) as store:
        patched.setattr(session_list, "_NEWEST", newest)
        made = [
            grade(
                session_id=session_id,
                ended_at=at,
                p_completed=it,
                cost_usd=it,
                response_quality=1 + low,
                tool_calls=low,
            )
            for it, low, at, session_id in ended
        ]
        save(store, *made)
        pages = [store.grades.page(which)]
        while (key := pages[-1].next) is not None:
            pages.append(store.grades.page(msgspec.structs.replace(which, before=key)))

    assert [one.grade.session_id for page in pages for one in page.grades] == [row[2] for row in shown]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        pytest.param(GradeFilter(sort=SortKey.PROBABILITY), "bac", id="what-is-not-known-is-last"),
        pytest.param(GradeFilter(sort=SortKey.PROBABILITY, lowest_first=True), "abc", id="there-too"),
        pytest.param(GradeFilter(sort=SortKey.ERRORS), "cba", id="equals-by-their-end"),
        pytest.param(GradeFilter(sort=SortKey.COST), "abc", id="dearest"),
        pytest.param(GradeFilter(sort=SortKey.COST, lowest_first=True), "bac", id="cheapest"),
        pytest.param(GradeFilter(sort=SortKey.COST, task_type="general"), "abc", id="dearest-of-some"),
    ],
)
def test_sorting(store: SqliteStore, which: GradeFilter, expected: str) -> None:
    save(
        store,
        grade(session_id="a", p_completed=0.0, total_errors=0, ended_at=NOW, cost_usd=0.3),
        grade(session_id="b", p_completed=1.0, total_errors=0, ended_at=AFTER_ONE_HOUR, cost_usd=0.0),
        grade(session_id="c", p_completed=None, total_errors=0, ended_at=AFTER_TWO_HOURS),
    )
    assert "".join(ids(store, which)) == expected


def test_a_page_that_is_just_full_is_the_last(four: SqliteStore) -> None:
    assert four.grades.page(GradeFilter(limit=4)).next is None


def test_other_programs_can_read_the_list(store: SqliteStore) -> None:
    save(store, grade(session_id="a", p_completed=0.25))
    with closing(sqlite3.connect(store.path)) as connection:
        rows = connection.execute("SELECT session_id, p_completed, completed FROM session_list").fetchall()
    assert rows == [("a", 0.25, 1)]


def test_a_session_of_the_future_stands_an_hour_behind_when_it_was_graded(store: SqliteStore) -> None:
    graded = datetime(2026, 11, 1, 10, tzinfo=UTC)
    with store.transaction():
        for name, hours in (("future", 9_600), ("ahead", 0.5), ("newest", 2)):
            at = graded if name != "newest" else graded + timedelta(hours=2)
            ended = graded + timedelta(hours=hours)
            save_grades(store, [new_grade(grade(session_id=name, session_file=name, graded_at=at, ended_at=ended))])
    page = store.grades.page(GradeFilter())
    assert [each.grade.session_id for each in page.grades] == ["newest", "future", "ahead"]


def test_the_worst_are_proven_then_the_least_likely_and_those_judged_come_last(store: SqliteStore) -> None:
    save(
        store,
        grade(session_id="likely", p_completed=0.9, unsure=True),
        grade(session_id="unlikely", p_completed=0.1, unsure=True),
        grade(session_id="unknown", p_completed=None, unsure=True),
        grade(session_id="proven", p_completed=None, task_completed=False),
        grade(session_id="judged", p_completed=0.0, task_completed=False, verdict_by=VerdictBy.REWARD),
    )

    found = ids(store, GradeFilter(sort=SortKey.WORST))

    assert found[:3] == ["proven", "unlikely", "likely"]
    assert set(found[3:]) == {"unknown", "judged"}


def test_sessions_are_found_by_how_they_ended_and_how_their_result_stands(store: SqliteStore) -> None:
    save(
        store,
        grade(session_id="left", ending=EndingKind.LEFT, standing=ResultStanding.NO_CLAIM),
        grade(session_id="red", ending=EndingKind.ANSWERED, standing=ResultStanding.CHECK_FAILED),
        grade(session_id="old"),
    )

    assert ids(store, GradeFilter(ending=EndingKind.LEFT)) == ["left"]
    assert ids(store, GradeFilter(standing=ResultStanding.CHECK_FAILED)) == ["red"]
