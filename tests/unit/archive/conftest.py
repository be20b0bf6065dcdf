"""An archive of made-up sessions, plain and packed in every way."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from grader_daemon.system import zstd
from tests.e2e.session_files import content, turns

PLAIN, GZIPPED, ZSTANDARD, IN_TAR = (f"20261101_10000{number}_aaaaa{number}" for number in range(4))


def session(session_id: str) -> bytes:
    return content(session_id, turns(1))


def tar_of(members: dict[str, bytes], *, links: dict[str, str] | None = None) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), 1_761_991_200
            tar.addfile(member, io.BytesIO(data))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return packed.getvalue()


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A folder with one session in each way of packing."""
    folder = tmp_path / "old"
    (folder / "sessions").mkdir(parents=True)
    (folder / f"sessions/session_{PLAIN}.json").write_bytes(session(PLAIN))
    (folder / f"sessions/session_{GZIPPED}.json.gz").write_bytes(gzip.compress(session(GZIPPED)))
    (folder / f"session_{ZSTANDARD}.json.zst").write_bytes(zstd.compress(session(ZSTANDARD)))
    (folder / "more.tar.gz").write_bytes(tar_of({f"sessions/session_{IN_TAR}.json": session(IN_TAR)}))
    return folder
