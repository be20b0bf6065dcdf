"""Fingerprints of failures: the same cause is told by the words they come in.

Of all that a failed call said, one line names the cause; what differs in it from one occurrence to the next gets a
placeholder. Tool, command family, category and that line make the fingerprint.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import xxhash

from grader_daemon.analysis.fingerprints.cause_line import bounded, cause_in
from grader_daemon.analysis.fingerprints.named import named
from grader_daemon.analysis.fingerprints.normalize import normalize, shape_of
from grader_daemon.domain.analysis import NO_MESSAGE, Category, ErrorSign
from grader_daemon.domain.text import clean
from grader_daemon.redaction import MARGIN, SECRETS, Redactor

FINGERPRINT_VERSION: Final = 2
"""Raised by one whenever the same failures would be grouped differently."""

_AROUND = 600
"""Characters before a line that are searched for a secret that it is part of; only keys have more lines."""

_KEY = "PRIVATE KEY"
_LONGEST_SIGNAL = 200
_LONGEST_EXAMPLE = 300
_DIGITS = 12


def sign(
    tool: str | None,
    command: str | None,
    category: Category,
    text: str,
    *,
    shared_tool: str | None = None,
    redactor: Redactor = SECRETS,
) -> ErrorSign:
    """Name the cause of a failure of `tool`, for shells of the command family `command`, by the `text` it gave.

    `shared_tool` is the name that it shares with the tools of other agents, so that they share their fingerprints.
    """
    return _sign(tool, command, category, bounded(text), shared=shared_tool or tool, redactor=redactor)


def cause_of(text: str, redactor: Redactor) -> str:
    """Return the line of a failed call's output that names the cause, redacted; "" if none does."""
    return redactor.redact_name(_cause_in(bounded(text), redactor))


@lru_cache(maxsize=256)
def _sign(
    tool: str | None, command: str | None, category: Category, text: str, *, shared: str | None, redactor: Redactor
) -> ErrorSign:
    """Name a cause once: an agent that tries the same again is told the same again, and so is the next session."""
    line = redactor.redact_name(_cause_in(text, redactor))
    signal = _cut(normalize(line), _LONGEST_SIGNAL) or NO_MESSAGE
    tool, shared, command = _printable(tool), _printable(shared), _printable(command)
    form = "\0".join((shared or "", command or "", category, shape_of(signal)))
    return ErrorSign(
        fingerprint=f"{FINGERPRINT_VERSION}-{xxhash.xxh3_64_hexdigest(form.encode())[:_DIGITS]}",
        tool=tool,
        command=command,
        category=category,
        signal=signal,
        example=_cut(line, _LONGEST_EXAMPLE),
    )


def _cause_in(text: str, redactor: Redactor) -> str:
    """Return the line that names the cause; no secret in it has lost quotes, or what nobody sees."""
    line = cause_in(text)
    loses = not text.isascii() or "{" in text
    return cause_in(redactor.redact(text)) if loses and not _is_kept(line, text, redactor) else line


def _is_kept(line: str, text: str, redactor: Redactor) -> bool:
    """Return whether a line stands in a text, once and as it is, and no secret around it reaches into it."""
    if text.count(line) != 1 or _KEY in text:
        return False
    start = text.index(line)
    before = text.rfind("\n", 0, max(0, start - _AROUND)) + 1
    return line in redactor.redact(text[before : start + len(line) + MARGIN])


def _printable(name: str | None) -> str | None:
    return name if name is None or name.isprintable() else clean(name)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


__all__ = ["FINGERPRINT_VERSION", "cause_of", "named", "sign"]
