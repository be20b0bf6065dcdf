from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy
from grader_daemon.errors import StoreError
from grader_daemon.pipeline import ingest as ingest_module
from grader_daemon.pipeline.commit import IngestOutcome, IngestResult
from grader_daemon.pipeline.examine import BusyUnit, Examiner, GradedUnit, VanishedUnit
from grader_daemon.pipeline.ingest import Ingest, backfill
from grader_daemon.pipeline.rereading import read_again
from grader_daemon.rules import load_rules
from grader_daemon.sources.file_reading import found_file, stamp_of
from grader_daemon.storage.records import GradeFilter, NewGrade, StoredGrade
from grader_daemon.storage.sqlite.grades import Grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.any_file import broken_files, session_files
from tests.conftest import PAUSES, Clock, SessionWriter
from tests.priors import any_model
from tests.strategies import NOW, file_contents, json_answer, json_user, status
from tests.units import hermes, unit, units

TURN = [json_user(), json_answer()]
BUG = "integer overflow"
any_number = st.integers() | st.sampled_from(
    [sign * 2**power + off for power in (63, 64) for sign in (1, -1) for off in (-1, 0, 1)]
)
any_status = st.builds(
    status, device=any_number, inode=any_number, size=any_number, mtime_ns=any_number, ctime_ns=any_number
)
any_name = st.binary(max_size=200).map(lambda name: name.replace(b"/", b"").replace(b"\0", b""))


def test_a_batch_is_saved_together(ingest: Ingest, store: SqliteStore, write_session: SessionWriter) -> None:
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(5)]
    recorded, taken = ingest.ingest(units(paths), within_seconds=60)
    assert (taken, [one.path for one in recorded]) == (5, paths)
    assert store.file_counts() == {"graded": 5}


def test_sessions_whose_ids_differ_in_a_secret_have_a_grade_each_that_is_found_by_the_id_shown(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    ids = [f"web?token=a1b2c3d4e5f6g{number}\x00" for number in range(3)]
    paths = [
        write_session([json_user(told), json_answer()], name=f"session_{told[-2]}.json", session_id=told)
        for told in ids
    ]

    ingest.ingest(units(paths), within_seconds=60)

    graded = [stored.grade for stored in store.grades.page(GradeFilter()).grades]
    assert len(graded) == 3
    assert all(store.grades.find(grade.session_id).grade == grade for grade in graded)
    assert all(read_again(grade, hermes()).session.session_id == grade.session_id for grade in graded)
    assert "a1b2c3" not in repr(graded) + repr(store.rows("SELECT * FROM session_files"))
    assert "\x00" not in repr(graded)


def test_without_time_one_file_is_ingested_all_the_same(ingest: Ingest, write_session: SessionWriter) -> None:
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(5)]
    recorded, taken = ingest.ingest(units(paths), within_seconds=0)
    assert (taken, [one.path for one in recorded]) == (1, paths[:1])


def test_no_files_are_no_work(ingest: Ingest) -> None:
    assert ingest.ingest([], within_seconds=60) == ([], 0)


def test_a_file_twice_in_a_batch_is_graded_once(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session(TURN)
    ingest.ingest(units([path, path]), within_seconds=60)
    assert len(store.grades.page(GradeFilter()).grades) == 1


def test_a_batch_that_cannot_be_saved_is_an_error_of_ours(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session(TURN)
    store.close()
    with pytest.raises(StoreError):
        ingest.ingest([unit(path)], within_seconds=60)


# -- whatever is on disk -----------------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(file=st.tuples(any_name, session_files() | broken_files() | file_contents, any_status))
def test_any_file_has_its_row(
    ingest: Ingest,
    store: SqliteStore,
    bugs: list[tuple[Unit, Exception]],
    tmp_path: Path,
    file: tuple[bytes, bytes, os.stat_result],
) -> None:
    bugs.clear()
    name, content, found = file
    path = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"session_" + name + b".json"))
    Path(path).write_bytes(content)
    examined = ingest.examiner.examine(unit(path), now=NOW)
    assert not isinstance(examined, VanishedUnit | BusyUnit)
    examined = msgspec.structs.replace(examined, found=found_file(examined.unit, found))

    ingest.save([(examined, None)])

    entry = store.ledger_entry(unit(path).storable())
    assert entry is not None
    assert (bugs, entry.stamp) == ([], stamp_of(found))
    assert store.unit_stamps([unit(path)])[0] == stamp_of(found)
    if entry.state is FileState.GRADED:
        assert isinstance(examined, GradedUnit)
        assert store.grades.stored([examined.grade.session_id])


