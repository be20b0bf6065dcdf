"""Scores of sessions in Langfuse, by its public API as its published Python clients have it, not tried with a real one.

Each score is a request, as in the client 4.18; that of 5.0 sends lists of them. What is replaced by what, and the time
of a score, is as 5.0 says.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from grader_daemon.domain.exported import PassedOver
from grader_daemon.domain.text import clean
from grader_daemon.errors import CallError
from grader_daemon.integrations.posting import Answer
from grader_daemon.push.evaluations import Evaluated, Evaluation, origin
from grader_daemon.push.score_server import ScoreServer

_IDS: Final = uuid.UUID("b2f9a0d4-1c53-4b8e-9d59-4f0b6c0c8a57")
"""Namespace of the ids of scores: any, but always the same."""

_ABOUT_ONE_SCORE: Final = frozenset((HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY))
_MOST_REFUSED: Final = 9
"""Most refused scores, those of three sessions: when it takes none of so many, the fault is not theirs."""
_SAID_CHARACTERS: Final = 200

_Document = TypeVar("_Document")


class _Observations(msgspec.Struct):
    data: list[msgspec.Raw]


class _Result(msgspec.Struct):
    """Answer about a score that was taken, or about a list, of which some may be `rejected` (status 207)."""

    rejected: int = 0
    errors: object = None


class _Refusal(msgspec.Struct):
    message: str
    error: object = None


class Langfuse:
    """A project of a Langfuse server."""

    def __init__(self, url: str, *, public_key: str, secret_key: str, timeout_seconds: float) -> None:
        """`url` is that of its page, as in ``https://cloud.langfuse.com``; the keys are those of the project."""
        basic = base64.b64encode(f"{public_key}:{secret_key}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}"}
        self._server = ScoreServer("Langfuse", url, headers=headers, timeout_seconds=timeout_seconds)
        self._refused = 0

    def send(self, batch: Iterable[Evaluated]) -> PassedOver:
        """See `ScoreSink`; a score that it finds wrong is passed over, and holds up no other."""
        sent = [(one, evaluation) for one in batch for evaluation in one.evaluations]
        wrong = [
            (one.grade.session_id, f"Langfuse refuses {evaluation.name} of session {one.grade.session_id}: {reason}")
            for one, evaluation in sent
            if (reason := self._refusal_of(score_of(one, evaluation))) is not None
        ]
        self._refused = self._refused + len(wrong) if len(wrong) == len(sent) else 0
        if self._refused >= _MOST_REFUSED:
            raise CallError(f"stopped: Langfuse refused {self._refused} scores and accepted none. {wrong[-1][1]}")
        return PassedOver(sessions=len({name for name, _ in wrong}), lines=tuple(line for _, line in wrong))

    def knows(self, session_id: str) -> bool | None:
        """See `ScoreSink`; a session is known by what was observed in it."""
        wanted = f"sessionId={quote(session_id, safe='')}&limit=1&fields=core"
        answer = self._server.get(f"/api/public/v2/observations?{wanted}")
        observations = _read(answer, _Observations) if answer.is_success else None
        if observations is None:
            raise self._server.refusal(answer)
        return bool(observations.data)

    def _refusal_of(self, body: dict[str, Any]) -> str | None:
        """Return why it does not take a score, None where it does; raises where that is not for this score's sake."""
        answer = self._server.post("/api/public/scores", body)
        if answer.is_success and (result := _read(answer, _Result)) is not None:
            return _words("rejected", result.errors) if result.rejected else None
        if answer.status in _ABOUT_ONE_SCORE and (refusal := _read(answer, _Refusal)) is not None:
            return _words(refusal.message, refusal.error)
        raise self._server.refusal(answer)


def score_of(one: Evaluated, evaluation: Evaluation) -> dict[str, Any]:
    """Return the body of a request. The same id and time replace the score that stands."""
    began = one.grade.session_start
    return {
        "id": str(uuid.uuid5(_IDS, f"{one.grade.session_id}/{evaluation.name}")),
        "sessionId": one.grade.session_id,
        "name": evaluation.name,
        "value": evaluation.value if evaluation.label is None else evaluation.label,
        "dataType": "NUMERIC" if evaluation.label is None else "CATEGORICAL",
        "comment": evaluation.explanation or None,
        "metadata": origin(one.grade, evaluation),
        **({} if began is None else {"timestamp": began.isoformat()}),
    }


def _read(answer: Answer, kind: type[_Document]) -> _Document | None:
    """Return what an answer says; None where it is not Langfuse that speaks so."""
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except msgspec.MsgspecError:
        return None


def _words(message: str, faults: object) -> str:
    """Return a message, and those of the single faults where some are named."""
    named = faults if isinstance(faults, list) else []
    told = [fault["message"] for fault in named if isinstance(fault, dict) and "message" in fault]
    return clean("; ".join(map(str, (message, *told))))[:_SAID_CHARACTERS]
