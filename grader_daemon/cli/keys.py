"""Keys that a person presses: single ones on a terminal, the beginnings of lines elsewhere.

The terminal stays in one mode all the time: with each change of it, keys that were pressed meanwhile could be lost.
"""

from __future__ import annotations

import os
import re
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;]*.?|O.|.)?")
_AT_ONCE = 64


@contextmanager
def keys() -> Iterator[Callable[[], str]]:
    """Return what reads the next key, in lower case; "" at the end of the input."""
    if not sys.stdin.isatty():
        yield _key_of_line
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        yield _Terminal(terminal).key
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


class _Terminal:
    """A terminal that gives each key at once; `_ahead` are those that were pressed before they were asked for."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._ahead = ""

    def key(self) -> str:
        """Return the next key. Arrows and the like, which send several characters after an escape, are none."""
        while not self._ahead:
            try:
                pressed = os.read(self._terminal, _AT_ONCE)
            except OSError:
                return ""
            if not pressed:
                return ""
            self._ahead = _SEQUENCE.sub(b"", pressed).decode(errors="replace").lower()
        key, self._ahead = self._ahead[0], self._ahead[1:]
        return key


def _key_of_line() -> str:
    """Return the first character of the next line that has one."""
    for line in sys.stdin:
        if line.strip():
            return line.strip()[0].lower()
    return ""
