"""Changes that did not last: files that were removed again, and work that was taken back by version control."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from grader_daemon.analysis.claims.code_changes import (
    TakenBack,
    brings_back,
    is_among,
    removed_files,
    taken_back,
    takes_back,
)
from grader_daemon.analysis.claims.edit_texts import edits_of
from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun, may_have_written
from grader_daemon.analysis.claims.sight import only_handles
from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.claims.test_commands import is_test_run

_COMMITS: Final = "git commit"


class UndoneChanges:
    """Changes that calls of one session took back or removed. These calls are found once, for any number of changes."""

    def __init__(self, evidence: CallRecord) -> None:
        self._evidence = evidence

    def is_removed(self, path: str, index: int) -> bool:
        """Return whether a file was removed after a place."""
        later = (each for each, at in self._removed.get(_name(path), {}).items() if at > index)
        return is_among(path, later)

    def taken_back_at(self, path: str, written: ToolRun) -> int | None:
        """Return the place of the call that took back what another wrote to a file; None if it stands, or may.

        What is committed stays, a file that version control does not know too, and what was brought back; what any
        later call may have written again may stand.
        """
        later = [(each, back) for each, back in self._taken_back if each.index > written.index]
        if not later:
            return None
        was_there = all(edit.old is not None for edit in edits_of(written))
        last = next(
            (each for each, back in reversed(later) if is_among(path, back.paths) or (back.everything and was_there)),
            None,
        )
        if last is None or not only_handles(last) or self._renewed_at > last.index:
            return None
        return None if any(written.index < at <= last.index for at in self._commits) else last.index

    @cached_property
    def _removed(self) -> dict[str, dict[str, int]]:
        """The last places at which files were removed, by their names and their paths."""
        found: dict[str, dict[str, int]] = {}
        for each in self._evidence.runs:
            for path in removed_files(each):
                found.setdefault(_name(path), {})[path] = each.index
        return found

    @cached_property
    def _taken_back(self) -> list[tuple[ToolRun, TakenBack]]:
        return [(each, taken_back(each)) for each in self._evidence.runs if takes_back(each)]

    @cached_property
    def _commits(self) -> list[int]:
        return [each.index for each in self._evidence.runs if _COMMITS in each.command]

    @cached_property
    def _renewed_at(self) -> int:
        """Place of the last call that may have written again what was taken back; -1 without one."""
        return next((each.index for each in reversed(self._evidence.runs) if _may_renew(each)), -1)


def _name(path: str) -> str:
    """Return the part of a path that `is_among` takes to be the same in both."""
    return basename(path.strip("./"))


def _may_renew(run: ToolRun) -> bool:
    return brings_back(run) or (may_have_written(run) and not is_test_run(run))
