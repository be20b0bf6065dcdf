from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.ledger import FileState
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy
from grader_daemon.pipeline.commit import IngestOutcome, IngestResult
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.sources.file_reading import stamp_of
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import PAUSES, Clock, SessionWriter
from tests.priors import any_model
from tests.strategies import NOW, SESSION_ID, document, json_answer, json_round, json_user
from tests.units import unit, units

TURN = [json_user(), *json_round(call_id="call_4c637ca0beac"), json_answer()]
OPEN_TURN = TURN[:-1]
SUMMARY = json_user("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted")
BROKEN = document(TURN)[:200]
LONGEST = timedelta(days=365)
DOUBTER = CompletionPolicy(by=VerdictBy.MODEL, model=any_model(intercept=-1.0))


def take(ingest: Ingest, path: str) -> IngestResult:
    """Ingest one file."""
    (recorded,), _ = ingest.ingest([unit(path)], within_seconds=60)
    return recorded


def graded_files(store: SqliteStore) -> dict[str, str]:
    """Session ids, and the names of the files that their grades come from."""
    return {
        stored.grade.session_id: os.path.relpath(stored.grade.session_file, store.path.parent.parent)
        for stored in store.grades.page(GradeFilter()).grades
    }


def state_of(store: SqliteStore, path: str) -> tuple[str, str | None]:
    entry = store.ledger_entry(unit(path))
    assert entry is not None
    return entry.state, entry.reason


# -- trouble -----------------------------------------------------------------------------------------------------


def test_pauses_grow_and_then_the_file_is_given_up(
    ingest: Ingest, store: SqliteStore, clock: Clock, write_session: SessionWriter
) -> None:
    path = write_session(content=BROKEN)
    seen = []
    for _ in range(3):
        recorded = take(ingest, path)
        seen.append((recorded.outcome, recorded.attempts, recorded.retry_at and recorded.retry_at - clock.now))
        clock.now += timedelta(minutes=1)
    assert seen == [
        (IngestOutcome.RETRY_SCHEDULED, 1, PAUSES[0]),
        (IngestOutcome.RETRY_SCHEDULED, 2, PAUSES[1]),
        (IngestOutcome.QUARANTINED, 3, None),
    ]
    assert state_of(store, path) == (FileState.DEAD, "the JSON ends too early")


