"""The line of a failed call's output that names the cause.

Tables of patterns, each with bounded or possessive repetition, so that any text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from grader_daemon.analysis.fingerprints.normalize import ERRNO, ERRNO_SIGNS, EXCEPTIONS, SIGNALS
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.text import clean

_REACH = 1_500
"""Characters examined at each end of what a call said: a traceback ends, a compiler begins with what matters."""

LONGEST_LINE: Final = 600
"""Characters of a line that names a cause."""

_ANSI = late_pattern(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)?|[ -/]{0,4}[0-~])")
_LEAD = late_pattern(
    r"(?:[\s│┃|>×●✖✗✘❌⨯╰╭╷╵─•*]++|#\d{1,3} (?:\d{1,5}\.\d{1,3}(?= )|(?=ERROR))"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?\]?:?(?=\s)"
    r"|\[\d\d:\d\d:\d\d\](?=\s))*"
)
_JSON_MESSAGE = late_pattern(
    r"[\"'](?:message|error|detail|details|error_description|error_message|errorMessage|msg|reason|title|stderr)[\"']"
    r"\s{0,9}:\s{0,9}(?:\"((?:[^\"\\]|\\[\s\S])++)\"|'((?:[^'\\]|\\[\s\S])++)')"
)
_JSON_OUTPUT = late_pattern(r"\"(?:output|stdout|content)\":\s{0,9}\"((?:[^\"\\]|\\[\s\S])++)")
_ESCAPE = late_pattern(r"\\(u[0-9a-fA-F]{4}|[\s\S])")
_ESCAPES = {"n": "\n", "r": "\n", "t": " ", "b": " ", "f": " "}
_HTML_TITLE = late_pattern(r"<(title|h1)>([^<]{1,300})<", re.IGNORECASE)

_TRACEBACK = "Traceback (most recent call last)"
_DIRECT_CAUSE = "The above exception was the direct cause"
_PYTEST_ERROR = late_pattern(r"^E {3,}(\S.*)", re.MULTILINE)
_PYTEST_SUMMARY = late_pattern(r"^(?:FAILED|ERROR) \S{1,400} - (\S.*)", re.MULTILINE)
_VERDICT = late_pattern(r"(curl: \(\d{1,3}\) .*|Error response from daemon: .*|ERROR: Could not find a version .*)")
"""Messages that other lines of the same programs surround which look like errors."""

_FRAMES: Final = (
    ("E   ", _PYTEST_ERROR),
    ("FAILED ", _PYTEST_SUMMARY),
    ("ERROR ", _PYTEST_SUMMARY),
    ("curl: (", _VERDICT),
    ("Error response from daemon: ", _VERDICT),
    ("ERROR: Could not find", _VERDICT),
)
"""Pointers to the line of a report, each with a piece of text without which it does not occur."""

_JAVA_CAUSE = late_pattern(r"^Caused by: (\S.*)", re.MULTILINE)

_NOISE = late_pattern(
    r"\W*$|\S{1,300}:\d{1,6}: (?:note|warning): |\d{1,6}:\d{1,6}\s+warning |at .{1,300}[)\d>]$|File \"|\d+ \||\^|-->"
    r"|(?:warn(?:ing)?|note|hint|help|info|debug|notice|tip)\b|\[Tool loop|npm (?:warn|notice)"
    r"|\[(?:warn(?:ing)?|info|notice|debug)\]|[\w.]{1,60}Warning:|\(node:\d+\)|={3,}|-{4,}|_{4,}|During handling of"
    r"|The above exception|Traceback \(most|usage: |(?:See|Try|Run) ['\"`]|\.{3}\[|go: downloading|Node\.js v"
    r"|Error in sys\.excepthook|npm (?:ERR!|error) A complete log",
    re.IGNORECASE,
)
"""Lines that never name a cause: stack frames, source, rulers, warnings, advice."""

_FOLLOWING = late_pattern(
    r"make(?:\[\d+\])?: \*\*\*.{0,300}\bError \d|could not read from remote|failed to push some refs|aborting due to"
    r"|(?:could not compile|build failed|compilation failed|tests? failed)\b.{0,80}$|subprocess-exited-with-error"
    r"|metadata-generation-failed|npm (?:ERR!|error) (?:code (?:\d|ELIFECYCLE)|errno|path|command|cwd|syscall)\b"
    r"|ld returned \d|did not complete successfully|returned a non-zero code|non-zero exit status|lifecycle script"
    r"|(?:exit(?:ed)?|return(?:ed)?)(?: with)? (?:code|status)|command failed(?::|$)|process completed with"
    r"|FAILED \((?:errors|failures)|\[ERROR\] (?:Failed to execute goal|-> \[|To see|Re-run|For more)"
    r"|^(?:failures|errors?):?$|FAILURE: Build failed|\d{1,9} (?:errors?|problems?|failed)\b.{0,60}$|elifecycle",
    re.IGNORECASE,
)
"""Lines that only say that something before them failed."""

_STATED = late_pattern(
    r"(?:[\w./\\+@-]{1,200}+(?:\(\d{1,6}(?:,\d{1,6})?\))?:(?:\d{1,6}:){0,2} ?(?:- )?){0,3}"
    r"(?i:(?:fatal |internal |uncaught |unhandled |compile |parse |PHP )?"
    r"(?:error|fatal|panic|E|ERR!|exception|failure|severe|critical)"
    r"(?:\[[\w:-]{1,40}\]|\(\w{1,40}\)|(?: [\w'-]{1,20}+){0,5}(?: \(\w{1,20}\))?)[:!] ?\S)"
    r"|(?:Uncaught |Unhandled |Exception in thread \S{1,80} |Caused by: )?"
    rf"(?:[A-Za-z_$][\w$]{{0,80}}+(?:\.|::?|\\|/)){{0,8}}[A-Z]\w{{0,60}}(?:{EXCEPTIONS})\b"
    r"(?: ?\[\w{1,40}\])?(?::|$| \()"
    r"|thread .{1,80}panicked|panic: |curl: \(\d|! \[|CONFLICT |--- FAIL|\[ERROR\]|\[FAIL|npm (?:ERR!|error) "
    r"|What went wrong|FAILED |expect\(|HTTP/\d(?:\.\d)? [45]\d\d|[45]\d\d (?:[A-Z][a-z]|Client Error|Server Error)"
    rf"|\(?(?:{SIGNALS})\b|make(?:\[\d+\])?: \*\*\*"
)
"""Lines that have the form of an error message."""

_ENDING = late_pattern(
    rf"command not found|: not found$|not recognized|(?:{ERRNO})(?: \(|\b.{{0,20}}$)|net::ERR_|undefined reference to"
    r"|connection (?:refused|reset|timed out|closed)|could(?: not|n't) resolve|publickey|ERR_[A-Z]"
    r"|\bE(?:CONN|ADDR|NO|ACC|PERM|TIMED)",
    re.IGNORECASE,
)
"""Other sure signs of a cause, wherever they stand in a line."""

_SPOKEN: Final[tuple[str, ...]] = (
    *("error", "fatal", "fail", "exception", "cannot", "can't", "could not", "couldn't", "unable", "denied"),
    *("not found", "not allowed", "not supported", "not exist", "not valid", "not permitted", "not recognized"),
    *("no such", "no module", "no rule", "nothing to", "invalid", "illegal", "refus", "timed out", "timeout"),
    *("missing", "unknown", "unexpected", "undefined", "undeclared", "unrecognized", "doesn't", "does not"),
    *("is not ", "isn't", "must be", "required", "expected", "abort", "reject", "conflict", "forbidden"),
    *("unauthorized", "exceeded", "too many", "too large", "too long", "already", "blocked", "unreachable"),
    *("panic", "killed", " fault", "terminated", "curl: (", "http/", "expect(", "e: ", "! [", "err!", "exit"),
    *("interrupt", "went wrong", "warning:", "publickey", "no space", "read-only", "busy", "is a directory"),
)
"""One of these stands, in lower case, in every line that speaks of an error."""

_NOTHING_WRONG = late_pattern(
    r"\b(?:0|no) (?:errors?|fail|warnings?|problems?)|(?:errors?|failures?|failed)[:=] ?0\b", re.IGNORECASE
)

_FOLLOWING_SIGNS: Final = (
    *("make", "from remote", "push some refs", "aborting due", "not compile", "build failed", "ilation failed"),
    *("test failed", "tests failed", "exited-with", "generation-failed", "npm ", "ld returned", "not complete"),
    *("non-zero", "lifecycle", "exit", "return", "command failed", "completed with", "failed (", "[error] "),
    "failures",
)
_FOLLOWING_COUNTED: Final = (" error", " problem", " failed")
_FOLLOWING_COUNT = late_pattern(r"\d (?:error|problem|failed)")
_FOLLOWING_ALONE: Final = ("error", "error:", "errors", "errors:")
"""Whole lines that `_FOLLOWING` finds, in lower case; any other that it finds holds one of those above."""

_ENDING_SIGNS: Final = (
    *("not found", "not recognized", "err_", "undefined reference", "connection ", "resolve", "publickey", "econn"),
    *("eaddr", "eno", "eacc", "eperm", "etimed", *ERRNO_SIGNS),
)
"""Pieces of text in lower case, one of which stands in every line that `_ENDING` finds."""

_SILENT = 3
_FEW_LINES = 3
"""Most lines of a message in output that names no error; more are the data of the call."""


def bounded(text: str) -> str:
    """Return both ends of a long text, the beginning in whole words: half a secret would not be known as one."""
    if len(text) <= 2 * _REACH:
        return text
    end = text[-_REACH:].partition("\n")[2]
    beginning = "".join(text[:_REACH].rsplit(None, 1)[:1])
    return f"{beginning}\n{end}"


def cause_in(text: str) -> str:
    """Return the line of a `bounded` text that names the cause, "" when it says nothing; without control characters."""
    text = _readable(text)
    line = _reported(text) or _best_of(text.splitlines())
    line = _message_in(" ".join(line.split())[:LONGEST_LINE])
    if line.isprintable():
        return line
    return " ".join(clean(_ANSI.sub("", line)).replace("\N{REPLACEMENT CHARACTER}", " ").split())


def _readable(text: str) -> str:
    """Return a text without colours, and without the JSON or HTML around a message."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = text.strip()
    if text.startswith(("{", "[{")):
        found = _JSON_MESSAGE.search(text) or _JSON_OUTPUT.search(text)
        return _unescaped(found[found.lastindex or 0]) if found else text
    if text.startswith("<"):
        title = _HTML_TITLE.search(text)
        return title[2] if title else text
    return text


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPES.get(escape, escape)


