"""From files to stored grades, by a clock of the test."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grading import Grading
from grader_daemon.errors import InputError
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock, SessionWriter
from tests.strategies import NOW, json_answer, json_user
from tests.units import unit

TURN = [json_user(), json_answer()]


@pytest.fixture
def grading(context: GraderContext) -> Grading:
    return Grading(context)


def test_a_grade_is_made_when_the_clock_says(grading: Grading, write_session: SessionWriter, clock: Clock) -> None:
    clock.now = NOW + timedelta(days=2)

    assert grading.grade_file(write_session(TURN)).graded_at == clock.now


def test_a_file_that_is_gone_is_refused(grading: Grading, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing\\.json"):
        grading.grade_file(tmp_path / "nothing.json")


def test_a_try_stores_nothing(grading: Grading, store: SqliteStore, write_session: SessionWriter) -> None:
    path = write_session(TURN)

    [(row_id, tried)] = grading.grade_paths([path], dry_run=True).grades

    assert (row_id, tried.session_file) == (None, path)
    assert store.grades.stored([tried.session_id]) == {}
    assert store.ledger_entry(unit(path)) is None


def test_a_try_passes_over_copies_as_grading_does(grading: Grading, write_session: SessionWriter) -> None:
    path = write_session(TURN, session_id="s1")
    copy = str(Path(path).with_name("session_copy.json"))
    shutil.copy(path, copy)

    tried = grading.grade_paths([path, copy], dry_run=True)
    graded = grading.grade_paths([path, copy])

    assert [grade.session_file for _, grade in tried.grades] == [grade.session_file for _, grade in graded.grades]
    assert tried.skipped == graded.skipped == [(copy, "copy")]


def test_the_latest_come_first_and_each_once(grading: Grading, write_session: SessionWriter) -> None:
    for number in range(3):
        path = write_session([json_user(f"Task {number}"), json_answer()], session_id=f"s{number}")
        os.utime(path, ns=(0, number * 10**9))

    assert [grade.session_id for grade in grading.grade_latest(2)] == ["s2", "s1"]
    assert [grade.session_id for grade in grading.grade_latest(2)] == ["s0"]
    assert grading.grade_latest(2) == []


def test_a_file_that_was_written_to_waits_again(grading: Grading, write_session: SessionWriter) -> None:
    path = write_session(TURN)
    grading.grade_file(path)
    before = grading.ungraded_files()
    write_session([*TURN, *TURN])

    assert before == []
    assert [file.unit.locator for file in grading.ungraded_files()] == [path]


def test_files_written_before_a_moment_are_passed_over(grading: Grading, write_session: SessionWriter) -> None:
    path = write_session(TURN)
    os.utime(path, ns=(0, int(NOW.timestamp()) * 10**9))

    assert len(grading.ungraded_files(since=NOW)) == 1
    assert grading.ungraded_files(since=NOW + timedelta(seconds=1)) == []


def test_what_could_not_be_graded_is_told_apart_from_what_was_skipped(
    grading: Grading, write_session: SessionWriter
) -> None:
    good = write_session(TURN)
    broken, note = Path(good).with_name("session_broken.json"), Path(good).with_name("notes.txt")
    broken.write_text('{"session_id": "broken", "messages": 7}')
    note.write_text("a note")

    done = grading.grade_paths([good, broken, note])

    assert [grade.session_file for _, grade in done.grades] == [good]
    assert [Path(file).name for file, _ in done.errors + done.skipped] == ["session_broken.json", "notes.txt"]


def test_what_one_source_left_is_found_alone_and_though_it_is_not_enabled(
    tmp_path: Path, write_session: SessionWriter
) -> None:
    path = write_session([json_user(), json_answer()])
    rollouts = tmp_path / "rollouts"
    rollouts.mkdir()
    settings = load_settings(
        db_path=tmp_path / "g.db", watch_roots=[tmp_path / "sessions"], codex_roots=[rollouts], sources=["hermes"]
    )
    with SelfGrader(settings=settings) as grader:
        assert [each.unit.locator for each in grader.grading.ungraded_files(source="hermes")] == [path]
        assert grader.grading.ungraded_files(source="codex") == []
        rollouts.rmdir()
        with pytest.raises(InputError, match="rollouts: no such folder"):
            grader.grading.ungraded_files(source="codex")
