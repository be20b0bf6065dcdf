"""Which errors a session got over: the same thing worked later, be it as a part of a longer command line.

The same thing is the same command of the same tool, the same file written or read by whatever tool, the same tool where
no more is known of a call. Most calls have nothing to do with an error before them: a word tells which may have.
"""

from __future__ import annotations

from itertools import islice

from grader_daemon.analysis.shell import PLAIN_SPOKEN
from grader_daemon.analysis.tool_calls import Aim, Deed

_MOST_NEEDLES = 16


class OpenErrors:
    """The errors that nothing has made good yet, by what failed. Positions are the caller's own."""

    def __init__(self) -> None:
        self._open: dict[Aim, list[int]] = {}
        self._needles: dict[str, None] = {}
        self._bare: set[str] = set()

    def add(self, tool: str, deed: Deed, position: int) -> None:
        """Remember the error at `position`, of a call of `tool`."""
        aim = deed.aim(tool)
        self._open.setdefault(aim, []).append(position)
        self._expect(aim, deed.text)

    def close(self, tool: str | None, deed: Deed) -> list[int]:
        """Give the positions of the errors that a call of `tool` which worked got over, and forget them."""
        if not self._open or not tool or not self._may_concern(tool, deed.text):
            return []
        aim = deed.aim(tool)
        closed = {aim, Aim(tool), Aim(tool, aim.family), *self._rewritten(deed), *_others(tool, deed)}
        positions = [position for known in closed for position in self._open.pop(known, ())]
        if positions and not self._open:
            self._needles.clear()
            self._bare.clear()
        return positions

    def _expect(self, aim: Aim, text: str) -> None:
        needle = aim.target or (aim.family or "").partition(" ")[0]
        if not needle or needle not in text:
            self._bare.add(aim.actor)
        elif len(self._needles) <= _MOST_NEEDLES:
            self._needles[needle] = None

    def _may_concern(self, tool: str, text: str) -> bool:
        if tool in self._bare or len(self._needles) > _MOST_NEEDLES:
            return True
        for needle in self._needles:
            if needle in text:
                return True
        return False

    def _rewritten(self, deed: Deed) -> list[Aim]:
        """Give the open edits of files that a shell command writes instead."""
        if deed.path is not None or deed.family is None or not deed.writes_in_shell:
            return []
        return [
            aim
            for aim in islice(self._open, _MOST_NEEDLES)
            if aim.actor == "edit" and aim.target and aim.target in deed.text
        ]


def _others(tool: str, deed: Deed) -> list[Aim]:
    """Give what a command line does beside its main thing: in `git pull && git push`, the push."""
    line = deed.line
    if line is None:
        return []
    return [Aim(tool, run.family) for run in line.programs[:_MOST_NEEDLES] if run.family not in PLAIN_SPOKEN]
