"""The check of what became of sessions: can the daemon see the folders that they worked in?"""

from __future__ import annotations

import os
from typing import Final

from grader_daemon.api.doctor.check_words import some
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import Finding, ok, warning
from grader_daemon.domain.text import count
from grader_daemon.outcomes.model import HIDDEN
from grader_daemon.outcomes.store import OutcomesTable

_LOOKED_AT: Final = 200
_WHY: Final = "see the limits in docs/outcomes.md, or set outcomes_git = false"


def outcomes(context: DoctorContext) -> Finding:
    """Check that the work of the last sessions could be looked at."""
    if not context.settings.outcomes_git:
        return ok("off, by the setting outcomes_git")
    if not context.has_database or context.is_earlier:
        return ok("no session was checked yet")
    followed = OutcomesTable(context.store).every(_LOOKED_AT)
    troubles = list(dict.fromkeys(each.fate.trouble for each in followed if each.fate.trouble is not None))
    hidden = [each.removesuffix(HIDDEN) for each in troubles if each.endswith(HIDDEN)]
    hidden = [folder for folder in hidden if os.path.isdir(folder)]
    if hidden:
        folders = some(hidden)
        fix = "add your project folders to outcomes_roots, then: grader-daemon service install"
        return warning(f"the service does not see {count(len(hidden), 'folder')} of projects: {folders}", fix)
    others = [each for each in troubles if not each.endswith(HIDDEN)]
    if others:
        return warning(f"of {count(len(others), 'project')} not all could be seen: {some(others)}", _WHY)
    return ok(f"what becomes of the work of {count(len(followed), 'session')} is tracked")
