from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from grader_daemon.archive import unpacking
from grader_daemon.archive.objects import Archive
from grader_daemon.archive.slices import File, OpenReadings, Slice
from grader_daemon.archive.unpacking import Unpacked, unpack
from tests.unit.archive.conftest import GZIPPED, IN_TAR, PLAIN, ZSTANDARD, session, tar_of


def unpacked(source: Path, folder: Path, *, most_bytes: int = 1_000_000) -> tuple[dict[str, bytes], list[Unpacked]]:
    """What lay in the folder, all in all, and what was said."""
    archive = Archive(str(source))
    found: dict[str, bytes] = {}
    said: list[Unpacked] = []
    folder.mkdir()
    slices = map(Slice, archive.objects())
    for each in unpack(archive, slices, folder, most_bytes=most_bytes, readings=OpenReadings()):
        said.append(each)
        found |= {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    return found, said


def test_every_way_of_packing_is_undone(packed: Path, tmp_path: Path) -> None:
    found, [said] = unpacked(packed, tmp_path / "out")

    assert found == {
        f"sessions/session_{PLAIN}.json": session(PLAIN),
        f"sessions/session_{GZIPPED}.json": session(GZIPPED),
        f"session_{ZSTANDARD}.json": session(ZSTANDARD),
        f"more/sessions/session_{IN_TAR}.json": session(IN_TAR),
    }
    assert said == Unpacked(files=4, unreadable=[], goes_on=[])


def test_a_file_was_written_when_it_was_before_it_was_packed(packed: Path, tmp_path: Path) -> None:
    os.utime(packed / f"sessions/session_{PLAIN}.json", (1000, 1000))
    unpacked(packed, tmp_path / "out")

    assert (tmp_path / f"out/sessions/session_{PLAIN}.json").stat().st_mtime == 1000
    assert (tmp_path / f"out/more/sessions/session_{IN_TAR}.json").stat().st_mtime == 1_761_991_200


def test_nothing_is_written_outside_and_no_link_is_made(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    members = {"../../up": b"1", "/absolute": b"2", "a/../b": b"3", "./": b"4"}
    (tmp_path / "in/evil.tgz").write_bytes(tar_of(members, links={"link": "/etc", "up": "../.."}))

    found, _ = unpacked(tmp_path / "in", tmp_path / "out")

    assert found == {"evil/up": b"1", "evil/absolute": b"2", "evil/a/b": b"3"} | {
        name: data for name, data in found.items() if data == b"4"
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))


@pytest.mark.parametrize(
    ("name", "content", "kept"),
    [
        pytest.param("a.json.gz", b"no gzip", {}, id="no-gzip"),
        pytest.param("a.json.zst", b"no zstandard", {}, id="no-zstandard"),
        pytest.param("a.tar", b"no tar" * 100, {}, id="no-tar"),
        pytest.param("a.tar.gz", tar_of({"1": b"1", "2": os.urandom(90_000)})[:-40_000], {"a/1": b"1"}, id="cut-off"),
    ],
)
def test_what_cannot_be_read_is_named_and_the_rest_goes_on(
    tmp_path: Path, name: str, content: bytes, kept: dict[str, bytes]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(content)
    (tmp_path / "in/z.json").write_bytes(b"{}")

    found, [said] = unpacked(tmp_path / "in", tmp_path / "out")

    assert [each.name for each in said.unreadable] == [name]
    assert said.unreadable[0].reason
    assert {name: data for name, data in found.items() if name in kept} == kept
    assert found["z.json"] == b"{}"


def test_two_files_of_one_name_are_both_there(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json").write_bytes(b"one")
    (tmp_path / "in/a.json.gz").write_bytes(gzip.compress(b"another"))
    (tmp_path / "out").mkdir()
    archive = Archive(str(tmp_path / "in"))
    slices = map(Slice, archive.objects())
    unpacking = unpack(archive, slices, tmp_path / "out", most_bytes=100, readings=OpenReadings())

    assert [(tmp_path / "out/a.json").read_bytes() for _ in unpacking] == [b"one", b"another"]


def test_a_member_that_cannot_be_written_is_named_and_the_others_are_there(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    members = {"a": b"1", "a/b": b"2", "\N{LATIN SMALL LETTER E WITH ACUTE}" * 200 + ".json": b"3", "c": b"4"}
    (tmp_path / "in/t.tgz").write_bytes(tar_of(members))

    found, [said] = unpacked(tmp_path / "in", tmp_path / "out")

    assert [each.name for each in said.unreadable] == ["t.tgz: t/a/b"]
    assert sorted(found.values()) == [b"1", b"3", b"4"]
    assert sum(name.endswith(".json") for name in found) == 1


@pytest.mark.parametrize("mtime", ["nan", "1e30", "-5"])
def test_a_time_that_is_none_is_that_of_the_archive(tmp_path: Path, mtime: str) -> None:
    (tmp_path / "in").mkdir()
    with tarfile.open(tmp_path / "in/t.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("a")
        member.size, member.pax_headers = 1, {"mtime": mtime}
        tar.addfile(member, io.BytesIO(b"1"))
    os.utime(tmp_path / "in/t.tar", (1000, 1000))

    found, [said] = unpacked(tmp_path / "in", tmp_path / "out")

    assert (found, said.unreadable) == ({"t/a": b"1"}, [])
    assert (tmp_path / "out/t/a").stat().st_mtime == 1000


def test_of_a_file_that_is_damaged_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json.gz").write_bytes(gzip.compress(bytes(100_000))[:-8] + b"wrong!!!")

    found, [said] = unpacked(tmp_path / "in", tmp_path / "out")

    assert (found, [each.name for each in said.unreadable]) == ({}, ["a.json.gz"])


def test_a_file_that_is_too_large_is_cut_where_that_shows(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/bomb.json.gz").write_bytes(gzip.compress(bytes(10_000_000)))

    found, _ = unpacked(tmp_path / "in", tmp_path / "out", most_bytes=5000)

    assert len(found["bomb.json"]) == 5001


def test_no_more_lies_there_at_once_than_has_room(
    tmp_path: Path, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "AT_ONCE_BYTES", 1)

    found, said = unpacked(packed, tmp_path / "out")

    assert [each.files for each in said] == [1, 1, 1, 1]
    assert len(found) == 4


def test_a_name_that_is_too_deep_is_told_in_a_line_and_the_others_are_there(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    deep = {"d/" * folders + "session.json": b"{}" for folders in (1600, 1500, 30_000)}
    long = {"/".join(["n" * 250] * 20): b"{}"}
    (tmp_path / "in/t.tgz").write_bytes(tar_of(deep | long | {"good": b"1"}))

    found, [said] = unpacked(tmp_path / "in", tmp_path / "out")

    assert found == {"t/good": b"1"}
    [(name, reason)] = said.unreadable
    assert len(name) < 250
    assert reason == "it is nested in more than 100 folders (and 3 files more)"


def test_a_path_that_is_longer_than_any_here_is_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/t.tgz").write_bytes(tar_of({"/".join(["n" * 250] * 20): b"{}", "good": b"1"}))

    found, [said] = unpacked(tmp_path / "in", tmp_path / "out")

    assert found == {"t/good": b"1"}
    assert [each.reason for each in said.unreadable] == ["its name cannot be that of a file here: File name too long"]


def test_a_file_with_holes_is_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with (tmp_path / "in/holes").open("wb") as file:
        file.truncate(10_000_000)
    subprocess.run(["tar", "-C", tmp_path / "in", "-cSf", tmp_path / "in/t.tar", "holes"], check=True)
    (tmp_path / "in/holes").unlink()

    found, [said] = unpacked(tmp_path / "in", tmp_path / "out")

    assert found == {}
    assert [tuple(each) for each in said.unreadable] == [("t.tar: t/holes", "a sparse file; pack it without --sparse")]


def test_a_header_without_end_is_told_and_the_next_object_is_there(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    member = tarfile.TarInfo("long")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 1_500_000_000
    (tmp_path / "in/a.tar.gz").write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + b"d" * 1_000_000))
    (tmp_path / "in/b.json").write_bytes(b"{}")

    found, [said] = unpacked(tmp_path / "in", tmp_path / "out")

    assert found == {"b.json": b"{}"}
    assert [tuple(each) for each in said.unreadable] == [
        ("a.tar.gz", "a header of 1,500,000,000 bytes; at most 65,536 are read")
    ]


@pytest.mark.parametrize("error", [RecursionError("too deep"), MemoryError()])
def test_an_object_that_is_too_much_for_us_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json").write_bytes(b"{}")
    (tmp_path / "in/b.json").write_bytes(b"{}")
    write = unpacking._write

    def fails(file: File, path: str, most_bytes: int) -> int:
        if file.name == "a.json":
            raise error
        return write(file, path, most_bytes)

    monkeypatch.setattr(unpacking, "_write", fails)

    found, [said] = unpacked(tmp_path / "in", tmp_path / "out")

    assert found == {"b.json": b"{}"}
    assert [tuple(each) for each in said.unreadable] == [("a.json", str(error) or "MemoryError")]
