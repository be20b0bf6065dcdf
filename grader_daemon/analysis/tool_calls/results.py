"""The status of a tool call, read from the structure of its result first, from its words only where it has none.

Structure: exit code, error field, success flag, status. So the words Error or Traceback inside the output of a
successful call stay what they are: data. Only the text of a failure is looked at again, to name its category.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from grader_daemon.analysis.tool_calls.failure_signs import FailureSigns
from grader_daemon.analysis.tool_calls.plain_text import stated_code, tells_failure, without_code
from grader_daemon.domain.analysis import CallStatus, Category
from grader_daemon.domain.phrases import Phrases
from grader_daemon.domain.rules import FailureRules

_WRAPPER = re.compile(r"<(?:untrusted_tool_result|persisted-output)\b[^>]{0,400}>\s*")
_PARTS = re.compile(r'\[\s{0,9}\{\s{0,9}"type":\s{0,9}"text",')
_BROKEN = (
    ('"exit_code":', re.compile(r'"exit_code":\s{0,9}(-?\d{1,9})')),
    ('"error":', re.compile(r'"error":\s{0,9}"([^"]{0,4000})')),
    ('"success":', re.compile(r'"success":\s{0,9}(true|false)')),
)
_BROKEN_OUTPUT = re.compile(r'"(?:output|stdout|stderr)":\s{0,9}"')
_TEXT_BEHIND = "trailing characters"
"""Part of the decoder's message about a whole object with something behind it."""

_COUNTED = re.compile(r"errors?: \d{1,9}\s{0,9}(?:\n|\Z)", re.IGNORECASE)
"""A count of errors, as programs print it that look for some."""

_DELEGATION_TOOL = "delegate_task"
_TEXT_FIELDS = ("error", "message", "output", "stderr", "content", "detail", "errors", "result", "structuredContent")
_HEAD = 400
_NO_ERRORS = frozenset({"none", "null", "no error", "false", "ok"})
_HTTP_ERRORS = range(400, 600)
_INNER_SIGNS = (b'"error"', b'"isError"', b'"success"', b'"ok"')
_ESCAPED_SIGNS = (rb"\"error", rb"\"isError", rb"\"success", rb"\"ok")


class _Report(msgspec.Struct, frozen=True):
    """The fields of a JSON tool result that say whether the call worked; all others are skipped, unbuilt."""

    exit_code: object = None
    returncode: object = None
    exit_code_meaning: object = None
    error: object = None
    success: object = None
    status: object = None
    is_error: object = msgspec.field(name="isError", default=None)
    ok: object = None
    status_code: object = None
    http_status: object = None
    guardrail: object = None
    content: msgspec.Raw | UnsetType = UNSET
    structured_content: msgspec.Raw | UnsetType = msgspec.field(name="structuredContent", default=UNSET)
    result: msgspec.Raw | UnsetType = UNSET
    data: msgspec.Raw | UnsetType = UNSET
    errors: msgspec.Raw | UnsetType = UNSET
    metadata: msgspec.Raw | UnsetType = UNSET


class _Metadata(msgspec.Struct, frozen=True):
    exit_code: object = None


class _Child(msgspec.Struct, frozen=True):
    status: object = None


class _TextPart(msgspec.Struct, frozen=True):
    text: str = ""


class _Delegation(msgspec.Struct, frozen=True):
    results: tuple[_Child, ...] = ()


_FINE = (None, True)
_REFUTED = (False, "false", "False")
_SILENT = _Report()
_PLAIN_ENDS = (
    ('", "exit_code": 0, "error": null}', '{"output": "'),
    ('"is_binary": false, "is_image": false}', '{"content": "'),
)
"""Ends and beginnings of the two most common results that worked: a terminal command, and a file that was read."""


class Reading(NamedTuple):
    """Status of a call by its result; of a failure its category and what it says, as `output_and_code` returns it."""

    status: CallStatus
    category: Category | None = None
    output: str = ""
    code: int | None = None


_WORKED = Reading(CallStatus.SUCCESS)
_REFUSED = Reading(CallStatus.REFUSED)


