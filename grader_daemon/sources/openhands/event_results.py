"""Outcomes of calls in OpenHands: an exit code, a flag, or the kind of the event that stands for the result."""

from __future__ import annotations

from typing import Final

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.decoding import text_in
from grader_daemon.sources.openhands.stored_events import Exited, Observed, StoredEvent

FAILED: Final = ReportedOutcome(CallStatus.FAILURE)
REFUSED: Final = ReportedOutcome(CallStatus.REFUSED)
_SUCCESS: Final = ReportedOutcome(CallStatus.SUCCESS)
_PENDING: Final = ReportedOutcome(CallStatus.PENDING)
_GOES_ON: Final = -1
"""Exit code of a command that still runs: what it printed so far is the result."""

_MOST_CODE: Final = 2**31


def text_of(event: StoredEvent) -> str:
    """Return what a call gave."""
    observed = event.observation
    if isinstance(observed, Observed):
        return text_in(observed.content) or _word(observed.output) or _word(observed.error)
    return text_in(event.content) or event.error or event.rejection_reason or ""


def outcome_of(event: StoredEvent) -> ReportedOutcome | None:
    """Return the outcome of a call where its result says it."""
    observed = event.observation
    if isinstance(observed, Observed):
        return _outcome_since_1(observed)
    if event.error is not None or observed == "error":
        return FAILED
    if event.rejection_reason is not None or observed == "user_rejected":
        return REFUSED
    extras = event.extras
    code = None if extras is None else _code(extras.metadata, extras.exit_code)
    if code is not None:
        return _exited(code)
    if event.success is False or text_in(event.content).startswith("ERROR:"):
        return FAILED
    return _SUCCESS if event.success is True else None


def _outcome_since_1(observed: Observed) -> ReportedOutcome:
    code = _code(observed.metadata, observed.exit_code)
    is_error = observed.is_error is True or observed.error not in (None, False, "")
    if is_error and (code is None or code <= 0):
        return FAILED
    return _SUCCESS if code is None else _exited(code)


def _code(metadata: Exited | None, otherwise: object) -> int | None:
    for code in (None if metadata is None else metadata.exit_code, otherwise):
        if isinstance(code, int) and not isinstance(code, bool) and abs(code) < _MOST_CODE:
            return code
    return None


def _exited(code: int) -> ReportedOutcome:
    if code == _GOES_ON:
        return _PENDING
    return ReportedOutcome.exited(code)


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""
