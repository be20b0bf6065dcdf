from __future__ import annotations

import io
import tarfile
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.archive.tar import members
from grader_daemon.errors import ReadError

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)


def packed(files: dict[str, bytes], *, form: int, links: tuple[str, ...] = ()) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as tar:
        for link in links:
            member = tarfile.TarInfo(link)
            member.type, member.linkname = tarfile.SYMTYPE, "x" * 150 if form != tarfile.USTAR_FORMAT else "x"
            tar.addfile(member)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1_000
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def read(stream: bytes) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for each in members(io.BytesIO(stream)):
        content = b""
        while each.content is not None and (chunk := each.content.read(1000)):
            content += chunk
        found[each.name] = content if each.content is not None else None
    return found


def header(kind: bytes, size: int, name: str = "long") -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60).filter(
    lambda name: not name.endswith("/")
)


@given(files=st.dictionaries(NAMES, st.binary(max_size=1500), max_size=5), form=st.sampled_from(FORMATS[1:]))
def test_files_come_back_as_the_standard_module_packs_them(files: dict[str, bytes], form: int) -> None:
    assert read(packed(files, form=form)) == files


@pytest.mark.parametrize("form", FORMATS)
def test_files_that_are_passed_over_and_links_are_in_nobodys_way(form: int) -> None:
    name = "folder/" * 15 + "b" * 90
    stream = packed({"a": bytes(100_000), name: b"2"}, form=form, links=("link",))

    assert [(each.name, each.size, each.content is None) for each in members(io.BytesIO(stream))] == [
        ("link", 0, True),
        ("a", 100_000, False),
        (name, 1, False),
    ]


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_header_without_end_takes_no_memory(kind: bytes) -> None:
    stream = header(kind, 50_000_000) + b"d" * 50_000_000
    tracemalloc.start()
    with pytest.raises(ReadError, match=r"a header of 50,000,000 bytes; at most 65,536 are read"):
        read(stream)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < 1_000_000


@pytest.mark.parametrize(
    ("stream", "says"),
    [
        pytest.param(b"no tar" * 100, "not a tar file", id="something-else"),
        pytest.param(b"", "not a tar file", id="empty"),
        pytest.param(packed({"a": b"1" * 600}, form=tarfile.GNU_FORMAT)[:800], "middle of a file", id="cut-file"),
        pytest.param(header(tarfile.GNUTYPE_LONGNAME, 700) + b"n" * 600, "middle of a header", id="cut-header"),
        pytest.param((header(tarfile.XGLTYPE, 0)) * 20, "more than 8 headers", id="headers-without-end"),
        pytest.param(header(tarfile.XHDTYPE, 5) + b"0 a=b" + bytes(507), "damaged header of PAX", id="records"),
        pytest.param(header(tarfile.REGTYPE, -5), "a file without size", id="negative"),
    ],
)
def test_what_cannot_be_read_is_told(stream: bytes, says: str) -> None:
    with pytest.raises(ReadError, match=says):
        read(stream)


def test_one_without_files_is_empty_and_no_empty_block_has_to_end_it() -> None:
    assert read(bytes(1024)) == {}
    assert read(packed({"a": b"1"}, form=tarfile.GNU_FORMAT)[:1024]) == {"a": b"1"}


def test_a_file_with_holes_is_named_and_those_behind_it_are_read() -> None:
    sparse = bytearray(header(tarfile.GNUTYPE_SPARSE, 1024, "holes"))
    sparse[482] = 1
    sparse[148:156] = b"%06o\0 " % (sum(sparse[:148]) + 8 * 32 + sum(sparse[156:]))
    stream = bytes(sparse) + bytes(504) + b"\1" + bytes(7) + bytes(512) + b"x" * 1024
    behind = packed({"a": b"1"}, form=tarfile.GNU_FORMAT)

    found = [(each.name, each.is_sparse) for each in members(io.BytesIO(stream + behind))]

    assert found == [("holes", True), ("a", False)]


def test_what_pax_calls_a_size_or_a_time_may_be_none() -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("a")
        member.size, member.mtime, member.pax_headers = 1, 5, {"mtime": "nan", "other": "x"}
        tar.addfile(member, io.BytesIO(b"1"))

    [found] = members(io.BytesIO(stream.getvalue()))

    assert (found.name, found.size) == ("a", 1)


def few_bytes(content: bytes) -> Callable[[int], bytes]:
    """Read as a pipe does, which gives less than it is asked for."""
    stream = io.BytesIO(content)
    return lambda size: stream.read(min(size, 7))


def test_a_stream_that_gives_little_at_a_time_is_read() -> None:
    class Pipe:
        read = staticmethod(few_bytes(packed({"a": b"1" * 900}, form=tarfile.GNU_FORMAT)))

    assert [each.size for each in members(Pipe())] == [900]