def _message_in(line: str) -> str:
    """Replace a JSON body that stands in a line by its message."""
    start = line.find("{")
    found = _JSON_MESSAGE.search(line, start) if start >= 0 else None
    return line[:start] + _unescaped(found[found.lastindex or 0]) if found else line


def _reported(text: str) -> str:
    """Return the line that the frame of a report points to: pytest's, a traceback's, a chain of causes'."""
    for sign, pattern in _FRAMES:
        found = pattern.search(text) if sign in text else None
        if found:
            return found[1]
    if _TRACEBACK in text:
        return _raised(text.splitlines())
    causes = _JAVA_CAUSE.findall(text) if "\nCaused by: " in f"\n{text}" else ()
    return causes[-1] if causes else ""


def _raised(lines: list[str]) -> str:
    """Return the last exception of tracebacks; of one that was raised `from` another, that other one."""
    raised = ""
    margin = -1
    is_consequence = False
    for index, line in enumerate(lines):
        if _TRACEBACK in line:
            margin = line.index(_TRACEBACK)
        elif _DIRECT_CAUSE in line:
            is_consequence = True
        elif margin >= 0 and len(line) > margin and line[margin] not in " \t":
            if not is_consequence:
                raised = _continued(line[margin:], lines[index + 1 :])
            margin = -1
            is_consequence = False
    return raised


