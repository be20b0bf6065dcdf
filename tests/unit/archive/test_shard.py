from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.archive import shard, unpacking
from grader_daemon.archive.objects import Archive
from grader_daemon.archive.shard import ShardError, ShardResult, examine_shard, read_part
from grader_daemon.archive.slices import Slice
from grader_daemon.bootstrap import make_examiner, make_policy
from grader_daemon.pipeline.examine import Examiner, GradedUnit, TroubledUnit
from grader_daemon.settings import load_settings
from tests.strategies import NOW
from tests.unit.archive.conftest import GZIPPED, IN_TAR, PLAIN, ZSTANDARD


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    settings = load_settings(verdict="rules")
    return make_examiner(settings, make_policy(settings, None))


def parts(examiner: Examiner, folder: Path) -> list[ShardResult]:
    archive = Archive(str(folder))
    return [read_part(each) for each in examine_shard(examiner, archive.url, list(map(Slice, archive.objects())), NOW)]


def examined(examiner: Examiner, folder: Path) -> ShardResult:
    [result] = parts(examiner, folder)
    return result


def test_sessions_are_told_where_they_lie_in_the_archive(examiner: Examiner, packed: Path) -> None:
    result = examined(examiner, packed)

    graded = [each for each in result.examined if isinstance(each, GradedUnit)]
    places = {each.grade.session_id: each.grade.session_file.removeprefix(f"{packed}/") for each in graded}
    assert places == {
        PLAIN: f"sessions/session_{PLAIN}.json",
        GZIPPED: f"sessions/session_{GZIPPED}.json",
        ZSTANDARD: f"session_{ZSTANDARD}.json",
        IN_TAR: f"more/sessions/session_{IN_TAR}.json",
    }
    for each in graded:
        assert {each.unit.locator, each.identity.unit.locator} == {each.grade.session_file}
    assert (result.unreadable, result.others, result.bugs) == ([], 0, [])


def test_a_session_that_cannot_be_graded_is_told_and_not_tried_again(examiner: Examiner, packed: Path) -> None:
    (packed / "sessions/session_broken.json").write_text('{"session_id": "broken", "messages": 7}')
    (packed / "README").write_text("Sessions of last year.")

    result = examined(examiner, packed)

    [trouble] = [each for each in result.examined if isinstance(each, TroubledUnit)]
    assert (trouble.unit.locator, trouble.hope) == (f"{packed}/sessions/session_broken.json", False)
    assert result.others == 1


def test_each_part_of_what_is_unpacked_is_examined(
    examiner: Examiner, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "AT_ONCE_BYTES", 1)

    results = parts(examiner, packed)

    assert [
        [each.grade.session_id for each in result.examined if isinstance(each, GradedUnit)] for result in results
    ] == [[IN_TAR], [ZSTANDARD], [PLAIN], [GZIPPED]]


def test_many_sessions_are_told_in_parts_and_what_is_wrong_once(
    examiner: Examiner, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard, "_MOST_TOGETHER", 3)
    (packed / "README").write_text("Sessions of last year.")
    (packed / "x.json.gz").write_bytes(b"no gzip")

    results = parts(examiner, packed)

    assert [len(result.examined) for result in results] == [3, 1]
    assert [(len(result.unreadable), result.others) for result in results] == [(1, 1), (0, 0)]


def test_of_a_shard_without_sessions_one_part_says_so(examiner: Examiner, tmp_path: Path) -> None:
    (tmp_path / "README").write_text("Sessions of last year.")

    assert examined(examiner, tmp_path) == ShardResult([], [], 1, [])


def test_what_takes_long_is_left_to_another_task(
    examiner: Examiner, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard, "_ENOUGH_SECONDS", -1)

    results = parts(examiner, packed)

    assert [len(result.examined) for result in results] == [1, 0]
    assert [each.stored.name for each in results[1].left] == [
        each.name for each in list(Archive(str(packed)).objects())[1:]
    ]


def test_an_error_comes_without_its_traceback(
    examiner: Examiner, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask loses an error whose traceback is too deep to be sent, and whoever waits for it would wait for ever."""

    def deeper(*_: object, **__: object) -> None:
        deeper()

    monkeypatch.setattr(shard, "unpack", deeper)

    with pytest.raises(ShardError, match="RecursionError: maximum recursion depth") as caught:
        parts(examiner, packed)
    assert caught.value.__context__ is None
