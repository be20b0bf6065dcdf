"""Failures that programs cry out at the end of their output, whatever the exit code of the line says.

``pytest | tail`` and ``make; echo done`` give 0. What failed is then told by the last line alone, and only where that
line is the program's own: its name in front, the end of a traceback, the summary of a test run. The output of programs
that print the text of others (``cat app.log``) tells nothing but with their own name in front.
"""

from __future__ import annotations

import re

from grader_daemon.analysis.shell.exit_codes import GOES_ON_AFTER_ERRORS, LOOKING, PLAIN_SPOKEN, QUOTING, Meaning
from grader_daemon.analysis.shell.known_programs import program_name
from grader_daemon.analysis.shell.lines import Line, Program
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_TAIL = 6_000
_LONGEST_LINE = 400
_TRACEBACK = "Traceback (most recent call last)"

_OF_SHELL = late_pattern(
    r"(?:\S{0,40}/)?(?:ba|z|da|k|a)?sh(?:\[\d{1,9}\])?: (?:-c: )?(?:line \d{1,6}: |\d{1,6}: )?"
    r"(?:(?P<program>[^:\s]{1,80}): (?:[^:\n]{1,200}: )?"
    r"(?:command not found|not found|No such file or directory|Permission denied|cannot )"
    r"|(?P<syntax>syntax error|unexpected EOF))"
)
_OF_PROGRAM = late_pattern(
    r"(?!(?i:warn(?:ing)?|note|info)\b)(?P<program>[\w./+-]{1,80})(?:\[\d{1,9}\]|\.exe)?(?:: | ERR! )"
    r"(?!(?i:warn(?:ing)?|note|info)\b)(?P<says>.{0,300})"
)
_COMPLAINT = late_pattern(
    r"\*\*\*|\berror|\bfail|\bcannot\b|\bcan't\b|\bcould ?n[o']t\b|\bunable\b|no such\b|not found\b|\bdenied\b"
    r"|\binvalid\b|\bunmatched\b|\bunterminated\b|\billegal\b|\bunrecognized\b|\bunknown\b|\bmissing\b"
    r"|\brefused\b|\bno module\b|\bdoes not exist\b|\bnot a |\(\d{1,3}\)",
    re.IGNORECASE,
)
_MOUTHPIECES = {
    "error": frozenset({"cargo", "rustc", "git", "gcc", "g++", "clang", "pip", "uv", "go", "swift", "dpkg"}),
    "fatal": frozenset({"git"}),
    "ERROR": frozenset({"pip", "docker", "conda"}),
    "E": frozenset({"apt"}),
    "npm": frozenset({"npm", "npx", "yarn", "pnpm"}),
}
"""Programs whose complaints begin with another word than their name."""

_EXCEPTION = late_pattern(r"(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit|Failure)(?::|$)")
_RED = late_pattern(
    r"(?:=++ )?(?:\d{1,6} \w{1,12}, ){0,6}\d{1,6} (?:failed|errors?)\b.{0,120} in \d[\d.:]{0,12}s?\b.{0,30}$"
    r"|FAILED \((?:failures|errors)=|test result: FAILED|error: test failed|FAIL(?:\t|$)"
)
_OF_SCRIPTS = late_pattern(
    r"^(?:\s{0,3}\[?ELIFECYCLE\]?\s{1,4}|error )"
    r"(?:(?P<red>Test failed)|Command failed(?: with exit code (?P<code>\d{1,3}))?)\."
    r"|^(?:Error: |\s{0,3}\[?)ERR_PNPM_RECURSIVE_\w{1,20}_FAIL\b",
    re.MULTILINE,
)
_SCRIPT_RUNNERS = frozenset({"pnpm", "yarn"})
"""Programs that run a package's scripts, and end with words of their own if one failed (pnpm 12, yarn 1.22)."""

_END_OF_SCRIPTS = 600

