"""The names that an adapter needs, a package of somebody else's that reads sessions: `docs/other-agents.md`.

What stands here stays as it is under the same `API_VERSION`: names, fields, arguments and what they mean. Fields may be
added, with a default. What is not here may change with any version.
"""

from __future__ import annotations

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import (
    ASSISTANT,
    TOOL,
    USER,
    Ending,
    FunctionCall,
    Message,
    ReportedOutcome,
    Session,
    SessionKind,
    Skipped,
    SkipReason,
    ToolCall,
    Usage,
    usage_by_model,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, UnfinishedFileError, VanishedFileError
from grader_daemon.sources.adapted import API_VERSION
from grader_daemon.sources.decoding import decode, utc
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.file_reading import found_file, look_at, read_file
from grader_daemon.sources.jsonl import Lines, read_lines
from grader_daemon.sources.protocol import Read, Source, UnknownKinds, Watch
from grader_daemon.sources.session_files import Parsed, SessionFiles

__all__ = [
    "API_VERSION",
    "ASSISTANT",
    "TOOL",
    "USER",
    "CallStatus",
    "ChangingFileError",
    "Ending",
    "EndingKind",
    "Found",
    "FunctionCall",
    "Limits",
    "Lines",
    "Message",
    "ParseError",
    "Parsed",
    "Read",
    "ReadError",
    "ReportedOutcome",
    "Session",
    "SessionFiles",
    "SessionKind",
    "SessionState",
    "SkipReason",
    "Skipped",
    "Source",
    "Stamp",
    "ToolCall",
    "UnfinishedFileError",
    "Unit",
    "UnknownKinds",
    "Usage",
    "VanishedFileError",
    "Walk",
    "Watch",
    "decode",
    "found_file",
    "look_at",
    "read_file",
    "read_lines",
    "usage_by_model",
    "utc",
]
