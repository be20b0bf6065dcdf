"""The check of the scorer: was it reached, and did it answer?"""

from __future__ import annotations

from typing import Final

from grader_daemon.api.doctor.check_words import span
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import Finding, ok, warning
from grader_daemon.domain.quality import CheckOutcome, name_of
from grader_daemon.domain.text import count
from grader_daemon.scorers.make import Scorers

_UNANSWERED: Final = 5


def scorer(context: DoctorContext) -> Finding:
    """Check that the scorer that is set answered when it was asked last."""
    settings = context.settings
    asked = Scorers.of(settings)
    if asked is None:
        return ok("no scorer is set: no session leaves this machine")
    name = name_of(asked)
    if settings.scorer_setting is None:
        return ok(f"{name} is set, and never asked: quality_checks_per_day is 0")
    last = context.store.quality.latest(name, _UNANSWERED) if context.has_database else []
    if not last:
        return ok(f"{name} was not asked yet")
    ago = f"{span(context.now - last[0].checked_at)} ago"
    if last[0].outcome is CheckOutcome.UNAVAILABLE:
        return warning(
            f"it could not be asked {ago}: {last[0].error}", f"start it, or correct {settings.scorer_setting}"
        )
    if len(last) == _UNANSWERED and all(check.quality is None for check in last):
        fix = "look whether it answers with a number from 1 to 5, and nothing else"
        return warning(f"the last {count(_UNANSWERED, 'call')} had no answer: {last[0].error}", fix)
    return ok(f"{name} was asked {ago}")
