"""The terminal at which output is read: that of this process, or one elsewhere to which it is handed on."""

from __future__ import annotations

import os
import sys
from typing import Final

TERMINAL_VARIABLE: Final = "_GRADER_DAEMON_TERMINAL"
"""By this variable a command knows that its output is handed on to a terminal elsewhere, of as many COLUMNS."""

_PIPED_COLUMNS: Final = 100
_FEWEST_COLUMNS: Final = 20


def has_colours() -> bool:
    """Return whether what is printed may be coloured, which NO_COLOR and TERM=dumb forbid."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return _is_there() and not is_plain


def width() -> int:
    """Columns of the terminal; 100 where there is none."""
    if not _is_there():
        return _PIPED_COLUMNS
    from shutil import get_terminal_size  # with its archives it takes as long as a twentieth of a short command

    return max(_FEWEST_COLUMNS, get_terminal_size((_PIPED_COLUMNS, 24)).columns)


def room() -> int | None:
    """The columns there are to fill; None where nothing is too long."""
    return width() if _is_there() else None


def room_for_errors() -> int | None:
    """The columns of the terminal at which standard error is read; None where there is none, or it does not tell."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return None
    return max(_FEWEST_COLUMNS, columns) if columns else None


def _is_there() -> bool:
    return sys.stdout.isatty() or TERMINAL_VARIABLE in os.environ
