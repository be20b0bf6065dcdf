"""Messages of people: which of those in the user's role is theirs, what they asked for, and said of the work."""

from grader_daemon.analysis.user_messages.invocations import as_typed, invocation_of
from grader_daemon.analysis.user_messages.requests import (
    digest_of,
    is_sentinel,
    one_line,
    summarize,
    without_secrets,
    wording_of_request,
    written_by_person,
)
from grader_daemon.analysis.user_messages.signals import SignalReader, UserMessage
from grader_daemon.analysis.user_messages.task_types import TaskTypes

__all__ = [
    "SignalReader",
    "TaskTypes",
    "UserMessage",
    "as_typed",
    "digest_of",
    "invocation_of",
    "is_sentinel",
    "one_line",
    "summarize",
    "without_secrets",
    "wording_of_request",
    "written_by_person",
]
