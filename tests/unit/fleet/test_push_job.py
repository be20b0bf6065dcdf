"""Batches that are made while the server works on those before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from threading import Event
from typing import Any, cast

import pytest

from grader_daemon.errors import DeliveryError
from grader_daemon.fleet import push_job
from grader_daemon.fleet.push_job import FleetPush
from grader_daemon.fleet.server_sums import SummedDays
from grader_daemon.fleet.server_writes import HostRows
from grader_daemon.pipeline.saving import remove_copies, save_grades
from grader_daemon.storage.records import GradeColumns
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade

BATCH, SESSIONS = 2, 7
PATIENCE_SECONDS = 10


class Rows:
    """A server that keeps one column of rows, and does something while it works."""

    def __init__(self) -> None:
        self.there: dict[str, str] = {}
        self.place = 0
        self.days: dict[date, int] = {}
        self.while_it_is_told: Callable[[], None] = lambda: None
        self.while_it_works: Callable[[], None] = lambda: None

    def taken(self) -> int:
        return self.place

    def summed(self) -> dict[date, int]:
        return self.days

    def labels(self) -> list[Any]:
        return []

    def labels_sent(self) -> int:
        return 0

    def greet(self, *, newest: int) -> None:
        assert self.place == newest

    def close(self) -> None:
        pass

    def save(
        self,
        rows: Sequence[Sequence[Any]],
        gone: Sequence[str],
        *,
        after: int,
        seq: int,
        days: SummedDays,
        meanwhile: Callable[[], None],
        **_: Any,
    ) -> None:
        assert after == self.place
        self.while_it_is_told()
        meanwhile()
        self.while_it_works()
        self.there |= {name: model for name, model, _ in rows}
        for name in gone:
            self.there.pop(name, None)
        self.place = seq
        self.days |= days.revisions


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def made() -> list[Event]:
    """One event for each batch, which happens when that is made."""
    return [Event() for _ in range(SESSIONS)]


@pytest.fixture
def push(store: SqliteStore, rows: Rows, made: list[Event], monkeypatch: pytest.MonkeyPatch) -> Iterator[FleetPush]:
    monkeypatch.setattr(push_job, "_AT_ONCE", BATCH)
    left = iter(made)

    def make_rows(graded: GradeColumns) -> list[tuple[Any, ...]]:
        next(left).set()
        return list(zip(graded.columns["session_id"], graded.columns["model"], strict=True))

    for number in range(SESSIONS):
        _grade(store, number, model="first")
    push = FleetPush(store, cast(HostRows, rows), make_rows=make_rows, texts=False)
    yield push
    push.close()


def _grade(store: SqliteStore, number: int, *, model: str) -> None:
    with store.transaction():
        save_grades(store, [new_grade(grade(session_id=f"s{number}", session_file=f"/s{number}", model=model))])


def _sent(push: FleetPush) -> int:
    sent = 0
    while (done := push.run()).more:
        sent += done.sessions
    return sent


def test_the_next_batch_is_made_while_the_server_works(push: FleetPush, rows: Rows, made: list[Event]) -> None:
    seen = []
    rows.while_it_works = lambda: seen.append(made[1].wait(PATIENCE_SECONDS))

    push.run()

    assert seen == [True]


def test_no_batch_is_made_while_another_is_handed_over(push: FleetPush, rows: Rows, made: list[Event]) -> None:
    seen = []
    rows.while_it_is_told = lambda: seen.append(made[1].wait(0.05))

    push.run()

    assert (seen, made[1].is_set()) == ([False], True)


def test_what_changes_behind_a_batch_that_is_made_is_sent_again(
    store: SqliteStore, push: FleetPush, rows: Rows, made: list[Event]
) -> None:
    def change() -> None:
        assert made[1].wait(PATIENCE_SECONDS)
        rows.while_it_works = lambda: None
        _grade(store, 2, model="second")
        with store.transaction():
            remove_copies(store, ["s3"])

    rows.while_it_works = change

    _sent(push)

    assert rows.there == {"s0": "first", "s1": "first", "s2": "second", "s4": "first", "s5": "first", "s6": "first"}


def test_a_batch_that_was_not_taken_is_sent_again_before_the_next(push: FleetPush, rows: Rows) -> None:
    def refuse() -> None:
        rows.while_it_works = lambda: None
        raise DeliveryError("away")

    rows.while_it_works = refuse
    with pytest.raises(DeliveryError):
        push.run()

    assert _sent(push) == SESSIONS
    assert len(rows.there) == SESSIONS
