"""Which errors a session got over: the same thing worked later, be it as a part of a longer command line.

The same thing is the same command of the same tool, the same file written or read by whatever tool, the same tool where
no more is known of a call. Most calls have nothing to do with an error before them: a word tells which may have.
"""

from __future__ import annotations

from itertools import islice

from grader_daemon.analysis.shell import PLAIN_SPOKEN
from grader_daemon.analysis.tool_calls import CallView, Operation

_MOST_NEEDLES = 16


class OpenErrors:
    """The errors that nothing has made good yet, by what failed. Positions are the caller's own."""

    def __init__(self) -> None:
        self._open: dict[Operation, list[int]] = {}
        self._needles: dict[str, None] = {}
        self._bare: set[str] = set()

    def add(self, tool: str, call: CallView, position: int) -> None:
        """Remember the error at `position`, of a call of `tool`."""
        operation = call.operation(tool)
        self._open.setdefault(operation, []).append(position)
        self._expect(operation, call.text)

    def close(self, tool: str | None, call: CallView) -> list[int]:
        """Return the positions of the errors that a call of `tool` which worked got over, and forget them."""
        if not self._open or not tool or not self._may_concern(tool, call.text):
            return []
        operation = call.operation(tool)
        closed = {
            operation,
            Operation(tool),
            Operation(tool, operation.family),
            *self._rewritten(call),
            *_others(tool, call),
        }
        positions = [position for known in closed for position in self._open.pop(known, ())]
        if positions and not self._open:
            self._needles.clear()
            self._bare.clear()
        return positions

    def _expect(self, operation: Operation, text: str) -> None:
        needle = operation.target or (operation.family or "").partition(" ")[0]
        if not needle or needle not in text:
            self._bare.add(operation.actor)
        elif len(self._needles) <= _MOST_NEEDLES:
            self._needles[needle] = None

    def _may_concern(self, tool: str, text: str) -> bool:
        if tool in self._bare or len(self._needles) > _MOST_NEEDLES:
            return True
        for needle in self._needles:
            if needle in text:
                return True
        return False

    def _rewritten(self, call: CallView) -> list[Operation]:
        """Return the open edits of files that a shell command writes instead."""
        if call.path is not None or call.family is None or not call.writes_in_shell:
            return []
        return [
            operation
            for operation in islice(self._open, _MOST_NEEDLES)
            if operation.actor == "edit" and operation.target and operation.target in call.text
        ]


def _others(tool: str, call: CallView) -> list[Operation]:
    """Return what a command line does beside its main thing: in `git pull && git push`, the push."""
    line = call.line
    if line is None:
        return []
    return [Operation(tool, run.family) for run in line.programs[:_MOST_NEEDLES] if run.family not in PLAIN_SPOKEN]
