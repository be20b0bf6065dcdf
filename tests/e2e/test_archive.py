"""`backfill ARCHIVE` on a real Dask cluster: interrupted, with workers that end, and from object storage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from grader_daemon import SelfGrader
from grader_daemon.api.archive import Archive, backfill_archive, cluster
from grader_daemon.archive import driver
from grader_daemon.archive.objects import StoredObject, shards_of
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.daemon_process import environment
from tests.e2e.session_files import content, turns
from tests.needs import require_moto
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SESSIONS = 120


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Many small sessions, in many folders."""
    for number in range(SESSIONS):
        session_id = f"20261101_{number:06d}_aaaaaa"
        path = tmp_path / f"old/{number // 10:02d}/sessions/session_{session_id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(session_id, turns(number % 4 + 1)))
    return tmp_path / "old"


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard for each folder."""
    monkeypatch.setattr(driver, "shards_of", partial(shards_of, most_bytes=10_000))


@pytest.fixture
def grader(tmp_path: Path) -> Iterator[SelfGrader]:
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path / "none"]) as made:
        yield made


def graded(database: Path) -> list[str]:
    with closing(SqliteStore(database, read_only=True)) as store:
        return [str(row[0]) for row in store.rows("SELECT session_id FROM session_grades ORDER BY session_id", ())]


def test_a_worker_that_is_killed_loses_nothing_and_doubles_nothing(
    archive: Path, grader: SelfGrader, tmp_path: Path
) -> None:
    recorded, killed = 0, 0
    with cluster(workers=2) as client:
        workers = list(client.run(os.getpid).values())
        for shard in backfill_archive(grader.context, Archive(str(archive)), client):
            recorded += len(shard.recorded)
            assert not shard.unreadable
            if killed < 2:
                os.kill(workers[killed], signal.SIGKILL)
                killed += 1

    assert recorded == SESSIONS
    assert len(graded(tmp_path / "grades.db")) == len(set(graded(tmp_path / "grades.db"))) == SESSIONS


def test_an_interrupted_run_is_finished_by_the_next(archive: Path, grader: SelfGrader, tmp_path: Path) -> None:
    with cluster(workers=1) as client:
        running = backfill_archive(grader.context, Archive(str(archive)), client)
        first = [next(running), next(running)]
        del running
        rest = list(backfill_archive(grader.context, Archive(str(archive)), client))
        again = list(backfill_archive(grader.context, Archive(str(archive)), client))

    assert sum(len(shard.recorded) for shard in [*first, *rest]) == SESSIONS
    assert len(first) + len(rest) == SESSIONS // 10
    assert again == []
    assert len(graded(tmp_path / "grades.db")) == SESSIONS


def test_a_shard_is_done_when_its_last_part_is_saved(
    archive: Path, grader: SelfGrader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard has ten sessions."""
    monkeypatch.setattr(driver, "examine_shard", _in_parts_of_four)
    with cluster(workers=1) as client:
        client.run(_add_path, str(Path(__file__).parents[2]))
        interrupted = backfill_archive(grader.context, Archive(str(archive)), client)
        first = [next(interrupted), next(interrupted)]
        del interrupted
        rest = list(backfill_archive(grader.context, Archive(str(archive)), client))

    assert [(len(part.recorded), part.bytes) for part in first] == [(4, 0), (4, 0)]
    assert [len(part.recorded) for part in rest] == [4, 4, 2] * (SESSIONS // 10)
    assert sum(part.bytes for part in rest) == sum(file.stat().st_size for file in archive.rglob("*.json"))


def _in_parts_of_four(examiner: Examiner, url: str, shard: list[StoredObject], now: datetime) -> list[bytes]:
    from grader_daemon.archive import shard as examined

    examined._MOST_TOGETHER = 4  # type: ignore[misc]
    return examined.examine_shard(examiner, url, shard, now)


def test_what_changed_is_graded_again(archive: Path, grader: SelfGrader) -> None:
    with cluster(workers=1) as client:
        list(backfill_archive(grader.context, Archive(str(archive)), client))
        file = archive / "03/sessions/session_20261101_000030_aaaaaa.json"
        file.write_bytes(content("20261101_000030_aaaaaa", turns(9)))
        [shard] = backfill_archive(grader.context, Archive(str(archive)), client)

    assert [each.session_id for each in shard.recorded] == ["20261101_000030_aaaaaa"]


def test_an_object_that_ends_every_worker_is_told_and_the_others_are_graded(
    archive: Path, grader: SelfGrader, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "05/sessions/session_20261101_000055_aaaaaa.json"
    monkeypatch.setattr(driver, "examine_shard", _ends_at_55)
    with cluster(workers=2) as client:
        client.run(_add_path, str(Path(__file__).parents[2]))
        shards = list(backfill_archive(grader.context, Archive(str(archive)), client))

    assert [(each.name, each.reason) for shard in shards for each in shard.unreadable] == [
        (evil, "it ended the processes that were to examine it")
    ]
    assert sum(len(shard.recorded) for shard in shards) == SESSIONS - 1


def _ends_at_55(examiner: Examiner, url: str, shard: list[StoredObject], now: datetime) -> list[bytes]:
    from grader_daemon.archive.shard import examine_shard

    if any(each.name.endswith("000055_aaaaaa.json") for each in shard):
        os.kill(os.getpid(), signal.SIGKILL)
    return examine_shard(examiner, url, shard, now)


def _add_path(path: str) -> None:
    sys.path.insert(0, path)


@contextmanager
def object_storage(folder: Path) -> Iterator[str]:
    """Run a server that speaks S3; gives its address."""
    with (folder / "moto.log").open("wb") as log:
        process = subprocess.Popen(
            [require_moto(), "-H", "127.0.0.1", "-p", "0"], cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        lines = folder / "moto.log"
        wait_until(lambda: "Running on http" in lines.read_text() or process.poll() is not None, "moto", within=180)
        yield next(word for word in lines.read_text().split() if word.startswith("http://127.0.0.1"))
    finally:
        process.terminate()
        process.wait(20)


def test_sessions_in_object_storage_are_graded(
    archive: Path, grader: SelfGrader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_storage(tmp_path) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        from s3fs import S3FileSystem

        storage = S3FileSystem(skip_instance_cache=True)
        storage.mkdir("agents")
        storage.put(str(archive), "agents/old", recursive=True)
        with cluster(workers=2) as client:
            shards = list(backfill_archive(grader.context, Archive("s3://agents/old"), client))
            assert list(backfill_archive(grader.context, Archive("s3://agents/old"), client)) == []

    assert sum(len(shard.recorded) for shard in shards) == SESSIONS
    places = {each.grade.session_file for shard in shards for each in shard.recorded if each.grade is not None}
    assert "s3://agents/old/00/sessions/session_20261101_000000_aaaaaa.json" in places


def test_two_at_once_are_in_nobodys_way() -> None:
    """A warning would fail this test."""
    with cluster(workers=1) as one, cluster(workers=1) as other:
        assert one.submit(int, "1").result() == other.submit(int, "1").result() == 1


def test_the_command_tells_what_came_of_an_archive(archive: Path, tmp_path: Path) -> None:
    (archive / "NOTE").write_text("Sessions of last year.")
    (archive / "x.json.gz").write_bytes(b"no gzip")

    first, second = (
        subprocess.run(
            [sys.executable, "-m", "grader_daemon", "backfill", "old", "--jobs", "2", "--db-path", "grades.db"],
            cwd=tmp_path,
            env=environment(tmp_path, {}),
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        for _ in range(2)
    )

    refused = f"grader-daemon: {archive}/x.json.gz: Not a gzipped file (b'no')\n"
    assert (first.stdout, first.stderr, first.returncode) == (
        f"{SESSIONS} graded\nNo session of a known agent was found in 1 file.\n",
        refused,
        1,
    )
    assert (second.stdout, second.stderr, second.returncode) == ("Nothing to do.\n", refused, 1)
