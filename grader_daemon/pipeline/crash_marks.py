"""Marks of units that are being read, kept where no crash takes them: a unit must not end its readers for ever.

Each process has a slot for the name of the unit that it reads. If a helper process dies (out of memory, a kill), who
started it finds the name there, and counts a failed attempt for that unit alone; if the daemon dies, the next one does.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from grader_daemon.domain.unit import Unit
from grader_daemon.errors import StoreError
from grader_daemon.system.open_files import nameless_file

_END = b"\0"
"""End of each part of a name; no path holds one."""

_PARTS = 3
_SLOT_BYTES = 65_536
"""The longest name. Slots that lie apart leave a hole in the file, which takes no room."""


class CrashMark:
    """The slot of one process in an open file, at the cost of one system call for each session."""

    def __init__(self, descriptor: int, slot: int) -> None:
        self.descriptor = descriptor
        self.slot = slot

    def set(self, unit: Unit | None) -> None:
        """`unit` is going to be read, or none any more. A full disk is no reason not to read it."""
        parts = ("",) if unit is None else (unit.source, unit.locator, unit.key)
        with suppress(OSError):
            name = b"".join(os.fsencode(part) + _END for part in parts)
            os.pwrite(self.descriptor, name, self.slot * _SLOT_BYTES)

    def read(self) -> Unit | None:
        """Return the unit that was read last and not finished, or None.

        Raises:
            OSError: the file cannot be read.
        """
        *parts, _ = os.pread(self.descriptor, _SLOT_BYTES, self.slot * _SLOT_BYTES).split(_END, _PARTS)
        return Unit(*map(os.fsdecode, parts)) if len(parts) == _PARTS and parts[0] else None


class CrashMarks:
    """The slots of all processes: a small file beside the database, or memory for who leaves nothing to a successor."""

    def __init__(self, db_path: Path | None = None) -> None:
        """Set up; `open` opens ``<database>.reading``, or memory without a database."""
        self._path = None if db_path is None else db_path.with_name(db_path.name + ".reading")
        self._descriptor: int | None = None

    def open(self) -> list[Unit]:
        """Open the file; return what the daemon before and its helpers read when it died.

        The name of a single one stays until `set` is called: an attempt is to be counted for it. Which of several it
        was shows when each is read alone.

        Raises:
            StoreError: the file cannot be made.
        """
        try:
            self._descriptor = self._open()
            slots = -(-os.fstat(self._descriptor).st_size // _SLOT_BYTES)
            found = [CrashMark(self._descriptor, slot).read() for slot in range(slots)]
            suspects = list(dict.fromkeys(unit for unit in found if unit is not None))
            os.truncate(self._descriptor, 0)
            self.set(suspects[0] if len(suspects) == 1 else None)
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}") from error
        return suspects

    def _open(self) -> int:
        if self._path is None:
            return nameless_file("grader-daemon.reading")
        return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def of(self, slot: int) -> CrashMark:
        """Return the mark of a process; 0 is this one."""
        if self._descriptor is None:
            self.open()
        assert self._descriptor is not None
        return CrashMark(self._descriptor, slot)

    def set(self, unit: Unit | None) -> None:
        """See `CrashMark.set`, for this process."""
        if self._descriptor is not None:
            self.of(0).set(unit)

    def close(self) -> None:
        """Clear for good: what the worker still reads is left to the next daemon, without suspicion."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.truncate(descriptor, 0)
            os.close(descriptor)