_OF_DATABASE = late_pattern(r"^(?:psql:[^\n]{0,200}?\d: )?(?:ERROR|FATAL):  ", re.MULTILINE)
_RAISED = late_pattern(r"(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?::|$)")
_OF_FRAMES = (" ", "\t", "│", "╭", "╰")
_MOST_MESSAGE_LINES = 8
_CUT = late_pattern(
    r"\.{3}\s?\[[^\]\n]{0,40}\btruncated\b[^\]\n]{0,40}\]\s{0,9}\Z|\[Output Truncated\]\s{0,9}\Z", re.IGNORECASE
)
_LONGEST_CUT = 120
_BROKE = late_pattern(
    r"^(?:Traceback \(most recent call last\):|[^\s:]{1,200}:\d{1,6}:(?:\d{1,6}:)? (?:fatal )?error: "
    r"|\s{0,4}error: subprocess-exited-with-error|make(?:\[\d+\])?: \*\*\* )",
    re.MULTILINE,
)
_RED_WITHIN = late_pattern(r"^(?:(?:FAILED|ERROR) \S{1,300}::|E {3,}\S|(?:FAIL|ERROR): \w{1,100} \()", re.MULTILINE)
_RED_SIGNS = ("FAILED ", "ERROR ", "\nE   ", "FAIL: ", "ERROR: ")
_BROKEN_SIGNS = (_TRACEBACK, " error: ", "subprocess-exited", ": *** ")
"""Signs before the end of output that was cut: errors of interpreters and compilers, and red tests."""

_BROKEN_OFF = "note: This error originates from a subprocess, and is likely not a problem with pip"
_STATED = late_pattern(r"(?:\w{1,20} )?(?:[Ee]rror|ERROR|fatal): ")
_STALE_INDEX = "W: Some index files failed to download"
"""End of the output of an ``apt-get update`` that exits with 0 though it got nothing."""

_STDERR = "STDERR: "
"""Mark before what a harness sets apart as the output of errors."""

_NOTICES = ("[notice]", "info Visit https://yarnpkg.com/")
"""Marks before the advice of pip and yarn, which comes after everything else."""

_TELLTALE = (
    LOOKING | PLAIN_SPOKEN | {"awk", "tar", "unzip", "python", "git", "make", "diff", "curl", "wget", "jq", "node"}
) - {*"test file source set date true more less strings tree sort head tail export".split()}
"""Programs that are known by their name alone in front of a complaint."""

_FEW_LINES = 3
_PRINTED_CODE = late_pattern(r"(?:^|[\s:=(\[])(\d{1,3})[\])\s.]{0,3}$")


def masked_failure(output: str, line: Line | None) -> tuple[bool, Meaning | None]:
    """Return whether the output ends in a program's own failure, and whether that is a check's finding.

    Args:
        output: what the call gave, without what is around it.
        line: what was run; None for code in a language that is run as it is.
    """
    cut = _CUT.search(output, max(0, len(output) - _LONGEST_CUT))
    if cut is not None:
        return _before_cut(output[-_TAIL : cut.start()], line)
    tail = _without_notices(output[-_TAIL:].rstrip())
    before, _, last = tail.rpartition("\n")
    last = last[:_LONGEST_LINE]
    if last.startswith(_BROKEN_OFF) or (_STDERR in tail and _is_told_apart(tail)):
        return True, None
    if line is None:
        return _ends_in_exception(tail, before, last), None
    return _ends_in_words_of(line, tail, before, last)


def printed_code(output: str) -> int | None:
    """Return the number that the output ends with, as ``echo "exit: $?"`` prints it."""
    found = _PRINTED_CODE.search(output[-_LONGEST_LINE:].rstrip().rpartition("\n")[2])
    return int(found.group(1)) if found else None


def is_quoting(line: Line) -> bool:
    """Return whether what a line prints at its end is text of others, or nobody's."""
    return line.speaker is None or line.speaker.family in QUOTING


