from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, VanishedFileError
from grader_daemon.sources.file_reading import found_file, look_at, read_file, stamp_of
from tests.strategies import status
from tests.units import unit


def read(path: str, status: os.stat_result, *, limits: Limits, roots: Sequence[str] = ()) -> bytes:
    """Read a file as it was found."""
    return read_file(found_file(unit(path), status), status, limits=limits, roots=roots)


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(0, id="empty"),
        pytest.param(1, id="one-byte"),
        pytest.param(1_000_000, id="just-small-enough"),
    ],
)
def test_a_file_is_read_whole(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(os.urandom(size))
    assert read(str(path), look_at(str(path)), limits=Limits(bytes=1_000_000)) == path.read_bytes()


def test_a_larger_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1001)
    with pytest.raises(ParseError, match="1,001 bytes are more than max_file_bytes = 1,000"):
        read(str(path), look_at(str(path)), limits=Limits(bytes=1000))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: path.write_bytes(b"longer than before"), id="grown"),
        pytest.param(lambda path: path.write_bytes(b""), id="shrunk"),
        pytest.param(lambda path: os.utime(path, ns=(1, 1)), id="touched"),
        pytest.param(lambda path: path.with_name("b").rename(path), id="replaced"),
    ],
)
def test_a_file_that_changes_meanwhile_is_noticed(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before")
    path.with_name("b").write_bytes(b"other!")
    found = look_at(str(path))
    change(path)
    with pytest.raises(ChangingFileError):
        read(str(path), found, limits=Limits(bytes=1000))


def read_growing(path: Path, found: os.stat_result) -> bytes:
    """Read a file to which is only ever added, as it was found."""
    return read_file(found_file(unit(str(path)), found), look_at(str(path)), limits=Limits(bytes=6), grows=True)


def test_a_file_that_grows_is_read_as_far_as_it_was_found(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before")
    found = look_at(str(path))
    with path.open("ab") as file:
        file.write(b" and after")
    assert read_growing(path, found) == b"before"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: path.write_bytes(b"less"), id="shrunk"),
        pytest.param(lambda path: path.write_bytes(b"other!"), id="written-anew"),
        pytest.param(lambda path: path.with_name("b").rename(path), id="replaced-by-a-longer-one"),
    ],
)
def test_a_growing_file_that_did_anything_else_has_changed(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before")
    os.utime(path, ns=(1, 1))
    path.with_name("b").write_bytes(b"before and other")
    found = look_at(str(path))
    change(path)
    with pytest.raises(ChangingFileError):
        read_growing(path, found)


def test_a_file_that_vanishes_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    found = look_at(str(path))
    path.unlink()
    with pytest.raises(VanishedFileError):
        read(str(path), found, limits=Limits(bytes=1000))


def test_a_link_that_takes_a_files_place_is_not_followed(tmp_path: Path) -> None:
    path, secret = tmp_path / "a", tmp_path / "secret"
    path.write_bytes(b"x")
    secret.write_bytes(b"y")
    found = look_at(str(path))
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(ReadError):
        read(str(path), found, limits=Limits(bytes=1000))


def test_a_pipe_that_takes_a_files_place_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    found = look_at(str(path))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ReadError):
        read(str(path), found, limits=Limits(bytes=1000))


@pytest.mark.parametrize(
    "name", [pytest.param("absent", id="no-such-file"), pytest.param("file/below", id="below-a-file")]
)
def test_what_is_not_there_is_gone(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(VanishedFileError):
        look_at(str(tmp_path / name))


def test_what_may_not_be_looked_at_is_told(
    tmp_path: Path, without_rights: Callable[[], AbstractContextManager[None]]
) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "a").touch()
    folder.chmod(0)
    with without_rights(), pytest.raises(ReadError, match="permission denied; the daemon must run as"):
        look_at(str(folder / "a"))
    folder.chmod(0o700)


def test_a_name_that_no_file_can_have_is_told(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="name too long"):
        look_at(str(tmp_path / ("x" * 300)))


