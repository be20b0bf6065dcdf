"""Outcomes of calls: each result read together with the command that was called.

The exit code belongs to the command that ran last, and what it means is for that program to say; and a line that masks
its exit code may still end in the words of a program that failed. What the agent notes beside a result stands above its
text; of a failure the text then only names the category.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from grader_daemon.analysis.shell import Line, Meaning, is_complaint, is_quoting, masked_failure, printed_code
from grader_daemon.analysis.tool_calls import CallView, Purpose, tool_of
from grader_daemon.analysis.tool_calls.frames import without_frame
from grader_daemon.analysis.tool_calls.results import ResultReader
from grader_daemon.domain.analysis import DIVIDED, CallStatus, Category, Subcategory
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.rules import FailureRules
from grader_daemon.domain.session import ReportedOutcome

_EXAMINED_END = 400
_MASKING = ("|", ";", "\\n", "&", "psql", "apt update", "apt-get update")
"""Signs in a command whose exit code may be that of something else."""

_SIGNS = (
    *("Error", "error:", "not found", "failed", "FAIL", "fatal:", "No such file", "No module", "***", "Exception"),
    *("ERR!", "ERROR:  ", "LINE 1:", "syntax error", "Traceback"),
    *(
        "ould not",
        "annot ",
        "enied",
        "efused",
        "nable to",
        "nvalid",
        "nrecognized",
        "truncated",
        "Truncated]",
        "nmatched",
        "nterminated",
    ),
    *("STDERR: ", "[notice]", "    raise ", "ERROR: ", "Failed"),
)
"""Signs near the end of output that ends in a failure, in most cases."""
_CLASSIFIED_END = 600
_LONGEST_COMPLAINT = 300
_LONGEST_MARK = 60
_NO_SUCH_TOOL = re.compile(
    r"unsupported (?:custom tool )?call: |Tool \"[^\"\n]{1,200}\" not found|[^\n]{0,200}\bunavailable tool '"
)
"""Agents' words for a call of a tool that they do not have, beside the words in the rules."""

_VAGUE = (Category.COMMAND_FAILED, Category.UNKNOWN)


class ToolOutcome(NamedTuple):
    """The outcome of one call; for a failure its category, and what is known of its command.

    `output` is what the failed call gave as text. `meaning` is what the exit code says of it, `subcategory` the finer
    kind of the failure.
    """

    status: CallStatus
    category: Category | None = None
    output: str = ""
    line: Line | None = None
    meaning: Meaning | None = None
    subcategory: Subcategory | None = None


_OF_PROGRAMS_THAT_RAN = (Meaning.ANSWER, Meaning.FINDINGS)
_WORKED = ToolOutcome(CallStatus.SUCCESS)


