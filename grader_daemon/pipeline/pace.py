"""The time for grading a large session that goes on again. Pure: time comes in as seconds of any monotonic clock.

Grading reads all of a session, so one that is graded at the end of each of 500 turns would cost 250 times what grading
it once does. What was parsed is not kept: it would take more memory than the file. Instead a large session waits in
proportion to its size, which is what it costs: until it has grown by half, or was quiet for four seconds for each MB.
Growing by halves adds up to three times the last grading; a MB takes some milliseconds, so one that is graded after
each rest takes a few thousandths of a processor at most.
"""

from __future__ import annotations

from grader_daemon.domain.unit import Unit

GROWTH = 1.5
QUIET_SECONDS_PER_BYTE = 4e-6
LONGEST_QUIET_TIMES = 30.0
"""A session that neither grows by much nor rests is graded again after so many times the quiet that it lacks."""

_MOST_UNITS = 10_000


class Pace:
    """Sizes of large sessions when they were graded last. One thread owns it; what it forgets need not wait."""

    def __init__(self, *, quiet_seconds: float) -> None:
        """`quiet_seconds`: for so long every session was quiet that is graded; it is enough for small ones."""
        self._quiet_seconds = quiet_seconds
        self._graded: dict[Unit, tuple[int, float]] = {}

    def note(self, unit: Unit, size: int, at: float) -> None:
        """Note that a session of `size` bytes was graded at that time."""
        self._graded.pop(unit, None)
        if self._needs(size) > 0:
            self._graded[unit] = size, at
        if len(self._graded) > _MOST_UNITS:
            del self._graded[next(iter(self._graded))]

    def remembers(self, unit: Unit) -> bool:
        """Return whether it is a large session, so that it may have to wait."""
        return unit in self._graded

    def wait_seconds(self, unit: Unit, size: int, *, quiet_for: float, at: float) -> float:
        """Return for how long a session that was quiet for `quiet_for` is to wait still; 0 if it may be graded."""
        if unit not in self._graded:
            return 0.0
        graded_size, graded_at = self._graded[unit]
        needed = self._needs(size)
        if quiet_for < 0 or size >= GROWTH * graded_size or at - graded_at >= LONGEST_QUIET_TIMES * needed:
            return 0.0
        return max(0.0, needed - quiet_for)

    def _needs(self, size: int) -> float:
        """Return for how long a session of this size must be quiet, 0 if it need not be quiet for longer than any."""
        needed = size * QUIET_SECONDS_PER_BYTE
        return needed if needed > self._quiet_seconds else 0.0
