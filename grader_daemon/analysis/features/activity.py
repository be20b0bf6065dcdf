"""Features of the amount of work on the request."""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log
from grader_daemon.analysis.features.session_window import SessionWindow

FEATURES: Final = (
    Feature("little_done", "At most four turns for work on files.", -1),
    Feature("nothing_done", "No call at all for work on files.", -1),
    Feature("turns_for_answer", "Turns where no files are worked on.", -1, 12),
)

_FEW = 4


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    if window.about_files:
        return float(window.turns <= _FEW), float(not window.calls), 0.0
    return 0.0, 0.0, log(window.turns)
