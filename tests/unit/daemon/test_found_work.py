from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from grader_daemon.daemon.found_work import FoundWork, Stride
from grader_daemon.errors import StoreBusyError
from grader_daemon.pipeline.commit import IngestOutcome, IngestResult
from grader_daemon.pipeline.helpers import Gathered
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import SessionWriter
from tests.strategies import json_answer, json_user
from tests.units import unit, units

TURN = [json_user(), json_answer()]


@pytest.fixture
def paths(write_session: SessionWriter) -> list[str]:
    return [write_session(TURN, session_id=f"s{number}") for number in range(5)]


@pytest.fixture
def work(ingest: Ingest) -> Iterator[FoundWork]:
    ingest._helpers.most = 1
    yield FoundWork(ingest, batch_sessions=9)
    ingest.close()


def _three_together(work: FoundWork) -> list[IngestResult]:
    """Examine one unit in no time; three are saved together."""
    return work.work(Stride(seconds=0.0, units=9, together=3), within_seconds=60)


def test_a_little_is_examined_at_once_and_more_is_saved_together(work: FoundWork, paths: list[str]) -> None:
    work.add(units(paths))

    assert [len(_three_together(work)) for _ in range(6)] == [0, 0, 3, 0, 2, 0]
    assert not work.busy


def test_a_session_that_ended_while_its_file_waited_to_be_saved_is_graded_as_it_is_now(
    work: FoundWork, ingest: Ingest, store: SqliteStore, paths: list[str], write_session: SessionWriter
) -> None:
    work.add(units(paths[:2]))
    _three_together(work)
    write_session([json_user(), json_answer("Done at last.")], session_id="s0")
    ingest.ingest([unit(paths[0])], within_seconds=60)
    now = store.unit_stamps([unit(paths[0])])

    assert [each.unit for each in _three_together(work)] == [unit(paths[1])]

    outcomes: list[IngestOutcome] = []
    while work.busy:
        outcomes += [each.outcome for each in _three_together(work)]
    assert outcomes == [IngestOutcome.UNCHANGED]
    assert store.unit_stamps([unit(paths[0])]) == now
    assert [grades for (grades,) in store.rows("SELECT grades FROM session_files")] == [1, 1]


def test_what_cannot_be_saved_now_is_saved_later_and_no_more_is_examined_until_then(
    work: FoundWork, ingest: Ingest, paths: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    save = ingest.save

    def save_at_the_third_try(gathered: Sequence[Gathered]) -> list[IngestResult]:
        tried.append(len(gathered))
        if len(tried) < 3:
            raise StoreBusyError("database: locked by another program")
        return save(gathered)

    monkeypatch.setattr(ingest, "save", save_at_the_third_try)
    work.add(units(paths))
    for _ in range(2):
        _three_together(work)

    for _ in range(2):
        with pytest.raises(StoreBusyError):
            _three_together(work)
    recorded = _three_together(work)

    assert tried == [3, 3, 3]
    assert [each.outcome for each in recorded] == [IngestOutcome.GRADED] * 3
    assert work.waiting == 2