class OutcomeReader:
    """Reads results together with their calls, under one set of rules."""

    def __init__(self, rules: FailureRules) -> None:
        self._results = ResultReader(rules)
        self._signs = self._results.signs

    def read(
        self, tool: str | None, text: str, call: CallView, *, reported: ReportedOutcome | None = None
    ) -> ToolOutcome:
        """Return the outcome of one call by the text of its result, and by what the agent reports of it if it does.

        `tool` is what the result names.
        """
        if reported is not None:
            return self._divided(self._of_reported(reported, text, call))
        return self._divided(self._of_text(tool, text, call))

    def _divided(self, outcome: ToolOutcome) -> ToolOutcome:
        if outcome.category not in DIVIDED:
            return outcome
        red = outcome.meaning is Meaning.FINDINGS
        return outcome._replace(
            subcategory=Subcategory.CHECK_FAILED if red else self._signs.subcategory(outcome.output)
        )

    def _of_text(self, tool: str | None, text: str, call: CallView) -> ToolOutcome:
        status, category, output, code = self._results.read(tool, text)
        if status is CallStatus.SUCCESS:
            return self._of_success(text, call) if _may_hide(text, call.text) else _WORKED
        if category is None:
            return ToolOutcome(status)
        line = call.line
        if code and line is not None and line.printed:
            return self._of_printed_code(code, output, line)
        return _of_failure(output, category, line, code=code)

    def _of_reported(self, reported: ReportedOutcome, text: str, call: CallView) -> ToolOutcome:
        code = reported.exit_code
        if reported.status is CallStatus.SUCCESS:
            return (
                self._of_success(text, call, reported=reported) if not code and _may_hide(text, call.text) else _WORKED
            )
        if reported.status is not CallStatus.FAILURE:
            return ToolOutcome(reported.status)
        output, stated = self._said(text)
        code = stated if code is None else code
        category = self._signs.category(output, code) or (Category.COMMAND_FAILED if code else Category.UNKNOWN)
        if category is Category.UNKNOWN and _NO_SUCH_TOOL.match(output):
            category = Category.TOOL_NOT_FOUND
        return _of_failure(output or (f"exit code {code}" if code else ""), category, call.line, code=code)

    def _said(self, text: str) -> tuple[str, int | None]:
        """Return what a call says without what its agent puts around that, and the exit code in the text."""
        output, code = self._results.output_and_code(text)
        return without_frame(output), code

    def _of_success(self, text: str, call: CallView, *, reported: ReportedOutcome | None = None) -> ToolOutcome:
        line = call.line
        if line is None and reported is None and is_complaint(text):
            return ToolOutcome(CallStatus.FAILURE, self._signs.category(text, 1) or Category.COMMAND_FAILED, text)
        if line is None and not _is_run(call):
            return _WORKED
        if line is not None and is_quoting(line) and _is_cut(text):
            return _WORKED
        output, code = self._results.output_and_code(text) if reported is None else (self._said(text)[0], 0)
        if line is not None:
            printed = printed_code(output) if line.printed else None
            if printed:
                return self._of_printed_code(printed, output, line)
            if not line.masks and code is not None:
                return _WORKED
        is_masked, meaning = masked_failure(output, line)
        if not is_masked:
            return _WORKED
        category = self._signs.category(output[-_CLASSIFIED_END:], 1) or Category.COMMAND_FAILED
        return ToolOutcome(CallStatus.FAILURE, category, output, line, meaning)

    def _of_printed_code(self, code: int, output: str, line: Line) -> ToolOutcome:
        meaning = line.meaning_of_printed(code)
        if meaning is Meaning.ANSWER:
            return _WORKED
        category = self._signs.category(output, code) or Category.COMMAND_FAILED
        return _failed(category, output, line, meaning)


def _of_failure(output: str, category: Category, line: Line | None, *, code: int | None) -> ToolOutcome:
    if line is None or not code:
        return ToolOutcome(CallStatus.FAILURE, category, output, line)
    meaning = line.meaning_of(code)
    if meaning in _OF_PROGRAMS_THAT_RAN and _broke_down(output, line):
        return ToolOutcome(CallStatus.FAILURE, category, output, line)
    return _WORKED if meaning is Meaning.ANSWER else _failed(category, output, line, meaning)


def _broke_down(output: str, line: Line) -> bool:
    """Return whether the program came to no answer. `make` and `cargo clippy` pass on what another one found."""
    if "*** [" in output[-_EXAMINED_END:] or (_of_clippy(line) and "error[E" not in output):
        return False
    return masked_failure(output, line) == (True, None)


def _of_clippy(line: Line) -> bool:
    return any(run.family == "cargo clippy" for run in line.deciders)


def _failed(category: Category, output: str, line: Line, meaning: Meaning | Category | None) -> ToolOutcome:
    """Return the outcome of a failure. What it says comes before what its exit code says."""
    if isinstance(meaning, Category):
        return ToolOutcome(CallStatus.FAILURE, meaning if category in _VAGUE else category, output, line)
    return ToolOutcome(CallStatus.FAILURE, category, output, line, meaning)


def _may_hide(text: str, written: str) -> bool:
    """Return whether to look at a success again: its end has a word of failure, or prints an exit code."""
    end = text[-_EXAMINED_END:]
    if not written or (text.startswith("{") and not (holds_any(written, _MASKING) or _is_cut(end))):
        return False
    if '"path"' in written and len(text) > _LONGEST_COMPLAINT:
        return False
    for sign in _SIGNS:
        if sign in end:
            return True
    return "$?" in written or "PIPESTATUS" in written


def _is_run(call: CallView) -> bool:
    return '"code"' in call.text or tool_of(call.tool or "").purpose is Purpose.RUN


def _is_cut(text: str) -> bool:
    return "truncated" in text[-_LONGEST_MARK:]