class ChoosyGrades(Grades):
    refused = ""

    def put(self, grades: Sequence[NewGrade], *, replacing: Mapping[str, StoredGrade]) -> None:
        if any(new.grade.session_id == self.refused for new in grades):
            raise OverflowError(BUG)
        super().put(grades, replacing=replacing)


class Choosy(SqliteStore):
    """A store with a bug: it fails on the sessions and files of these names."""

    grades: ChoosyGrades
    files = ""

    def save_entries(self, entries: Sequence[LedgerEntry], *, now: datetime) -> None:
        if any(entry.unit.locator == self.files for entry in entries):
            raise OverflowError(BUG)
        super().save_entries(entries, now=now)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Choosy]:
    opened = Choosy(tmp_path / "database" / "session_grades.db")
    opened.grades = ChoosyGrades(opened, opened.list, host="here")
    yield opened
    opened.close()


GRADED, QUARANTINED, UNRECORDED = IngestOutcome.GRADED, IngestOutcome.QUARANTINED, IngestOutcome.UNRECORDED


def test_a_session_that_cannot_be_saved_is_put_aside_alone(
    ingest: Ingest, store: Choosy, bugs: list[tuple[Unit, Exception]], write_session: SessionWriter
) -> None:
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(3)]
    store.grades.refused = "s1"
    recorded, taken = ingest.ingest(units(paths), within_seconds=60)
    assert (taken, [one.outcome for one in recorded]) == (3, [GRADED, QUARANTINED, GRADED])
    assert recorded[1].reason == f"internal error: OverflowError: {BUG}"
    assert [failed for failed, _ in bugs] == [unit(paths[1])]
    assert store.file_counts() == {"graded": 2, "dead": 1}


def test_a_file_that_has_no_row_whatever_is_tried_is_told_and_the_others_have_theirs(
    ingest: Ingest, store: Choosy, bugs: list[tuple[Unit, Exception]], write_session: SessionWriter
) -> None:
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(3)]
    store.files = paths[1]
    recorded, taken = ingest.ingest(units(paths), within_seconds=60)
    assert (taken, [one.outcome for one in recorded]) == (3, [GRADED, UNRECORDED, GRADED])
    assert {failed for failed, _ in bugs} == {unit(paths[1])}
    assert store.file_counts() == {"graded": 2}


def test_a_backfill_goes_on_after_a_file_that_cannot_be_saved(
    ingest: Ingest, store: Choosy, write_session: SessionWriter
) -> None:
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(5)]
    store.grades.refused = "s0"
    recorded = [one for some in backfill(units(paths), ingest, batch=2) for one in some]
    assert [one.outcome for one in recorded] == [QUARANTINED, *[GRADED] * 4]


def test_a_value_that_the_database_refuses_is_the_bug_of_one_file(
    ingest: Ingest, store: Choosy, write_session: SessionWriter
) -> None:
    """Not a database that cannot be written, for which the daemon would wait."""
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(2)]
    store.connection.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON session_details WHEN new.session_id = 's0'"
        " BEGIN SELECT raise(ABORT, 'no'); END"
    )
    recorded, _ = ingest.ingest(units(paths), within_seconds=60)
    assert [one.outcome for one in recorded] == [QUARANTINED, GRADED]


class Clumsy(Examiner):
    """An examiner with a bug: it fails on every file."""

    def examine(self, *_: object, **__: object) -> GradedUnit:
        raise ZeroDivisionError(BUG)


