"""The row of the list of sessions that a grade has.

Apart from `session_list`, which knows all filters: an agent that asks waits for what is imported here.
"""

from __future__ import annotations

from typing import Final

ENDED_AT: Final = (
    "iif(d.ended_at > g.graded_at, min(d.ended_at, coalesce("
    "strftime('%Y-%m-%dT%H:%M:%S+00:00', g.graded_at, '+1 hour'), d.ended_at)), coalesce(d.ended_at, g.graded_at))"
)
"""When a session ended; one of the future, by the clock of another machine, an hour behind when it was graded."""

LISTED_AS: Final = f"session_list AS l ON l.ended_at = {ENDED_AT} AND l.session_id = g.session_id"
"""The row of the list of a grade `g` with its details `d`, to be joined."""
