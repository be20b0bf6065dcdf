from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.daemon import model_reload
from grader_daemon.daemon.backlog import Backlog
from grader_daemon.daemon.model_reload import ModelReload
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock, SessionWriter
from tests.strategies import calibration, json_answer, json_user, model
from tests.units import hermes, unit


class World:
    """A watch over one database, and the policy that is in force."""

    def __init__(self, store: SqliteStore, ingest: Ingest, clock: Clock, root: Path) -> None:
        self.store = store
        self.ingest = ingest
        self.policy = CompletionPolicy()
        self.made = 0
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
        self.watch = ModelReload(store=store, ingest=ingest, backlog=self.backlog, make_policy=self._make)

    def adopt(self, policy: CompletionPolicy) -> None:
        with self.store.transaction():
            self.store.calibrations.add(calibration())
        self.policy = policy

    def _make(self) -> CompletionPolicy:
        self.made += 1
        return self.policy


@pytest.fixture
def world(store: SqliteStore, ingest: Ingest, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(model_reload, "_LOOK_SECONDS", 0.0)
    return World(store, ingest, clock, tmp_path)


def test_a_new_policy_grades_what_the_old_one_graded(world: World, write_session: SessionWriter) -> None:
    path = write_session([json_user(), json_answer()])
    world.ingest.ingest([unit(path)], within_seconds=60)
    world.watch.look()
    assert world.backlog.outdated(9) == []

    world.adopt(CompletionPolicy(model=model()))
    world.watch.look()

    assert world.ingest.examiner.rules_version.endswith("+m1.rules")
    assert [each.unit for each in world.backlog.outdated(9)] == [unit(path)]


def test_a_row_that_changes_nothing_gives_no_work(world: World) -> None:
    examiner = world.ingest.examiner
    world.watch.look()
    while world.backlog.busy:
        world.backlog.outdated(9)
    world.adopt(CompletionPolicy())
    world.watch.look()
    assert world.ingest.examiner is examiner
    assert not world.backlog.busy


def test_the_policy_is_made_only_when_something_was_adopted(world: World) -> None:
    for _ in range(3):
        world.watch.look()
    world.adopt(CompletionPolicy())
    world.watch.look()
    world.watch.look()
    assert world.made == 1


def test_one_that_only_another_version_can_read_is_looked_at_once(world: World) -> None:
    world.adopt(CompletionPolicy(model=model()))
    world.watch.look()
    with world.store.transaction():
        number = world.store.calibrations.add(calibration()).number
        world.store.connection.execute("UPDATE calibrations SET model = '{}' WHERE id = ?", (number,))

    world.watch.look()
    world.watch.look()

    assert world.made == 1
    assert world.store.calibrations.adopted() is not None


def test_it_does_not_look_at_every_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_reload, "_LOOK_SECONDS", 3600.0)
    world.watch.look()
    world.adopt(CompletionPolicy(model=model()))
    world.watch.look()
    assert world.made == 0


def test_asked_it_looks_at_once_and_says_whether_all_is_to_be_graded_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_reload, "_LOOK_SECONDS", 3600.0)
    world.watch.look()
    looks = []
    for policy in (CompletionPolicy(model=model()), CompletionPolicy(model=model())):
        world.adopt(policy)
        world.watch.ask()
        asked = world.watch.asked
        looks.append((asked, world.watch.look(), world.watch.asked))
    assert looks == [(True, True, False), (True, False, False)]
