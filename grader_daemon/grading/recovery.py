"""Did the session get over its failures?"""

from __future__ import annotations

from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.grade import Reason

_SCORE = "errors_recovered"
_NO_FAILURES = Reason(_SCORE, "recovery.no_failures", None)


def grade_recovery(analysis: Analysis) -> tuple[bool, Reason]:
    """Recovered: no error at all, or a success after the last one and an answer at the end."""
    errors = analysis.errors
    if not errors:
        return True, _NO_FAILURES
    last = errors[-1].index
    if analysis.errors_recovered and analysis.recovery_index is not None:
        return True, Reason(_SCORE, "recovery.recovered", None, (last, analysis.recovery_index))
    return False, Reason(_SCORE, "recovery.not_recovered", None, (last,))
