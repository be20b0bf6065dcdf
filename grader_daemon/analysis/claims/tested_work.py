"""Checks of a session beside its changes, in their order: which of them saw the work as it was left."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from grader_daemon.analysis.claims.builds import BuildReading, read_build
from grader_daemon.analysis.claims.code_changes import (
    brings_back,
    changed_files,
    is_code,
    is_of_tests,
    is_prose,
    taken_back,
    takes_back,
)
from grader_daemon.analysis.claims.edit_texts import edited_in_place, edits_of
from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun, may_have_written, same_file
from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.claims.test_commands import is_test_run
from grader_daemon.analysis.claims.test_runs import RunReading, read_tests
from grader_daemon.analysis.claims.undone_changes import UndoneChanges
from grader_daemon.analysis.claims.verification import Verification, unsupported
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.claims import ClaimReason, Support

_MOST_CHECKS: Final = 30


class TestRun:
    """A run of tests; how it went is read when it is asked for."""

    __test__ = False  # pytest takes classes of this name for tests

    def __init__(self, run: ToolRun) -> None:
        self.run = run

    @property
    def at(self) -> int:
        """Place of its result."""
        return self.run.index

    @cached_property
    def reading(self) -> RunReading:
        """Result of its tests, and what was counted."""
        return read_tests(self.run)


class Build(NamedTuple):
    """A build, a type check or a linter, and how it went."""

    run: ToolRun
    reading: BuildReading


class Change(NamedTuple):
    """A change of a file; `is_sure`: of code under test that was there before, which what ran before did not see."""

    run: ToolRun
    path: str
    is_sure: bool


class TestedWork:
    """Test runs and edits of one session, by the places of their results."""

    __test__ = False  # pytest takes classes of this name for tests

    def __init__(self, evidence: CallRecord, undone: UndoneChanges) -> None:
        self._evidence = evidence
        self._undone = undone
        self._read: dict[int, TestRun | None] = {}

    @cached_property
    def tests(self) -> list[TestRun]:
        """Its last test runs, in their order; none that ran while the work was put aside."""
        return list(islice(self._tests_backwards(), _MOST_CHECKS))[::-1]

    def _tests_backwards(self) -> Iterator[TestRun]:
        """Yield the test runs, the last first; each is found once, and only if it is asked for."""
        for each in reversed(self._evidence.runs):
            if each.index not in self._read:
                is_own = each.index not in self._put_aside and is_test_run(each)
                self._read[each.index] = TestRun(each) if is_own else None
            found = self._read[each.index]
            if found is not None:
                yield found

    @cached_property
    def builds(self) -> list[Build]:
        """Its last builds, type checks and linters, in their order."""
        read = ((each, read_build(each)) for each in reversed(self._evidence.runs) if each.command)
        found = (Build(each, reading) for each, reading in read if reading is not None)
        return list(islice(found, _MOST_CHECKS))[::-1]

    @cached_property
    def last_run(self) -> TestRun | None:
        """The last test run that came to an end."""
        return next(self._ended_backwards(), None)

    def _ended_backwards(self) -> Iterator[TestRun]:
        """Yield the test runs that came to an end, the last first."""
        return (each for each in self._tests_backwards() if each.reading.result is not None)

    @cached_property
    def last_edit(self) -> int:
        """Place of the last change to a file that is no prose; -1 without one."""
        runs = reversed(self._evidence.runs)
        return next((each.index for each in runs if _edits_code(each) and each.worked), -1)

    def covers(self, index: int) -> bool:
        """Return whether a test run saw the work as it was left: no edit came later, and none failed for good."""
        return index > self.last_edit and self.lacking is None

    def changes_after(self, index: int) -> Iterator[Change]:
        """Yield the changes after a place, not of files that were removed again."""
        later = (each for each in self._evidence.runs if each.index > index)
        for run, path in ((each, path) for each in later for path in changed_files(each)):
            if not self._undone.is_removed(path, run.index):
                yield Change(run, path, _is_under_test(path) and self._was_there(run, path, index))

    def change_after(self, index: int) -> int | None:
        """Return the place of a change after a place, of whatever file that is no prose; None without one."""
        if self.last_edit > index:
            return self.last_edit
        runs = self._evidence.runs
        return next((each.index for each in runs if each.index > index and changed_files(each)), None)

    def change_before(self, index: int) -> int | None:
        """Return the place of the last change of code before a place; None without one.

        A file that the session itself made is none that a command changes: a script that shows the bug mends nothing.
        """
        if 0 <= self.last_edit < index:
            return self.last_edit
        earlier = (each for each in reversed(self._evidence.runs) if each.index < index)
        return next((each.index for each in earlier if self._changes_code(each)), None)

    def _changes_code(self, run: ToolRun) -> bool:
        return any(_is_under_test(path) and not self._is_own(path) for path in changed_files(run))

    def _is_own(self, path: str) -> bool:
        """Return whether the session itself wrote a file before anything else was done with it.

        Arguments are as they stand in the file, where a name may be escaped.
        """
        name = basename(path)
        first = next((each for each in self._evidence.runs if name in each.arguments or name in each.command), None)
        return first is not None and any(edit.old is None and basename(edit.path) == name for edit in edits_of(first))

    @cached_property
    def reverted(self) -> tuple[int, int] | None:
        """Places of the last edit in place, and of the call that took it back; None unless all of them are."""
        if not any(map(takes_back, self._evidence.runs)):
            return None
        edits = [each for each in self._evidence.runs if each.worked and edited_in_place(each)]
        back: int | None = None
        for each in edits:
            back = self._undone.taken_back_at(each.paths[0], each)
            if back is None:
                return None
        return None if back is None else (edits[-1].index, back)

    @property
    def has_passed_since_the_edit(self) -> bool:
        """True if any run after the last edit was green."""
        return any(each.reading.is_green and each.at > self.last_edit for each in self._ended_backwards())

    @cached_property
    def lacking(self) -> ToolRun | None:
        """An edit of code that failed and that nothing made good: tests ran on the file as it was before."""
        failed = (each for each in self._evidence.runs if _edits_code(each) and each.worked is False)
        return next((each for each in failed if not self._made_good(each)), None)

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

    def _was_there(self, change: ToolRun, path: str, index: int) -> bool:
        name = basename(path)
        return path in edited_in_place(change) or any(
            name in each.arguments for each in self._evidence.runs if each.index <= index
        )

    @cached_property
    def _put_aside(self) -> frozenset[int]:
        """Places of the calls that ran while the work was put aside, as to see tests fail without it."""
        found: set[int] = set()
        is_aside = False
        for each in self._evidence.runs:
            if "stash" in each.command:
                is_aside = taken_back(each).everything or (is_aside and not brings_back(each))
                found.add(each.index)
            elif is_aside:
                found.add(each.index)
        return frozenset(found) if not is_aside else frozenset()


def is_of_another(each: ToolRun, failed: ToolRun) -> bool:
    """Return whether it is an editor at work on other files than the one that failed."""
    both = each.paths and failed.paths
    return bool(both) and not any(same_file(path, tried) for path in each.paths for tried in failed.paths)


def stale_check(tests: TestedWork, index: int) -> Verification | None:
    """Return that a check is stale if code was changed after it; whether a new file matters to it is not known."""
    first: int | None = None
    for change in tests.changes_after(index):
        if change.is_sure:
            return Verification(Support.STALE, (index, change.run.index), ClaimReason.STALE)
        first = change.run.index if first is None else first
    return None if first is None else unsupported(ClaimReason.STALE, index, first)


def _is_under_test(path: str) -> bool:
    return is_code(path) and not is_of_tests(path)


def _edits_code(each: ToolRun) -> bool:
    """Return whether it is an editor at work on a file that is no prose."""
    return each.purpose is Purpose.WRITE and not all(map(is_prose, each.paths))
