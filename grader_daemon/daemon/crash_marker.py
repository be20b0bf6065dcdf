"""Which unit is being read, kept where a crash cannot take it: one that ends the daemon must not do so for ever.

Its name stands in ``<database>.reading`` while it is read. If the daemon dies meanwhile (out of memory, a watchdog, a
kill), the next one finds the name there and counts a failed attempt for that unit.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from grader_daemon.domain.unit import Unit
from grader_daemon.errors import StoreError

_END = b"\0"
"""Of each part of a name; no path holds one."""

_PARTS = 3
_LONGEST_NAME = 65_536


class CrashMarker:
    """One small file. The worker's thread writes it, at the cost of one system call for each session."""

    def __init__(self, db_path: Path) -> None:
        self._path = db_path.with_name(db_path.name + ".reading")
        self._descriptor: int | None = None

    def open(self) -> Unit | None:
        """Open the file; return what the daemon before read when it died, or None.

        Raises:
            StoreError: the file cannot be made.
        """
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            *parts, _ = os.pread(self._descriptor, _LONGEST_NAME, 0).split(_END, _PARTS)
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}") from error
        return Unit(*map(os.fsdecode, parts)) if len(parts) == _PARTS and parts[0] else None

    def set(self, unit: Unit | None) -> None:
        """`unit` is going to be read, or none any more. A full disk is no reason not to read it."""
        if self._descriptor is not None:
            parts = ("",) if unit is None else (unit.source, unit.locator, unit.key)
            with suppress(OSError):
                os.pwrite(self._descriptor, b"".join(os.fsencode(part) + _END for part in parts), 0)

    def close(self) -> None:
        """Clear for good: what the worker still reads is left to the next daemon, without suspicion."""
        self.set(None)
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
