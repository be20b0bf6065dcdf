"""Many sessions in one file, on their whole way: found, waiting, graded, known, read again, changed, gone.

Expected values follow from what `tests.lines_source` writes: a line is a session, and notes touch all of a file.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.daemon.backlog import Backlog
from grader_daemon.daemon.queue import WorkQueue
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.errors import VanishedFileError
from grader_daemon.pipeline.absence import absences
from grader_daemon.pipeline.commit import Commit, IngestOutcome
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.pipeline.ingest import Ingest, backfill
from grader_daemon.pipeline.rereading import read_again
from grader_daemon.sources.hermes.hermes_source import HermesSnapshots
from grader_daemon.sources.named_paths import named_units
from grader_daemon.sources.protocol import Sources, UnknownKinds
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import IDLE, LIMITS, PAUSES, Clock, SessionWriter
from tests.lines_source import NAME, Line, Lines, LinesInside, write_lines
from tests.strategies import json_answer, json_user

GRADED, UNCHANGED, VANISHED = IngestOutcome.GRADED, IngestOutcome.UNCHANGED, IngestOutcome.VANISHED


class World:
    """Two sources below one root, and all that the daemon does with what it finds there."""

    def __init__(
        self, root: Path, store: SqliteStore, clock: Clock, rules: Rules, *, lines: type[Lines] = Lines
    ) -> None:
        self.root, self.store, self.clock = root, store, clock
        self.file = root / "sessions" / "all.lines"
        self.sources = Sources([HermesSnapshots([str(root)], zone=None, limits=LIMITS), lines([root])])
        examiner = Examiner(rules, CompletionPolicy(), self.sources, zone=None, idle=IDLE, limits=LIMITS)
        self.queue = WorkQueue(100)
        self.ingest = Ingest(
            examiner=examiner,
            recorder=Commit(store, retry_pauses=PAUSES, asked_again_within=timedelta(0)),
            store=store,
            clock=clock,
            on_unknown=lambda unknown, examined: self.unknown.extend([(unknown, examined.unit.key)] if unknown else []),
        )
        self.again = Ingest(
            examiner=examiner,
            recorder=Commit(store, retry_pauses=PAUSES, asked_again_within=timedelta(0)),
            store=store,
            clock=clock,
            again=True,
        )
        self.unknown: list[tuple[UnknownKinds, str]] = []
        self.backlog = Backlog(
            store=store,
            sources=self.sources,
            rules_version=examiner.rules_version,
            quiet_seconds=0,
            longest_pause=timedelta(days=9),
            clock=clock,
            on_young=lambda one: pytest.fail(f"{one} is young"),
            on_scanned=lambda _: None,
        )

    def write(self, *lines: Line, project: str | None = None) -> None:
        write_lines(self.file, *lines, project=project)

    def quiet(self, path: Path) -> dict[str, IngestOutcome]:
        """A file is quiet: its units wait, and are ingested."""
        self.queue.put(self.sources.touched(str(path)))
        return self.take(self.queue.take(100, wait=False))

    def scan(self) -> dict[str, IngestOutcome]:
        """Ingest what the daemon finds by itself."""
        self.backlog.request_scan()
        done: dict[str, IngestOutcome] = {}
        while self.backlog.busy:
            done |= self.take([*self.backlog.take(3), *self._outdated(3)])
        return done

    def _outdated(self, limit: int) -> list[Unit]:
        """Return units that other rules graded."""
        found = self.backlog.outdated(limit)
        self.backlog.pass_outdated(found)
        return [each.unit for each in found]

    def take(self, units: list[Unit]) -> dict[str, IngestOutcome]:
        recorded, _ = self.ingest.ingest(units, within_seconds=60)
        return {one.unit.key: one.outcome for one in recorded}

    def graded(self) -> dict[str, Unit]:
        grades = self.store.grades.page(GradeFilter()).grades
        return {one.grade.session_id: one.grade.unit for one in grades}

    def unit(self, key: str) -> Unit:
        return Unit(NAME, str(self.file), key)


@pytest.fixture
def world(tmp_path: Path, store: SqliteStore, clock: Clock, rules: Rules) -> World:
    (tmp_path / "sessions").mkdir()
    return World(tmp_path, store, clock, rules)


A, B, C = (Line(name, asked=(f"Fix the parser {name}",)) for name in "abc")


def test_each_session_of_a_file_has_its_own_grade_and_row(world: World) -> None:
    world.write(A, B, C)

    assert world.scan() == {"a": GRADED, "b": GRADED, "c": GRADED}

    assert world.graded() == {name: world.unit(name) for name in "abc"}
    assert world.store.file_counts() == {"graded": 3}
    assert world.scan() == {}


def test_beside_files_of_another_source_each_is_read_by_its_own(world: World, write_session: SessionWriter) -> None:
    world.write(A)
    write_session([json_user(), json_answer()], session_id="of-hermes")

    world.scan()

    assert {name: unit.source for name, unit in world.graded().items()} == {"a": NAME, "of-hermes": "hermes"}


def test_a_change_of_the_file_touches_all_and_grades_the_one_that_changed(world: World) -> None:
    world.write(A, B)
    world.quiet(world.file)
    world.write(A, Line("b", asked=(*B.asked, "And the tests"), minutes=2))

    assert world.quiet(world.file) == {"a": UNCHANGED, "b": GRADED}
    assert dict(world.store.rows("SELECT key, grades FROM session_files")) == {"a": 1, "b": 2}


def test_a_scan_gives_only_the_session_whose_stamp_differs(world: World) -> None:
    world.write(A, B)
    world.scan()
    world.write(A, B, C)

    assert world.scan() == {"c": GRADED}


def test_several_files_touch_a_unit(world: World) -> None:
    world.write(A, B)
    world.quiet(world.file)
    notes = world.file.with_suffix(".notes")
    notes.write_text("/work/parser")

    assert world.quiet(notes) == {"a": GRADED, "b": GRADED}

    projects = {one.grade.project for one in world.store.grades.page(GradeFilter()).grades}
    assert projects == {"/work/parser"}


def test_a_unit_waits_once_however_often_its_files_change(world: World) -> None:
    world.write(A, B)
    for path in (world.file, world.file.with_suffix(".notes"), world.file):
        world.queue.put(world.sources.touched(str(path)))

    assert len(world.queue) == 2


def test_a_grade_is_read_again_from_its_own_unit(world: World) -> None:
    world.write(A, B)
    world.scan()

    for name in "ab":
        grade = world.store.grades.find(name).grade
        again = read_again(grade, world.sources)
        assert (again.session.session_id, again.session.unit) == (name, world.unit(name))
        assert again.digest == world.store.grades.find(name).digest


def test_a_session_that_is_gone_keeps_its_grade_and_the_others_are_as_they_were(world: World) -> None:
    world.write(A, B)
    world.scan()
    world.write(A)

    assert world.take([world.unit("a"), world.unit("b")]) == {"a": UNCHANGED, "b": VANISHED}

    grade = world.store.grades.find("b").grade
    with pytest.raises(VanishedFileError):
        read_again(grade, world.sources)
    assert set(world.graded()) == {"a", "b"}


def test_what_had_no_grade_and_is_gone_is_forgotten(world: World) -> None:
    world.write(A, Line("nothing-asked"))
    world.scan()
    before = world.store.file_counts()
    world.write(A)

    world.scan()

    assert (before, world.store.file_counts()) == ({"graded": 1, "skipped": 1}, {"graded": 1})


def test_the_same_session_in_two_files_is_graded_from_one(world: World) -> None:
    world.write(A)
    copy = world.file.with_name("copy.lines")
    world.scan()
    write_lines(copy, Line("a", asked=A.asked, minutes=5))
    world.scan()
    assert world.graded() == {"a": Unit(NAME, str(copy), "a")}

    copy.unlink()
    again = [unit for absence in absences(world.store, world.sources) for unit in absence.again]

    assert again == [world.unit("a")]
    assert world.take(again) == {"a": GRADED}
    assert world.graded() == {"a": world.unit("a")}


def test_units_are_graded_again_one_by_one(world: World) -> None:
    world.write(A, B)
    world.scan()

    [recorded] = backfill([world.unit("b")], world.again, batch=9)

    assert [(one.unit, one.path) for one in recorded] == [(world.unit("b"), f"{world.file}#b")]


def test_a_file_that_a_person_names_is_all_its_units(world: World) -> None:
    world.write(A, B)

    units, empty = named_units([str(world.file)], world.sources)
    below, _ = named_units([str(world.root)], world.sources)

    assert (units, below, empty) == ([world.unit("a"), world.unit("b")], units, [])


@pytest.fixture
def within(tmp_path: Path, store: SqliteStore, clock: Clock, rules: Rules) -> World:
    """A world in which only reading shows all sessions of a file."""
    (tmp_path / "sessions").mkdir()
    return World(tmp_path, store, clock, rules, lines=LinesInside)


def test_sessions_that_only_reading_shows_are_graded_with_the_one_that_was_read(within: World) -> None:
    within.write(A, B, C)

    assert within.scan() == {"a": GRADED, "b": GRADED, "c": GRADED}
    assert within.graded() == {name: within.unit(name) for name in "abc"}
    assert within.scan() == {}


def test_when_the_file_changes_they_are_read_again(within: World) -> None:
    within.write(A, B)
    within.quiet(within.file)
    within.write(Line("a", asked=(*A.asked, "And the tests"), minutes=2), B, C)

    assert within.quiet(within.file) == {"a": GRADED, "b": UNCHANGED, "c": GRADED}


def test_when_the_file_is_gone_so_are_their_rows_and_the_grades_stay(within: World) -> None:
    within.write(A, Line("b"))
    within.quiet(within.file)
    within.file.unlink()

    within.scan()

    assert dict(within.store.rows("SELECT key, state FROM session_files")) == {"a": "graded"}
    assert list(within.graded()) == ["a"]


def test_they_are_regraded_with_it(within: World) -> None:
    within.write(A, B)
    batches = backfill([within.unit("a")], within.again, batch=5)

    assert [(one.unit.key, one.outcome) for some in batches for one in some] == [("a", GRADED), ("b", GRADED)]


def test_more_of_them_than_can_be_read_are_refused(within: World) -> None:
    within.write(*(Line(str(number), asked=("Fix it",)) for number in range(1_002)))

    assert within.quiet(within.file) == {"0": IngestOutcome.QUARANTINED}


def test_what_a_source_passes_over_is_told(within: World) -> None:
    within.write(A, B)
    within.quiet(within.file)

    assert within.unknown == [(UnknownKinds("1.2", ("news",)), "a")]
