"""What the thread does with paths in hand; what becomes of files is tested with the ingest, and from outside."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from grader_daemon.daemon import found_work
from grader_daemon.daemon import worker as worker_module
from grader_daemon.daemon.backlog import Backlog
from grader_daemon.daemon.found_work import Stride
from grader_daemon.daemon.health import Pulse
from grader_daemon.daemon.model_reload import ModelReload
from grader_daemon.daemon.queue import WorkQueue
from grader_daemon.daemon.worker import Worker
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.errors import StoreBusyError
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.pipeline.pace import QUIET_SECONDS_PER_BYTE, Pace
from grader_daemon.sources.file_reading import stamp_of
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock, SessionWriter
from tests.strategies import document, json_answer, json_user
from tests.units import hermes, unit, units
from tests.waiting import wait_until


class BusyOnce(ModelReload):
    """The database is busy when the worker looks for another policy, for as long as it is told to be."""

    busy = True

    def look(self) -> bool:
        if self.busy:
            raise StoreBusyError("database: locked by another program")
        return False


class World:
    """A worker of its own over a queue; nothing is found on disk, so only what is queued is graded."""

    def __init__(self, store: SqliteStore, ingest: Ingest, clock: Clock, root: Path) -> None:
        self.queue, self.ingest = WorkQueue(9), ingest
        ingest._helpers.most = 2
        self.backlog = Backlog(
            store=store,
            sources=hermes([root]),
            rules_version=ingest.examiner.rules_version,
            quiet_seconds=2,
            longest_pause=timedelta(hours=1),
            clock=clock,
            on_young=lambda _: None,
            on_scanned=lambda _: None,
        )
        self.watch = BusyOnce(store=store, ingest=ingest, backlog=self.backlog, make_policy=CompletionPolicy)
        self.batches = threading.Semaphore(0)
        self.crashes: list[Exception] = []
        self.early: list[tuple[Unit, float]] = []
        self.worker = Worker(
            queue=self.queue,
            backlog=self.backlog,
            ingest=ingest,
            batch_sessions=9,
            batch_seconds=0.1,
            pulse=Pulse("worker", patience_seconds=180, clock=lambda: 0.0),
            model_reload=self.watch,
            on_crash=lambda _, error: self.crashes.append(error),
            on_busy=lambda _: None,
            on_early=lambda one, seconds: self.early.append((one, seconds)),
            on_batch=self.batches.release,
        )


@pytest.fixture
def world(
    store: SqliteStore, ingest: Ingest, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    monkeypatch.setattr(worker_module, "_FIRST_PAUSE_SECONDS", 0.01)
    made = World(store, ingest, clock, tmp_path)
    made.worker.start(suspects=[])
    yield made
    assert made.worker.stop(60)


def test_what_was_in_hand_when_the_database_was_busy_is_graded_as_soon_as_it_is_not(
    world: World, store: SqliteStore, write_session: SessionWriter
) -> None:
    """Without a word to the next scan, which may be an hour away."""
    path = write_session([json_user(), json_answer()])
    world.queue.put([unit(path)])
    for _ in range(3):
        world.batches.acquire()
    assert store.unit_stamps([unit(path)])[0] is None

    world.watch.busy = False

    wait_until(lambda: store.unit_stamps([unit(path)])[0], "the grade")


def test_a_large_session_that_goes_on_waits_and_is_not_forgotten(
    world: World, store: SqliteStore, ingest: Ingest, clock: Clock, write_session: SessionWriter
) -> None:
    """It was written a moment ago by the clock, and has grown by less than half."""
    world.watch.busy = False
    path = write_session([json_user(), json_answer()])
    ingest._pace = Pace(quiet_seconds=1e-6)
    ingest.ingest([unit(path)], within_seconds=60)
    write_session([json_user(), json_answer("Done at last.")])
    clock.now = datetime.fromtimestamp(os.stat(path).st_mtime + 1e-5, UTC)

    world.queue.put([unit(path), unit(write_session([json_user(), json_answer()], session_id="other"))])

    wait_until(lambda: store.file_counts() == {"graded": 2}, "the other session")
    [(early, seconds)] = world.early
    assert early == unit(path)
    assert 0 < seconds <= QUIET_SECONDS_PER_BYTE * Path(path).stat().st_size
    assert store.unit_stamps([early])[0] != stamp_of(os.stat(path))


@pytest.mark.parametrize(
    ("alone_seconds", "by_helpers"),
    [pytest.param(0.0, True, id="that-lasts"), pytest.param(60.0, False, id="that-is-soon-done")],
)
def test_a_backlog_is_graded_by_helpers_if_it_lasts(
    world: World,
    store: SqliteStore,
    write_session: SessionWriter,
    monkeypatch: pytest.MonkeyPatch,
    *,
    alone_seconds: float,
    by_helpers: bool,
) -> None:
    monkeypatch.setattr(found_work, "_ALONE_SECONDS", alone_seconds)
    world.watch.busy = False
    paths = [write_session([json_user(), json_answer()], session_id=f"s{number}") for number in range(9)]

    world.queue.put(units(paths))

    wait_until(lambda: store.file_counts() == {"graded": 9}, "all of them")
    assert (world.ingest.helpers > 0) == by_helpers


def test_a_session_that_ends_need_not_wait_for_a_backlog_that_the_worker_grades_itself(
    world: World, store: SqliteStore, write_session: SessionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In no time one session of the backlog is examined, and saved alone."""
    monkeypatch.setattr(worker_module, "CALM", Stride(seconds=0.0, units=1, together=1))
    world.watch.busy = False
    paths = [write_session([json_user(), json_answer()], session_id=f"s{number}") for number in range(9)]
    live = unit(write_session([json_user(), json_answer()], session_id="live"))
    graded: list[int] = []
    """Sessions that are graded at the end of each turn, until the one is that ended."""

    def one_ends() -> None:
        if store.unit_stamps([live])[0] is None:
            graded.append(store.file_counts().get("graded", 0))
            world.queue.put([live] if graded[-1] == 1 else [])

    world.worker._on_batch = one_ends

    world.queue.put(units(paths))

    wait_until(lambda: store.file_counts() == {"graded": 10}, "all of them")
    assert graded[-1] == 1