class ResultReader:
    """Reads tool results under one set of rules."""

    def __init__(self, rules: FailureRules) -> None:
        self._rules = rules
        self._decode = msgspec.json.Decoder(_Report).decode
        self._failing = Phrases((prefix, None) for prefix in rules.failing_prefixes)
        self.signs = FailureSigns(rules)
        self._halting = (*rules.interrupted_prefixes, *rules.not_executed_prefixes, *rules.guarded_prefixes)
        self._harmless = tuple(meaning.lower() for meaning in rules.harmless_meanings)

    def read(self, tool: str | None, text: str) -> Reading:
        """Return the outcome of one call and, for a failure, its category and what it says.

        The most common results that worked are known by their two ends: a quote inside their text would be escaped, so
        nothing but structure can look like that.
        """
        if text.startswith("{"):
            for end, beginning in _PLAIN_ENDS:
                if text.endswith(end) and text.startswith(beginning):
                    return _WORKED
            return self._read_report(tool, text)
        body = _unwrapped(text.lstrip())
        return self._read_report(tool, body) if body.startswith("{") else self._read_plain(body)

    def _read_report(self, tool: str | None, body: str) -> Reading:
        body, report = self._report_in(body)
        if _is_plain_success(report) and tool != _DELEGATION_TOOL:
            return _WORKED
        outcome = self._outcome(report, tool, body)
        if outcome is not CallStatus.FAILURE:
            return Reading(outcome)
        words = _failure_text(body)
        category = self.signs.category(words, _exit_code(report))
        if category is Category.UNKNOWN and _http_error(report):
            category = Category.API_ERROR
        return Reading(outcome, category, *self._told(report, words)) if category is not None else _REFUSED

    def output_and_code(self, text: str) -> tuple[str, int | None]:
        """Return what a call says, out of its result: its message and its output, else its exit code; and that code.

        The code is None where there is none, or where more than the code calls the call failed.
        """
        body = _unwrapped(text.lstrip())
        if not body.startswith("{"):
            return without_code(body), stated_code(body)
        body, report = self._report_in(body)
        if report is _SILENT:
            return _broken_output(body), None
        return self._told(report, _failure_text(body))

    def _told(self, report: _Report, words: str) -> tuple[str, int | None]:
        code = _exit_code(report)
        words = words or (f"exit code {code}" if code else "")
        if self._tells_error(report) or self._outcome_of_status(report.status) is CallStatus.FAILURE:
            code = None
        return words, code

    def _report_in(self, body: str) -> tuple[str, _Report]:
        try:
            return body, self._decode(body)
        except (msgspec.MsgspecError, RecursionError) as error:
            if _TEXT_BEHIND not in str(error):
                return body, _salvaged(body)
        try:
            _, end = json.JSONDecoder().raw_decode(body)
            return body[:end], self._decode(body[:end])
        except (ValueError, RecursionError):
            return body, _salvaged(body)

    def _outcome(self, report: _Report, tool: str | None, body: str) -> CallStatus:
        if report.guardrail or self._is_guarded(report.error):
            return CallStatus.GUARDED
        code = _exit_code(report)
        if code in self._rules.interrupted_exit_codes:
            return CallStatus.INTERRUPTED
        if code and not self._is_harmless(report.exit_code_meaning):
            return CallStatus.FAILURE
        if self._tells_error(report):
            return CallStatus.FAILURE
        if tool == _DELEGATION_TOOL and self._child_failed(body):
            return CallStatus.FAILURE
        return self._outcome_of_status(report.status)

    def _is_guarded(self, error: object) -> bool:
        """Return whether the agent's guard against loops refused to run the call, and called that an error."""
        return isinstance(error, str) and error.startswith(self._rules.guarded_prefixes)

    def _tells_error(self, report: _Report) -> bool:
        """Return whether anything but its exit code and status calls it failed, also one layer deeper."""
        if _names_error(report) or _http_error(report):
            return True
        if report.errors is not UNSET and report.data is not UNSET:
            return bytes(report.errors).startswith(b"[{") and bytes(report.data) == b"null"
        for inner in (report.result, report.structured_content):
            if inner is not UNSET and self._inner_fails(bytes(inner)):
                return True
        return self._parts_fail(_parts(report))

    def _parts_fail(self, content: bytes) -> bool:
        """Return whether the first text in a list of content parts tells of an error, whatever the envelope says."""
        text = _text_of_parts(content).lstrip() if content else ""
        if text.startswith("{"):
            return any(sign in content for sign in _ESCAPED_SIGNS) and _names_error(self._report_in(text)[1])
        return self._begins_failing(text[:_HEAD]) or tells_failure(text)

    def _inner_fails(self, result: bytes) -> bool:
        if result.startswith(b'"'):
            return self._failing.begin(result[1:_HEAD].decode(errors="replace").lower())
        if not result.startswith(b"{") or not any(sign in result for sign in _INNER_SIGNS):
            return False
        return _names_error(self._decode(result))

    def _outcome_of_status(self, status: object) -> CallStatus:
        if isinstance(status, str):
            if status.lower() in self._rules.failing_statuses:
                return CallStatus.FAILURE
            if status.lower() in self._rules.pending_statuses:
                return CallStatus.PENDING
        return CallStatus.SUCCESS

    def _read_plain(self, body: str) -> Reading:
        text = (_text_of_parts(body) or body) if _PARTS.match(body) else body
        head = text[:_HEAD]
        if head.startswith(self._halting):
            return self._halted(head)
        code = stated_code(text)
        if code in self._rules.interrupted_exit_codes:
            return Reading(CallStatus.INTERRUPTED)
        if not (code or (code is None and (self._begins_failing(head) or tells_failure(text)))):
            return _WORKED
        category = self.signs.category(text, code)
        if category is None:
            return _REFUSED
        said = without_code(body), code if text is body else stated_code(body)
        return Reading(CallStatus.FAILURE, category, *said)

    def _halted(self, head: str) -> Reading:
        """Read what stands in place of a result whose call did not run to its end."""
        if head.startswith(self._rules.interrupted_prefixes):
            return Reading(CallStatus.INTERRUPTED)
        if head.startswith(self._rules.not_executed_prefixes):
            return Reading(CallStatus.INTERRUPTED if "user interrupt" in head else CallStatus.NOT_EXECUTED)
        return Reading(CallStatus.GUARDED)

    def _begins_failing(self, head: str) -> bool:
        return self._failing.begin(head.lower()) and not _COUNTED.match(head)

    def _is_harmless(self, meaning: object) -> bool:
        return isinstance(meaning, str) and any(phrase in meaning.lower() for phrase in self._harmless)

    def _child_failed(self, body: str) -> bool:
        try:
            children = msgspec.json.decode(body, type=_Delegation).results
        except (msgspec.MsgspecError, RecursionError):
            return False
        return any(
            isinstance(child.status, str) and child.status.lower() in self._rules.failing_statuses for child in children
        )


