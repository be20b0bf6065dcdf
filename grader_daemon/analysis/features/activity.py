"""Features of the amount of work on the request.

An agent that is good at its work goes on until it is done, so what took it longer than it ordinarily takes was hard for
it. These count the whole session, not only its end.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import HIGHEST, Feature, log
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.domain.analysis import FailureKind

FEATURES: Final = (
    Feature("little_done", "The task is about files, and the agent took at most four turns.", -1),
    Feature("nothing_done", "The task is about files, but the agent called no tool.", -1),
    Feature("turns_for_answer", "Turns, in work without files.", -1, HIGHEST),
    Feature("asked_length", "Characters of the request.", -0.5, HIGHEST),
    Feature("said_length", "Characters of all texts by the agent.", -1, HIGHEST),
    Feature("shown_length", "Characters of all results.", -0.5, HIGHEST),
    Feature("exchanges", "Number of messages and results.", -1, HIGHEST),
    Feature("answered_calls", "Number of calls with a result.", -0.5, HIGHEST),
    Feature("mishaps", "Number of unrecovered errors.", -0.5, HIGHEST),
)

_FEW = 4


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    return (
        *_of_turns(window),
        log(window.lengths.asked),
        log(window.lengths.said),
        log(window.lengths.shown),
        log(window.turns + window.count_results + window.count_people),
        log(window.count_results),
        log(sum([failure.kind is FailureKind.HARMFUL for failure in window.failures])),
    )


def _of_turns(window: SessionWindow) -> tuple[float, float, float]:
    if window.about_files:
        return float(window.turns <= _FEW), float(not window.calls), 0.0
    return 0.0, 0.0, log(window.turns)
