from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import Category, Failure, SessionState, Step, ToolUse
from grader_daemon.domain.calendar import ALWAYS, Span
from grader_daemon.domain.claims import AGAINST, Claim, ClaimKind, ClaimTally, Support
from grader_daemon.domain.feedback import FeedbackSource, Said
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.domain.session import SessionKind, SkipReason
from grader_daemon.domain.verdict import Outcome, VerdictBy, VerdictCounts
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import retract, save_grades, save_verdicts
from grader_daemon.storage.sqlite.rows import ended_badly_of
from grader_daemon.storage.sqlite.schema import migrations
from grader_daemon.storage.sqlite.session_list import OF_VERDICT
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, grades, new_grade

TABLES = (
    *("daily_rollups", "monthly_rollups", "daily_steps", "monthly_steps", "issue_days", "issue_steps", "issue_tasks"),
    *("daily_jobs", "monthly_jobs", "daily_claims", "monthly_claims"),
)
FIRST, SECOND = "2026-11-21", "2026-11-22"
BOTH = Span(date(2026, 11, 21), date(2026, 11, 22))
OVERALL = (Dimension.OVERALL, "")
ALL = tuple(Dimension)


def save(store: SqliteStore, *made: Grade) -> None:
    with store.transaction():
        save_grades(store, [new_grade(one) for one in made])


def rollups(store: SqliteStore) -> dict[str, list[Any]]:
    return {table: store.rows(f"SELECT * FROM {table}") for table in TABLES}


def tasks_of(store: SqliteStore, span: Span) -> list[Grade]:
    """The finished tasks of people in a span, by their rows."""
    return [
        grade
        for batch in store.grades.batches()
        for grade in batch
        if grade.state is not SessionState.OPEN and grade.is_persons
        if span.first <= date.fromisoformat(grade.ended_on) <= span.last
    ]


def claims_of(store: SqliteStore, span: Span) -> Counter[tuple[str, ...]]:
    """Sessions by the kind of a claim in them, also with a result of its check, or with a model it is held against."""
    counted: Counter[tuple[str, ...]] = Counter()
    for tally in store.rollups.claims(span):
        counted[tally.kind,] = tally.sessions
        counted.update({(tally.kind, support): sessions for support, sessions in tally.supports.items()})
        counted.update({(tally.kind, "against", model): sessions for model, sessions in tally.against.items()})
    return counted


def claims_by_rows(tasks: Iterable[Grade]) -> Counter[tuple[str, ...]]:
    """The same of the rows of tasks."""
    counted: Counter[tuple[str, ...]] = Counter()
    for task in tasks:
        counted.update({(claim.kind,) for claim in task.claims})
        counted.update({(claim.kind, claim.support) for claim in task.claims})
        model = task.model or "unknown"
        counted.update({(claim.kind, "against", model) for claim in task.claims if claim.support in AGAINST})
    return counted


def counted_anew(store: SqliteStore) -> dict[str, list[Any]]:
    with store.transaction():
        store.recount()
    return rollups(store)


