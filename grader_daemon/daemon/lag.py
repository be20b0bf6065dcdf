"""Has the daemon fallen behind? Pure: told how long the oldest file has waited to be graded."""

from __future__ import annotations

from grader_daemon.domain.ledger import BEHIND

_CAUGHT_UP_SECONDS = 5.0
"""Less than `BEHIND`, so that a daemon at its limit does not say every other moment that it has caught up."""


class Lag:
    """Notices when files begin to wait for long, and when they do no more."""

    def __init__(self) -> None:
        self.is_behind = False

    def note(self, waited_seconds: float) -> bool:
        """Note how long the oldest file has waited (0: none waits); say whether that changed `is_behind`."""
        before = self.is_behind
        self.is_behind = waited_seconds >= (_CAUGHT_UP_SECONDS if before else BEHIND.total_seconds())
        return self.is_behind is not before
