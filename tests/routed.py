"""Finished sessions as routing sees them."""

from __future__ import annotations

from itertools import count

from grader_daemon.domain.routing import FinishedSession
from tests.strategies import NOW

_numbers = count()


def finished(**changes: object) -> FinishedSession:
    """A session that just ended as completed, of a request of its own, but for `changes`."""
    base = FinishedSession(
        session_id=f"session-{next(_numbers)}",
        ended_at=NOW,
        task_type="debugging",
        model="cheap",
        completed=True,
        p_completed=None,
        judged=False,
        unsure=False,
        request=None,
        cost_usd=None,
    )
    return base._replace(**changes)  # type: ignore[arg-type]


def several(number: int, completed: int, **changes: object) -> list[FinishedSession]:
    """So many sessions, the first of them completed."""
    return [finished(**{"completed": place < completed} | changes) for place in range(number)]