def test_of_several_suspects_each_is_examined_alone(
    world: World, store: SqliteStore, write_session: SessionWriter
) -> None:
    world.watch.busy = False
    paths = [write_session([json_user(), json_answer()], session_id=f"s{number}") for number in range(2)]

    world.worker._suspects = units(paths)
    world.queue.wake()

    wait_until(lambda: store.file_counts() == {"graded": 2}, "both of them")
    assert world.ingest.helpers == 1


def test_what_was_found_is_graded_though_sessions_end_without_a_pause(
    world: World, store: SqliteStore, clock: Clock, write_session: SessionWriter
) -> None:
    """The queue is never empty, as on a machine that grades no faster than its agents write."""
    world.watch.busy = False
    found, live = (write_session([json_user(), json_answer()], session_id=name) for name in ("found", "live"))
    clock.now += timedelta(minutes=1)

    def one_more_ends() -> None:
        world.queue.put([unit(live)])

    world.worker._on_batch = one_more_ends
    world.backlog.request_scan()

    world.queue.put([unit(live)])

    wait_until(lambda: store.unit_stamps([unit(found)])[0], "the grade of what only a scan finds")


def test_memory_is_given_back_once_after_work_and_a_rest(
    world: World, monkeypatch: pytest.MonkeyPatch, write_session: SessionWriter, store: SqliteStore
) -> None:
    given: list[bool] = []
    monkeypatch.setattr(worker_module, "give_back_memory", lambda: given.append(world.worker.idle))
    monkeypatch.setattr(worker_module, "_REST_SECONDS", 0.05)
    world.watch.busy = False

    def turn_until_given(times: int) -> None:
        def turned() -> bool:
            world.queue.wake()
            return len(given) >= times

        wait_until(turned, "memory is given back")

    turn_until_given(1)
    path = write_session([json_user(), json_answer()])
    world.queue.put([unit(path)])
    turn_until_given(2)
    assert store.unit_stamps([unit(path)])[0]
    for _ in range(5):
        world.queue.wake()
        world.batches.acquire()
    assert len(given) == 2


@pytest.mark.parametrize(
    ("last", "outcomes"),
    [
        pytest.param(b"{{", {"retry_scheduled": 1}, id="in-vain"),
        pytest.param(document([json_user(), json_answer()]), {"graded": 1, "unsure": 1}, id="with-success"),
    ],
)
def test_a_file_that_is_tried_again_counts_once(
    world: World, store: SqliteStore, write_session: SessionWriter, last: bytes, outcomes: dict[str, int]
) -> None:
    world.watch.busy = False
    path = write_session(content=b"{")
    world.queue.put([unit(path)])
    wait_until(lambda: store.ledger_entry(unit(path)), "the first try")
    write_session(content=last)
    world.queue.put([unit(path)])
    wait_until(lambda: store.unit_stamps([unit(path)])[0] == stamp_of(os.stat(path)), "the second")
    assert world.worker.stop(60)
    world.worker.count_standing()

    assert +world.worker.outcomes == outcomes


def test_a_session_that_a_later_copy_stands_for_counts_once_in_the_end(
    world: World, clock: Clock, write_session: SessionWriter
) -> None:
    world.watch.busy = False
    old, copy = (write_session([json_user(), json_answer()], folder=folder) for folder in ("s", "t"))
    os.utime(copy, (clock.now.timestamp(), os.stat(old).st_mtime + 16))
    world.queue.put([unit(old)])
    wait_until(lambda: world.worker.outcomes["graded"] == 1, "the first")
    world.queue.put([unit(copy)])
    wait_until(lambda: world.worker.outcomes["graded"] == 2, "its copy")

    world.worker.count_standing()

    assert +world.worker.outcomes == {"graded": 1, "skipped": 1, "unsure": 1}
