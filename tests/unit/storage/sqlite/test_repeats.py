from __future__ import annotations

from datetime import datetime, timedelta
from itertools import permutations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.repeats import REACH, Asked, asked_again, changed_around, places_of
from grader_daemon.domain.session import SkipReason
from grader_daemon.pipeline import saving
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.examples import about
from tests.strategies import NOW, grade, new_grade

WITHIN = timedelta(hours=48)
HOUR = timedelta(hours=1)
REQUEST = 2**63 - 1


def asking(name: str, hours: float, *, request: int | None = REQUEST, lasts: timedelta = HOUR) -> Grade:
    """A session that began so many hours after now."""
    start = NOW + hours * HOUR
    return grade(session_id=name, session_start=start, ended_at=start + lasts, request=request)


def save(store: SqliteStore, *made: Grade, within: timedelta | None = WITHIN) -> None:
    with store.transaction():
        save_grades(store, [new_grade(one) for one in made], asked_again_within=within)


def retract(store: SqliteStore, session_id: str) -> None:
    with store.transaction():
        saving.retract(store, session_id, SkipReason.COPY, asked_again_within=WITHIN)


def marks(store: SqliteStore) -> dict[str, str]:
    """The sessions that were asked for again, and in which."""
    stored = [found.grade for found in store.grades.page(GradeFilter()).grades]
    return {grade.session_id: grade.asked_again for grade in stored if grade.asked_again is not None}


@pytest.mark.parametrize("together", [pytest.param(True, id="together"), pytest.param(False, id="one-by-one")])
@pytest.mark.parametrize("order", [pytest.param(order, id="".join(order)) for order in permutations("abc")])
def test_the_newest_asks_again_in_whatever_order_they_are_graded(
    store: SqliteStore, order: tuple[str, ...], together: bool
) -> None:
    sessions = {"a": asking("a", 0), "b": asking("b", 5), "c": asking("c", 20)}
    for batch in [order] if together else order:
        save(store, *(sessions[name] for name in batch))
    assert marks(store) == {"a": "c", "b": "c"}


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        pytest.param(asking("b", 1), {"a": "b"}, id="at-its-end"),
        pytest.param(asking("b", 49), {"a": "b"}, id="48-hours-later"),
        pytest.param(asking("b", 49.01), {}, id="more-than-48-hours-later"),
        pytest.param(asking("b", 0.9), {}, id="before-its-end"),
        pytest.param(asking("b", 5, request=7), {}, id="another-request"),
        pytest.param(asking("b", 5, request=None), {}, id="no-request"),
        pytest.param(msgspec.structs.replace(asking("b", 5), session_start=None), {}, id="without-a-start"),
        pytest.param(msgspec.structs.replace(asking("b", 5), ended_at=None), {}, id="without-an-end"),
    ],
)
def test_the_same_request_soon_after_the_end_asks_again(
    store: SqliteStore, later: Grade, expected: dict[str, str]
) -> None:
    save(store, asking("a", 0))
    save(store, later)
    assert marks(store) == expected


def test_a_session_that_goes_on_does_not_ask_again(store: SqliteStore) -> None:
    save(store, asking("a", 0))
    save(store, msgspec.structs.replace(asking("a", 0), session_start=NOW + 5 * HOUR, ended_at=NOW + 6 * HOUR))
    assert marks(store) == {}


def test_a_session_that_ends_later_than_it_was_asked_for_again_was_not(store: SqliteStore) -> None:
    save(store, asking("a", 0), asking("b", 5))
    save(store, asking("a", 0, lasts=10 * HOUR))
    assert marks(store) == {}


def test_a_retracted_session_asks_nothing_again(store: SqliteStore) -> None:
    save(store, asking("a", 0), asking("b", 5), asking("c", 20))
    retract(store, "c")
    assert marks(store) == {"a": "b"}
    retract(store, "b")
    assert marks(store) == {}


