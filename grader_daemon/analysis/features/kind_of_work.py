"""The kind of work of a session, told by the request and the tools that were used.

The same sign may point one way where things are looked up and the other way where a person is served.
"""

from __future__ import annotations

from enum import StrEnum

from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.analysis.tool_calls import HARMLESS, Purpose


class KindOfWork(StrEnum):
    """Kind of work; of several the first."""

    FILES = "files"
    COMPUTING = "computing"
    SERVICE = "service"
    LOOKUP = "lookup"
    TALK = "talk"


def kind_of(window: SessionWindow) -> KindOfWork:
    """Return the kind of work: a service changes something or goes on with a person, talk is without calls."""
    effects = window.effects
    if window.about_files:
        return KindOfWork.FILES
    if effects.count(Purpose.RUN) * 2 > len(effects):
        return KindOfWork.COMPUTING
    if effects and (window.count_people > 1 or not HARMLESS.issuperset(effects)):
        return KindOfWork.SERVICE
    return KindOfWork.LOOKUP if effects else KindOfWork.TALK
