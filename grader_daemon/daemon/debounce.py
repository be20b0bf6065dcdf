"""When is a file quiet? Pure: time comes in as seconds of any monotonic clock."""

from __future__ import annotations


class Debouncer:
    """Holds back paths until nothing touched them for `quiet` seconds, but never longer than `max_wait`.

    At most `capacity` paths are held; one more is refused, and the caller must find it again on the disk.
    Not thread-safe: its owner guards it.
    """

    def __init__(self, *, quiet: float, max_wait: float, capacity: int) -> None:
        self._quiet = quiet
        self._max_wait = max(max_wait, quiet)
        self._capacity = capacity
        # Both in order of their times: a touch moves a path to the end of the first, never within the second.
        self._last_touch: dict[str, float] = {}
        self._first_touch: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._last_touch)

    def touch(self, path: str, at: float) -> bool:
        """Note a change of `path`; False when there is no room for it."""
        if path in self._last_touch:
            del self._last_touch[path]
        elif len(self._last_touch) >= self._capacity:
            return False
        else:
            self._first_touch[path] = at
        self._last_touch[path] = at
        return True

    def pop_due(self, now: float) -> list[str]:
        """Return and forget the paths that are quiet, or have waited for too long."""
        due = dict.fromkeys(_heads(self._last_touch, now - self._quiet))
        due.update(dict.fromkeys(_heads(self._first_touch, now - self._max_wait)))
        for path in due:
            del self._last_touch[path]
            del self._first_touch[path]
        return list(due)

    def next_due(self) -> float | None:
        """Return the time at which the next path is due; None when nothing is held."""
        if not self._last_touch:
            return None
        quiet_at = next(iter(self._last_touch.values())) + self._quiet
        late_at = next(iter(self._first_touch.values())) + self._max_wait
        return min(quiet_at, late_at)


def _heads(touches: dict[str, float], until: float) -> list[str]:
    """Return the paths from the front whose time is not after `until`."""
    heads = []
    for path, at in touches.items():
        if at > until:
            break
        heads.append(path)
    return heads