def test_a_file_that_cannot_be_examined_is_tried_again(
    ingest: Ingest, examiner: Examiner, store: Choosy, write_session: SessionWriter
) -> None:
    path = write_session(TURN)
    ingest.examiner = Clumsy(
        examiner.rules, CompletionPolicy(), hermes(), zone=None, idle=timedelta(1), limits=Limits()
    )
    [recorded], _ = ingest.ingest([unit(path)], within_seconds=60)
    outcome = IngestOutcome.RETRY_SCHEDULED
    assert (recorded.outcome, recorded.reason) == (outcome, f"internal error: ZeroDivisionError: {BUG}")
    assert store.unit_stamps([unit(path)])[0] == stamp_of(os.lstat(path))


def test_tries_are_counted_on_where_others_examine(ingest: Ingest, clock: Clock, write_session: SessionWriter) -> None:
    """As `grade --jobs` does; three tries are what `PAUSES` allow."""
    path = write_session(content=b"")
    seen = []
    for _ in range(3):
        [recorded] = ingest.save_examined([ingest.examiner.examine(unit(path), now=clock.now)])
        seen.append((recorded.outcome, recorded.attempts))
    assert len(PAUSES) == 2
    assert seen == [(IngestOutcome.RETRY_SCHEDULED, 1), (IngestOutcome.RETRY_SCHEDULED, 2), (QUARANTINED, 3)]


