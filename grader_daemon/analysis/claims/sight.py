"""Sight of a program's end: whether the result of a command tells how that program in it went.

The exit code of a line is that of its last command (`pytest | tail`, `mypy; true`), and a command in the background has
none yet. So what a check says by its exit code counts only where the line hands it on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.code_changes import changed_files, is_code
from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun, only_looks
from grader_daemon.analysis.shell import Program, printed_code, read_line
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_BACKGROUND: Final = (
    '"run_in_background": true',
    '"run_in_background":true',
    '"background": true',
    '"background":true',
)
_MASKED: Final = late_pattern(r"\||;")
_PRINTED: Final = 400
_READ: Final = 4_000
_MOST_TOLD: Final = 10
_TOLD_AFTER: Final = late_pattern(r"(?:^|[;&\n])([^;&|\n]{1,200})&& ?(?:echo|printf) [\"']?([\w-]{2,40})")
_HANDLING_PROGRAMS = """
    git mkdir rm mv cp ln touch chmod chown cd echo printf pip apt sed tee pwd sleep export set source true curl wget
    cat ls grep head tail wc find rg diff sort which tree awk jq
    """
_HANDLING: Final = frozenset(_HANDLING_PROGRAMS.split())
"""Programs that handle files, and run nothing of a project."""

_CHECKING: Final = (Purpose.RUN, Purpose.CHANGE, Purpose.UNKNOWN)


def is_in_background(run: ToolRun) -> bool:
    """Return whether a command was left to itself, so that its result does not tell how it went."""
    command = run.command.rstrip()
    return (command.endswith("&") and not command.endswith("&&")) or holds_any(run.arguments, _BACKGROUND)


def hands_on(run: ToolRun, programs: Sequence[Program]) -> bool:
    """Return whether the exit code of a call is not 0 where one of these programs of its line failed.

    What is no line of a shell, or a line too long to be read, does where nothing in it leads elsewhere.
    """
    line = read_line(run.command)
    if run.is_code or line is None or not programs:
        return not _MASKED.search(run.command)
    return bool(line.deciders) and not line.negates and all(each in line.deciders for each in programs)


def ends_well(run: ToolRun, programs: Sequence[Program]) -> bool:
    """Return whether these programs of a call ended well, by its exit code or by the one that it prints."""
    if run.worked is not True:
        return False
    if hands_on(run, programs) or _is_told_after(run, programs):
        return True
    line = None if run.is_code else read_line(run.command)
    if line is None or not line.printed or not programs:
        return False
    said = run.ending(_PRINTED).partition('", "exit_code"')[0].replace('": "', "\n")
    return all(each in line.printed for each in programs) and printed_code(said) == 0


def _is_told_after(run: ToolRun, programs: Sequence[Program]) -> bool:
    """Return whether a line says a word only where these programs ended well, and said it: `tsc && echo OK; ls`."""
    if run.is_code or not programs:
        return False
    told = [found for found in islice(_TOLD_AFTER.finditer(run.command), _MOST_TOLD) if found[2] in run.ending(_READ)]
    return all(any(each.words[-1] in found[1] for found in told) for each in programs)


def could_check(evidence: CallRecord) -> bool:
    """Return whether anything was run that may have tried the work out, whatever its name.

    Where no code was changed, tests and builds may be those of others.
    """
    if not (evidence.runs and evidence.is_whole) or evidence.reaches_out or any(map(may_check, evidence.runs)):
        return True
    return not any(is_code(path) for each in evidence.runs for path in (each.paths or changed_files(each)))


def may_check(run: ToolRun) -> bool:
    """Return whether a call may have run code of the project."""
    if not run.command:
        return run.purpose in _CHECKING
    return not (only_looks(run.command) or only_handles(run))


def only_handles(run: ToolRun) -> bool:
    """Return whether a command does nothing but handle files."""
    line = None if run.is_code else read_line(run.command)
    return line is not None and not of_project(line.programs)


def of_project(programs: Sequence[Program]) -> list[Program]:
    """Return the programs of a line that do more than to handle files."""
    return [each for each in programs if each.name not in _HANDLING]
