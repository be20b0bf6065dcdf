from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.archive.objects import Archive, StoredObject, shards_of
from grader_daemon.errors import ConfigurationError, InputError


def stored(name: str, size: int = 10) -> StoredObject:
    return StoredObject(name=name, bytes=size, written_ns=0, version="1")


def test_objects_are_named_from_the_root_folder_by_folder(tmp_path: Path) -> None:
    for name in ("b/two", "b/one", "a/deep/three", "four"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")

    archive = Archive(str(tmp_path))

    assert [each.name for each in archive.objects()] == ["four", "a/deep/three", "b/one", "b/two"]
    assert archive.url == str(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_text("x")
    (tmp_path / "in/folder-link").symlink_to(tmp_path)
    (tmp_path / "in/file-link").symlink_to(tmp_path / "in/file")

    assert [each.name for each in Archive(str(tmp_path / "in")).objects()] == ["file"]


def test_a_folder_that_cannot_be_listed_is_told_and_the_others_are(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    told: list[tuple[str, str]] = []
    objects = Archive(str(tmp_path)).objects(unlisted=lambda *each: told.append(each))
    first = next(objects)

    shutil.rmtree(tmp_path / "b")

    assert [each.name for each in (first, *objects)] == ["a/file", "c/file"]
    assert told == [("b", "cannot be listed: No such file or directory")]


def test_an_archive_that_cannot_be_listed_itself_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    archive = Archive(str(folder))
    folder.rmdir()

    with pytest.raises(InputError, match="cannot be listed"):
        list(archive.objects())


def test_a_single_file_is_an_archive(tmp_path: Path) -> None:
    (tmp_path / "sessions.tar").write_text("x")
    (tmp_path / "other").write_text("x")

    archive = Archive(str(tmp_path / "sessions.tar"))

    assert [each.name for each in archive.objects()] == ["sessions.tar"]
    with archive.open(stored("sessions.tar")) as content:
        assert content.read() == b"x"


def test_an_object_that_changes_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    [before] = Archive(str(tmp_path)).objects()
    file.write_text("xy")
    [after] = Archive(str(tmp_path)).objects()

    assert before.digest != after.digest
    assert stored("a").digest != stored("b").digest


@pytest.mark.parametrize(
    ("url", "says"),
    [
        pytest.param("{}/nowhere", "no such file or folder", id="nothing"),
        pytest.param("quux://bucket", "Protocol not known: quux", id="protocol"),
    ],
)
def test_what_is_no_archive_is_told(tmp_path: Path, url: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Archive(url.format(tmp_path))


def test_a_missing_package_is_named_and_a_folder_here_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    (tmp_path / "a").write_text("x")

    with pytest.raises(
        ConfigurationError, match=r"the package fsspec. Add what they need: .* install .*'distributed>=2025.1' "
    ):
        Archive("s3://agents")
    assert [each.name for each in Archive(str(tmp_path)).objects()] == ["a"]


def test_a_folder_by_its_address_is_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    (tmp_path / "a").write_text("x")
    here, by_address = Archive(str(tmp_path)), Archive(f"file://{tmp_path}")

    assert [each.name for each in by_address.objects()] == ["a"]
    assert by_address.url == here.url


def test_a_folder_here_is_listed_as_fsspec_lists_it(tmp_path: Path) -> None:
    for name in ("b/one.json", "four"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    os.mkfifo(tmp_path / "pipe")
    here, elsewhere = Archive(str(tmp_path)), Archive(f"local://{tmp_path}")

    assert list(here.objects()) == list(elsewhere.objects())
    assert [each.name for each in Archive(str(tmp_path / "four")).objects()] == ["four"]


def test_a_large_tar_file_is_a_shard_of_its_own() -> None:
    objects = [stored("a/1"), stored("a/2.tar", 500), stored("a/3.tgz", 50), stored("a/4.tar.zst", 2), stored("a/5")]

    assert [[each.name for each in shard] for shard in shards_of(objects, most_bytes=100)] == [
        ["a/1"],
        ["a/2.tar"],
        ["a/3.tgz"],
        ["a/4.tar.zst", "a/5"],
    ]


@given(sizes=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.booleans())))
def test_shards_hold_every_object_once_in_order_and_none_is_much_too_large(sizes: list[tuple[str, int, bool]]) -> None:
    objects = [
        stored(f"{folder}/{number:03d}{'.gz' * packed}", size)
        for number, (folder, size, packed) in enumerate(sorted(sizes, key=lambda each: each[0]))
    ]
    shards = list(shards_of(objects, most_bytes=100))

    assert [each for shard in shards for each in shard] == objects
    for shard in shards:
        weights = [each.bytes * (6 if each.name.endswith(".gz") else 1) for each in shard]
        assert sum(weights[:-1]) < 200


def test_a_folder_is_kept_together_where_it_can_be() -> None:
    objects = [stored("a/1", 60), stored("a/2", 60), stored("a/3", 60), stored("b/1", 60)]

    assert [[each.name for each in shard] for shard in shards_of(objects, most_bytes=100)] == [
        ["a/1", "a/2", "a/3"],
        ["b/1"],
    ]
