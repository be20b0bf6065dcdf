"""What the store promises of sessions and files, in a file and in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from grader_daemon.domain.analysis import SessionState, ToolUse
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.claims import Support
from grader_daemon.domain.early import EarlyCount
from grader_daemon.domain.feedback import FeedbackSource, Said
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.installed import SkillHow, SkillUse
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.session import SessionKind, SkipReason
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.similar import AskedAlike
from grader_daemon.domain.verdict import Outcome
from grader_daemon.domain.wording import wording_of
from grader_daemon.errors import InputError, StoreError
from grader_daemon.pipeline.save_labels import add_feedback, candidates, labels, reviews_since, standing_of
from grader_daemon.pipeline.saving import retract, save_grades
from grader_daemon.storage.records import GradeFilter, MonthMark, SortKey
from grader_daemon.storage.sqlite.database import IN_MEMORY
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, grades, ledger_entries, new_grade
from tests.units import unit, units

STORES: Final[Mapping[str, Callable[[Path], SqliteStore]]] = {
    "file": lambda folder: SqliteStore(folder / "grades.db", host="here"),
    "memory": lambda _: SqliteStore(IN_MEMORY, host="here"),
}
HOUR = timedelta(hours=1)
EVER = Span(NOW.date().replace(year=1), NOW.date().replace(year=9999))


@pytest.fixture(params=list(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(STORES[request.param](tmp_path)) as opened:
        yield opened


def save(store: SqliteStore, *made: Grade) -> None:
    with store.transaction():
        save_grades(store, [new_grade(one) for one in made], asked_again_within=48 * HOUR)


def ids(store: SqliteStore, which: GradeFilter) -> list[str]:
    return [one.grade.session_id for one in store.grades.page(which).grades]


def entry(path: str, state: FileState = FileState.GRADED, **changes: object) -> LedgerEntry:
    made = LedgerEntry(unit=unit(path), stamp=b"1", written_ns=4, state=state, session_id="s", digest="d")
    return msgspec.structs.replace(made, **changes)


def alike(store: SqliteStore, request: int | None, wording: bytes | None, limit: int = 9) -> list[str]:
    return sorted(each.session_id for each in store.grades.asked_alike(request, wording, limit=limit))


def seen(store: SqliteStore) -> object:
    """All that a store says when it is asked for everything."""
    pages = [
        [(one.grade, one.digest, one.loop_told) for one in store.grades.page(GradeFilter(sort=sort)).grades]
        for sort in SortKey
    ]
    known = [one.grade.session_id for one in store.grades.page(GradeFilter()).grades]
    return (
        pages,
        store.grades.last_ended_at(),
        store.grades.finished_tasks(since=NOW - 9 * HOUR, limit=99),
        {(of, name): sums for (of, name), sums in store.rollups.groups(EVER, tuple(Dimension)).items()},
        [store.rollups.names(dimension) for dimension in Dimension],
        sorted(store.rollups.tool_steps(EVER), key=repr),
        store.rollups.days_with_sessions(),
        labels(store),
        labels(store, known[::2]),
        standing_of(store, known),
        store.feedback.judged_requests(),
        sorted(candidates(store, since=None), key=lambda one: one.session_id),
        sorted(reviews_since(store, NOW - HOUR), key=lambda one: one.session_id),
        store.file_counts(),
        store.skip_counts(),
        store.graded_paths(),
        [store.last_grade(live=live) for live in (False, True)],
        store.live_lags(),
        [(change.kind, change.subject) for change in store.changes.after(0, 99)],
    )


# -- the unit of work --------------------------------------------------------------------------------------------------


def test_a_unit_of_work_inside_another_is_refused_and_undoes_it(store: SqliteStore) -> None:
    def nested() -> None:
        with store.transaction():
            save_grades(store, [new_grade(grade(session_id="outer"))])
            with store.transaction():
                save_grades(store, [new_grade(grade(session_id="inner"))])

    with pytest.raises(StoreError):
        nested()

    assert store.grades.stored(["outer", "inner"]) == {}


def test_nothing_of_a_unit_of_work_that_fails_is_left(store: SqliteStore) -> None:
    save(store, grade(session_id="kept", session_file="/kept"))
    with store.transaction():
        store.save_entries([entry("/kept", session_id="kept")], now=NOW)
    before = seen(store)

    def fails() -> None:
        with store.transaction():
            save_grades(store, [new_grade(grade(session_id=one, session_file=f"/{one}")) for one in ("kept", "new")])
            add_feedback(
                store, [Said(session_id="new", completed=False, by="me", source=FeedbackSource.LABEL)], now=NOW
            )
            retract(store, "kept", SkipReason.COPY)
            store.save_entries([entry("/kept", FileState.DEAD), entry("/other")], now=NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()

    assert seen(store) == before


def test_a_unit_of_work_sees_what_it_has_written(store: SqliteStore) -> None:
    with store.transaction():
        save_grades(store, [new_grade(grade(session_id="a"))])
        assert list(store.grades.stored(["a", "b"])) == ["a"]


# -- lists -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lowest_first", [True, False])
@pytest.mark.parametrize("sort", list(SortKey))
def test_pages_hold_every_session_once_in_one_order(store: SqliteStore, sort: SortKey, lowest_first: bool) -> None:
    """Ties are many: equal scores, equal ends; and what is not known comes last in both directions."""
    save(
        store,
        *(
            grade(
                session_id=f"s{number:02}",
                ended_at=NOW + number % 3 * HOUR,
                p_completed=None if number % 4 == 0 else number % 3 / 2,
                tool_calls_efficient=1 + number % 2,
                tool_calls=number % 5,
                cost_usd=None if number % 4 == 0 else number % 3 / 2,
            )
            for number in range(17)
        ),
    )
    which = GradeFilter(sort=sort, lowest_first=lowest_first)

    found, before = [], None
    while True:
        page = store.grades.page(replace(which, limit=5, before=before))
        found += [one.grade.session_id for one in page.grades]
        if page.next is None:
            break
        before = page.next

    assert found == ids(store, which)
    assert sorted(found) == [f"s{number:02}" for number in range(17)]
    if sort in (SortKey.PROBABILITY, SortKey.COST):
        assert {found.index(f"s{number:02}") >= 12 for number in range(0, 17, 4)} == {True}


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        pytest.param(GradeFilter(), "dcba", id="newest-first"),
        pytest.param(GradeFilter(lowest_first=True), "abcd", id="oldest-first"),
        pytest.param(GradeFilter(since=NOW + HOUR, until=NOW + 3 * HOUR), "cb", id="until-is-left-out"),
        pytest.param(GradeFilter(model="größe"), "b", id="a-name-that-is-not-ascii"),
        pytest.param(GradeFilter(model="m"), "da", id="a-model-that-is-not-known-is-not-found"),
        pytest.param(GradeFilter(text="GROSSE naive"), "b", id="words-without-accents-in-any-case"),
        pytest.param(GradeFilter(text="fla"), "c", id="the-beginning-of-a-word"),
        pytest.param(GradeFilter(completed=False), "c", id="not-completed"),
        pytest.param(GradeFilter(state="open"), "d", id="by-state"),
        pytest.param(GradeFilter(host="here", limit=1), "d", id="a-limit"),
        pytest.param(GradeFilter(host="there"), "", id="another-host"),
        pytest.param(GradeFilter(tool="browser"), "b", id="by-tool"),
        pytest.param(GradeFilter(claim=Support.VERIFIED), "", id="by-claim"),
        pytest.param(GradeFilter(agent="codex"), "cb", id="by-agent"),
        pytest.param(GradeFilter(kind=SessionKind.CRON), "c", id="by-kind"),
        pytest.param(GradeFilter(kind=SessionKind.MAIN), "dba", id="whose-kind-is-not-known-was-begun-by-a-person"),
    ],
)
def test_a_filter_finds_what_is_known(store: SqliteStore, which: GradeFilter, expected: str) -> None:
    save(
        store,
        grade(session_id="a", ended_at=NOW, task_summary=None),
        grade(
            session_id="b",
            ended_at=NOW + HOUR,
            model="größe",
            task_summary="die naïve grosse Änderung",
            tools=(ToolUse("browser", 2, 1),),
            agent="codex",
        ),
        grade(
            session_id="c",
            ended_at=NOW + 2 * HOUR,
            model=None,
            task_summary="flaky tests",
            task_completed=False,
            agent="codex",
            kind=SessionKind.CRON,
        ),
        grade(session_id="d", ended_at=NOW + 3 * HOUR, state=SessionState.OPEN, kind=SessionKind.MAIN),
    )
    assert "".join(ids(store, which)) == expected


@pytest.mark.parametrize("text", ["", "-", '"*"'])
def test_a_text_without_a_word_is_refused(store: SqliteStore, text: str) -> None:
    with pytest.raises(InputError, match="no word to search for"):
        store.grades.page(GradeFilter(text=text))


def test_an_id_stands_between_those_beside_it(store: SqliteStore) -> None:
    save(store, *[grade(session_id=each, session_file=f"/{each}") for each in ("ab", "abc", "b")])
    assert [store.grades.beside(each) for each in ("ab", "abc", "b")] == [("", "abc"), ("ab", "b"), ("abc", "")]


def test_an_id_may_be_shortened_while_it_names_one(store: SqliteStore) -> None:
    save(store, grade(session_id="ab1"), grade(session_id="ab2"), grade(session_id="ab"), grade(session_id="ü%_"))
    assert store.grades.find("ab").grade.session_id == "ab"
    assert store.grades.find("ü%").grade.session_id == "ü%_"
    for wrong in ("a", "x", "%"):
        with pytest.raises(InputError):
            store.grades.find(wrong)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"state": SessionState.OPEN}, id="that-goes-on"),
        pytest.param({"kind": SessionKind.SUB_AGENT}, id="of-a-sub-agent"),
        pytest.param({"scored": False}, id="without-a-verdict"),
        pytest.param({"model": None}, id="of-no-known-model"),
        pytest.param({"ended_at": NOW - 3 * HOUR}, id="of-another-time"),
    ],
)
def test_no_session_is_a_finished_task_of_a_model(store: SqliteStore, changes: dict[str, object]) -> None:
    save(store, grade(session_id="s", **{"ended_at": NOW, "model": "m"} | changes))

    assert store.grades.finished_tasks(since=NOW - 2 * HOUR, limit=9) == []


def test_the_newest_finished_tasks_come_first_with_what_routing_asks_of_them(store: SqliteStore) -> None:
    facts = {"model": "m", "request": -5, "p_completed": 0.6, "cost_usd": 0.25, "task_type": "debugging"}
    setup = {"agent": "hermes", "platform": "cli", "project": "/w", "agent_version": "0.19.0"}
    facts |= setup | {"system_prompt_digest": "5f", "tools_digest": "4e"}
    known = ("hermes", "cli", "/w", "0.19.0", "5f", "4e")
    for hours in range(4):
        save(store, grade(session_id=f"s{hours}", ended_at=NOW - hours * HOUR, task_completed=True, **facts))
    with store.transaction():
        said = Said(session_id="s1", by="me", source=FeedbackSource.LABEL, completed=False)
        add_feedback(store, [said], now=NOW)

    found = store.grades.finished_tasks(since=NOW - 9 * HOUR, limit=2)

    assert found == [
        FinishedSession("s0", NOW, "debugging", "m", True, 0.6, False, False, -5, 0.25, *known),
        FinishedSession("s1", NOW - HOUR, "debugging", "m", False, 0.6, True, False, -5, 0.25, *known),
    ]


def test_a_label_does_not_make_the_verdict_below_it_sure(store: SqliteStore) -> None:
    for name, unsure in (("guess", True), ("proof", False)):
        save(store, grade(session_id=name, ended_at=NOW, model="m", task_completed=False, unsure=unsure))
    said = [Said(session_id=name, by="me", source=FeedbackSource.LABEL, completed=True) for name in ("guess", "proof")]
    with store.transaction():
        add_feedback(store, said, now=NOW)

    found = store.grades.finished_tasks(since=NOW - HOUR, limit=9)

    assert {task.session_id: (task.completed, task.unsure) for task in found} == {
        "guess": (True, True),
        "proof": (True, False),
    }


def test_finished_tasks_up_to_a_moment_are_those_that_ended_before_it(store: SqliteStore) -> None:
    for hours in range(4):
        save(store, grade(session_id=f"s{hours}", ended_at=NOW - hours * HOUR, model="m"))

    found = store.grades.finished_tasks(since=NOW - 2 * HOUR, until=NOW, limit=9)

    assert [task.session_id for task in found] == ["s1", "s2"]


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        pytest.param({"scored": False, "ending": EndingKind.NO_ANSWER}, True, id="no-answer"),
        pytest.param({"state": SessionState.INTERRUPTED, "ending": EndingKind.LEFT, "unsure": True}, True, id="left"),
        pytest.param({"state": SessionState.INTERRUPTED, "ending": EndingKind.PERSON}, None, id="stopped-by-a-person"),
        pytest.param({"scored": False}, None, id="nothing-is-known"),
    ],
)
def test_a_task_without_a_verdict_counts_where_its_ending_is_bad(
    store: SqliteStore, changes: dict[str, object], failed: bool | None
) -> None:
    save(store, grade(session_id="s", ended_at=NOW, model="m", standing=ResultStanding.NO_CLAIM, **changes))

    found = store.grades.finished_tasks(since=NOW, limit=9)

    assert [task.failed for task in found] == ([] if failed is None else [failed])


def test_finished_sessions_of_another_kind_are_asked_for_by_name(store: SqliteStore) -> None:
    for kind in (None, *SessionKind):
        save(store, grade(session_id=f"s-{kind}", ended_at=NOW, model="m", kind=kind))

    tasks = store.grades.finished_tasks(since=NOW, limit=9)
    runs = store.grades.finished_tasks(since=NOW, limit=9, kind=SessionKind.CRON)

    assert {task.session_id for task in tasks} == {"s-None", "s-main"}
    assert [task.session_id for task in runs] == ["s-cron"]


def test_the_list_is_not_looked_through_for_a_kind_that_no_session_is_of(store: SqliteStore) -> None:
    save(store, grade(session_id="a", ended_at=NOW, model="m"))
    asked: list[str] = []

    def note(_: object, sql: str, __: object) -> bool:
        asked.append(sql)
        return True

    store.connection.exec_trace = note
    found = store.grades.finished_tasks(since=NOW, limit=9, kind=SessionKind.CRON)
    store.connection.exec_trace = None

    assert found == []
    assert [sql for sql in asked if "session_list" in sql] == []


def test_judged_tasks_are_counted_by_their_early_errors(store: SqliteStore) -> None:
    for number in range(3):
        save(store, grade(session_id=f"s{number}", ended_at=NOW, early_errors=2, task_completed=number < 2))
    save(store, grade(session_id="failed", ended_at=NOW - HOUR, early_errors=2, task_completed=True))
    for name, changes in (
        ("few-calls", {"early_errors": None}),
        ("open", {"state": SessionState.OPEN}),
        ("sub-agent", {"kind": SessionKind.SUB_AGENT}),
        ("no-verdict", {"scored": False}),
        ("before", {"ended_at": NOW - 3 * HOUR}),
    ):
        save(store, grade(session_id=name, **{"ended_at": NOW, "early_errors": 0} | changes))
    with store.transaction():
        said = [
            Said(session_id=name, by="me", source=FeedbackSource.LABEL, completed=name != "failed")
            for name in ("s0", "s1", "failed", "few-calls", "sub-agent", "before")
        ]
        add_feedback(store, said, now=NOW)

    found = store.grades.early_counts(since=NOW - 2 * HOUR, limit=9)

    assert sorted(found) == [
        EarlyCount(2, False, 1),
        EarlyCount(2, True, 2),
    ]
    assert sum(count.tasks for count in store.grades.early_counts(since=NOW - 2 * HOUR, limit=2)) == 2


# -- the feed of changes ---------------------------------------------------------------------------------------------


def test_a_follower_reads_on_from_where_it_was_and_misses_nothing(store: SqliteStore) -> None:
    save(store, grade(session_id="a"), grade(session_id="b"))
    first = store.changes.after(0, 1)
    with store.transaction():
        add_feedback(store, [Said(session_id="a", completed=False, by="me", source=FeedbackSource.LABEL)], now=NOW)
        retract(store, "b", SkipReason.COPY)

    rest = store.changes.after(first[-1].seq, 99)

    assert [(each.kind, each.subject) for each in first] == [("grade", "a")]
    assert [(each.kind, each.subject) for each in rest] == [
        ("grade", "b"),
        ("label", "a"),
        ("grade", "a"),
        ("retraction", "b"),
    ]
    assert [each.seq for each in rest] == sorted({each.seq for each in rest})
    assert rest[0].seq > first[0].seq


def test_one_thing_is_told_once_however_often_it_changes(store: SqliteStore) -> None:
    for quality in (1, 2, 3):
        save(store, grade(session_id="a", response_quality=quality))
    [change] = store.changes.after(0, 99)
    assert (change.kind, change.subject, store.changes.after(change.seq, 99)) == ("grade", "a", [])


def test_a_session_that_is_asked_for_again_changes_too(store: SqliteStore) -> None:
    save(store, grade(session_id="a", request=7, session_start=NOW - HOUR, ended_at=NOW))
    seq = store.changes.after(0, 9)[-1].seq
    save(store, grade(session_id="b", request=7, session_start=NOW + HOUR, ended_at=NOW + 2 * HOUR))
    assert [each.subject for each in store.changes.after(seq, 9)] == ["b", "a"]


def test_a_month_has_another_mark_when_a_session_of_it_changes_comes_or_goes(store: SqliteStore) -> None:
    october, november = datetime(2026, 10, 31, 23, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
    save(store, grade(session_id="a", ended_at=october), grade(session_id="b", ended_at=november))
    seen = [store.changes.months()]
    with store.transaction():
        add_feedback(store, [Said(session_id="b", quality=1, by="me", source=FeedbackSource.LABEL)], now=NOW)
    seen.append(store.changes.months())
    save(store, grade(session_id="c", ended_at=november))
    seen.append(store.changes.months())
    with store.transaction():
        retract(store, "c", SkipReason.COPY)
    seen.append(store.changes.months())
    save(store, grade(session_id="b", ended_at=october))
    seen.append(store.changes.months())

    assert [each["2026-10"] == seen[0]["2026-10"] for each in seen] == [True, True, True, True, False]
    assert [each["2026-11"].sessions for each in seen[:4]] == [1, 1, 2, 1]
    assert seen[1]["2026-11"] != seen[0]["2026-11"]
    assert list(seen[4]) == ["2026-10"]


def test_of_changes_that_are_known_months_say_nothing(store: SqliteStore) -> None:
    october, november = datetime(2026, 10, 31, 23, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
    save(store, grade(session_id="a", ended_at=october), grade(session_id="b", ended_at=november))
    known = store.changes.newest()
    save(store, grade(session_id="c", ended_at=november))

    assert store.changes.months(known) == {
        "2026-10": MonthMark(sessions=1, seq=0),
        "2026-11": MonthMark(sessions=2, seq=store.changes.newest()),
    }


def test_an_end_in_the_future_is_listed_an_hour_behind_the_grading(store: SqliteStore) -> None:
    made = datetime(2028, 10, 9, 1, 45, 37, 225237, tzinfo=UTC)
    listed = made.replace(hour=2, microsecond=0)
    save(
        store,
        grade(session_id="far", graded_at=made, ended_at=datetime(2200, 1, 1, tzinfo=UTC)),
        grade(session_id="within", graded_at=made, ended_at=listed - timedelta(seconds=1)),
        grade(session_id="graded later", graded_at=listed + 2 * HOUR, ended_at=listed + timedelta(seconds=1)),
    )
    assert ids(store, GradeFilter()) == ["graded later", "far", "within"]
    assert ids(store, GradeFilter(since=listed, until=listed + timedelta(seconds=1))) == ["far"]


# -- files -------------------------------------------------------------------------------------------------------------


def test_files_are_due_in_the_order_in_which_they_wait(store: SqliteStore) -> None:
    retry = FileState.RETRY
    with store.transaction():
        store.save_entries(
            [
                entry("/late", retry, look_again_at=NOW),
                entry("/early", retry, look_again_at=NOW - HOUR),
                entry("/not-yet", retry, look_again_at=NOW + HOUR),
                entry("/clock-was-set-back", retry, look_again_at=NOW + 100 * HOUR),
                entry("/never"),
            ],
            now=NOW,
        )
    due = store.due_units(NOW, longest_pause=2 * HOUR, limit=9)
    assert due == units(["/early", "/late", "/clock-was-set-back"])


def test_files_of_a_state_are_paged_by_their_time(store: SqliteStore) -> None:
    with store.transaction():
        for number in (3, 1, 2, 1):
            path = f"/{number}{len(store.ungraded_units(FileState.SKIPPED, after=None, limit=9))}"
            store.save_entries([entry(path, FileState.SKIPPED, written_ns=number, reason="copy")], now=NOW)
    first = store.ungraded_units(FileState.SKIPPED, after=None, limit=3)
    rest = store.ungraded_units(FileState.SKIPPED, after=first[-1], limit=3)
    assert [one.unit.locator for one in (*first, *rest)] == ["/11", "/13", "/22", "/30"]
    assert {file.reason for file in first} == {"copy"}


def test_a_grade_made_as_its_file_was_written_is_live(store: SqliteStore) -> None:
    store.live_since = NOW - HOUR
    written = int((NOW - timedelta(seconds=3)).timestamp() * 1e9)
    with store.transaction():
        store.save_entries([entry("/a", written_ns=0)], now=NOW)
        assert store.last_grade(live=True) is None
        store.save_entries([entry("/b", written_ns=written)], now=NOW)
    last = store.last_grade(live=True)
    assert last is not None
    assert last.lag_seconds == pytest.approx(3, abs=0.01)


def test_lags_of_live_grades_are_counted_by_how_long_they_were(store: SqliteStore) -> None:
    store.live_since = NOW - HOUR
    seconds = {"/old": 7200.0, "/short": 0.5, "/long": 4.0, "/longer": 3.0}
    entries = [
        entry(path, session_id=path, written_ns=int((NOW - timedelta(seconds=lag)).timestamp() * 1e9))
        for path, lag in seconds.items()
    ]
    with store.transaction():
        store.save_entries(entries, now=NOW)
        store.save_entries(entries, now=NOW)
    counted = [(span.longer_than, span.grades, round(span.seconds, 3), span.session_id) for span in store.live_lags()]
    assert counted == [(0.0, 1, 0.5, "/short"), (2.5, 2, 7.0, "/longer")]


def test_each_follower_of_the_feed_keeps_a_place_of_its_own(store: SqliteStore) -> None:
    with store.transaction():
        store.changes.advance("one", 3)
        store.changes.advance("one", 7)
    assert [store.changes.position(name) for name in ("one", "other")] == [7, 0]


# -- all stores say the same -------------------------------------------------------------------------------------------

SESSIONS = "abc"
saved = st.tuples(st.just("save"), st.lists(st.tuples(st.sampled_from(SESSIONS), grades()), min_size=1, max_size=3))
said = st.tuples(
    st.just("say"),
    st.builds(
        Said,
        session_id=st.sampled_from(SESSIONS),
        by=st.just("me"),
        source=st.sampled_from((FeedbackSource.LABEL, FeedbackSource.REVIEW)),
        completed=st.none() | st.booleans(),
        quality=st.none() | st.integers(1, 5),
    ),
)
taken = st.tuples(st.just("retract"), st.sampled_from(SESSIONS))
noted = st.tuples(st.just("note"), st.lists(ledger_entries(), min_size=1, max_size=3))
STEPS = st.lists(saved | said | taken | noted, max_size=8)


def step(store: SqliteStore, what: str, values: object) -> None:
    match what, values:
        case "save", list(some):
            known = {one: new_grade(replace(made, session_id=one, session_file=f"/{one}")) for one, made in some}
            save_grades(store, list(known.values()), asked_again_within=48 * HOUR)
            files = [
                entry(f"/{one}", session_id=one, rules_version=new.grade.rules_version) for one, new in known.items()
            ]
            store.save_entries(files, now=NOW)
        case "say", Said() as words:
            if words.session_id in store.grades.stored([words.session_id]):
                add_feedback(store, [words], now=NOW)
        case "retract", str(one):
            retract(store, one, SkipReason.SUPERSEDED, asked_again_within=48 * HOUR)
        case "note", list(entries):
            store.save_entries(entries, now=NOW)


@given(STEPS)
def test_after_any_history_file_and_memory_say_the_same_and_counted_anew_too(steps: list[tuple[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        stores = [opened.enter_context(closing(make(Path(folder)))) for make in STORES.values()]
        known = units(f"/{one}" for one in SESSIONS)
        for one in stores:
            for what, values in steps:
                with one.transaction():
                    step(one, what, values)
        first, *others = [(seen(one), one.rollups.revisions(), one.ledger_entries(known)) for one in stores]
        assert others == [first] * len(others)
        with stores[0].transaction():
            stores[0].recount()
        assert seen(stores[0]) == first[0]


def test_children_are_found_by_their_parent(store: SqliteStore) -> None:
    made = [
        grade(session_id="parent"),
        grade(session_id="b", parent="parent", kind=SessionKind.SUB_AGENT),
        grade(session_id="a", parent="parent", kind=SessionKind.SUB_AGENT),
        grade(session_id="c", parent="another"),
    ]
    with store.transaction():
        store.grades.put([new_grade(one) for one in made], replacing={})
    assert [one.grade.session_id for one in store.grades.children("parent", 9)] == ["a", "b"]
    assert len(store.grades.children("parent", 1)) == 1
    assert store.grades.children("a", 9) == []


# -- the same request in other sessions ------------------------------------------------------------------------------


def test_sessions_of_a_request_and_of_a_near_one_are_found(store: SqliteStore) -> None:
    ours = wording_of("deploy the release to production")
    assert ours is not None
    third_band = b"x" * 8 + ours[8:12] + b"x" * 20
    shifted = b"x" * 16 + ours[:16]
    used = (SkillUse("deploy", SkillHow.VIEW),)
    first = {"request": 7, "wording": ours, "model": "m", "task_completed": False, "skills": used}
    save(
        store,
        grade(session_id="a", **first),
        grade(session_id="same", request=7),
        grade(session_id="near", wording=third_band),
        grade(session_id="far", wording=shifted, request=8),
        grade(session_id="open", request=7, wording=ours, state=SessionState.OPEN),
    )

    assert alike(store, 7, ours) == ["a", "near", "same"]
    assert alike(store, 7, None) == ["a", "same"]
    assert alike(store, None, ours) == ["a", "near"]
    assert alike(store, None, None) == []
    found = next(each for each in store.grades.asked_alike(7, None, limit=9) if each.session_id == "a")
    assert found == AskedAlike("a", NOW, "m", Outcome.NOT_DONE, None, 7, ours, used)


def test_of_a_request_that_very_many_have_the_newest_are_found(store: SqliteStore) -> None:
    save(store, *(grade(session_id=f"s{n}", request=7, ended_at=NOW - n * HOUR) for n in range(4)))
    save(store, *(grade(session_id=f"w{n}", wording=b"w" * 32, ended_at=NOW - n * HOUR) for n in range(4)))
    assert alike(store, 7, b"w" * 32, limit=2) == ["s0", "s1", "w2", "w3"]  # graded last are those that ended first


def test_a_session_that_is_graded_again_is_found_as_it_is_now(store: SqliteStore) -> None:
    save(store, grade(session_id="a", wording=b"w" * 32))
    save(store, grade(session_id="a", wording=b"v" * 32))
    assert (alike(store, None, b"w" * 32), alike(store, None, b"v" * 32)) == ([], ["a"])
    with store.transaction():
        retract(store, "a", SkipReason.SUPERSEDED, asked_again_within=48 * HOUR)
    assert alike(store, None, b"v" * 32) == []