def test_what_both_an_event_and_a_search_tell_of_is_graded_once(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session([json_user(), json_answer()])

    recorded, done = ingest.ingest([unit(path), unit(path)], within_seconds=60)

    assert (done, [each.outcome for each in recorded]) == (2, [IngestOutcome.GRADED, IngestOutcome.UNCHANGED])
    assert _times_graded(store) == [1]


def test_what_was_graded_while_a_helper_read_it_is_graded_once(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session([json_user(), json_answer()])
    ingest._helpers.most = 1
    ingest.hand_out([unit(path)])
    assert ingest.collect(within_seconds=0, together=1) == []

    ingest.ingest([unit(path)], within_seconds=60)

    outcomes: list[IngestOutcome] = []
    while ingest.busy:
        outcomes += [each.outcome for each in ingest.collect(within_seconds=60, together=1)]
    ingest.close()
    assert outcomes == [IngestOutcome.UNCHANGED]
    assert _times_graded(store) == [1]


def test_what_helpers_find_is_saved_together_with_more_but_does_not_wait_for_long(
    ingest: Ingest, write_session: SessionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_module, "_KEPT_SECONDS", 60.0)
    paths = [write_session([json_user(), json_answer()], session_id=f"s{number}") for number in range(3)]
    ingest._helpers.most = 1
    ingest.hand_out(units(paths[:2]))
    while ingest.unsaved < 2:
        assert ingest.collect(within_seconds=60, together=3) == []
    ingest.hand_out([unit(paths[2])])
    recorded: list[IngestResult] = []
    while not recorded:
        recorded = list(ingest.collect(within_seconds=60, together=3))
    assert (len(recorded), ingest.busy) == (3, False)

    monkeypatch.setattr(ingest_module, "_KEPT_SECONDS", 0.0)
    ingest.examine(units([write_session([json_user(), json_answer()], session_id="s3")]), within_seconds=60)
    assert len(ingest.collect(within_seconds=0, together=3)) == 1
    ingest.close()


def test_what_waits_for_two_helpers_is_graded_once(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = write_session([json_user(), json_answer()])
    ingest._helpers.most = 2
    ingest.hand_out([unit(path), unit(path)])

    while ingest.busy:
        ingest.collect(within_seconds=60, together=1)
    ingest.close()

    assert _times_graded(store) == [1]


def _times_graded(store: SqliteStore) -> list[int]:
    return [grades for (grades,) in store.rows("SELECT grades FROM session_files")]


# -- another policy ----------------------------------------------------------------------------------------------------


def _under(ingest: Ingest, version: str, intercept: float) -> str:
    policy = CompletionPolicy(by=VerdictBy.MODEL, model=any_model(version=version, intercept=intercept))
    ingest.examiner = ingest.examiner.with_policy(policy)
    return ingest.examiner.rules_version


def test_another_policy_gives_verdicts_from_what_is_kept_as_a_second_look_would(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    _under(ingest, "m1", 3.0)
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(3)]
    ingest.ingest(units(paths), within_seconds=60)
    version = _under(ingest, "m1~ab", -1.0)
    for path in paths[1:]:
        os.unlink(path)  # nothing is read

    redecided, others = ingest.redecide(store.outdated_units(version, after=None, limit=9))

    assert (len(redecided), others, store.outdated_units(version, after=None, limit=9)) == (3, [], [])
    kept = {stored.grade.session_id: stored.grade for stored in store.grades.page(GradeFilter()).grades}
    assert [kept[now.session_id] for _, now in redecided] == [now for _, now in redecided]
    assert [(before.task_completed, now.task_completed) for before, now in redecided] == [(True, False)] * 3
    examined = ingest.examiner.examine(unit(paths[0]), now=kept["s0"].graded_at)
    assert isinstance(examined, GradedUnit)
    assert examined.grade == kept["s0"]
    assert store.rows("SELECT sum(completed) FROM daily_rollups WHERE dimension = 'overall'") == [(0,)]


def _by_rules(ingest: Ingest, folder: Path, text: str) -> str:
    overlay = folder / "own-rules.toml"
    overlay.write_text(text)
    ingest.examiner = Examiner(
        load_rules(overlay), CompletionPolicy(), hermes(), zone=UTC, idle=timedelta(minutes=30), limits=Limits()
    )
    return ingest.examiner.rules_version


def test_other_rules_of_verdicts_give_from_what_is_kept_what_reading_again_would(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter, tmp_path: Path
) -> None:
    path = write_session(TURN)
    ingest.ingest([unit(path)], within_seconds=60)
    version = _by_rules(ingest, tmp_path, "[efficiency]\nlevels = []\notherwise = 2\n")

    redecided, others = ingest.redecide(store.outdated_units(version, after=None, limit=9))

    assert (len(redecided), others, store.outdated_units(version, after=None, limit=9)) == (1, [], [])
    kept = _kept(store)
    ingest._again = True
    ingest.ingest([unit(path)], within_seconds=60)
    assert kept == _kept(store)
    assert store.rows("SELECT efficiency FROM daily_rollups WHERE dimension = 'overall'") == [(2,)]


def _kept(store: SqliteStore) -> list[list[Any]]:
    """What is kept of the grades, but when they were made."""
    return [
        store.rows("SELECT tool_calls_efficient, response_quality FROM session_grades"),
        store.rows("SELECT efficiency, quality, completed FROM session_list"),
        store.rows("SELECT * FROM session_details"),
        store.rows("SELECT * FROM daily_rollups ORDER BY dimension, name"),
        store.rows("SELECT * FROM monthly_rollups ORDER BY dimension, name"),
    ]


def test_what_other_rules_read_is_examined(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter, tmp_path: Path
) -> None:
    path = write_session(TURN)
    ingest.ingest([unit(path)], within_seconds=60)
    version = _by_rules(ingest, tmp_path, "[error_runs]\nloop_errors = 9\n")

    assert ingest.redecide(store.outdated_units(version, after=None, limit=9)) == ([], [unit(path)])


def test_a_grade_that_is_to_be_made_again_whole_is_examined(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    """As a repair notes it, where details are missing."""
    _under(ingest, "m1", 0.0)
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(3)]
    ingest.ingest(units(paths), within_seconds=60)
    with store.transaction():
        store.connection.execute("UPDATE session_files SET rules_version = NULL WHERE session_id = 's0'")
        store.connection.execute("DELETE FROM session_details WHERE session_id = 's1'")
    version = _under(ingest, "m1~ab", 0.0)

    redecided, others = ingest.redecide(store.outdated_units(version, after=None, limit=9))

    assert ([now.session_id for _, now in redecided], others) == (["s2"], units(paths[:2]))
