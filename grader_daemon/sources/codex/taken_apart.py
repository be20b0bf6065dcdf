"""Sessions in Codex's code mode with their code taken apart: each call in it is a call with a result of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ASSISTANT, TOOL, FunctionCall, Message, ReportedOutcome, ToolCall
from grader_daemon.sources.codex import code_mode
from grader_daemon.sources.codex.call_results import Result
from grader_daemon.sources.codex.code_mode import calls_in
from grader_daemon.sources.codex.script_results import Script, read_script, told_of
from grader_daemon.sources.decoding import decoded_or

WAIT: Final = "wait"
"""Name of the tool that is called for the rest of a code that went on."""

_RUNS: Final = "exec_command"
_WRITES_TO_PROCESS: Final = "write_stdin"
_WORKED = ReportedOutcome(CallStatus.SUCCESS)
_ENDED = frozenset({CallStatus.SUCCESS, CallStatus.FAILURE})

_ARGUMENTS = msgspec.json.Decoder(dict[str, object]).decode


class Ran(NamedTuple):
    """A command that code ran, and how it ended, as Codex notes it beside the result of the code."""

    command: str
    outcome: ReportedOutcome


class Apart(NamedTuple):
    """A session without code; `origins` holds for each message the place of the one that it was made from."""

    messages: list[Message]
    reported: dict[int, ReportedOutcome]
    origins: list[int]


class _Placed(NamedTuple):
    """The calls of a code, the place of the first of their results, and what the code that went on has printed."""

    calls: tuple[ToolCall, ...]
    start: int
    printed: list[str]


def take_apart(messages: Sequence[Message], reported: Mapping[int, ReportedOutcome], ran: Iterable[Ran] = ()) -> Apart:
    """Return a session with the calls in its code; without such code it stays as it is.

    Args:
        messages: with the code as argument of calls, and results as they were handed to the model.
        reported: outcomes by the places of results.
        ran: in its order, what is noted of commands that code ran.
    """
    splitter = _Splitter()
    for place, message in enumerate(messages):
        splitter.add(message, reported.get(place), place)
    splitter.settle(ran)
    return splitter.apart


class _Splitter:
    def __init__(self) -> None:
        self.apart = Apart([], {}, [])
        self._calls: dict[str, tuple[ToolCall, ...]] = {}
        self._noted: dict[str, _Placed] = {}
        self._cells: dict[str, _Placed] = {}
        self._processes: dict[str, int] = {}
        self._commands: list[tuple[str, int]] = []

    def add(self, message: Message, outcome: ReportedOutcome | None, place: int) -> None:
        """Add the next message."""
        call_id = message.tool_call_id or ""
        calls = self._calls.pop(call_id, ()) if message.role == TOOL else ()
        script = read_script(message.content) if calls or call_id in self._noted else None
        if calls:
            self._add_results(calls, message, outcome, script, place)
        elif script is not None:
            self._go_on(self._noted.pop(call_id), script)
        else:
            self._add(self._with_calls(message), outcome, place)

    def settle(self, ran: Iterable[Ran]) -> None:
        """Fill in what is known at the end: of code that never ended, and of commands, how these ended."""
        for cell, placed in self._cells.items():
            self._tell(placed, Script((), cell=cell))
        noted: dict[str, deque[ReportedOutcome]] = {}
        for command, outcome in ran:
            noted.setdefault(command, deque()).append(outcome)
        for command, at in self._commands:
            known = self.apart.reported.get(at)
            outcomes = noted.get(command)
            if outcomes and (known is None or known.status in _ENDED or known.status is CallStatus.PENDING):
                self.apart.reported[at] = outcomes.popleft()

    def _with_calls(self, message: Message) -> Message:
        if message.role != ASSISTANT or not message.tool_calls:
            return message
        calls: list[ToolCall] = []
        for call in message.tool_calls:
            inside = _inside(call)
            if inside and call.id is not None:
                self._calls[call.id] = inside
            calls += inside or (call,)
        return msgspec.structs.replace(message, tool_calls=tuple(calls))

    def _add_results(
        self,
        calls: tuple[ToolCall, ...],
        message: Message,
        outcome: ReportedOutcome | None,
        script: Script | None,
        place: int,
    ) -> None:
        start = len(self.apart.messages)
        if script is None and outcome is not None and outcome.status is CallStatus.FAILURE:
            script = Script((message.text,), failed=True)
        if script is None:
            told = [Result(message.text, outcome)] * len(calls)
            self._noted[message.tool_call_id or ""] = _Placed(calls, start, [])
        elif (waited_for := self._cells.pop(_argument(calls[0], "cell_id"), None)) is not None:
            self._go_on(waited_for, script)
            told = [Result("\n".join(script.printed), _WORKED)]
        else:
            told = told_of(_names(calls), script)
            if script.cell is not None:
                self._cells[script.cell] = _Placed(calls, start, [*script.printed])
        for call, each in zip(calls, told, strict=True):
            self._add(Message(TOOL), None, place)
            self._set(len(self.apart.messages) - 1, call, each)

    def _go_on(self, placed: _Placed, script: Script) -> None:
        """Keep what a code has printed since, and give it to its calls when it ends."""
        if script.cell is None:
            self._tell(placed, script)
        else:
            placed.printed.extend(script.printed)
            self._cells[script.cell] = placed

    def _tell(self, placed: _Placed, script: Script) -> None:
        script = script._replace(printed=(*placed.printed, *script.printed))
        for offset, each in enumerate(told_of(_names(placed.calls), script)):
            self._set(placed.start + offset, placed.calls[offset], each)

    def _set(self, at: int, call: ToolCall, told: Result) -> None:
        outcome = told.outcome
        began = self._processes.get(_argument(call, "session_id")) if call.tool == _WRITES_TO_PROCESS else None
        if began is not None and outcome is not None and outcome.status in _ENDED:
            self.apart.reported[began] = outcome  # of the command itself; that its process was asked worked
            outcome = _WORKED
        if told.process is not None:
            self._processes.setdefault(told.process, at)
        if call.tool == _RUNS and self.apart.messages[at].tool_call_id is None:
            self._commands.append((_argument(call, "cmd"), at))
        self.apart.messages[at] = Message(TOOL, told.text, tool_call_id=call.id)
        self.apart.reported.pop(at, None)
        if outcome is not None:
            self.apart.reported[at] = outcome

    def _add(self, message: Message, outcome: ReportedOutcome | None, place: int) -> None:
        if outcome is not None:
            self.apart.reported[len(self.apart.messages)] = outcome
        self.apart.messages.append(message)
        self.apart.origins.append(place)


def _inside(call: ToolCall) -> tuple[ToolCall, ...]:
    """Return the calls in the code of a call, the call itself where none is known; none without code or an id."""
    if call.id is None:
        return ()
    if call.tool == WAIT and _argument(call, "cell_id"):
        return (call,)
    code = _argument(call, "input") if call.tool == code_mode.TOOL else ""
    if not code:
        return ()
    made = [
        ToolCall(f"{call.id}/{number}" if number else call.id, FunctionCall(each.tool, each.arguments))
        for number, each in enumerate(calls_in(code))
    ]
    return tuple(made) or (call,)


def _argument(call: ToolCall, name: str) -> str:
    """Return an argument as text; "" where there is none."""
    given = call.arguments
    if isinstance(given, str):
        given = decoded_or(_ARGUMENTS, given, None)
    value = given.get(name) if given is not None else None
    return str(value) if isinstance(value, str | int) else ""


def _names(calls: Sequence[ToolCall]) -> list[str]:
    return [call.tool or "" for call in calls]