def test_a_file_in_trouble_is_due_when_its_pause_is_over(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session(content=BROKEN)
    take(ingest, path)
    assert store.due_units(NOW + PAUSES[0] - timedelta(seconds=1), longest_pause=LONGEST, limit=9) == []
    assert store.due_units(NOW + PAUSES[0], longest_pause=LONGEST, limit=9) == [unit(path)]


def test_without_hope_a_file_is_given_up_at_once(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    recorded = take(ingest, write_session(content=b"Dear diary"))
    assert (recorded.outcome, recorded.reason) == (IngestOutcome.QUARANTINED, "not JSON")
    assert store.due_units(NOW + timedelta(days=99), longest_pause=LONGEST, limit=9) == []


@pytest.mark.parametrize("tries", [pytest.param(1, id="in-trouble"), pytest.param(3, id="given-up")])
def test_a_file_is_alive_again_when_its_content_changes(
    tries: int, ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session(content=BROKEN)
    for _ in range(tries):
        take(ingest, path)
    write_session(TURN)
    assert take(ingest, path).outcome is IngestOutcome.GRADED
    assert state_of(store, path) == (FileState.GRADED, None)


def test_tries_are_counted_anew_when_the_content_changes(ingest: Ingest, write_session: SessionWriter) -> None:
    path = write_session(content=BROKEN)
    for _ in range(3):
        take(ingest, path)
    write_session(content=BROKEN + b" ")
    recorded = take(ingest, path)
    assert (recorded.outcome, recorded.attempts) == (IngestOutcome.RETRY_SCHEDULED, 1)


def test_what_cannot_be_looked_at_is_never_given_up(ingest: Ingest, tmp_path: Path) -> None:
    path = str(tmp_path / f"session_{'x' * 300}.json")
    happened = {take(ingest, path).outcome for _ in range(5)}
    assert happened == {IngestOutcome.RETRY_SCHEDULED}


def test_a_grade_outlives_trouble_with_its_file(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session(TURN)
    take(ingest, path)
    write_session(content=BROKEN)
    take(ingest, path)
    assert list(graded_files(store)) == [SESSION_ID]
    assert state_of(store, path)[0] == FileState.RETRY


def test_a_vanished_file_keeps_its_grade_and_is_not_due(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session(OPEN_TURN)
    take(ingest, path)
    os.unlink(path)
    assert take(ingest, path).outcome is IngestOutcome.VANISHED
    assert list(graded_files(store)) == [SESSION_ID]
    assert store.due_units(NOW + timedelta(days=99), longest_pause=LONGEST, limit=9) == []


def test_a_name_that_is_no_text_is_given_up_and_the_batch_goes_on(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter, tmp_path: Path
) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/session_\xff.json")
    Path(odd).write_bytes(document(TURN))
    recorded, taken = ingest.ingest(units([odd, write_session(TURN)]), within_seconds=60)
    assert (taken, [one.outcome for one in recorded]) == (2, [IngestOutcome.QUARANTINED, IngestOutcome.GRADED])
    assert state_of(store, f"{tmp_path}/session_\\xff.json")[0] == FileState.DEAD


def test_a_vanished_name_that_is_no_text_is_no_failure(ingest: Ingest, tmp_path: Path) -> None:
    assert take(ingest, os.fsdecode(os.fsencode(tmp_path) + b"/session_\xff.json")).outcome is IngestOutcome.VANISHED


# -- the same session twice --------------------------------------------------------------------------------------


def test_ingesting_twice_is_ingesting_once(ingest: Ingest, store: SqliteStore, write_session: SessionWriter) -> None:
    path = write_session(TURN)
    first = take(ingest, path)
    before = store.grades.page(GradeFilter()).grades
    second = take(ingest, path)
    assert (first.outcome, second.outcome) == (IngestOutcome.GRADED, IngestOutcome.UNCHANGED)
    assert store.grades.page(GradeFilter()).grades == before


def test_a_touched_file_is_not_graded_again(ingest: Ingest, store: SqliteStore, write_session: SessionWriter) -> None:
    path = write_session(TURN)
    take(ingest, path)
    os.utime(path, (NOW.timestamp() + 9, NOW.timestamp() + 9))
    assert take(ingest, path).outcome is IngestOutcome.UNCHANGED
    stamp = store.unit_stamps([unit(path)])[0]
    assert stamp == stamp_of(os.stat(path))


def test_a_session_that_goes_on_is_graded_again(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session(OPEN_TURN)
    take(ingest, path)
    write_session(TURN)
    take(ingest, path)
    (stored,) = store.grades.page(GradeFilter()).grades
    assert (stored.grade.state, stored.id) == ("complete", 1)


@pytest.mark.parametrize("copied", [pytest.param("sessions/t", id="below"), pytest.param("t/a", id="any-folder")])
def test_a_copied_file_is_a_copy(copied: str, ingest: Ingest, store: SqliteStore, write_session: SessionWriter) -> None:
    take(ingest, write_session(TURN))
    copy = write_session(TURN, folder=copied)
    recorded = take(ingest, copy)
    assert (recorded.outcome, recorded.reason, recorded.session_id) == (IngestOutcome.SKIPPED, "copy", SESSION_ID)
    assert graded_files(store) == {SESSION_ID: f"sessions/session_{SESSION_ID}.json"}


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_equal_files_of_a_session_the_one_written_later_counts(
    newer_first: bool, ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    old = write_session(TURN)
    new = write_session(TURN, folder="written/later")
    os.utime(new, (NOW.timestamp() + 16, NOW.timestamp() + 16))
    for path in (new, old) if newer_first else (old, new):
        take(ingest, path)
    assert graded_files(store) == {SESSION_ID: f"written/later/session_{SESSION_ID}.json"}
    assert (state_of(store, old), state_of(store, new)[0]) == ((FileState.SKIPPED, "copy"), FileState.GRADED)


def test_a_copy_that_is_touched_is_the_one_written_later(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    old = write_session(TURN)
    copy = write_session(TURN, folder="t")
    for path in (old, copy):
        take(ingest, path)
    os.utime(copy, (NOW.timestamp() + 16, NOW.timestamp() + 16))
    assert take(ingest, copy).outcome is IngestOutcome.GRADED
    assert state_of(store, old) == (FileState.SKIPPED, "copy")


def test_a_moved_session_that_goes_on_elsewhere_leaves_no_grade_behind_when_it_is_superseded(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    """All is decided before anything is done: the old file has lost the session, and a later link has ended it."""
    old = write_session(TURN, session_id="link0", last_updated="2026-11-21T22:00:00.5")
    later = write_session(TURN, session_id="link1", last_updated="2026-11-21T22:00:01.5")
    ingest.ingest(units([old, later]), within_seconds=60)
    assert sorted(graded_files(store)) == ["link0", "link1"]
    os.unlink(old)
    on = write_session(OPEN_TURN, folder="moved", session_id="link0", last_updated="2026-11-21T22:00:00.7")
    assert take(ingest, on).reason == "superseded"
    assert list(graded_files(store)) == ["link1"]
    assert state_of(store, old) == state_of(store, on) == (FileState.SKIPPED, "superseded")


def test_a_copy_that_is_read_when_its_session_is_superseded_already_does_not_bring_it_back(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    """The copy was answered, the session itself went on and was left open: its own file is asked once more."""
    own = write_session(OPEN_TURN, session_id="link0", last_updated="2026-11-21T22:00:00.7")
    later = write_session(TURN, session_id="link1", last_updated="2026-11-21T22:00:01.5")
    ingest.ingest(units([own, later]), within_seconds=60)
    copy = write_session(TURN, folder="backup", session_id="link0", last_updated="2026-11-21T22:00:00.5")
    take(ingest, copy)
    assert store.due_units(NOW, longest_pause=LONGEST, limit=9) == [unit(own)]
    take(ingest, own)
    assert list(graded_files(store)) == ["link1"]
    assert store.due_units(NOW, longest_pause=LONGEST, limit=9) == []


def test_a_moved_file_takes_over(ingest: Ingest, store: SqliteStore, write_session: SessionWriter) -> None:
    old = write_session(TURN)
    take(ingest, old)
    new = write_session(TURN, folder="moved")
    os.unlink(old)
    assert take(ingest, new).outcome is IngestOutcome.GRADED
    assert graded_files(store) == {SESSION_ID: f"moved/session_{SESSION_ID}.json"}
    assert store.ledger_entry(unit(old)) is None


def test_a_file_that_was_away_takes_over_again_from_an_older_copy(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter, tmp_path: Path
) -> None:
    own = write_session(TURN, last_updated="2026-11-21T22:05:00.5")
    copy = write_session(OPEN_TURN, folder="backup")
    away = tmp_path / "away.json"
    take(ingest, own)
    os.rename(own, away)
    take(ingest, copy)
    ingest.ingest(store.due_units(NOW, longest_pause=LONGEST, limit=9), within_seconds=60)
    assert list(graded_files(store).values()) == [f"backup/session_{SESSION_ID}.json"]
    os.rename(away, own)
    take(ingest, own)
    assert list(graded_files(store).values()) == [f"sessions/session_{SESSION_ID}.json"]


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_two_files_of_a_session_the_newer_counts(
    newer_first: bool, ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    old = write_session(OPEN_TURN, folder="old")
    new = write_session(TURN, folder="new", last_updated="2026-11-21T22:05:00.5")
    for path in (new, old) if newer_first else (old, new):
        take(ingest, path)
    assert graded_files(store) == {SESSION_ID: f"new/session_{SESSION_ID}.json"}
    assert (state_of(store, old), state_of(store, new)[0]) == ((FileState.SKIPPED, "copy"), FileState.GRADED)


@pytest.mark.parametrize("fork_first", [True, False])
def test_a_file_of_another_name_never_stands_for_the_session(
    fork_first: bool, ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    own = write_session(OPEN_TURN)
    fork = write_session(TURN, name="session_20261121_220009_ffffff.json", last_updated="2026-11-21T23:00:00.5")
    for path in (fork, own) if fork_first else (own, fork):
        take(ingest, path)
    assert graded_files(store) == {SESSION_ID: f"sessions/session_{SESSION_ID}.json"}
    assert state_of(store, fork) == (FileState.SKIPPED, "copy")


@pytest.mark.parametrize("copy_first", [True, False])
def test_the_old_conversation_under_a_new_id_is_a_copy(
    copy_first: bool, ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    own = write_session(TURN)
    later = {"session_start": "2026-11-21T22:10:00.5", "last_updated": "2026-11-21T22:11:00.5"}
    copy = write_session(TURN, session_id="later", **later)
    fallen = [one for path in ((copy, own) if copy_first else (own, copy)) for one in take(ingest, path).fallen]
    assert fallen == ([("later", "copy")] if copy_first else [])
    assert list(graded_files(store)) == [SESSION_ID]
    assert state_of(store, copy) == (FileState.SKIPPED, "copy")


def chain(write_session: SessionWriter, links: int) -> list[str]:
    """A compression chain: all links but the last are left open, the last sums them up and answers."""
    paths = []
    for number in range(links):
        last = number == links - 1
        messages = (
            [json_user(), SUMMARY, *json_round(), json_answer()]
            if last
            else [json_user(), *json_round() * (number + 1)]
        )
        stamp = f"2026-11-21T22:00:{number:02}.5"
        paths.append(write_session(messages, session_id=f"link{number}", last_updated=stamp))
    return paths


@pytest.mark.parametrize("batch", [1, 2, 5])
@pytest.mark.parametrize("seed", range(6))
def test_of_a_compression_chain_the_last_link_is_graded_in_any_order(
    seed: int, batch: int, ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    paths = chain(write_session, 5)
    order = random.Random(seed).sample(paths, len(paths))
    for start in range(0, len(order), batch):
        ingest.ingest(units(order[start : start + batch]), within_seconds=60)
    assert list(graded_files(store)) == ["link4"]
    assert [state_of(store, path) for path in paths[:-1]] == [(FileState.SKIPPED, "superseded")] * 4
    assert store.file_counts() == {"graded": 1, "skipped": 4}


def test_superseded_links_are_told(ingest: Ingest, write_session: SessionWriter) -> None:
    first, second = chain(write_session, 2)
    take(ingest, first)
    recorded = take(ingest, second)
    assert (recorded.outcome, recorded.fallen) == (IngestOutcome.GRADED, (("link0", "superseded"),))


def test_a_superseded_link_is_not_due_again(ingest: Ingest, store: SqliteStore, write_session: SessionWriter) -> None:
    for path in chain(write_session, 3):
        take(ingest, path)
    assert store.due_units(NOW + timedelta(days=99), longest_pause=LONGEST, limit=9) == []


def test_a_grade_that_is_superseded_after_a_rewrite_is_taken_back(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    older, newer = chain(write_session, 2)
    take(ingest, newer)
    take(ingest, older)
    write_session([json_user(), *json_round() * 3], session_id="link0", last_updated="2026-11-21T22:00:00.9")
    take(ingest, older)
    assert list(graded_files(store)) == ["link1"]
    assert state_of(store, older) == (FileState.SKIPPED, "superseded")


@pytest.mark.parametrize("seed", range(6))
def test_a_batch_comes_to_the_same_as_one_file_after_the_other(
    seed: int, ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    failing = [json_user(), *json_round('{"error": "File not found: a"}') * 2, json_answer()]
    paths = [
        *chain(write_session, 3),
        write_session(failing, folder="old"),
        write_session(TURN, folder="new", last_updated="2026-11-21T22:05:00.5"),
        write_session(TURN, name="session_20261121_220009_ffffff.json", last_updated="2026-11-21T23:00:00.5"),
        write_session(content=BROKEN, name="session_broken.json"),
        write_session([json_user("Deploy"), json_answer()], session_id="alone"),
    ]
    ingest.ingest(random.Random(seed).sample(units(paths), len(paths)), within_seconds=60)
    assert graded_files(store) == {
        "link2": "sessions/session_link2.json",
        SESSION_ID: f"new/session_{SESSION_ID}.json",
        "alone": "sessions/session_alone.json",
    }
    assert store.rows("SELECT * FROM session_failures") == []
    assert store.file_counts() == {"graded": 3, "skipped": 4, "retry": 1}


def test_failures_of_an_earlier_grade_are_gone(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    failing = [json_user(), *json_round('{"error": "File not found: a"}') * 2, json_answer()]
    take(ingest, write_session(failing))
    take(ingest, write_session(TURN))
    (stored,) = store.grades.page(GradeFilter()).grades
    assert (stored.grade.total_errors, stored.grade.failures) == (0, ())


# -- another policy -----------------------------------------------------------------------------------------------


def with_policy(ingest: Ingest, policy: CompletionPolicy) -> str:
    ingest.examiner = ingest.examiner.with_policy(policy)
    return ingest.examiner.rules_version


def test_another_policy_grades_a_file_again(ingest: Ingest, store: SqliteStore, write_session: SessionWriter) -> None:
    path = write_session(TURN)
    take(ingest, path)
    version = with_policy(ingest, DOUBTER)
    assert take(ingest, path).outcome is IngestOutcome.GRADED
    [stored] = store.grades.page(GradeFilter()).grades
    assert (stored.grade.task_completed, stored.grade.rules_version) == (False, version)


@pytest.mark.parametrize(
    "lose",
    [
        pytest.param(os.unlink, id="it-is-gone"),
        pytest.param(lambda path: Path(path).write_bytes(BROKEN), id="it-cannot-be-read"),
    ],
)
def test_a_session_without_its_file_is_judged_by_what_is_kept_of_it(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter, lose: Callable[[str], object]
) -> None:
    path = write_session(TURN)
    take(ingest, path)
    [before] = store.grades.page(GradeFilter()).grades
    version = with_policy(ingest, DOUBTER)
    lose(path)
    take(ingest, path)
    [after] = store.grades.page(GradeFilter()).grades
    assert after.grade == ingest.examiner.redecide(before.grade)
    assert (after.grade.task_completed, after.grade.rules_version) == (False, version)
    assert store.rollups.group(Dimension.OVERALL, "", Span(date.min, date.max)).completed == 0
    assert store.outdated_units(version, after=None, limit=9) == []


def test_a_file_that_is_gone_changes_nothing_under_the_same_policy(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session(TURN)
    take(ingest, path)
    before = store.grades.page(GradeFilter()).grades
    os.unlink(path)
    assert take(ingest, path).outcome is IngestOutcome.VANISHED
    assert store.grades.page(GradeFilter()).grades == before


def test_a_file_that_nobody_knows_may_be_gone(ingest: Ingest, store: SqliteStore, tmp_path: Path) -> None:
    assert take(ingest, str(tmp_path / "session_never.json")).outcome is IngestOutcome.VANISHED
    assert store.grades.page(GradeFilter()).grades == []
