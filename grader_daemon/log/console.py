"""Lines of the log for the person at a terminal: local time, a mark, a sentence that fits."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, MutableMapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any, TextIO

from grader_daemon.domain.calendar import local
from grader_daemon.log.events import sentence
from grader_daemon.log.sentences import printable
from grader_daemon.reports.safe_text import columns, cut

_MARKS = {"done": "✓", "not_done": "✗", "unsure": "~", "no_answer": "–"}
_COLORS = {"✓": "32", "✗": "31", "~": "33", "warning": "33", "error": "1;31", "critical": "1;31"}
_TROUBLES = frozenset({"warning", "error", "critical"})
_PLAIN = str.maketrans({"✓": "+", "✗": "x", "–": "-", "−": "-", "…": "...", "\xb1": "+-"})
"""Replacements for terminals that know no more than ASCII."""

_INDENT = " " * len("15:26:47 ✓ ")
_PLAIN_ELLIPSIS = 2
"""Extra columns of the ellipsis there."""
_GAP = 2
"""Columns between the parts of a line about a session."""
_SHORTEST_TASK = 8
_ROOM_FOR_A_TASK = 24
"""With less room for the task, only the beginning of a session's id is shown: commands need no more of it."""
_BEGINNING_OF_ID = 13
_FEWEST_COLUMNS = 40
_USUAL_COLUMNS = 80


class ConsoleLine:
    """Renders an event; the day and the zone of its times stand in a line of their own, whenever they change."""

    def __init__(self, stream: TextIO, *, zone: tzinfo | None) -> None:
        """`zone` is that of the times, None for the machine's."""
        self._stream = stream
        self._zone = zone
        self._is_terminal = stream.isatty()
        self._has_colors = self._is_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._is_narrow = not _can_show(stream, "✓✗–−…")
        self._heading: tuple[date, str] | None = None

    def __call__(self, _: Any, __: str, event: MutableMapping[str, Any]) -> str:
        """Return the line, or several: a long sentence is wrapped, a traceback follows."""
        at = local(datetime.fromtimestamp(event.pop("timestamp"), UTC), self._zone)
        lines = [*self._new_heading(at), *self._sentence(event, f"{at:%H:%M:%S}")]
        lines += [printable(line) for line in event.get("exception", "").splitlines()]
        text = "\n".join(lines)
        return text.translate(_PLAIN) if self._is_narrow else text

    def _new_heading(self, at: datetime) -> Iterator[str]:
        heading = at.date(), f"{at:%Z}"
        if heading != self._heading:
            self._heading = heading
            yield self._colored(f"{at:%A, %Y-%m-%d}, times in {at:%Z}", "2")

    def _sentence(self, event: MutableMapping[str, Any], time: str) -> list[str]:
        level = event["level"]
        if event["event"] == "session.graded":
            mark = _MARKS.get(event.get("outcome", ""), " ")
            event["task"] = self._fitting_task(event)
        else:
            mark = "!" if level in _TROUBLES else " "
        said = f"{level}: {sentence(event, self._zone)}" if level in _TROUBLES else sentence(event, self._zone)
        first, *others = self._wrapped(said) or [""]
        return [f"{time} {self._colored(mark, _COLORS.get(mark) or _COLORS.get(level))} {first}", *others]

    def _fitting_task(self, event: MutableMapping[str, Any]) -> str | None:
        """Cut what a session was asked for to what is left of the line; only who sits there is shown it at all."""
        task = event.pop("task", None)
        if not task or not self._is_terminal:
            return None
        room = self._room_beside(event)
        if room < _ROOM_FOR_A_TASK:
            event["session_id"] = event["session_id"][:_BEGINNING_OF_ID]
            room = self._room_beside(event)
        return cut(printable(task), room) if room >= _SHORTEST_TASK else None

    def _room_beside(self, event: MutableMapping[str, Any]) -> int:
        left = self._columns() - len(_INDENT) - columns(sentence(event, self._zone)) - _GAP
        return left - (_PLAIN_ELLIPSIS if self._is_narrow else 0)

    def _wrapped(self, said: str) -> list[str]:
        """Break a line between words, below its beginning; words stay whole, so that paths can be copied."""
        if not self._is_terminal:
            return [said]
        lines = textwrap.wrap(
            said, self._columns() - len(_INDENT), break_long_words=False, break_on_hyphens=False, tabsize=1
        )
        return [line if number == 0 else _INDENT + line for number, line in enumerate(lines)]

    def _columns(self) -> int:
        try:
            columns = int(os.environ.get("COLUMNS") or os.get_terminal_size(self._stream.fileno()).columns)
        except (OSError, ValueError):
            columns = 0
        return max(_FEWEST_COLUMNS, columns or _USUAL_COLUMNS)

    def _colored(self, text: str, color: str | None) -> str:
        return f"\x1b[{color}m{text}\x1b[0m" if color is not None and self._has_colors else text


def _can_show(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
