"""The analysis of a session: counts, failures, its end and its subject."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.claims import Claim
from grader_daemon.domain.installed import SkillUse
from grader_daemon.domain.people import PersonSignal
from grader_daemon.domain.session_features import NO_FEATURES, Features
from grader_daemon.domain.session_result import Check, EndingKind


class SessionState(StrEnum):
    """State of a session. Only `COMPLETE` and `INTERRUPTED` ones count in statistics."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    OPEN = "open"


class Category(StrEnum):
    """Kinds of failures, in the order in which their signs are searched."""

    TOOL_NOT_FOUND = "tool_not_found"
    PERMISSION_DENIED = "permission_denied"
    TIMEOUT = "timeout"
    FILE_NOT_FOUND = "file_not_found"
    NETWORK_ERROR = "network_error"
    API_ERROR = "api_error"
    SYNTAX_ERROR = "syntax_error"
    COMMAND_FAILED = "command_failed"
    UNKNOWN = "unknown"


class Subcategory(StrEnum):
    """Finer kinds of errors in the unspecific categories, in the order in which their signs are searched.

    `check_failed` is a failed test run or a linter's findings, recognised by the exit code.
    """

    CHECK_FAILED = "check_failed"
    EDIT_NOT_APPLIED = "edit_not_applied"
    QUERY_ERROR = "query_error"
    DEPENDENCY_ERROR = "dependency_error"
    COMMAND_NOT_FOUND = "command_not_found"
    EXCEPTION = "exception"
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_FOUND = "not_found"


DIVIDED: Final = frozenset({Category.SYNTAX_ERROR, Category.COMMAND_FAILED, Category.UNKNOWN})
"""The categories that have finer kinds."""


class ErrorName(StrEnum):
    """Names by which errors are found: categories, and the finer kinds within them."""

    TOOL_NOT_FOUND = Category.TOOL_NOT_FOUND
    PERMISSION_DENIED = Category.PERMISSION_DENIED
    TIMEOUT = Category.TIMEOUT
    FILE_NOT_FOUND = Category.FILE_NOT_FOUND
    NETWORK_ERROR = Category.NETWORK_ERROR
    API_ERROR = Category.API_ERROR
    SYNTAX_ERROR = Category.SYNTAX_ERROR
    COMMAND_FAILED = Category.COMMAND_FAILED
    UNKNOWN = Category.UNKNOWN
    CHECK_FAILED = Subcategory.CHECK_FAILED
    EDIT_NOT_APPLIED = Subcategory.EDIT_NOT_APPLIED
    QUERY_ERROR = Subcategory.QUERY_ERROR
    DEPENDENCY_ERROR = Subcategory.DEPENDENCY_ERROR
    COMMAND_NOT_FOUND = Subcategory.COMMAND_NOT_FOUND
    EXCEPTION = Subcategory.EXCEPTION
    INVALID_ARGUMENTS = Subcategory.INVALID_ARGUMENTS
    NOT_FOUND = Subcategory.NOT_FOUND


class CallStatus(StrEnum):
    """Status of a tool call, by its result.

    `GUARDED` is a call that the agent's guard against loops refused to run: the same had been done again and again.
    """

    SUCCESS = "success"
    FAILURE = "failure"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    NOT_EXECUTED = "not_executed"
    GUARDED = "guarded"
    PENDING = "pending"


class FailureKind(StrEnum):
    """Role of a failure in its session. A probe tests whether something exists; its failure is not an error."""

    HARMFUL = "harmful"
    RECOVERED = "recovered"
    PROBE = "probe"


class Step(msgspec.Struct, frozen=True, gc=False):
    """The step after a failure: a tool, for shells the family of the command, and whether it worked.

    `worked` is None when the call was not run, was refused or interrupted, or its result is not known.
    """

    tool: str
    command: str | None
    worked: bool | None


class Failure(msgspec.Struct, frozen=True, gc=False):
    """A failed tool call. `index` is the position of its result in `Session.messages`.

    `command` is the family of the shell command ("git push"), `fingerprint` identifies its error group, `next_step` is
    the agent's first call after the failure, `subcategory` the finer kind within its category, None if there is none.
    `named` is the word in its message where messages of its group differ ("numpy"), redacted.
    """

    index: int
    tool: str | None
    category: Category
    command: str | None = None
    fingerprint: str | None = None
    next_step: Step | None = None
    kind: FailureKind = FailureKind.HARMFUL
    subcategory: Subcategory | None = None
    named: str | None = None

    @property
    def finest(self) -> str:
        """Name of the failure: the finer kind, else the category."""
        return self.subcategory or self.category

    @property
    def words(self) -> str:
        """The same as people read it."""
        return "unknown error" if self.finest == Category.UNKNOWN else self.finest.replace("_", " ")

    @property
    def is_error(self) -> bool:
        """True if it counts as an error; a probe does not."""
        return self.kind is not FailureKind.PROBE