Event = list[Grade] | str | Said


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Batches of grades of a few sessions, graded again and again, labels, and sessions whose grade is taken back."""
    ids = st.sampled_from(["a", "b", "c", "d"])
    halves = st.sampled_from([0.0000005, 0.0000015])  # which rounding takes to the even side
    graded = st.builds(_of, grades(), ids, st.none() | halves)
    labels = st.builds(
        Said, session_id=ids, by=st.just("ada"), source=st.just(FeedbackSource.LABEL), completed=st.booleans()
    )
    return draw(st.lists(st.lists(graded, min_size=1, max_size=4) | ids | labels, min_size=1, max_size=8))


def _of(made: Grade, session_id: str, cost_usd: float | None) -> Grade:
    return msgspec.structs.replace(
        made, session_id=session_id, cost_usd=made.cost_usd if cost_usd is None else cost_usd
    )


def happened(history: list[Event]) -> Iterator[SqliteStore]:
    """Give a store after each event of a history."""
    with tempfile.TemporaryDirectory() as folder, closing(SqliteStore(Path(folder) / "a.db")) as store:
        for event in history:
            with store.transaction():
                match event:
                    case str():
                        retract(store, event, SkipReason.COPY)
                    case Said():
                        add_feedback(store, [event] if store.grades.stored([event.session_id]) else [], now=NOW)
                    case _:
                        save_grades(store, [new_grade(one) for one in event])
            yield store


@given(history=histories())
def test_rollups_are_always_what_the_rows_give(history: list[Event]) -> None:
    for store in happened(history):
        kept = rollups(store)
        assert kept == counted_anew(store)


@given(history=histories())
def test_verdicts_and_claims_are_always_those_of_the_tasks_of_a_span(history: list[Event]) -> None:
    for store in happened(history):
        for span in (ALWAYS, Span(date(2026, 11, 2), date(2026, 11, 4))):
            tasks = tasks_of(store, span)
            counted = Counter(task.outcome for task in tasks)
            assert store.rollups.verdicts(span) == VerdictCounts(**{outcome: counted[outcome] for outcome in Outcome})
            assert claims_of(store, span) == claims_by_rows(tasks)


def failed_by_rows(store: SqliteStore) -> Counter[tuple[str, ...]]:
    """Failed sessions, those with a known cost, and its millionths, by the rows: of each group on each day."""
    columns = ("task_type", "model", "project", "agent", "kind", "ending", "standing", "platform")
    rows = store.rows(
        f"SELECT d.ended_on, l.cost_usd, {', '.join(f'l.{column}' for column in columns)} FROM session_list AS l"
        " JOIN session_details AS d ON d.session_id = l.session_id WHERE l.state <> 'open'"
        f" AND ({OF_VERDICT[Outcome.NOT_DONE]}"
        f" OR {ended_badly_of('l')} AND NOT coalesce({OF_VERDICT[Outcome.DONE]}, 0))"
    )
    counted: Counter[tuple[str, ...]] = Counter()
    for day, cost, *names in rows:
        groups = [("overall", ""), *zip(columns, (name or "unknown" for name in names), strict=True)]
        millionths = round((cost or 0) * 1_000_000)
        for group in groups:
            counted += Counter(
                {
                    (*group, day, "failed"): 1,
                    (*group, day, "priced"): cost is not None,
                    (*group, day, "cost"): millionths,
                }
            )
    return counted


def failed_of(store: SqliteStore, dimensions: set[str]) -> Counter[tuple[str, ...]]:
    """The same of the sums."""
    rows = store.rows("SELECT dimension, name, day, failed, failed_priced, failed_millionths FROM daily_rollups")
    counted: Counter[tuple[str, ...]] = Counter()
    for dimension, name, day, *numbers in rows:
        if dimension in dimensions:
            named = zip(("failed", "priced", "cost"), numbers, strict=True)
            counted += Counter({(dimension, name, day, what): number for what, number in named})
    return counted


@given(history=histories())
def test_money_of_failed_sessions_is_always_that_of_their_rows_also_after_an_upgrade(history: list[Event]) -> None:
    dimensions = {"overall", "task_type", "model", "project", "agent", "kind", "ending", "standing", "platform"}
    for store in happened(history):
        assert failed_of(store, dimensions) == failed_by_rows(store)
        kept = rollups(store)
        for table, column in product(("daily", "monthly"), ("failed", "failed_priced", "failed_millionths")):
            store.connection.execute(f"ALTER TABLE {table}_rollups DROP COLUMN {column}")

        store.connection.execute(next(sql for _, name, sql in migrations() if name == "failed_sums"))

        assert rollups(store) == kept


@pytest.mark.parametrize(
    ("changes", "counted"),
    [
        pytest.param({}, VerdictCounts(done=1), id="done"),
        pytest.param({"task_completed": False}, VerdictCounts(not_done=1), id="not-done"),
        pytest.param({"unsure": True}, VerdictCounts(unsure=1), id="done-by-the-best-guess-and-unsure"),
        pytest.param({"unsure": True, "task_completed": False}, VerdictCounts(unsure=1), id="not-done-and-unsure"),
        pytest.param({"unsure": True, "verdict_by": VerdictBy.PERSON}, VerdictCounts(done=1), id="by-a-persons-word"),
        pytest.param({"scored": False}, VerdictCounts(no_answer=1), id="without-an-answer"),
        pytest.param(
            {"scored": False, "verdict_by": VerdictBy.PERSON, "task_completed": False},
            VerdictCounts(not_done=1),
            id="without-an-answer-by-a-persons-word",
        ),
        pytest.param({"state": SessionState.INTERRUPTED}, VerdictCounts(unsure=1), id="interrupted"),
        pytest.param({"state": SessionState.OPEN}, VerdictCounts(), id="not-finished"),
        pytest.param({"kind": SessionKind.CRON}, VerdictCounts(), id="no-task-of-a-person"),
        pytest.param({"ended_on": "2026-11-23"}, VerdictCounts(), id="on-another-day"),
    ],
)
def test_each_task_has_one_verdict(store: SqliteStore, changes: dict[str, object], counted: VerdictCounts) -> None:
    save(store, grade(**{"ended_on": FIRST, **changes}))
    assert store.rollups.verdicts(BOTH) == counted


def test_verdicts_that_change_are_counted_as_they_are(store: SqliteStore) -> None:
    before = grade(session_id="a", ended_on=FIRST, task_completed=True, rules_version="r+none.rules")
    after = msgspec.structs.replace(
        before,
        task_completed=False,
        p_completed=0.25,
        verdict_by=VerdictBy.MODEL,
        rules_version="r+m1.model",
        reasons=(Reason("task_completed", "completion.model", None),),
    )
    save(store, before, grade(session_id="b", ended_on=FIRST))
    with store.transaction():
        save_verdicts(store, [(before, after)])
    assert store.grades.stored(["a"])["a"].grade == after
    kept = rollups(store)
    assert kept == counted_anew(store)
    assert store.rollups.group(*OVERALL, BOTH).completed == 1


def test_a_session_is_counted_in_each_of_its_groups(store: SqliteStore) -> None:
    save(
        store,
        grade(
            ended_on=FIRST,
            task_type="testing",
            model="m",
            platform="cli",
            tool_calls=5,
            total_errors=2,
            errors_recovered=True,
            tools=(ToolUse("terminal", 4, 2), ToolUse("read_file", 1, 0)),
            failures=(
                Failure(2, "terminal", Category.TIMEOUT, "curl", "1-a"),
                Failure(4, "terminal", Category.TIMEOUT, "curl", "1-a"),
            ),
        ),
    )
    found = store.rollups.groups(BOTH, ALL)
    assert set(found) == {
        OVERALL,
        (Dimension.TASK_TYPE, "testing"),
        (Dimension.MODEL, "m"),
        (Dimension.PLATFORM, "cli"),
        (Dimension.TOOL, "terminal"),
        (Dimension.TOOL, "read_file"),
        (Dimension.CATEGORY, "timeout"),
        (Dimension.AGENT, "unknown"),
        (Dimension.ENDING, "unknown"),
        (Dimension.STANDING, "unknown"),
        (Dimension.PROJECT, "unknown"),
        (Dimension.KIND, "main"),
        (Dimension.TASK_MODEL, "testing × m"),
    }
    assert set(store.rollups.groups(BOTH, {Dimension.AGENT, Dimension.TOOL})) == {
        (Dimension.AGENT, "unknown"),
        (Dimension.TOOL, "terminal"),
        (Dimension.TOOL, "read_file"),
    }
    assert found[OVERALL] == Sums(
        sessions=1,
        completed=1,
        with_errors=1,
        recovered=1,
        efficiency=5,
        efficiency_squares=25,
        quality=3,
        quality_squares=9,
        score_squares=169,
        predicted_millionths=1_000_000,
        done=1,
        calls=5,
        calls_squares=25,
        failures=2,
        failures_squares=4,
        calls_failures=10,
    )
    terminal = found[Dimension.TOOL, "terminal"]
    assert (terminal.calls, terminal.failures, terminal.calls_failures) == (4, 2, 8)


def test_an_open_session_is_only_counted_as_open(store: SqliteStore) -> None:
    save(
        store,
        grade(ended_on=FIRST, state=SessionState.OPEN, total_errors=1, failures=(Failure(2, "t", Category.UNKNOWN),)),
    )
    assert store.rollups.groups(BOTH, ALL) == {
        OVERALL: Sums(open_sessions=1),
        (Dimension.KIND, "main"): Sums(open_sessions=1),
    }


def test_a_session_that_goes_on_the_next_day_moves_there(store: SqliteStore) -> None:
    save(store, grade(ended_on=FIRST))
    save(store, grade(ended_on=SECOND))
    assert store.rollups.groups(Span(BOTH.first, BOTH.first), ALL) == {}
    assert store.rollups.groups(Span(BOTH.last, BOTH.last), ALL)[OVERALL].sessions == 1


def test_a_row_of_side_sessions_alone_is_kept_until_they_are_gone(store: SqliteStore) -> None:
    side = grade(session_id="side", kind=SessionKind.SUB_AGENT, ended_on=FIRST, cost_usd=0.25)
    save(store, grade(session_id="main", ended_on=FIRST, cost_usd=0.5), side)
    with store.transaction():
        retract(store, "main", SkipReason.COPY)
    left = store.rollups.group(*OVERALL, BOTH)
    assert (left.sessions, left.side, left.priced, left.cost_millionths) == (0, 1, 1, 250_000)
    with store.transaction():
        retract(store, "side", SkipReason.COPY)
    assert store.rollups.groups(BOTH, ALL) == {}


def test_days_are_those_on_which_sessions_of_any_kind_ended(store: SqliteStore) -> None:
    save(
        store,
        grade(session_id="a", ended_on=FIRST, kind=SessionKind.CRON, cost_usd=0.5),
        grade(session_id="b", ended_on=SECOND, state=SessionState.OPEN),
    )
    found = store.rollups.days(BOTH)
    assert {day.isoformat(): sums.cost_millionths for day, sums in found.items()} == {FIRST: 500_000}


def test_days_of_a_group_are_those_of_its_sessions(store: SqliteStore) -> None:
    save(
        store,
        grade(session_id="a", ended_on=FIRST, task_type="debugging"),
        grade(session_id="b", ended_on=SECOND, task_type="general"),
    )
    found = store.rollups.days(BOTH, Dimension.TASK_TYPE, "general")
    assert {day.isoformat(): sums.sessions for day, sums in found.items()} == {SECOND: 1}


def test_a_session_twice_in_one_batch_counts_as_it_was_last(store: SqliteStore) -> None:
    save(store, grade(task_completed=False, ended_on=FIRST), grade(ended_on=FIRST))
    found = store.rollups.groups(BOTH, ALL)[OVERALL]
    assert (found.sessions, found.completed) == (1, 1)


def test_only_a_step_whose_end_is_known_counts_as_a_try(store: SqliteStore) -> None:
    steps = [Step("terminal", "curl", True), Step("terminal", "curl", False), Step("terminal", "curl", None), None]
    failed = tuple(Failure(2 * n, "browser", Category.TIMEOUT, None, "1-a", step) for n, step in enumerate(steps))
    save(store, grade(ended_on=FIRST, failures=failed, total_errors=4))
    assert store.rows("SELECT tool, command, tries, worked FROM issue_steps") == [("terminal", "curl", 2, 1)]


@pytest.mark.parametrize("changed", [FIRST, SECOND])
def test_a_day_that_changes_has_another_revision(store: SqliteStore, changed: str) -> None:
    save(store, grade(ended_on=FIRST), grade(session_id="b", ended_on=SECOND))
    before = store.rollups.revisions()
    save(store, grade(session_id="c", ended_on=changed))
    after = store.rollups.revisions()
    assert {day.isoformat() for day in after if after[day] != before[day]} == {changed}


def test_groups_are_named_commonest_first(store: SqliteStore) -> None:
    save(
        store,
        grade(session_id="a", model="rare", ended_on="2026-11-21"),
        grade(session_id="b", model="often", ended_on="2026-11-21"),
        grade(session_id="c", model="often", ended_on="2026-10-21"),
        grade(session_id="d", model="only open", state=SessionState.OPEN),
    )
    assert store.rollups.names(Dimension.MODEL) == ["often", "rare"]


def test_a_group_without_sessions_sums_to_nothing(store: SqliteStore) -> None:
    assert store.rollups.group(Dimension.TOOL, "x", BOTH) == Sums()


def test_long_names_are_cut(store: SqliteStore) -> None:
    save(store, grade(ended_on=FIRST, model="m" * 500))
    assert (Dimension.MODEL, "m" * 120) in store.rollups.groups(BOTH, ALL)


def test_what_groups_used_and_cost_is_known_by_day(store: SqliteStore) -> None:
    spent = {"input_tokens": 100, "cache_read_tokens": 40, "output_tokens": 7, "cost_usd": 0.25}
    save(
        store,
        grade(session_id="a", model="large", ended_on=FIRST, **spent),
        grade(session_id="b", model="large", ended_on=SECOND, **spent),
        grade(session_id="c", model="large", ended_on=SECOND, kind=SessionKind.CRON, **spent),
        grade(session_id="d", model="small", ended_on=SECOND),
        grade(session_id="g", model="timed", ended_on=SECOND, kind=SessionKind.CRON, **spent),
        grade(session_id="e", model="open", ended_on=SECOND, state=SessionState.OPEN),
        grade(session_id="f", model="large", ended_on="2026-11-23", **spent),
    )

    found = store.rollups.spent(BOTH, Dimension.MODEL)

    told = {
        (str(day), name): (sums.finished, sums.side, sums.priced, sums.cost_millionths, sums.cache_read_tokens)
        for (day, name), sums in found.items()
    }
    assert told == {
        (FIRST, "large"): (1, 0, 1, 250_000, 40),
        (SECOND, "large"): (2, 1, 2, 500_000, 80),
        (SECOND, "small"): (1, 0, 0, 0, 0),
        (SECOND, "timed"): (1, 1, 1, 250_000, 40),
    }


def test_first_day_is_that_of_any_finished_session(store: SqliteStore) -> None:
    assert store.rollups.first_day() is None
    save(store, grade(session_id="open", ended_on="2026-11-01", state=SessionState.OPEN))
    assert store.rollups.first_day() is None
    save(store, grade(session_id="a", ended_on=SECOND), grade(session_id="b", ended_on=FIRST, kind=SessionKind.CRON))
    assert store.rollups.first_day() == date(2026, 11, 21)


def test_claims_are_counted_by_kind_result_and_model(store: SqliteStore) -> None:
    def said(name: str, *claims: tuple[ClaimKind, Support], **changes: object) -> Grade:
        told = tuple(Claim(kind, support, None, 3, ()) for kind, support in claims)
        return grade(session_id=name, claims=told, **{"ended_on": FIRST, "model": "m", **changes})

    tests, sent = ClaimKind.TESTS_PASSED, ClaimKind.SENT
    save(
        store,
        said("a", (tests, Support.VERIFIED), (tests, Support.CONTRADICTED)),
        said("b", (tests, Support.STALE), (sent, Support.VERIFIED), model=None),
        said("c", (tests, Support.VERIFIED), (tests, Support.VERIFIED)),
        said("none"),
        said("open", (tests, Support.CONTRADICTED), state=SessionState.OPEN),
        said("run", (tests, Support.CONTRADICTED), kind=SessionKind.CRON),
        said("before", (sent, Support.STALE), ended_on="2026-11-20"),
    )

    assert store.rollups.claims(BOTH) == (
        ClaimTally(
            kind=tests,
            sessions=3,
            supports={Support.VERIFIED: 2, Support.CONTRADICTED: 1, Support.STALE: 1},
            against={"m": 1, "unknown": 1},
        ),
        ClaimTally(kind=sent, sessions=1, supports={Support.VERIFIED: 1}, against={}),
    )
