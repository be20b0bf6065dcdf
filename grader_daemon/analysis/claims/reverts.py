"""Work that was taken back by version control after it was written."""

from __future__ import annotations

from grader_daemon.analysis.claims.code_changes import brings_back, is_among, taken_back
from grader_daemon.analysis.claims.edit_texts import edits_of
from grader_daemon.analysis.claims.evidence import ClaimEvidence, ToolRun, may_have_written
from grader_daemon.analysis.claims.sight import only_handles
from grader_daemon.analysis.claims.test_commands import is_test_run

_COMMITS = "git commit"


def reverted_at(evidence: ClaimEvidence, path: str, written: ToolRun) -> int | None:
    """Return the place of the call that took back what another wrote to a file; None if it stands, or may.

    What is committed stays, a file that version control does not know too, and what was brought back; what any later
    call may have written again may stand.
    """
    found: int | None = None
    is_new = any(edit.old is None for edit in edits_of(written))
    for each in evidence.runs:
        if each.index <= written.index:
            continue
        if _COMMITS in each.command and found is None:
            return None
        back = taken_back(each)
        is_back = is_among(path, back.paths) or (back.everything and not is_new)
        if is_back and only_handles(each):
            found = each.index
        elif is_back or brings_back(each) or (may_have_written(each) and not is_test_run(each)):
            found = None
    return found
