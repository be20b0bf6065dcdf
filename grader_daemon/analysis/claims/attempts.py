"""Attempts at what is claimed: whether one worked, all failed, or a later call may have done it."""

from __future__ import annotations

import re
from typing import Final

from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun, may_have_written
from grader_daemon.analysis.claims.tested_work import is_of_another
from grader_daemon.analysis.claims.verification import UNSUPPORTED, Verification, contradicted, places, verified
from grader_daemon.domain.claims import ClaimReason
from grader_daemon.domain.late_pattern import late_pattern

_SAID_CHARACTERS: Final = 600
_NOTHING_DONE = late_pattern(
    r"nothing to commit|no changes added to commit|\[(?:remote )?rejected\]|(?:^|\")(?:fatal|error|ERROR|E): "
    r"|npm (?:ERR!|error)|command not found|^- hook id: |hook (?:exited|failed|declined)",
    re.MULTILINE,
)
_SOMETHING_DONE = late_pattern(
    r"(?:^|\")\[[^\]\n]{1,80} [0-9a-f]{1,40}\] |\bSuccessfully installed "
    r"|^ {1,3}[+ ]?[0-9a-f]{6,40}\.{2,3}[0-9a-f]{6,40} ",
    re.MULTILINE,
)
_MAY_GO_ON = late_pattern(r"timed[ -]?out|time-?out|still (?:be )?running", re.IGNORECASE)
"""Words of a call that nobody waited for to the end: what it began may have been done."""


class Attempts:
    """Calls that were there to do what is claimed, in the light of those after them."""

    def __init__(self, evidence: CallRecord) -> None:
        self._evidence = evidence

    def verify(self, runs: list[ToolRun]) -> Verification:
        """Verify what was tried: it was done if one run worked, and was not if each one failed and none came after."""
        done = [each for each in runs if self._worked(each)]
        if done:
            return verified(*places(done))
        is_refused = all(self._has_failed(each) for each in runs)
        if runs and is_refused and not self.may_be_done_after(runs[0]):
            return contradicted(ClaimReason.FAILED, *places(runs))
        return UNSUPPORTED

    def may_be_done_after(self, failed: ToolRun) -> bool:
        """Return whether a later call, by whatever tool, may have done what one could not."""
        later = [each for each in self._evidence.runs if each.index > failed.index]
        return any(may_have_written(each) and self._worked(each) and not is_of_another(each, failed) for each in later)

    def _worked(self, each: ToolRun) -> bool:
        return each.worked is True and not self._is_refused(each)

    def _has_failed(self, each: ToolRun) -> bool:
        has_failed = each.worked is False or self._is_refused(each)
        return has_failed and not (not each.command and _MAY_GO_ON.search(each.ending(_SAID_CHARACTERS)))

    def _is_refused(self, each: ToolRun) -> bool:
        """Return whether a command says that it did nothing. Its exit code is that of the last program in its pipe."""
        said = each.ending(_SAID_CHARACTERS) if each.command else ""
        return _NOTHING_DONE.search(said) is not None and not _SOMETHING_DONE.search(said)
