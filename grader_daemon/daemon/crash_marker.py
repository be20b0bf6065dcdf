"""Which file is being read, kept where a crash cannot take it: a file that ends the daemon must not do so for ever.

The name of the file stands in ``<database>.reading`` while it is read. If the daemon dies meanwhile (out of memory, a
watchdog, a kill), the next one finds the name there and counts a failed attempt for that file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from grader_daemon.errors import StoreError

_END = b"\0"
"""No path holds one."""

_LONGEST_PATH = 65_536


class CrashMarker:
    """One small file. The worker's thread writes it, at the cost of one system call for each session."""

    def __init__(self, db_path: Path) -> None:
        self._path = db_path.with_name(db_path.name + ".reading")
        self._descriptor: int | None = None

    def open(self) -> str | None:
        """Open the file; give what the daemon before read when it died, or None.

        Raises:
            StoreError: the file cannot be made.
        """
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            name, end, _ = os.pread(self._descriptor, _LONGEST_PATH, 0).partition(_END)
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}") from error
        return os.fsdecode(name) if name and end else None

    def set(self, path: str) -> None:
        """`path` is going to be read. A full disk is no reason not to read it."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.pwrite(self._descriptor, os.fsencode(path) + _END, 0)

    def clear(self) -> None:
        """No file is being read."""
        self.set("")

    def close(self) -> None:
        """Clear for good: what the worker still reads is left to the next daemon, without suspicion."""
        self.clear()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
