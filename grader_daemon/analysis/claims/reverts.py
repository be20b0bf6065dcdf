"""Work that was taken back by version control after it was written."""

from __future__ import annotations

from grader_daemon.analysis.claims.code_changes import brings_back, is_among, taken_back, takes_back
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
    later = [each for each in evidence.runs if each.index > written.index]
    calls = [each for each in later if takes_back(each)]
    last = next((each for each in reversed(calls) if _takes_back(each, path, written)), None)
    if last is None or not only_handles(last):
        return None
    is_kept = any(_COMMITS in each.command for each in later if each.index <= last.index)
    is_anew = any(_may_renew(each) for each in later if each.index > last.index)
    return None if is_kept or is_anew else last.index


def _takes_back(run: ToolRun, path: str, written: ToolRun) -> bool:
    back = taken_back(run)
    if is_among(path, back.paths):
        return True
    return back.everything and not any(edit.old is None for edit in edits_of(written))


def _may_renew(run: ToolRun) -> bool:
    return brings_back(run) or (may_have_written(run) and not is_test_run(run))
