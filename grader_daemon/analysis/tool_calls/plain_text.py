"""What a result in plain text says of its call by its form, whatever tool it comes from.

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
_AFTER_CODE: Final = ".)]"
_LONGEST_CODE: Final = 80
_HEAD: Final = 1_200
_LONGEST_USAGE: Final = 2_000

_INVALID_ARGUMENTS = re.compile(r"(?:Error: )?\d{1,4} validation errors? for \w")
_KILLED = re.compile(
    r"(?:The |Your )?(?:last )?[Cc]ommand\b[\s\S]{0,1000}?\btimed out (?:and has been killed|after \d)"
)
_USAGE = re.compile(r"[Uu]sage: \S[^\n]{0,300}(?:\s{0,9}\Z|\n(?:[^\n]{0,300}\n){0,30}?(?:\S{1,80}: )?[Ee]rror: )")
_COLOUR = r"(?:\x1b\[[\d;]{0,12}m)?"
_NOTEBOOK = re.compile(
    rf"{_COLOUR}-{{20,100}}{_COLOUR}\n{_COLOUR}[A-Z]\w{{1,80}}{_COLOUR}\s{{1,100}}Traceback \(most recent call last\)"
)


def stated_code(text: str) -> int | None:
    """Return the exit code that a harness states before what a command gave, or in its last line; None without."""
    found = _CODE_BEFORE.match(text[:_LONGEST_CODE]) or _code_behind(text)
    return int(found.group(1)) if found else None


def tells_failure(text: str) -> bool:
    """Whether a text has the form of a failure: a call that was not understood, one that was killed, a traceback."""
    head = text[:_HEAD]
    if _INVALID_ARGUMENTS.match(head):
        return True
    if head.startswith(("Usage: ", "usage: ")):
        return _USAGE.match(text[:_LONGEST_USAGE]) is not None
    if "Traceback" in head and _NOTEBOOK.match(head):
        return True
    return "timed out" in head and _KILLED.match(head) is not None


def without_code(text: str) -> str:
    """Return what a command gave without the exit code in its last line."""
    found = _code_behind(text)
    return text[: found.start()].rstrip() if found else text


def _code_behind(text: str) -> re.Match[str] | None:
    last = text[-_LONGEST_CODE:].rstrip()[-1:]
    if not last.isdecimal() and last not in _AFTER_CODE:
        return None
    return _CODE_BEHIND.search(text, max(0, len(text) - _LONGEST_CODE))