def _best_of(lines: list[str]) -> str:
    """Return the first line of those that say most."""
    best, lowest = "", _SILENT
    for index, found in _speaking(lines):
        line = _without_lead(found)
        rank = _rank(line[:LONGEST_LINE])
        if line and rank < lowest:
            best, lowest = _continued(line, lines[index + 1 :]), rank
            if rank == 0:
                break
    return best if lowest < _SILENT else _only_message(lines)


def _only_message(lines: list[str]) -> str:
    """Return the first message line if the lines are few and name no error; else ""."""
    stripped = [line for line in map(_without_lead, lines) if line]
    if len(stripped) == 1:
        return stripped[0]
    return "" if len(stripped) > _FEW_LINES else _least_noisy(stripped)


def _speaking(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that speak of an error, with their places.

    The first one often names the cause: which words stand in the others is only found out once these are asked for.
    """
    words: Sequence[str] = _SPOKEN
    for index, line in enumerate(lines):
        if index == 1 and len(lines) > _FEW_LINES:
            whole = "\n".join(lines[1:]).lower()
            words = [word for word in _SPOKEN if word in whole]
        low = line[:LONGEST_LINE].lower()
        for word in words:
            if word in low:
                yield index, line
                break


def _least_noisy(lines: list[str]) -> str:
    """Return the first message line of a few lines that name no error."""
    for index, line in enumerate(lines):
        if not _is_noise(beginning := line[:LONGEST_LINE], beginning.lower()):
            return _continued(line, lines[index + 1 :])
    return _continued(lines[0], lines[1:]) if lines else ""


def _without_lead(line: str) -> str:
    lead = _LEAD.match(line)
    return (line[lead.end() :] if lead else line).rstrip()


def _rank(line: str) -> int:
    """0 for a line that states an error, then what speaks of one, only follows from one, is anything else."""
    low = line.lower()
    if _is_noise(line, low) or (("0" in line or "no " in low) and _NOTHING_WRONG.search(line)):
        return _SILENT
    if _may_only_follow(low) and _FOLLOWING.search(line):
        return 2
    return 0 if _STATED.match(line) or (holds_any(low, _ENDING_SIGNS) and _ENDING.search(line)) else 1


def _may_only_follow(low: str) -> bool:
    if holds_any(low, _FOLLOWING_SIGNS) or low in _FOLLOWING_ALONE:
        return True
    return holds_any(low, _FOLLOWING_COUNTED) and _FOLLOWING_COUNT.search(low) is not None


def _is_noise(line: str, low: str) -> bool:
    return _NOISE.match(line) is not None or "deprecat" in low


def _continued(line: str, after: list[str]) -> str:
    """Add the next line to one that ends in a colon."""
    if not line.endswith(":"):
        return line
    return f"{line} {next((other for other in map(_without_lead, after[:5]) if other), '')}"
