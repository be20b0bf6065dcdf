from __future__ import annotations

import pytest

from grader_daemon.errors import StoreError
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.storage import GradeFilter, Store
from tests.conftest import SessionWriter
from tests.strategies import json_answer, json_user

TURN = [json_user(), json_answer()]


def test_a_batch_is_saved_together(ingest: Ingest, store: Store, write_session: SessionWriter) -> None:
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(5)]
    recorded, taken = ingest.ingest(paths, within_seconds=60)
    assert (taken, [one.path for one in recorded]) == (5, paths)
    assert store.file_counts() == {"graded": 5}


def test_without_time_one_file_is_ingested_all_the_same(ingest: Ingest, write_session: SessionWriter) -> None:
    paths = [write_session(TURN, session_id=f"s{number}") for number in range(5)]
    recorded, taken = ingest.ingest(paths, within_seconds=0)
    assert (taken, [one.path for one in recorded]) == (1, paths[:1])


def test_no_files_are_no_work(ingest: Ingest) -> None:
    assert ingest.ingest([], within_seconds=60) == ([], 0)


def test_a_file_twice_in_a_batch_is_graded_once(ingest: Ingest, store: Store, write_session: SessionWriter) -> None:
    path = write_session(TURN)
    ingest.ingest([path, path], within_seconds=60)
    assert len(store.grades(GradeFilter())) == 1


def test_a_batch_that_cannot_be_saved_is_an_error_of_ours(
    ingest: Ingest, store: Store, write_session: SessionWriter
) -> None:
    path = write_session(TURN)
    store.close()
    with pytest.raises(StoreError):
        ingest.ingest([path], within_seconds=60)
