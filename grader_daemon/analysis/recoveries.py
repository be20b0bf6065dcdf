"""Which errors a session got over: the same thing worked later.

The same thing is the same command of the same tool, the same file written or read by whatever tool, the same tool where
no more is known of a call. Most calls have nothing to do with an error before them: a word tells which may have.
"""

from __future__ import annotations

from itertools import islice

from grader_daemon.analysis.deeds import Act, Deed, act_of, text_of, writes_in_shell
from grader_daemon.domain.session import ToolCall

_MOST_NEEDLES = 16


class OpenErrors:
    """The errors that nothing has made good yet, by what failed. Positions are the caller's own."""

    def __init__(self) -> None:
        self._open: dict[Deed, list[int]] = {}
        self._needles: dict[str, None] = {}
        self._bare: set[str] = set()

    def add(self, deed: Deed, position: int, *, call: ToolCall | None) -> None:
        """Remember the error at `position`."""
        self._open.setdefault(deed, []).append(position)
        self._expect(deed, text_of(call))

    def close(self, tool: str | None, call: ToolCall | None) -> list[int]:
        """Give the positions of the errors that a call of `tool` which worked got over, and forget them."""
        if not self._open or not tool or not self._may_concern(tool, text_of(call)):
            return []
        act = act_of(tool, call)
        deed = act.deed
        closed = {deed, Deed(tool), Deed(tool, deed.family), *self._rewritten(act, text_of(call))}
        positions = [position for known in closed for position in self._open.pop(known, ())]
        if positions and not self._open:
            self._needles.clear()
            self._bare.clear()
        return positions

    def _expect(self, deed: Deed, text: str) -> None:
        needle = deed.target or (deed.family or "").partition(" ")[0]
        if not needle or needle not in text:
            self._bare.add(deed.actor)
        elif len(self._needles) <= _MOST_NEEDLES:
            self._needles[needle] = None

    def _may_concern(self, tool: str, text: str) -> bool:
        if tool in self._bare or len(self._needles) > _MOST_NEEDLES:
            return True
        for needle in self._needles:
            if needle in text:
                return True
        return False

    def _rewritten(self, act: Act, text: str) -> list[Deed]:
        """Give the open edits of files that a shell command writes instead."""
        if act.path is not None or act.family is None or not writes_in_shell(text):
            return []
        return [
            deed
            for deed in islice(self._open, _MOST_NEEDLES)
            if deed.actor == "edit" and deed.target and deed.target in text
        ]
