"""The failures of a session as they come up: what they have in common, what came next, and which were got over.

An error is got over when the same thing works later, be it as a part of a longer command line: the same command of the
same tool, the same file written or read by whatever tool, the same check green, the same tool where no more is known of
a call. Until then it is harmful.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

import msgspec

from grader_daemon.analysis.fingerprints import named, sign
from grader_daemon.analysis.shell import EXAMINED_CHARACTERS, PLAIN_SPOKEN
from grader_daemon.analysis.tool_calls import CallView, Operation, shared_name
from grader_daemon.domain.analysis import CallStatus, Category, ErrorSign, Failure, FailureKind, Step, Subcategory
from grader_daemon.domain.limits import MOST_SIGNS
from grader_daemon.domain.session import Message
from grader_daemon.redaction import MARK, Redactor

UNNAMED_TOOL = "unknown"
"""The name of a tool that neither its call nor its result tells."""

_WORKED = {CallStatus.SUCCESS: True, CallStatus.FAILURE: False}
_MOST_NEEDLES = 16
_NO_SECRET = re.compile(r"[a-z_]{1,16}\d?(?:[ .-][a-z_]{1,16}){0,3}")
"""Nearly all commands; to read the whole line of any other costs a hundred times as much."""

_JOINT = re.compile(r"[;&|\n()]")
"""One of these stands in every command line that runs more than one program."""


class FailureTrail:
    """The failures so far, in the order of the messages."""

    def __init__(self, redactor: Redactor) -> None:
        """`redactor` puts secrets out of what the failures said."""
        self._redactor = redactor
        self.failures: list[Failure] = []
        self.errors = 0
        self.signs: dict[str, ErrorSign] = {}
        self._open = OpenErrors()
        self._unanswered: list[int] = []
        self._answered: list[int] = []
        self._step: Step | None = None
        self._step_id: str | None = None

    def see_calls(self, call: CallView, tool: str | None, *, call_id: str | None) -> None:
        """Note the first call after the agent saw failures, that of `tool`, as its next step for all of them."""
        self._step = None
        if self._unanswered and tool:
            self._answered, self._unanswered = self._unanswered, []
            self._step_id = call_id
            self._step = Step(tool, shown_command(call, self._redactor), None)
            self._note(self._step)

    def see_result(self, message: Message, status: CallStatus) -> None:
        """Note whether the step worked, if this is its result."""
        step = self._step
        if step is None or not _may_answer(message, step, self._step_id):
            return
        self._note(Step(step.tool, step.command, _WORKED.get(status)))
        self._step = None

    def see_success(self, tool: str | None, call: CallView) -> None:
        """Find the errors that this call got over, as it worked."""
        for position in self._open.close(tool, call):
            self.failures[position] = msgspec.structs.replace(self.failures[position], kind=FailureKind.RECOVERED)

    def add_probe(
        self,
        index: int,
        tool: str | None,
        *,
        category: Category,
        call: CallView,
        subcategory: Subcategory | None = None,
    ) -> None:
        """Add a failure that is no error; it has no cause to be found, and nothing follows from it."""
        shown = shown_command(call, self._redactor)
        self.failures.append(Failure(index, tool, category, shown, kind=FailureKind.PROBE, subcategory=subcategory))

    def add(
        self,
        index: int,
        tool: str | None,
        *,
        category: Category,
        call: CallView,
        output: str,
        subcategory: Subcategory | None = None,
    ) -> None:
        """Add the error at message `index`; `output` is what its result says."""
        command = shown_command(call, self._redactor)
        seen = sign(tool, command, category, output, shared_tool=shared_name(tool or ""), redactor=self._redactor)
        if subcategory is not seen.subcategory:
            seen = msgspec.structs.replace(seen, subcategory=subcategory)
        if len(self.signs) < MOST_SIGNS:
            self.signs.setdefault(seen.fingerprint, seen)
        position = len(self.failures)
        self.errors += 1
        self._unanswered.append(position)
        self._open.add(tool or UNNAMED_TOOL, call, position)
        fingerprint = seen.fingerprint if seen.fingerprint in self.signs else None
        self.failures.append(
            Failure(index, tool, category, command, fingerprint, subcategory=subcategory, named=named(seen))
        )

    def _note(self, step: Step) -> None:
        for position in self._answered:
            self.failures[position] = msgspec.structs.replace(self.failures[position], next_step=step)


def shown_command(call: CallView, redactor: Redactor) -> str | None:
    """Name the command without those of its words that are secrets, which may take the whole line to be known."""
    family = call.family
    if family is None or _NO_SECRET.fullmatch(family):
        return family
    line = (call.shell or "")[: 2 * EXAMINED_CHARACTERS]
    kept = redactor.redact(line)
    if kept == line:
        return redactor.redact_name(family)
    return " ".join([word if word in kept or _is_made(word, line) else MARK for word in family.split()])


def _is_made(word: str, line: str) -> bool:
    """Return whether a word of a family is none of the line, and plain: others lost quotes or unseen characters."""
    return word not in line and _NO_SECRET.fullmatch(word) is not None


def _may_answer(message: Message, step: Step, step_id: str | None) -> bool:
    """Return whether this is the result of the step: by the ids of both, else by the tool that it names."""
    if message.tool_call_id and step_id:
        return message.tool_call_id == step_id
    return (message.name or message.tool_name or step.tool) == step.tool


class OpenErrors:
    """The errors that nothing has made good yet, by what failed. Positions are the caller's own.

    Most calls have nothing to do with an error before them: a word tells which may have.
    """

    def __init__(self) -> None:
        self._open: dict[Operation, list[int]] = {}
        self._commands: Counter[str] = Counter()
        """Number of these operations that are commands, by who runs them."""

        self._needles: dict[str, None] = {}
        self._bare: set[str] = set()

    def add(self, tool: str, call: CallView, position: int) -> None:
        """Remember the error at `position`, of a call of `tool`."""
        operation = call.operation(tool)
        if operation.family and operation not in self._open:
            self._commands[tool] += 1
        self._open.setdefault(operation, []).append(position)
        self._expect(operation, call.text)

    def close(self, tool: str | None, call: CallView) -> list[int]:
        """Return the positions of the errors that a call of `tool` which worked got over, and forget them."""
        if not self._open or not tool or not self._may_concern(tool, call.text):
            return []
        operation = call.operation(tool)
        positions = self._forget({operation, Operation(tool), Operation(tool, operation.family)})
        if self._open:
            positions += self._forget({*self._rewritten(call), *self._others(tool, call)})
        if positions and not self._open:
            self._needles.clear()
            self._bare.clear()
        return positions

    def _forget(self, closed: set[Operation]) -> list[int]:
        positions: list[int] = []
        for operation in closed & self._open.keys():
            positions += self._open.pop(operation)
            if operation.family:
                self._commands[operation.actor] -= 1
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
        if call.path is not None:
            return []
        edits = [
            operation
            for operation in islice(self._open, _MOST_NEEDLES)
            if operation.actor == "edit" and operation.target and operation.target in call.text
        ]
        return edits if edits and call.family is not None and call.writes_in_shell else []

    def _others(self, tool: str, call: CallView) -> list[Operation]:
        """Return what a command line does beside its main thing: in `git pull && git push`, the push."""
        is_more = call.path is not None or _JOINT.search(call.shell or "") is not None
        line = call.line if is_more and self._commands[tool] else None
        if line is None:
            return []
        return [Operation(tool, run.family) for run in line.programs[:_MOST_NEEDLES] if run.family not in PLAIN_SPOKEN]