def _ends_in_words_of(line: Line, tail: str, before: str, last: str) -> tuple[bool, Meaning | None]:
    if _names_itself(last, line, is_alone=not before.strip()):
        return True, None
    if last.startswith(_STALE_INDEX) and "apt" in line.names:
        return True, None
    if line.speaker is None or is_quoting(line):
        return False, None
    if line.speaker.name in GOES_ON_AFTER_ERRORS and _OF_DATABASE.search(tail):
        return True, None
    script = _OF_SCRIPTS.search(tail[-_END_OF_SCRIPTS:]) if line.speaker.name in _SCRIPT_RUNNERS else None
    if script is not None:
        return True, _meaning_of_script(script, line.speaker)
    if _RED.match(last):
        return True, Meaning.FINDINGS
    return _ends_in_exception(tail, before, last), None


def _meaning_of_script(said: re.Match[str], runner: Program) -> Meaning | None:
    is_red = said["red"] is not None or runner.meaning_of(int(said["code"] or 1)) is Meaning.FINDINGS
    return Meaning.FINDINGS if is_red else None


def is_complaint(output: str) -> bool:
    """Return whether a whole text is the complaint of a failed shell, or of a plain program by its name."""
    lines = [text for text in output.splitlines()[: _FEW_LINES + 2] if text.strip()]
    return 0 < len(lines) <= _FEW_LINES and all(_complains(text[:_LONGEST_LINE]) for text in lines)


def _complains(text: str) -> bool:
    if _OF_SHELL.match(text):
        return True
    named = _OF_PROGRAM.match(text)
    if named is None or not _COMPLAINT.search(named["says"]):
        return False
    return program_name(named["program"]) in _TELLTALE


def _before_cut(output: str, line: Line | None) -> tuple[bool, Meaning | None]:
    """The same of output whose end is not there: what broke within it, if the program does not print other text."""
    if line is not None and is_quoting(line):
        return False, None
    if holds_any(output, _RED_SIGNS) and _RED_WITHIN.search(output):
        return True, Meaning.FINDINGS
    return holds_any(output, _BROKEN_SIGNS) and _BROKE.search(output) is not None, None


def _without_notices(tail: str) -> str:
    while (end := tail.rfind("\n")) >= 0 and (tail.startswith(_NOTICES, end + 1) or not tail[end:].strip()):
        tail = tail[:end]
    return tail


def _is_told_apart(tail: str) -> bool:
    """Return whether the output of errors, where it stands apart, begins or ends with one."""
    _, found, told = f"\n{tail}".rpartition(f"\n{_STDERR}")
    return bool(found) and (
        _states_error(told[:_LONGEST_LINE]) or _states_error(told.rpartition("\n")[2][:_LONGEST_LINE])
    )


def _states_error(text: str) -> bool:
    if _OF_SHELL.match(text) or _EXCEPTION.match(text) or _STATED.match(text):
        return True
    named = _OF_PROGRAM.match(text)
    return named is not None and _COMPLAINT.search(named["says"]) is not None


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
    header = tail.rfind(_TRACEBACK)
    if header >= 0 and _ends_in_traceback(tail[header:]):
        return True
    if header >= 0 or not _EXCEPTION.match(last):
        return header >= 0 and _EXCEPTION.match(last) is not None
    above = before.rpartition("\n")[2]
    return above.startswith(("    ", "\t")) or above.strip().startswith("^")


def _ends_in_traceback(report: str) -> bool:
    """Return whether a text that begins as a traceback is one to its end: frames, cut or not, then the message."""
    lines = report.splitlines()[1:]
    raised = next((at for at, text in enumerate(lines) if text and not text.startswith(_OF_FRAMES)), None)
    if raised is None:
        return bool(lines)
    return _RAISED.match(lines[raised]) is not None and len(lines) - raised <= _MOST_MESSAGE_LINES