@pytest.mark.parametrize(
    ("mtime_ns", "moment"),
    [
        pytest.param(1_763_762_400_500_000_000, datetime(2025, 11, 21, 22, 0, 0, 500_000, UTC), id="now"),
        pytest.param(-1_000_000_000, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), id="before-1970"),
        pytest.param(2**62, datetime(2116, 2, 20, 23, 53, 38, 427388, UTC), id="far"),
        pytest.param(15_032_385_535 * 10**9, datetime(2262, 4, 11, 23, 47, 16, 854776, UTC), id="2446-is-cut-to-2262"),
        pytest.param(10**21, datetime(2262, 4, 11, 23, 47, 16, 854776, UTC), id="beyond-any-calendar"),
        pytest.param(-(10**21), datetime(1677, 9, 21, 0, 12, 43, 145224, UTC), id="before-any-calendar"),
    ],
)
def test_modification_times_are_utc_and_the_nearest_that_can_be_kept(mtime_ns: int, moment: datetime) -> None:
    """2**63 ns are 9,223,372,036.854775808 s: from 1677-09-21T00:12:43.145 to 2262-04-11T23:47:16.855."""
    assert found_file(unit("a"), status(mtime_ns=mtime_ns)).written_at == moment


def test_inodes_of_64_bits_stay_distinct() -> None:
    inodes = (0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1)
    assert len({stamp_of(status(inode=inode)) for inode in inodes}) == len(inodes)


@pytest.mark.parametrize("inode", [0, 1, 2**63 - 1])
def test_numbers_that_fit_are_kept_as_they_are(inode: int) -> None:
    """So that what a ledger of an earlier version remembers still holds."""
    assert stamp_of(status(inode=inode, mtime_ns=-5)) == struct.pack(">5q", 0, inode, 0, -5, 0)


# -- links on the way --------------------------------------------------------------------------------------------------


def test_a_folder_that_is_swapped_for_a_link_is_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "root" / "a" / "b", tmp_path / "outside" / "b"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
        (folder / "session_x.json").write_text(folder.parent.name)
    path = str(inside / "session_x.json")
    (tmp_path / "root" / "a").rename(tmp_path / "root" / "was_a")
    (tmp_path / "root" / "a").symlink_to(tmp_path / "outside")

    with pytest.raises(VanishedFileError):
        read(path, look_at(path), limits=Limits(), roots=[str(tmp_path / "root")])


@pytest.mark.parametrize(
    "root", [pytest.param("link", id="the-root-is-a-link"), pytest.param("link/a", id="a-link-above-the-root")]
)
def test_the_root_and_what_is_above_it_may_be_links(tmp_path: Path, root: str) -> None:
    (tmp_path / "real" / "a" / "b").mkdir(parents=True)
    (tmp_path / "real" / "a" / "b" / "session_x.json").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    path = str(tmp_path / "link" / "a" / "b" / "session_x.json")

    assert read(path, look_at(path), limits=Limits(), roots=[str(tmp_path / root)]) == b"x"


def test_a_file_in_the_root_itself_is_read(tmp_path: Path) -> None:
    path = tmp_path / "session_x.json"
    path.write_text("x")

    assert read(str(path), look_at(str(path)), limits=Limits(), roots=[str(tmp_path)]) == b"x"


def test_a_folder_that_is_gone_is_told_from_one_that_may_not_be_entered(
    tmp_path: Path, without_rights: Callable[[], AbstractContextManager[None]]
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "session_x.json").write_text("x")
    found = look_at(str(folder / "session_x.json"))
    folder.chmod(0)
    with without_rights(), pytest.raises(ReadError) as refused:
        read(str(folder / "session_x.json"), found, limits=Limits(), roots=[str(tmp_path)])
    folder.chmod(0o700)

    assert not isinstance(refused.value, VanishedFileError)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "session_x.json").write_text("x")
    path = str(tmp_path / "a" / "b" / "session_x.json")
    before = len(os.listdir("/proc/self/fd"))

    read(path, look_at(path), limits=Limits(), roots=[str(tmp_path)])
    with pytest.raises(VanishedFileError):
        read(path.replace("/b/", "/c/"), look_at(path), limits=Limits(), roots=[str(tmp_path)])

    assert len(os.listdir("/proc/self/fd")) == before


def test_everything_may_be_watched() -> None:
    path = os.path.realpath(__file__)

    assert read(path, look_at(path), limits=Limits(), roots=["/"]).startswith(b"from __future__")
