"""Archives that this process reads alone; clusters are tried in `tests/e2e/test_archive`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from grader_daemon import SelfGrader
from grader_daemon.archive import driver, workers
from grader_daemon.archive.graded_archive import Archive, backfill_archive
from grader_daemon.archive.objects import shards_of
from grader_daemon.archive.shard import ShardError, examine_shard
from grader_daemon.archive.slices import Slice
from grader_daemon.pipeline.examine import Examiner
from tests.unit.archive.conftest import GZIPPED, IN_TAR, PLAIN, ZSTANDARD


@pytest.fixture
def grader(tmp_path: Path) -> Iterator[SelfGrader]:
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path / "none"]) as made:
        yield made


def graded(grader: SelfGrader) -> list[str]:
    rows = grader.context.store.rows("SELECT session_id FROM session_grades ORDER BY session_id", ())
    return [str(session_id) for (session_id,) in rows]


def test_an_archive_is_read_once_and_the_next_run_finds_nothing_to_do(packed: Path, grader: SelfGrader) -> None:
    first, second = ([*backfill_archive(grader.context, Archive(str(packed)), None)] for _ in range(2))

    assert sum(len(part.recorded) for part in first) == 4
    assert sum(part.bytes for part in first) == sum(file.stat().st_size for file in packed.rglob("*.*"))
    assert graded(grader) == [PLAIN, GZIPPED, ZSTANDARD, IN_TAR]
    assert second == []


def test_an_object_on_which_it_fails_is_told_and_the_others_are_graded(
    packed: Path, grader: SelfGrader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(examiner: Examiner, url: str, shard: Sequence[Slice], now: datetime) -> list[bytes]:
        if any(each.stored.name == "more.tar.gz" for each in shard):
            raise ShardError("no room")
        return examine_shard(examiner, url, shard, now)

    monkeypatch.setattr(workers, "examine_shard", fail)

    parts = [*backfill_archive(grader.context, Archive(str(packed)), None)]

    assert [tuple(each) for part in parts for each in part.unreadable] == [("more.tar.gz", "no room")]
    assert graded(grader) == [PLAIN, GZIPPED, ZSTANDARD]


def test_a_run_that_ends_early_is_finished_by_the_next(
    packed: Path, grader: SelfGrader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "shards_of", partial(shards_of, most_bytes=1))
    first = [*islice(backfill_archive(grader.context, Archive(str(packed)), None), 1)]
    rest = [*backfill_archive(grader.context, Archive(str(packed)), None)]

    counts = [len(part.recorded) for part in (*first, *rest)]
    assert counts == [1, 1, 1, 1]
    assert graded(grader) == [PLAIN, GZIPPED, ZSTANDARD, IN_TAR]
