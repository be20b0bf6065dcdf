"""Pieces of sessions for people to read: redacted, cut, and nothing in them that a terminal obeys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader_daemon.domain.text import clean

if TYPE_CHECKING:
    from grader_daemon.redaction import Redactor

_EXCERPT_CHARACTERS = 160


def excerpt(text: str, redactor: Redactor) -> str:
    """Return the beginning of a text as one line."""
    line = _one_line(redactor.redact_beginning(text, 10 * _EXCERPT_CHARACTERS))
    return line if len(line) <= _EXCERPT_CHARACTERS else line[: _EXCERPT_CHARACTERS - 1] + "…"


def failed_excerpt(text: str, redactor: Redactor) -> str:
    """Return the line of a failed call's output that names the cause; the beginning if none does."""
    from grader_daemon.analysis.fingerprints import cause_of  # who only keeps a note need not wait for it

    return excerpt(cause_of(text, redactor) or text, redactor)


def one_line(text: str, redactor: Redactor) -> str:
    """Return a whole text as one line."""
    return _one_line(redactor.redact(text))


def _one_line(text: str) -> str:
    return clean(" ".join(text.split()))


def passage(text: str, redactor: Redactor, *, characters: int, lines: int) -> tuple[str, ...]:
    """Return the beginning of a text in its own lines, those that are empty left out; "…" stands for the rest."""
    from grader_daemon.redaction import MARGIN  # who only keeps a note need not wait for it

    text = text.strip()
    whole = redactor.redact_beginning(text, characters + 1)
    given = [clean(_plain_spaces(line.rstrip().expandtabs(4))) for line in whole[:characters].splitlines()]
    shown = [line for line in given if line.strip()]
    was_cut = len(whole) > characters or len(text) > characters + 1 + MARGIN or len(shown) > lines
    return (*shown[:lines], "…") if was_cut else tuple(shown)


def _plain_spaces(line: str) -> str:
    """Return a line without the spaces that only typesetters tell apart."""
    return "".join(" " if character.isspace() else character for character in line)
