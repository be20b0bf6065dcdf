"""What a session shows: counts, failures, how it ended and what it was about."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class SessionState(StrEnum):
    """Is the session finished? Only `COMPLETE` and `INTERRUPTED` ones count in statistics."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    OPEN = "open"


class Category(StrEnum):
    """Kinds of failures, in the order in which their signs are looked for."""

    TOOL_NOT_FOUND = "tool_not_found"
    PERMISSION_DENIED = "permission_denied"
    TIMEOUT = "timeout"
    FILE_NOT_FOUND = "file_not_found"
    NETWORK_ERROR = "network_error"
    API_ERROR = "api_error"
    SYNTAX_ERROR = "syntax_error"
    COMMAND_FAILED = "command_failed"
    UNKNOWN = "unknown"


class Outcome(StrEnum):
    """What one tool result says about its call."""

    SUCCESS = "success"
    FAILURE = "failure"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    NOT_EXECUTED = "not_executed"
    PENDING = "pending"


class Failure(msgspec.Struct, frozen=True, gc=False):
    """A tool call that went wrong. `index` is the position of its result in `Session.messages`."""

    index: int
    tool: str | None
    category: Category


class Analysis(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Facts about one session; nothing in here is a judgement yet.

    `state_reason` says what decided the state (for example ``finish_reason=length``). `state_index` and the other
    indexes point into `Session.messages`. `loop_index` is the message at which the loop risk first showed.
    """

    state: SessionState
    state_reason: str
    task_type: str
    task_summary: str | None
    final_answer: str
    final_index: int | None
    total_api_calls: int
    tool_calls: int
    failures: tuple[Failure, ...]
    had_repeated_errors: bool
    had_infinite_loop_risk: bool
    loop_index: int | None
    had_user_clarification: bool
    had_user_refusal: bool
    had_user_interruption: bool
    errors_recovered: bool
    recovery_index: int | None
    duration_seconds: float | None

    @property
    def total_errors(self) -> int:
        """Tool results that are failures."""
        return len(self.failures)

    @property
    def error_rate(self) -> float:
        """Failures per assistant message, >= 0; can exceed 1 when one message makes several calls."""
        if not self.failures:
            return 0.0
        return len(self.failures) / max(self.total_api_calls, 1)
