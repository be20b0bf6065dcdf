"""Features of the texts that a request quotes, or paths: whether they turn up in the work.

Only where something is done: a question that is looked up names what is already known.
"""

from __future__ import annotations

import re
from typing import Final

from grader_daemon.analysis.features.feature import Feature, share
from grader_daemon.analysis.features.kind_of_work import KindOfWork, kind_of
from grader_daemon.analysis.features.session_window import SessionWindow, ends

FEATURES: Final = (
    Feature("specifics_called", "Share of the request's quotes and paths that are in calls (0.5 without any).", 1),
    Feature(
        "specifics_shown", "Share of the request's quotes and paths that are in the last results (0.5 without any).", 1
    ),
    Feature(
        "specifics_answered", "Share of the request's quotes and paths that are in the answer (0.5 without any).", 0.5
    ),
)

_QUOTED = re.compile(r"[`'\"‘“](?:(?<=`)([^`\n]{2,60})`|(?<!`)(?<!\w.)([^'\"’”\n]{2,60})['\"’”](?!\w))")
"""Quotes in a request. What stands before the quote is asked after it: so the search goes from quote to quote."""

_PATH = re.compile(r"[.~]?/[\w./-]{2,100}|[\w-]{1,40}\.[a-z]{2,5}")
_AROUND = ".,;:!?()[]{}*`'\"‘’“”"
_MOST = 10
_LATE = 6
_REACH = 300
_NOTHING_DONE = (KindOfWork.LOOKUP, KindOfWork.TALK)
_UNKNOWN = 0.5


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    specifics = [] if kind_of(window) in _NOTHING_DONE or not window.steps else _specifics(window.task)
    if not specifics:
        return _UNKNOWN, _UNKNOWN, _UNKNOWN
    called = "\n".join([ends(step.call.text, _REACH) for step in window.steps])
    shown = "\n".join([ends(step.result, _REACH) for step in window.steps[-_LATE:]])
    return _found(specifics, called), _found(specifics, shown), _found(specifics, window.answer)


def _specifics(task: str) -> list[str]:
    quoted = [one or other for one, other in _QUOTED.findall(task)]
    words = [word.rstrip(_AROUND).lstrip(_AROUND[1:]) for word in task.split() if "/" in word or "." in word]
    return list(dict.fromkeys([*quoted, *filter(_PATH.fullmatch, words)]))[:_MOST]


def _found(specifics: list[str], where: str) -> float:
    return share(sum([text in where for text in specifics]), len(specifics))
