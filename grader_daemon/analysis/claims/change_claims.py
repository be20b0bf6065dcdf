"""Claims about the changes as a whole, held against all that was written: tests added, nothing else changed."""

from __future__ import annotations

from grader_daemon.analysis.claims.builds import read_build
from grader_daemon.analysis.claims.changed_tests import ChangedTests
from grader_daemon.analysis.claims.code_changes import changed_files
from grader_daemon.analysis.claims.edit_texts import edited_in_place, edits_of
from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun, may_have_written
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.claims.test_commands import is_test_run
from grader_daemon.analysis.claims.undone_changes import UndoneChanges
from grader_daemon.analysis.claims.verification import NEVER_CALLED, Verification, contradicted, unsupported, verified
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.claims import ClaimReason, Support
from grader_daemon.domain.late_pattern import late_pattern

_GIT_KEEPS = late_pattern(r"\bgit (?:add|commit|push|status|diff|log|fetch|branch|tag|checkout -b|switch -c)\b")
_SEVERAL = late_pattern(
    r"parametrize|\b(?:it|test|describe)\.each\b|\[(?:Theory|InlineData)|t\.Run\(|subTest|for .{1,40} in "
)


class ChangeClaims:
    """Holds claims about the changes of a session against its edits."""

    def __init__(self, evidence: CallRecord, changed: ChangedTests, undone: UndoneChanges) -> None:
        self._evidence = evidence
        self._changed = changed
        self._undone = undone

    def tests_added(self, claim: StatedClaim) -> Verification:
        """Verify that as many tests were written as are claimed. One that is run over a table may stand for several."""
        added = self._changed.added
        places = tuple(dict.fromkeys(run.index for run, _, _ in added))[-3:]
        count = sum(len(names) for _, names, _ in added)
        if count >= (claim.count or 1):
            return verified(*places)
        is_open = self._may_be_unseen or not self._evidence.is_whole
        if not count:
            is_made_up = not is_open and (claim.by_agent or self._evidence.has_tried)
            return NEVER_CALLED if is_made_up else unsupported(ClaimReason.NOT_SEEN)
        if is_open or any(_SEVERAL.search(text) for _, _, text in added):
            return unsupported(ClaimReason.FEWER_DONE, *places)
        return Verification(Support.PARTIAL, places, ClaimReason.FEWER_DONE)

    def nothing_else(self, _: StatedClaim) -> Verification:
        """Verify that each file that was changed is named in the answer."""
        answer = self._evidence.answer
        changes = [(each, path) for each in self._evidence.runs for path in changed_files(each)]
        others = [(each, path) for each, path in changes if basename(path) not in answer]
        others = [(each, path) for each, path in others if not self._undone.is_removed(path, each.index)]
        if not changes or not any(basename(path) in answer for _, path in changes):
            return unsupported(ClaimReason.NOT_SEEN)
        sure = [each for each, path in others if path in edited_in_place(each)]
        if sure:
            return contradicted(ClaimReason.OTHERS_CHANGED, sure[0].index)
        if others or self._may_be_unseen:
            return unsupported(ClaimReason.OTHERS_CHANGED, *(each.index for each, _ in others[:1]))
        return verified(*dict.fromkeys(each.index for each, _ in changes[-3:]))

    @property
    def _may_be_unseen(self) -> bool:
        """True if a call may have written what its arguments do not show."""
        return any(map(_may_write_unseen, self._evidence.runs))


def _may_write_unseen(run: ToolRun) -> bool:
    """Return whether a call may have written what its arguments do not show."""
    if not may_have_written(run) or (run.purpose is Purpose.WRITE and run.paths):
        return False
    if not run.command:
        return not edits_of(run)
    is_check = not run.is_code and (is_test_run(run) or read_build(run) is not None)
    return not is_check and _GIT_KEEPS.search(run.command) is None and not edits_of(run)
