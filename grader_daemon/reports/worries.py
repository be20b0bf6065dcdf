"""The gravest fact about a session, in about five words: what makes it worth a look."""

from __future__ import annotations

from typing import Final

from grader_daemon.domain.analysis import FailureKind
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.people import OBJECTING
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.text import count

_BY_STANDING: Final = {
    ResultStanding.CONTRADICTED: "claims something that was not done",
    ResultStanding.CHECK_FAILED: "its last check failed",
}
_BY_ENDING: Final = {
    EndingKind.GAVE_UP: "gave up",
    EndingKind.LIMIT: "cut short by a limit",
    EndingKind.ERROR: "cut short by an error",
    EndingKind.PROCESS: "its process ended",
    EndingKind.NO_ANSWER: "ended without an answer",
    EndingKind.LEFT: "stops in the middle",
    EndingKind.PERSON: "a person stopped it",
}


def worry_words(grade: Grade) -> str | None:
    """Return the gravest fact about a session; how likely it was done where there is none, None if that is unknown."""
    if grade.standing in _BY_STANDING:
        return _BY_STANDING[grade.standing]
    if grade.ending in _BY_ENDING:
        return _BY_ENDING[grade.ending]
    if grade.signals_from_people and grade.signals_from_people[-1].kind in OBJECTING:
        return "the person was not satisfied"
    if grade.asked_again is not None:
        return "the same task was given again"
    if grade.standing is ResultStanding.ADMITTED:
        return "admits that a part is not done"
    errors = sum(failure.kind is FailureKind.HARMFUL for failure in grade.failures)
    if errors:
        return f"{count(errors, 'failed call')} never worked later"
    return None if grade.p_completed is None else f"{100 * grade.p_completed:.0f} % likely done"
