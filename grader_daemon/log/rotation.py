"""The log of a service whose manager writes a file and never a new one: begun anew where it is too long.

launchd gives each process of a job one file for all that it says (`LOG_FILE`), which nobody but root may rotate.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final, TextIO

LOG_FILE: Final = "SERVICE_LOG_FILE"
"""Variable of the environment that names the file; only what runs as a service has it."""

_MOST_BYTES: Final = 10_000_000
_EVERY: Final = 200
"""Lines after which the file is looked at."""


class Rotated:
    """A stream into such a file; one file before it is kept beside it, with ``.1`` at its end."""

    def __init__(self, stream: TextIO, path: str) -> None:
        self._stream = stream
        self._path = path
        self._count = 0

    def write(self, text: str) -> int:
        """Write a text, into a new file if this one is long; without one, where none can be made."""
        self._count += 1
        if self._count % _EVERY == 1:
            with suppress(OSError):
                self._begin_anew()
        return self._stream.write(text)

    def flush(self) -> None:
        """Write what is held back."""
        self._stream.flush()

    def _begin_anew(self) -> None:
        path = self._path
        ours = os.fstat(self._stream.fileno())
        there = os.stat(path, follow_symlinks=False)
        if ours.st_size <= _MOST_BYTES or (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino):
            return
        os.replace(path, f"{path}.1")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            for standard in (sys.stdout, sys.stderr):
                os.dup2(descriptor, standard.fileno())
        finally:
            os.close(descriptor)
