from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader_daemon.domain.session import SkipReason
from grader_daemon.pipeline.absence import absences, compare, is_gone
from grader_daemon.pipeline.commit import IngestOutcome
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.storage.records import GradeFilter, UngradedUnit
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import SessionWriter
from tests.strategies import document, json_answer, json_round, json_user
from tests.units import hermes, unit, units

TURN = [json_user(), *json_round(call_id="call_4c637ca0beac"), json_answer()]
A, B = unit("/a"), unit("/b")
A, B = unit("/a"), unit("/b")
COPY, FORK = SkipReason.COPY, SkipReason.REVIEW_FORK


@pytest.mark.parametrize(
    ("there", "file", "expected"),
    [
        pytest.param("ab", UngradedUnit(0, 1, A, COPY, B), ([], []), id="copy-of-a-file-that-is-there"),
        pytest.param("a", UngradedUnit(0, 1, A, COPY, B), ([], ["/a"]), id="copy-of-a-file-that-is-gone"),
        pytest.param(
            "a",
            UngradedUnit(0, 1, A, "superseded", B),
            ([], ["/a"]),
            id="superseded-by-a-file-that-is-gone",
        ),
        pytest.param("a", UngradedUnit(0, 1, A, COPY, None), ([], []), id="copy-of-another-session"),
        pytest.param("a", UngradedUnit(0, 1, A, FORK, B), ([], []), id="passed-over-for-what-it-is"),
        pytest.param("a", UngradedUnit(0, 1, A, None, B), ([], []), id="in-trouble"),
        pytest.param("b", UngradedUnit(0, 1, A, COPY, B), (["/a"], []), id="copy-that-is-gone"),
        pytest.param("b", UngradedUnit(0, 1, A, None, None), (["/a"], []), id="trouble-that-is-gone"),
        pytest.param("", UngradedUnit(0, 1, A, None, A), ([], []), id="trouble-with-a-file-that-holds-a-grade"),
    ],
)
def test_what_follows_for_the_file_a(there: str, file: UngradedUnit, expected: tuple[list[str], list[str]]) -> None:
    gone, again = compare([file], lambda one: one.locator[1] not in there)
    assert (gone, again) == (units(expected[0]), units(expected[1]))


def test_a_copy_of_a_file_that_went_is_read_again_though_it_is_as_it_was(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    own = Path(write_session(TURN, folder="sessions"))
    copy = own.parent.with_name("z") / own.name
    copy.parent.mkdir()
    shutil.copy2(own, copy)
    ingest.ingest([unit(own)], within_seconds=60)
    ingest.ingest([unit(copy)], within_seconds=60)
    own.unlink()

    again = [file for absence in absences(store, hermes([own.parent.parent])) for file in absence.again]
    (recorded,), _ = ingest.ingest(again, within_seconds=60)

    assert recorded.outcome is IngestOutcome.GRADED
    assert [stored.grade.session_file for stored in store.grades.page(GradeFilter()).grades] == [str(copy)]


def test_all_pages_are_looked_at(ingest: Ingest, store: SqliteStore, write_session: SessionWriter) -> None:
    broken = [write_session(document(TURN)[:200], session_id=f"s{number}") for number in range(450)]
    ingest.ingest(units(broken), within_seconds=60)
    for path in broken:
        Path(path).unlink()

    gone = [file for absence in absences(store, hermes()) for file in absence.gone]

    assert sorted(gone) == units(sorted(broken))


def test_below_a_missing_root_nothing_counts_as_gone(
    ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    path = Path(write_session(document(TURN)[:200], folder="root"))
    ingest.ingest([unit(path)], within_seconds=60)
    path.unlink()
    path.parent.rmdir()

    assert [absence.gone for absence in absences(store, hermes([path.parent]))] == [[]]


def test_what_cannot_be_looked_at_may_be_there(tmp_path: Path) -> None:
    endless = tmp_path / ("n" * 300)  # ENAMETOOLONG, whoever runs the test

    assert [is_gone(unit(path), hermes()) for path in (endless, tmp_path, tmp_path / "a")] == [False, False, True]
