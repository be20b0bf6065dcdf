"""A program as a scorer: it reads the redacted session and its grade, and writes a number.

The document is its standard input alone: arguments and environment can be read by others on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from grader_daemon._version import SCHEMA_VERSION
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.quality import LEAST, MOST
from grader_daemon.domain.session import Session
from grader_daemon.errors import CallError, ScorerError, ScorerUnavailableError
from grader_daemon.integrations.run_program import ask_program, environment_without_secrets
from grader_daemon.scorers.redacted_transcript import redacted, transcript

_MOST_BYTES = 4096
_GRADE_FIELDS = (
    *("task_completed", "tool_calls_efficient", "response_quality", "errors_recovered", "total_api_calls"),
    *("tool_calls", "total_errors", "error_types", "tools_with_errors", "error_rate", "state", "state_reason"),
    *("had_repeated_errors", "had_infinite_loop_risk", "task_type", "duration_seconds", "rules_version"),
)
_Quality = Annotated[float, msgspec.Meta(ge=LEAST, le=MOST)]


class _Answer(msgspec.Struct, frozen=True):
    quality: _Quality


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Quality | _Answer).decode


class CommandScorer:
    """Runs a program for each session, without a shell."""

    def __init__(self, arguments: Sequence[str], *, timeout_seconds: float) -> None:
        self._arguments = tuple(arguments)
        self._timeout_seconds = timeout_seconds
        self.name = f"command {os.path.basename(self._arguments[0])}"

    def validate(self, session: Session, grade: Grade) -> float:
        """See `QualityScorer`. The answer is a number, or a JSON object with the key `quality`."""
        try:
            said = ask_program(
                self._arguments,
                _encode(_document(session, grade)),
                environment=environment_without_secrets(),
                timeout_seconds=self._timeout_seconds,
                most_bytes=_MOST_BYTES,
            )
        except CallError as error:
            raise ScorerUnavailableError(f"{self.name}: {error}") from error
        try:
            answer = _decode(said)
        except msgspec.MsgspecError:
            raise ScorerError(f"{self.name}: it did not write a number from 1 to 5") from None
        return answer.quality if isinstance(answer, _Answer) else answer


def _document(session: Session, grade: Grade) -> dict[str, Any]:
    """Return the JSON document: `session` with all its messages, and `grade`."""
    judged = msgspec.to_builtins(grade)
    return {
        "schema_version": SCHEMA_VERSION,
        "session": {
            "session_id": redacted(session.session_id),
            "model": session.model and redacted(session.model),
            "platform": session.platform and redacted(session.platform),
            "started_at": session.started_at,
            "updated_at": session.updated_at,
            "messages": transcript(session),
        },
        "grade": {
            **{name: judged[name] for name in _GRADE_FIELDS},
            "reasons": [
                {"score": reason.score, "rule": reason.rule, "effect": reason.effect} for reason in grade.reasons
            ],
            "failures": [
                {"index": each.index, "tool": each.tool, "category": each.category} for each in grade.failures
            ],
        },
    }
