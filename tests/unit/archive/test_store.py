from __future__ import annotations

from grader_daemon.archive.store import ArchiveProgress
from grader_daemon.storage.sqlite.store import SqliteStore


def test_what_is_done_is_known_and_nothing_else(store: SqliteStore) -> None:
    done = ArchiveProgress(store)
    done.note([1, -(2**63), 2**63 - 1])
    done.note([1])

    assert done.those_done([1, 2, -(2**63), 2**63 - 1]) == {1, -(2**63), 2**63 - 1}
    assert done.those_done([]) == set()
