"""What a daemon that was stopped or killed was doing to its database: told by the locks and by the write-ahead log.

Both formats are SQLite's: https://sqlite.org/walformat.html.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

_FLOCK = struct.Struct("hhqqi4x")
"""What fcntl(2) takes: type, whence, start, length, pid."""

_WRITE_LOCK = 120
"""Offset of the byte of the shared memory that is locked from BEGIN IMMEDIATE to COMMIT."""

_HEADER = 32
_FRAME_HEADER = 24


def in_transaction(database: Path) -> bool:
    """Does a process write to the database, or has it just begun to?"""
    try:
        descriptor = os.open(f"{database}-shm", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _WRITE_LOCK, 1, 0)
        lock_type = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))[0]
    finally:
        os.close(descriptor)
    return bool(lock_type != fcntl.F_UNLCK)


def uncommitted_pages(database: Path) -> bytes:
    """Give the headers of the pages that the log holds behind its last commit: a commit was cut short if there are any.

    They stay until the next commit overwrites them, so the same ones may be seen twice.
    """
    try:
        log = Path(f"{database}-wal").read_bytes()
    except FileNotFoundError:
        return b""
    salts = log[16:24]
    step = _FRAME_HEADER + int.from_bytes(log[8:12], "big")
    headers = b""
    for start in range(_HEADER, len(log) - _FRAME_HEADER, step):
        header = log[start : start + _FRAME_HEADER]
        if header[8:16] != salts:
            break
        ends_commit = header[4:8] != bytes(4)
        headers = b"" if ends_commit else headers + header
    return headers
