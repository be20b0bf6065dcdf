"""Bounds of one look at a repository: whoever made it may have made it to be endless."""

from __future__ import annotations

import time
from typing import Final

from grader_daemon.errors import ReadError

MOST_BYTES: Final = 256_000_000
MOST_OBJECTS: Final = 100_000
_LONGER: Final = 5.0
"""A look may last so many times its processor time: a disk that is slow, or a network's."""


_BETWEEN_CLOCKS: Final = 32
"""Charges between two looks at the clocks, which cost as much as a small read: a millisecond at most passes between."""


class OverBudgetError(ReadError):
    """A look came to its bounds before it had seen all."""


class Budget:
    """Processor time, bytes and objects that are left of a look."""

    def __init__(self, cpu_seconds: float, *, most_bytes: int = MOST_BYTES, most_objects: int = MOST_OBJECTS) -> None:
        self._cpu_seconds = cpu_seconds
        self._most_bytes = most_bytes
        self._most_objects = most_objects
        self.renew()

    def renew(self) -> None:
        """Begin another look, with all that it may take."""
        self._cpu_began = time.thread_time()
        self._began = time.monotonic()
        self._charges = 0
        self.bytes = 0
        self.objects = 0

    @property
    def cpu_used(self) -> float:
        """Seconds of a processor since the look began."""
        return time.thread_time() - self._cpu_began

    def charge(self, size: int, *, objects: int = 0) -> None:
        """Count what is read.

        Raises:
            OverBudgetError: it is more than the look may take.
        """
        self.bytes += size
        self.objects += objects
        if self.bytes > self._most_bytes or self.objects > self._most_objects:
            raise OverBudgetError(f"it is too large to check at once: {self.bytes:,} bytes, {self.objects:,} objects")
        self._charges += 1
        if self._charges % _BETWEEN_CLOCKS == 0:
            self._check_clocks()

    def _check_clocks(self) -> None:
        if self.cpu_used > self._cpu_seconds:
            raise OverBudgetError(f"checking it takes more than outcomes_seconds = {self._cpu_seconds:g}")
        if time.monotonic() - self._began > self._cpu_seconds * _LONGER:
            raise OverBudgetError(f"its disk is slow: checking it takes more than {self._cpu_seconds * _LONGER:g} s")
