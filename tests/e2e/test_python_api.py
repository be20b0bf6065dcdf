"""`SelfGrader` in other people's programs: from several threads, beside a running daemon."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader_daemon import Grade, GraderError, SelfGrader
from grader_daemon.errors import InputError, NoDatabaseError
from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE
from tests.e2e.session_files import path_of, turns, write, write_many
from tests.strategies import json_answer, json_round, json_user


@pytest.fixture
def grader(home: Path) -> Iterator[SelfGrader]:
    """On the database and root of `home`."""
    with SelfGrader(db_path=home / DATABASE, watch_roots=[home / ".timmy"]) as opened:
        yield opened


@pytest.mark.thorough
def test_several_threads_may_use_one_grader_beside_a_daemon(
    start_daemon: StartDaemon, grader: SelfGrader, sessions: Path, tmp_path: Path
) -> None:
    write_many(sessions, 800)
    own = [write(tmp_path / "own", f"own_{number:03}") for number in range(80)]
    daemon = start_daemon()
    daemon.wait_for_event("service.started")

    def ask(number: int) -> float:
        grader.insight.summary(days=1)
        grader.identify_patterns(days=1)
        grader.grades.select(limit=5)
        grader.status()
        grader.grade_session_file(own[number])
        return grader.get_task_score("debugging")

    with ThreadPoolExecutor(8) as threads:
        scores = list(threads.map(ask, range(80)))

    assert all(math.isnan(score) or 1 <= score <= 5 for score in scores)
    daemon.wait_for_count(880)
    assert daemon.query("SELECT path FROM session_files WHERE grades <> 1") == []
    assert daemon.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    assert daemon.events("store.failed") == []


def test_several_graders_at_once_agree(home: Path, sessions: Path) -> None:
    write_many(sessions, 100)

    def grade_all(_: int) -> int:
        with SelfGrader(db_path=home / DATABASE, watch_roots=[home / ".timmy"]) as own:
            own.grade_latest_sessions(n=100)
            return len(own.grades.select())

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(grade_all, range(4))) == [100] * 4


def test_the_latest_sessions_come_newest_first(grader: SelfGrader, sessions: Path) -> None:
    for number in (3, 1, 4, 0, 2):
        write(sessions, f"nr_{number}", age=1000 - 100 * number)

    first = grader.grade_latest_sessions(n=3)
    rest = grader.grade_latest_sessions(n=10)

    assert [grade.session_id for grade in first] == ["nr_4", "nr_3", "nr_2"]
    assert [grade.session_id for grade in rest] == ["nr_1", "nr_0"]
    assert grader.grade_latest_sessions(n=10) == []


def test_files_without_a_grade_do_not_count_among_the_latest(grader: SelfGrader, sessions: Path) -> None:
    write(sessions, "good", age=10)
    path_of(sessions, "bad").write_bytes(b"")
    (sessions / "request_dump_good_20261121_220000_000001.json").write_text("{}")

    assert [grade.session_id for grade in grader.grade_latest_sessions(n=1)] == ["good"]


def test_a_task_type_without_sessions_has_no_score(grader: SelfGrader, sessions: Path) -> None:
    with pytest.raises(NoDatabaseError):
        grader.get_task_score("debugging")

    write(sessions, "open", turns(1, task="Deploy the release", answer=None))
    grader.grade_latest_sessions()

    assert grader.insight.task_score("deployment") is None
    assert math.isnan(grader.get_task_score("deployment"))
    assert not grader.get_task_score("deployment") < 3
    with pytest.raises(InputError, match=r"^unknown task type 'no such type'; known: .*debugging, .*general"):
        grader.get_task_score("no such type")


def test_a_task_score_is_the_mean_of_its_sessions(grader: SelfGrader, sessions: Path) -> None:
    write(sessions, "worked")
    failed = json_round('{"output": "", "exit_code": 1, "error": null}')
    write(sessions, "failed", [json_user("Fix the parser"), *failed, json_answer("I could not fix it; it failed.")])

    grades = grader.grade_latest_sessions()

    assert grader.get_task_score("debugging") == pytest.approx(sum(grade.score or 0 for grade in grades) / 2)


def test_a_single_file_is_graded_and_stored(grader: SelfGrader, tmp_path: Path) -> None:
    grade = grader.grade_session_file(write(tmp_path / "elsewhere", "single"))

    assert isinstance(grade, Grade)
    assert grader.grades.find("sing").grade == grade


@pytest.mark.parametrize("whole", [None, b"", b"\xef\xbb\xbf{}", b"{}"], ids=["missing", "empty", "mark", "no-session"])
def test_a_file_without_a_grade_is_an_error_of_ours(grader: SelfGrader, tmp_path: Path, whole: bytes | None) -> None:
    file = path_of(tmp_path, "x")
    if whole is not None:
        file.write_bytes(whole)

    with pytest.raises(GraderError, match=r"session_x\.json") as caught:
        grader.grade_session_file(file)

    assert "\n" not in str(caught.value)


def test_what_the_daemon_grades_is_seen_at_once(start_daemon: StartDaemon, grader: SelfGrader, sessions: Path) -> None:
    daemon = start_daemon()
    daemon.wait_for_event("service.started")
    assert grader.grades.select() == []

    write(sessions, "seen")
    daemon.wait_for_grade("seen")

    assert [stored.grade.session_id for stored in grader.grades.select()] == ["seen"]
    assert grader.status().running
    assert grader.status().pid == daemon.pid
    assert "1 finished" in grader.get_grades_summary(days=1)


def test_settings_come_from_the_environment(home: Path, sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_DB_PATH", str(home / "grades.db"))
    monkeypatch.setenv("GRADER_WATCH_ROOTS", str(sessions))
    write(sessions, "here")

    with SelfGrader() as opened:
        assert len(opened.grade_latest_sessions()) == 1

    assert (home / "grades.db").exists()
