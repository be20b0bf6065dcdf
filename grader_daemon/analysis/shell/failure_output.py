"""Failures that programs cry out at the end of their output, whatever the exit code of the line says.

``pytest | tail`` and ``make; echo done`` give 0. What failed is then told by the last line alone, and only where that
line is the program's own: its name in front, the end of a traceback, the summary of a test run. The output of programs
that print the text of others (``cat app.log``) tells nothing but with their own name in front.
"""

from __future__ import annotations

import re

from grader_daemon.analysis.shell.exit_codes import GOES_ON_AFTER_ERRORS, QUOTING, Meaning
from grader_daemon.analysis.shell.lines import Line
from grader_daemon.analysis.shell.programs import program_name

_TAIL = 6_000
_LONGEST_LINE = 400
_TRACEBACK = "Traceback (most recent call last)"

_OF_SHELL = re.compile(
    r"(?:\S{0,40}/)?(?:ba|z|da|k|a)?sh(?:\[\d{1,9}\])?: (?:-c: )?(?:line \d{1,6}: |\d{1,6}: )?"
    r"(?:(?P<program>[^:\s]{1,80}): (?:[^:\n]{1,200}: )?"
    r"(?:command not found|not found|No such file or directory|Permission denied|cannot )"
    r"|(?P<syntax>syntax error|unexpected EOF))"
)
_OF_PROGRAM = re.compile(r"(?P<program>[\w./+-]{1,80})(?:\[\d{1,9}\]|\.exe)?(?:: | ERR! )(?P<says>.{0,300})")
_COMPLAINT = re.compile(
    r"\*\*\*|\berror|\bfail|\bcannot\b|\bcan't\b|\bcould ?n[o']t\b|\bunable\b|no such\b|not found\b|\bdenied\b"
    r"|\binvalid\b|\billegal\b|\bunrecognized\b|\bunknown\b|\bmissing\b|\brefused\b|\bno module\b"
    r"|\bdoes not exist\b|\bnot a |\(\d{1,3}\)",
    re.IGNORECASE,
)
_MOUTHPIECES = {
    "error": frozenset({"cargo", "rustc", "git", "gcc", "g++", "clang", "pip", "uv", "go", "swift", "dpkg"}),
    "fatal": frozenset({"git"}),
    "ERROR": frozenset({"pip", "docker", "conda"}),
    "E": frozenset({"apt"}),
    "npm": frozenset({"npm", "npx", "yarn", "pnpm"}),
}
"""Whose complaints begin with another word than the program's name."""

_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit|Failure)(?::|$)")
_RED = re.compile(
    r"(?:=++ )?(?:\d{1,6} \w{1,12}, ){0,6}\d{1,6} (?:failed|errors?)\b.{0,120} in \d[\d.:]{0,12}s?\b.{0,30}$"
    r"|FAILED \((?:failures|errors)=|test result: FAILED|error: test failed|FAIL(?:\t|$)"
)
_OF_DATABASE = re.compile(r"^(?:psql:[^\n]{0,200}?\d: )?(?:ERROR|FATAL):  ", re.MULTILINE)
_PRINTED_CODE = re.compile(r"(?:^|[\s:=(\[])(\d{1,3})[\])\s.]{0,3}$")


def masked_failure(output: str, line: Line | None) -> tuple[bool, Meaning | None]:
    """Whether the output ends in a program's own failure, and whether that is a check's finding.

    Args:
        output: what the call gave, without what is around it.
        line: what was run; None for code in a language that is run as it is.
    """
    tail = output[-_TAIL:].rstrip()
    before, _, last = tail.rpartition("\n")
    last = last[:_LONGEST_LINE]
    if line is not None:
        if _names_itself(last, line, is_alone=not before.strip()):
            return True, None
        if line.speaker is None or line.speaker.family in QUOTING:
            return False, None
        if line.speaker.name in GOES_ON_AFTER_ERRORS and _OF_DATABASE.search(tail):
            return True, None
        if _RED.match(last):
            return True, Meaning.FINDINGS
    return _ends_in_exception(tail, before, last), None


def printed_code(output: str) -> int | None:
    """Return the number that the output ends with, as ``echo "exit: $?"`` prints it."""
    found = _PRINTED_CODE.search(output[-_LONGEST_LINE:].rstrip().rpartition("\n")[2])
    return int(found.group(1)) if found else None


def _names_itself(last: str, line: Line, *, is_alone: bool) -> bool:
    shell = _OF_SHELL.match(last)
    if shell is not None:
        return shell["syntax"] is not None or program_name(shell["program"]) in line.names
    named = _OF_PROGRAM.match(last)
    if named is None or not _COMPLAINT.search(named["says"]):
        return False
    program = program_name(named["program"])
    if program in _MOUTHPIECES:
        return not _MOUTHPIECES[program].isdisjoint(line.names) and not _is_quoted(line)
    return program in line.names and (is_alone or program not in QUOTING)


def _is_quoted(line: Line) -> bool:
    return line.speaker is not None and line.speaker.family in QUOTING and line.speaker.name != "git"


def _ends_in_exception(tail: str, before: str, last: str) -> bool:
    if not _EXCEPTION.match(last):
        return False
    above = before.rpartition("\n")[2]
    return _TRACEBACK in tail or above.startswith(("    ", "\t")) or above.strip().startswith("^")
