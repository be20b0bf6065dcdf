"""Regular expressions that are compiled when they are first used.

What grades has 550 of them, of which a short session needs 31. Compiling all takes 0.2 s of a processor: a third of
what a process takes to start that grades one file, and each helper and each command that only might grade took it too.
For those that nearly every session needs `re.compile` is the better choice, as a call through here takes 50 ns longer.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LatePattern:
    """A pattern with each of its methods from the first use of it on."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags
        self._pattern: re.Pattern[str] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)  # copying asks for hooks, before there is a text
        found = getattr(self.compiled(), name)
        setattr(self, name, found)
        return found

    def compiled(self) -> re.Pattern[str]:
        if self._pattern is None:
            self._pattern = re.compile(self._text, self._flags)
        return self._pattern


_made: list[_LatePattern] = []
"""Those of all modules that were imported so far."""


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return an object that behaves as the pattern of this text; a text that is none is told at the first use."""
    made = _LatePattern(text, flags)
    _made.append(made)
    return cast("re.Pattern[str]", made)


def compile_late_patterns() -> None:
    """Compile those of all modules imported so far: for a process in which somebody waits for the first session."""
    for made in _made:
        made.compiled()
