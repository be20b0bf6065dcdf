"""Names of the groups that sessions are summed by. Apart from the sums, because a Tab must not wait for those."""

from __future__ import annotations

from typing import Final

NAME_CHARACTERS: Final = 120
"""Most characters of a name that comes from a session; the roll-ups know no more."""
UNKNOWN: Final = "unknown"
"""Model, platform, project … of sessions that do not say theirs, so that the groups of a dimension add up to all."""


def kept_folder(path: str) -> str:
    """Return so much of a folder as sums are kept by: its end, for folders differ there."""
    return path[-NAME_CHARACTERS:]
