"""Outcomes that results in plain text show by their form, whatever tool they come from.

A harness writes the exit code before or behind what a command gave, says that it killed it, or that it did not
understand what it was asked to do. Patterns are anchored and bounded.
"""

from __future__ import annotations

import re
from typing import Final

_CODE_BEFORE = re.compile(
    r"\s{0,40}(?:exit ?(?:code|status)\s{0,3}:?\s{0,3}|<(?:returncode|exit_code)>\s{0,3})(-?\d{1,6})", re.IGNORECASE
)
_CODE_BEHIND = re.compile(
    r"(?:\A|\n)[\[(]?(?:the )?(?:command |process )?(?:finished |completed |exited |failed )?(?:with )?"
    r"(?:exit[ _]?)?(?:code|status):? ?(-?\d{1,6})[.)\]]{0,2}\s{0,9}\Z",
    re.IGNORECASE,
)
_BEFORE_CODE: Final = "eE<"
_AFTER_CODE: Final = ".)]"
_LONGEST_CODE: Final = 80
_HEAD: Final = 1_200
_LONGEST_USAGE: Final = 2_000

_INVALID_ARGUMENTS = re.compile(r"(?:Error: )?[0-9]{1,4} validation errors? for \w")
_KILLED = re.compile(
    r"(?:The |Your )?(?:last )?[Cc]ommand\b[\s\S]{0,1000}?\btimed out (?:and has been killed|after \d)"
)
_USAGE = re.compile(r"[Uu]sage: \S[^\n]{0,300}(?:\s{0,9}\Z|\n(?:[^\n]{0,300}\n){0,30}?(?:\S{1,80}: )?[Ee]rror: )")
_COLOUR = r"(?:\x1b\[[\d;]{0,12}m)?"
_NOTEBOOK = re.compile(
    rf"{_COLOUR}-{{20,100}}{_COLOUR}\n{_COLOUR}[A-Z]\w{{1,80}}{_COLOUR}\s{{1,100}}Traceback \(most recent call last\)"
)
_FORMS: Final = {
    **dict.fromkeys("0123456789E", (" validation error", _INVALID_ARGUMENTS, _HEAD)),
    **dict.fromkeys("Uu", ("sage: ", _USAGE, _LONGEST_USAGE)),
    **dict.fromkeys("\x1b-", ("Traceback", _NOTEBOOK, _HEAD)),
    **dict.fromkeys("TYlCc", ("timed out", _KILLED, _HEAD)),
}
"""Forms of failures by the first character of a text: a sign, the pattern, and how far that reaches."""


def stated_code(text: str) -> int | None:
    """Return the exit code that a harness states before what a command gave, or in its last line; None without."""
    found = _code_before(text) or _code_behind(text)
    return int(found.group(1)) if found else None


def tells_failure(text: str) -> bool:
    """Return whether a text has the form of a failure: a call not understood, one that was killed, a traceback."""
    form = _FORMS.get(text[:1])
    if form is None:
        return False
    sign, pattern, reach = form
    head = text[:reach]
    return sign in head and pattern.match(head) is not None


def without_code(text: str) -> str:
    """Return what a command gave without the exit code in its last line."""
    found = _code_behind(text)
    return text[: found.start()].rstrip() if found else text


def _code_before(text: str) -> re.Match[str] | None:
    first = text[:1]
    return _CODE_BEFORE.match(text[:_LONGEST_CODE]) if first in _BEFORE_CODE or first.isspace() else None


def _code_behind(text: str) -> re.Match[str] | None:
    end = text[-_LONGEST_CODE:].rstrip()
    last = end[-1:]
    if not last.isdecimal() and last not in _AFTER_CODE:
        return None
    end = end.lower()
    if "code" not in end and "status" not in end:
        return None
    return _CODE_BEHIND.search(text, max(0, len(text) - _LONGEST_CODE))