def test_retracting_what_is_not_there_changes_nothing(store: SqliteStore) -> None:
    save(store, asking("a", 0), asking("b", 5))
    retract(store, "c")
    assert marks(store) == {"a": "b"}


@pytest.mark.parametrize("request_of", [pytest.param(7, id="another-request"), pytest.param(None, id="none")])
def test_a_session_that_is_graded_again_with_another_request_asks_nothing_again(
    store: SqliteStore, request_of: int | None
) -> None:
    save(store, asking("a", 0), asking("b", 5))
    save(store, asking("b", 5, request=request_of))
    assert marks(store) == {}


def test_grading_again_keeps_what_was_asked_again(store: SqliteStore) -> None:
    save(store, asking("a", 0), asking("b", 5))
    save(store, asking("a", 0))
    assert marks(store) == {"a": "b"}


def test_saving_without_looking_leaves_what_is_there(store: SqliteStore) -> None:
    save(store, asking("a", 0), asking("b", 5))
    save(store, store.grades.find("a").grade, asking("c", 20), within=None)
    assert marks(store) == {"a": "b"}


def test_a_routine_is_no_asking_again_and_one_less_is_none(store: SqliteStore) -> None:
    save(store, *(asking(name, 2 * number) for number, name in enumerate("abc")))
    assert marks(store) == {"a": "c", "b": "c"}
    save(store, asking("d", 6))
    assert marks(store) == {}
    retract(store, "b")
    assert marks(store) == {"a": "d", "c": "d"}


@pytest.mark.parametrize("count", [pytest.param(100, id="few"), pytest.param(2_000, id="many")])
def test_a_session_costs_the_same_however_often_its_request_was_made(store: SqliteStore, count: int) -> None:
    save(store, *(asking(f"s{number:05}", number / 100) for number in range(count)))
    steps = 0

    def counted() -> bool:
        nonlocal steps
        steps += 1
        return False

    store.connection.set_progress_handler(counted, 100)
    save(store, asking("t", count / 200))
    store.connection.set_progress_handler(None)
    assert steps < 100


@settings(max_examples=about(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdefghij"), st.integers(0, 240), st.integers(0, 30), st.sampled_from([1, 2, None]),
            st.booleans(),
        ),
        max_size=25,
    )
)  # fmt: skip
def test_only_the_sessions_that_are_there_decide(
    store: SqliteStore, steps: list[tuple[str, int, int, int | None, bool]]
) -> None:
    for name in "abcdefghij":
        retract(store, name)
    there: dict[str, Grade] = {}
    for name, hours, lasts, request, stays in steps:
        if stays:
            there[name] = asking(name, hours, request=request, lasts=lasts * HOUR)
            save(store, there[name])
        else:
            there.pop(name, None)
            retract(store, name)
    assert marks(store) == _expected(there)


def _expected(there: dict[str, Grade]) -> dict[str, str]:
    expected = {}
    for request in (1, 2):
        made = [_asked(one) for one in there.values() if one.request == request]
        sessions = sorted(made, key=lambda one: (one.ended_at, one.session_id))
        for position, one in enumerate(sessions):
            name = asked_again(sessions, position, within=WITHIN)
            if name is not None:
                expected[one.session_id] = name
    return expected


def _asked(one: Grade) -> Asked:
    ended_at = one.ended_at
    assert isinstance(ended_at, datetime)
    return Asked(one.session_id, one.session_start, ended_at, None)


def test_a_request_of_many_is_settled_by_reading_a_few_rows(store: SqliteStore) -> None:
    """However many ended at the same moment; SQLite's machine takes about 20 steps for a row."""
    save(store, *(asking(f"s{number:03}", 0) for number in range(300)))
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 10
        return False

    [place] = places_of([asking("s150", 0)])
    with store.transaction():
        store.connection.set_progress_handler(count, 10)
        around = store.repeats.around(place, reach=REACH).around(place)
        assert around is not None
        store.repeats.note(changed_around(*around, within=WITHIN))
        store.connection.set_progress_handler(None)
    assert steps < 3_000
