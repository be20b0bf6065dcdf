"""`grade --archive` on a real Dask cluster: interrupted, with workers that end, and from object storage."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from grader_daemon import SelfGrader
from grader_daemon.archive import driver, workers
from grader_daemon.archive.graded_archive import Archive, ShardDone, backfill_archive, cluster
from grader_daemon.archive.objects import import_package, shards_of
from grader_daemon.archive.slices import Slice
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.daemon_process import environment
from tests.e2e.session_files import content, turns
from tests.object_storage import object_storage
from tests.unit.archive.conftest import tar_of
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


def told(grader: SelfGrader, archive: Path | str, client: Any) -> list[ShardDone]:
    """All that comes of an archive, without the parts that only say that workers are busy."""
    return list(filter(_is_told, backfill_archive(grader.context, Archive(str(archive)), client)))


def _is_told(part: ShardDone) -> bool:
    return part != ShardDone()


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


@pytest.mark.thorough
def test_an_interrupted_run_is_finished_by_the_next(archive: Path, grader: SelfGrader, tmp_path: Path) -> None:
    with cluster(workers=1) as client:
        running = backfill_archive(grader.context, Archive(str(archive)), client)
        first = list(islice(filter(_is_told, running), 2))
        del running
        rest = told(grader, archive, client)
        again = told(grader, archive, client)

    assert sum(len(shard.recorded) for shard in [*first, *rest]) == SESSIONS
    assert len(first) + len(rest) == SESSIONS // 10
    assert again == []
    assert len(graded(tmp_path / "grades.db")) == SESSIONS


@pytest.mark.thorough
def test_a_shard_is_done_when_its_last_part_is_saved(
    archive: Path, grader: SelfGrader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard has ten sessions."""
    monkeypatch.setattr(workers, "examine_shard", _in_parts_of_four)
    with cluster(workers=1) as client:
        client.run(_add_path, str(Path(__file__).parents[2]))
        interrupted = backfill_archive(grader.context, Archive(str(archive)), client)
        first = list(islice(filter(_is_told, interrupted), 2))
        del interrupted
        rest = told(grader, archive, client)

    assert [(len(part.recorded), part.bytes) for part in first] == [(4, 0), (4, 0)]
    assert [len(part.recorded) for part in rest] == [4, 4, 2] * (SESSIONS // 10)
    assert sum(part.bytes for part in rest) == sum(file.stat().st_size for file in archive.rglob("*.json"))


def _in_parts_of_four(examiner: Examiner, url: str, shard: list[Slice], now: datetime) -> list[bytes]:
    from grader_daemon.archive import shard as examined

    examined._MOST_TOGETHER = 4  # type: ignore[misc]
    return examined.examine_shard(examiner, url, shard, now)


@pytest.mark.thorough
def test_what_changed_is_graded_again(archive: Path, grader: SelfGrader) -> None:
    with cluster(workers=1) as client:
        list(backfill_archive(grader.context, Archive(str(archive)), client))
        file = archive / "03/sessions/session_20261101_000030_aaaaaa.json"
        file.write_bytes(content("20261101_000030_aaaaaa", turns(9)))
        [shard] = told(grader, archive, client)

    assert [each.session_id for each in shard.recorded] == ["20261101_000030_aaaaaa"]


@pytest.mark.thorough
def test_an_object_that_ends_every_worker_is_told_and_the_others_are_graded(
    archive: Path, grader: SelfGrader, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "05/sessions/session_20261101_000055_aaaaaa.json"
    """Twice each time it is handed out, not four times as by itself: each worker anew takes a second of a processor."""
    monkeypatch.setattr(workers, "examine_shard", _ends_at_55)
    ends_twice = import_package("dask").config.set({"distributed.scheduler.allowed-failures": 1})
    with ends_twice, cluster(workers=2) as client:
        client.run(_add_path, str(Path(__file__).parents[2]))
        shards = list(backfill_archive(grader.context, Archive(str(archive)), client))

    assert [(each.name, each.reason) for shard in shards for each in shard.unreadable] == [
        (evil, "the processes that examined it crashed")
    ]
    assert sum(len(shard.recorded) for shard in shards) == SESSIONS - 1


def _ends_at_55(examiner: Examiner, url: str, shard: list[Slice], now: datetime) -> list[bytes]:
    from grader_daemon.archive.shard import examine_shard

    if any(each.stored.name.endswith("000055_aaaaaa.json") for each in shard):
        os.kill(os.getpid(), signal.SIGKILL)
    return examine_shard(examiner, url, shard, now)


def _add_path(path: str) -> None:
    sys.path.insert(0, path)


@pytest.mark.thorough
def test_sessions_in_object_storage_are_graded(
    archive: Path, grader: SelfGrader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_storage(tmp_path) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        from s3fs import S3FileSystem

        storage = S3FileSystem(skip_instance_cache=True)
        storage.mkdir("agents")
        storage.put(str(archive), "agents/old", recursive=True)
        with cluster(workers=2) as client:
            shards = told(grader, "s3://agents/old", client)
            assert told(grader, "s3://agents/old", client) == []

    assert sum(len(shard.recorded) for shard in shards) == SESSIONS
    places = {each.grade.session_file for shard in shards for each in shard.recorded if each.grade is not None}
    assert "s3://agents/old/00/sessions/session_20261101_000000_aaaaaa.json" in places


@pytest.mark.thorough
def test_two_at_once_are_in_nobodys_way() -> None:
    """A warning would fail this test."""
    with cluster(workers=1) as one, cluster(workers=1) as other:
        assert one.submit(int, "1").result() == other.submit(int, "1").result() == 1


def test_the_command_tells_what_came_of_an_archive(archive: Path, tmp_path: Path) -> None:
    (archive / "NOTE").write_text("Sessions of last year.")
    (archive / "x.json.gz").write_bytes(b"no gzip")
    strange = archive / "session_strange.json"
    strange.write_bytes(b'{"session_id": "strange", "messages": [1]}')

    first, second = (
        subprocess.run(
            [
                sys.executable,
                "-m",
                "grader_daemon",
                "grade",
                "--archive",
                "old",
                "--jobs",
                "2",
                "--db-path",
                "grades.db",
            ],
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
    given_up = f"grader-daemon: {strange}: not a session of a known agent: "
    told = without_progress(first.stderr).splitlines(keepends=True)
    assert (first.stdout, first.returncode) == (
        f"{SESSIONS} graded, 1 given up\nNo session of a known agent was found in 1 file.\n",
        1,
    )
    assert refused in told
    assert [line.startswith(given_up) for line in told if line != refused] == [True]
    assert (second.stdout, without_progress(second.stderr), second.returncode) == ("Nothing to do.\n", refused, 1)


def without_progress(lines: str) -> str:
    return "".join(line for line in lines.splitlines(keepends=True) if not line.endswith(" so far\n"))


def archived(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader_daemon", "grade", "--archive", "old", "--db-path", "grades.db", *options],
        cwd=folder,
        env=environment(folder, {}),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.mark.thorough
def test_archives_that_are_made_to_do_harm_are_told_in_a_line_each_and_the_others_are_graded(
    archive: Path, tmp_path: Path
) -> None:
    deep = tar_of({"d/" * 1600 + "session_20261101_100000_bbbbbb.json": b"{}"})
    header = tarfile.TarInfo("long")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1_500_000_000
    long = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(1_000_000))
    (archive / "a-deep.tar.gz").write_bytes(deep)
    (archive / "b-long.tar.gz").write_bytes(long)

    ended = archived(tmp_path)

    first, second = sorted(without_progress(ended.stderr).splitlines())
    assert first.startswith(f"grader-daemon: {archive}/a-deep.tar.gz: a-deep/d/d/")
    assert first.endswith(": it is nested in more than 100 folders")
    assert second.endswith("/b-long.tar.gz: a header of 1,500,000,000 bytes; at most 65,536 are read")
    assert (ended.stdout, ended.returncode) == (f"{SESSIONS} graded\n", 1)


@pytest.mark.thorough
def test_a_tar_file_is_kept_slice_by_slice_and_the_next_run_goes_on_behind_them(
    archive: Path, grader: SelfGrader, tmp_path: Path
) -> None:
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed/all.tar.gz").write_bytes(many_times(archive, 20))
    with cluster(workers=1) as client:
        running = backfill_archive(grader.context, Archive(str(tmp_path / "packed")), client)
        first = next(running)
        while not first.bytes:  # the last part of a slice has them
            first = next(running)
        del running
        rest = told(grader, tmp_path / "packed", client)
        again = told(grader, tmp_path / "packed", client)

    left = sum(len(part.recorded) for part in rest)
    assert 20 * SESSIONS - 1200 <= left <= 20 * SESSIONS - 1000
    assert max(len(part.recorded) for part in rest) <= 1000
    assert len(graded(tmp_path / "grades.db")) == 20 * SESSIONS
    assert again == []


def many_times(archive: Path, times: int) -> bytes:
    """A tar file with the sessions of an archive, over and over under other names."""
    sessions = {path.name: path.read_bytes() for path in sorted(archive.rglob("*.json"))}
    return tar_of(
        {
            f"{copy}/{name}": content.replace(b"20261101", b"%08d" % copy)
            for copy in range(times)
            for name, content in sessions.items()
        }
    )


@pytest.mark.thorough
def test_sessions_that_are_copies_of_others_are_told(archive: Path, tmp_path: Path) -> None:
    for number in range(3):
        copy = archive / f"copies/session_20261101_00000{number}_aaaaaa.json"
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes((archive / f"00/sessions/{copy.name}").read_bytes())

    ended = archived(tmp_path)

    assert ended.stdout == (
        "123 graded\n3 of them are copies or earlier parts of others: each such session gets one grade.\n"
    )


@pytest.mark.thorough
def test_what_a_killed_command_has_handed_out_does_not_keep_workers_busy(
    archive: Path, grader: SelfGrader, tmp_path: Path
) -> None:
    """What a worker has begun it ends: a slice, not an object."""
    (tmp_path / "old/all.tar.gz").write_bytes(many_times(archive, 40))
    command = [sys.executable, "-m", "grader_daemon", "grade", "--archive", "old", "--db-path", "other.db"]
    with own_cluster() as client:
        process = subprocess.Popen(
            [*command, "--scheduler", client.scheduler.address], cwd=tmp_path, env=environment(tmp_path, {})
        )
        try:
            wait_until(lambda: any(client.processing().values()), "work", within=60)
        finally:
            process.kill()
            process.wait(20)
        wait_until(lambda: not any(client.processing().values()), "that workers are free", within=60)
        assert sum(len(part.recorded) for part in told(grader, archive / "00", client)) == 10


@contextmanager
def own_cluster() -> Iterator[Any]:
    """A cluster that a user started, of one process."""
    distributed = import_package("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.mark.thorough
def test_an_object_of_which_nothing_comes_is_given_up_and_the_others_are_graded(
    archive: Path, grader: SelfGrader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "examine_shard", _hangs_at_55)
    monkeypatch.setattr(workers, "STUCK_SECONDS", 20)
    with cluster(workers=1) as client:
        client.run(_add_path, str(Path(__file__).parents[2]))
        shards = told(grader, archive / "05", client)

    assert [tuple(each) for shard in shards for each in shard.unreadable] == [
        ("sessions/session_20261101_000055_aaaaaa.json", "no result within 0 minutes")
    ]
    assert sum(len(shard.recorded) for shard in shards) == 9


def _hangs_at_55(examiner: Examiner, url: str, shard: list[Slice], now: datetime) -> list[bytes]:
    from threading import Event

    from grader_daemon.archive.shard import examine_shard

    if any(each.stored.name.endswith("000055_aaaaaa.json") for each in shard):
        Event().wait()
    return examine_shard(examiner, url, shard, now)