NO_MESSAGE: Final = "(no message)"
"""The signal of a cause whose output names no error."""


class ErrorSign(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The common cause of failures, with one of them as an example.

    `signal` is the line that says what went wrong, its variable parts replaced; `example` is that line as it was,
    redacted. `fingerprint` is a digest of tool, command, category and signal, with the version of the method in front.
    """

    fingerprint: str
    tool: str | None
    command: str | None
    category: Category
    signal: str
    example: str
    subcategory: Subcategory | None = None


class ToolUse(msgspec.Struct, frozen=True, gc=False):
    """Number of calls of a tool in a session, and of those that failed."""

    tool: str
    calls: int
    failures: int


class WorkDone(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Request and work of a session, redacted; see the fields of `Grade` of these names."""

    request_words: str | None = None
    answer_beginning: str | None = None
    last_check: str | None = None
    edited_paths: str | None = None


class Job(NamedTuple):
    """A scheduled job: its `key`, the same for all its runs, and its `name`, the beginning of its instructions."""

    key: str
    name: str


class Analysis(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Facts about one session; nothing in here is a judgement yet.

    `state_reason` says what decided the state (for example ``finish_reason=length``). `state_index` and the other
    indexes point into `Session.messages`. `loop_index` is the message at which the loop risk first showed. `signs` are
    those of the failures, each once; `tools` come in the order of their first call. `answered` says that there is a
    final answer of the agent's own, not of its machinery, `spoke` that one of its last texts is such an answer.
    `request` is a digest of what was asked for, None when nothing was or it says too little; `wording` is how it was
    worded (see `domain.wording`), what timers ask for, too; `features` are what a `CompletionModel` reads; `skills` are
    those that it used, None where sessions of its source do not tell; `early_errors` counts errors among the results of
    its first ten tool calls, None where it made fewer. `cut_short` says that an error, a limit or the end of its
    process interrupted it, `error_last` that it ends in a tool call that failed; `check` is the check that says most of
    the work as it was left, `admitted` says that the answer tells of work that is not done; `ending` is None, and these
    say nothing, while it is open. `of_job` is the scheduled job that it is a run of. `done` is what
    another session is told of it.
    """

    state: SessionState
    state_reason: str
    task_type: str
    task_summary: str | None
    final_answer: str
    answered: bool
    spoke: bool
    final_index: int | None
    total_api_calls: int
    tool_calls: int
    failures: tuple[Failure, ...]
    signs: tuple[ErrorSign, ...]
    tools: tuple[ToolUse, ...]
    had_repeated_errors: bool
    had_infinite_loop_risk: bool
    loop_index: int | None
    had_user_clarification: bool
    had_user_refusal: bool
    had_user_interruption: bool
    errors_recovered: bool
    recovery_index: int | None
    duration_seconds: float | None
    claims: tuple[Claim, ...] = ()
    signals_from_people: tuple[PersonSignal, ...] = ()
    request: int | None = None
    wording: bytes | None = None
    features: Features = NO_FEATURES
    skills: tuple[SkillUse, ...] | None = None
    early_errors: int | None = None
    cut_short: bool = False
    error_last: bool = False
    ending: EndingKind | None = None
    check: Check | None = None
    admitted: bool = False
    done: WorkDone = WorkDone()
    of_job: Job | None = None
    errors: tuple[Failure, ...] = ()
    """The failures that count as errors, all but probes: picked out here, once for all who ask."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "errors", errors_of(self.failures))

    @property
    def request_words(self) -> str | None:
        """See `Grade`; so are those below."""
        return self.done.request_words

    @property
    def answer_beginning(self) -> str | None:
        """See `Grade`."""
        return self.done.answer_beginning

    @property
    def last_check(self) -> str | None:
        """See `Grade`."""
        return self.done.last_check

    @property
    def edited_paths(self) -> str | None:
        """See `Grade`."""
        return self.done.edited_paths

    @property
    def job(self) -> str | None:
        """See `Grade`; so is the next."""
        return None if self.of_job is None else self.of_job.key

    @property
    def job_name(self) -> str | None:
        """See `Grade`."""
        return None if self.of_job is None else self.of_job.name

    @property
    def error_indexes(self) -> tuple[int, ...]:
        """The messages of these failures."""
        return tuple([error.index for error in self.errors])

    @property
    def answer_indexes(self) -> tuple[int, ...]:
        """The message of the final answer, if there is one."""
        return () if self.final_index is None else (self.final_index,)

    @property
    def total_errors(self) -> int:
        """Tool results that are failures and no probes."""
        return len(self.errors)

    @property
    def error_rate(self) -> float:
        """Errors per assistant message, >= 0; can exceed 1 when one message makes several calls."""
        return len(self.errors) / max(self.total_api_calls, 1)


def errors_of(failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    """Return the failures that count as errors, in their order."""
    if not failures:
        return failures
    return tuple([failure for failure in failures if failure.kind is not FailureKind.PROBE])
