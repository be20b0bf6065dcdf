"""Test runs of a session beside its edits: which of them saw the work as it was left."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from grader_daemon.analysis.claims.evidence import ClaimEvidence, ToolRun, may_have_written, same_file
from grader_daemon.analysis.claims.test_commands import is_test_run
from grader_daemon.analysis.claims.test_runs import TestsResult, read_tests
from grader_daemon.analysis.tool_calls import Purpose

_PROSE: Final = (".md", ".txt", ".rst", ".log")


class TestedWork:
    """Test runs and edits of one session, by the places of their results."""

    __test__ = False  # pytest takes classes of this name for tests

    def __init__(self, evidence: ClaimEvidence) -> None:
        self._evidence = evidence

    @cached_property
    def last_run(self) -> tuple[int, TestsResult] | None:
        """Place of the last test run that came to an end, and how its tests went."""
        return next(self.runs_backwards(), None)

    def runs_backwards(self) -> Iterator[tuple[int, TestsResult]]:
        """Yield place and result of each test run that came to an end, the last first."""
        for each in reversed(self._evidence.runs):
            result = read_tests(each).result if is_test_run(each) else None
            if result is not None:
                yield each.index, result

    @cached_property
    def last_edit(self) -> int:
        """Place of the last change to a file that is no prose; -1 without one."""
        runs = reversed(self._evidence.runs)
        return next((each.index for each in runs if _edits_code(each) and each.worked), -1)

    def covers(self, index: int) -> bool:
        """Return whether a test run saw the work as it was left: no edit came later, and none failed for good."""
        return index > self.last_edit and not self._lacks_an_edit

    @property
    def has_passed_since_the_edit(self) -> bool:
        """True if any run after the last edit was green."""
        return any(result is TestsResult.PASSED and at > self.last_edit for at, result in self.runs_backwards())

    @cached_property
    def _lacks_an_edit(self) -> bool:
        """True if an edit of code failed and nothing made it good: tests ran on the file as it was before."""
        return any(
            _edits_code(each) and each.worked is False and not self._made_good(each) for each in self._evidence.runs
        )

    def _made_good(self, failed: ToolRun) -> bool:
        """Return whether a later call may have written what an edit could not; a test run did not."""
        return any(
            each.index > failed.index
            and each.worked
            and may_have_written(each)
            and not is_test_run(each)
            and not is_of_another(each, failed)
            for each in self._evidence.runs
        )


def is_of_another(each: ToolRun, failed: ToolRun) -> bool:
    """Return whether it is an editor at work on other files than the one that failed."""
    both = each.paths and failed.paths
    return bool(both) and not any(same_file(path, tried) for path in each.paths for tried in failed.paths)


def _edits_code(each: ToolRun) -> bool:
    """Return whether it is an editor at work on a file that is no prose."""
    return each.purpose is Purpose.WRITE and not all(path.endswith(_PROSE) for path in each.paths)