def _salvaged(body: str) -> _Report:
    """Read what a redaction or a cut has left of a JSON object."""
    code, error, success = [pattern.search(body) if name in body else None for name, pattern in _BROKEN]
    if not (code or error or success):
        return _SILENT
    return _Report(
        exit_code=int(code.group(1)) if code else None,
        error=error.group(1) if error else None,
        success=success.group(1) == "true" if success else None,
    )


def _unwrapped(body: str) -> str:
    opening = _WRAPPER.match(body) if body.startswith("<") else None
    if opening is None:
        return body
    inner, _, _ = body[opening.end() :].rpartition("</")
    return inner.strip() or body[opening.end() :]


def _text_of_parts(text: str | bytes) -> str:
    """Return the text of a list of content parts, as tools of other programs return it; "" if it is none."""
    try:
        return "\n".join(part.text for part in msgspec.json.decode(text, type=tuple[_TextPart, ...]))
    except (msgspec.MsgspecError, RecursionError):
        return ""


def _broken_output(body: str) -> str:
    """Return what a command gave, out of JSON that was cut in the middle of it."""
    found = _BROKEN_OUTPUT.search(body[:_HEAD])
    return body[found.end() :].replace("\\n", "\n").replace('\\"', '"') if found else body


def _is_plain_success(report: _Report) -> bool:
    """Return whether nothing in the report can mean anything but success: so for most results, found without a rule."""
    return not (
        report.exit_code
        or report.error
        or report.status
        or report.returncode
        or report.is_error
        or report.guardrail
        or report.success not in _FINE
        or report.ok not in _FINE
        or report.status_code
        or report.http_status
        or report.result is not UNSET
        or report.errors is not UNSET
        or report.metadata is not UNSET
        or report.structured_content is not UNSET
        or _parts(report)
    )


def _parts(report: _Report) -> bytes:
    """Return the list of content parts that a report holds; none where its content is anything else."""
    if report.content is UNSET or bytes(memoryview(report.content)[:1]) != b"[":
        return b""
    return bytes(report.content)


def _names_error(report: _Report) -> bool:
    error = report.error
    if isinstance(error, str) and error.strip().lower() in _NO_ERRORS:
        error = None
    return bool(error) or report.is_error is True or report.success in _REFUTED or report.ok in _REFUTED


def _http_error(report: _Report) -> bool:
    return any(
        isinstance(code, int) and not isinstance(code, bool) and code in _HTTP_ERRORS
        for code in (report.status, report.status_code, report.http_status)
    )


def _exit_code(report: _Report) -> int | None:
    """Return the exit code as a number; a flag or a text that is no number is none."""
    for code in (report.exit_code, report.returncode, _inner_code(report)):
        if isinstance(code, int) and not isinstance(code, bool):
            return code
        if isinstance(code, float) and code.is_integer():
            return int(code)
        if isinstance(code, str) and code.removeprefix("-").isdecimal():
            return int(code[:9])
    return None


def _inner_code(report: _Report) -> object:
    """Return the exit code that stands beside other things in "metadata"."""
    if report.metadata is UNSET or b'"exit_code"' not in bytes(report.metadata):
        return None
    try:
        return msgspec.json.decode(report.metadata, type=_Metadata).exit_code
    except msgspec.MsgspecError:
        return None


def _failure_text(body: str) -> str:
    """Return what a failed call says: its message, then its output."""
    try:
        fields = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return body
    return "\n".join(_as_text(fields[name]) for name in _TEXT_FIELDS if fields.get(name))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
