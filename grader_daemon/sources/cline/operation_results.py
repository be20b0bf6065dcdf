"""Results of tools of Cline's program: a list with an entry for each command, file or query of a call.

A call of several worked only if all of them did: of one that half did, each entry is headed by what it was asked for,
and by whether it failed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome

_EXIT = re.compile(r"(?:Command failed: )?\[?Command exited with code (-?\d{1,10})\]?\n{0,2}")
_REFUSED = re.compile(
    r'Tool "[^"]{1,200}" (?:was not approved|is disabled by policy|requires approval but no approval handler)'
    r"|Tool (?:call |execution )?(?:was )?(?:denied|rejected) by (?:the )?user"
)
_STOPPED: Final = ("Command was aborted", "Tool execution was aborted", "Command failed: Command was aborted")
_GOES_ON: Final = "[Command is still running."
_NOTHING: Final = (None,) * 5


class Operation(msgspec.Struct, frozen=True, gc=False):
    """End of one command, file or query; or a piece of text or a picture, with a `type`."""

    type: str | None = None
    text: str | None = None
    query: object = None
    result: object = None
    error: object = None
    success: bool | None = None

    @property
    def says_something(self) -> bool:
        """False where it has nothing but what it was asked for, so that it is an object of another kind."""
        return (self.type, self.text, self.result, self.error, self.success) != _NOTHING

    @property
    def failed(self) -> bool:
        """True if it did not work."""
        return self.success is False or (self.success is None and self.error is not None)

    @property
    def said(self) -> str:
        """Text that the model was told, without the frame that tells an exit code."""
        said = self.text or _text(self.result) or _text(self.error)
        frame = _EXIT.match(said)
        return said if frame is None else said[frame.end() :]

    @property
    def exit_code(self) -> int | None:
        """Code of a command that failed."""
        frame = next(filter(None, (_EXIT.match(_text(told)) for told in (self.result, self.error))), None)
        return None if frame is None else int(frame[1])


_STORED = msgspec.json.Decoder(str | Operation | tuple[Operation, ...]).decode


def read_operations(raw: msgspec.Raw, *, tool: str | None, is_error: bool) -> tuple[str, ReportedOutcome]:
    """Return the text of a result and how the call went; `is_error` where its block says that it failed."""
    operations = _operations_in(raw)
    failed = [operation for operation in operations if operation.failed]
    if tool == "search_codebase":
        failed = [operation for operation in failed if operation.error is not None]  # to find nothing is no failure
    text = _told(operations, len(failed))
    if not failed and not is_error:
        if tool != "run_commands":
            return text, ReportedOutcome(CallStatus.SUCCESS)
        return text, ReportedOutcome(CallStatus.PENDING) if _GOES_ON in text else ReportedOutcome(CallStatus.SUCCESS, 0)
    codes = {operation.exit_code for operation in failed}
    return text, ReportedOutcome(_why_not(text, failed), codes.pop() if len(codes) == 1 else None)


def _why_not(text: str, failed: list[Operation]) -> CallStatus:
    """Return why a call did not work: refused or stopped where that is so of all that failed."""
    errors = [_text(operation.error) or operation.said for operation in failed] or [text]
    if all(_REFUSED.match(error) for error in errors):
        return CallStatus.REFUSED
    return CallStatus.INTERRUPTED if all(error.startswith(_STOPPED) for error in errors) else CallStatus.FAILURE


def _told(operations: Sequence[Operation], failed: int) -> str:
    if len(operations) == 1 or not any(operation.query for operation in operations):
        return "\n".join(filter(None, (operation.said for operation in operations)))
    count = f"{failed} of {len(operations)} failed.\n" if 0 < failed < len(operations) else ""
    return count + "\n".join(_headed(operation) for operation in operations)


def _headed(operation: Operation) -> str:
    return f"> {_text(operation.query)}{' [failed]' if operation.failed else ''}\n{operation.said}"


def _operations_in(raw: msgspec.Raw) -> Sequence[Operation]:
    """Return the operations of a result: nearly all have the shape of one, others are looked at piece by piece."""
    try:
        stored = _STORED(raw)
        if isinstance(stored, str) and stored.startswith(("{", "[")):
            stored = _STORED(stored)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _pieces_in(raw)
    if isinstance(stored, str):
        return (Operation(text=stored),)
    operations = stored if isinstance(stored, tuple) else (stored,)
    return operations if all(operation.says_something for operation in operations) else _pieces_in(raw)


def _pieces_in(raw: msgspec.Raw) -> list[Operation]:
    content = _decoded(raw)
    if isinstance(content, str) and content.startswith(("{", "[")):
        content = _decoded(content.encode("utf-8", "replace"))
    return [_operation(piece) for piece in (content if isinstance(content, list) else [content])]


def _operation(piece: object) -> Operation:
    """Return a piece of a result as an operation; one of another shape is a text."""
    if isinstance(piece, dict):
        try:
            operation = msgspec.convert(piece, Operation)
        except msgspec.ValidationError:
            return Operation(text=_text(piece))
        return operation if operation.says_something else Operation(text=_text(piece))
    return Operation(text=_text(piece))


def _decoded(raw: msgspec.Raw | bytes) -> object:
    """Return a value in JSON; what is none as it stands there."""
    try:
        return msgspec.json.decode(raw) if bytes(memoryview(raw)[:1]) else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return bytes(memoryview(raw)).decode("utf-8", "replace")


def _text(value: object) -> str:
    """Return a value as text; what is no text as JSON, but of parts of a message their texts."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        return "\n".join(part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str))
    return msgspec.json.encode(value).decode()
