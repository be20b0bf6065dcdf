"""Scores of sessions in Langfuse, by its public API as its OpenAPI document has it (that of its client 5.0).

Each score is a request: a list of them is taken by newer servers alone. Langfuse takes scores of sessions that it
does not know, and shows them when these come.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

import msgspec

from grader_daemon.integrations.evaluations import Evaluated, Evaluation, origin
from grader_daemon.integrations.score_server import ScoreServer

_IDS: Final = uuid.UUID("b2f9a0d4-1c53-4b8e-9d59-4f0b6c0c8a57")
"""What ids of scores are made in: any, but always the same."""


class _Observations(msgspec.Struct):
    data: list[msgspec.Raw]


class Langfuse:
    """A project of a Langfuse server."""

    def __init__(self, url: str, *, public_key: str, secret_key: str, timeout_seconds: float) -> None:
        """`url` is that of its page, as in ``https://cloud.langfuse.com``; the keys are those of the project."""
        basic = base64.b64encode(f"{public_key}:{secret_key}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}"}
        self._server = ScoreServer("Langfuse", url, headers=headers, timeout_seconds=timeout_seconds)

    def send(self, batch: Iterable[Evaluated]) -> str | None:
        """See `ScoreSink`; it takes all."""
        for body in (score_of(one, evaluation) for one in batch for evaluation in one.evaluations):
            answer = self._server.post("/api/public/scores", body)
            if not answer.is_success:
                raise self._server.refusal(answer)
        return None

    def knows(self, session_id: str) -> bool | None:
        """See `ScoreSink`; a session is known by what was observed in it, of which servers before 4 do not tell."""
        wanted = f"sessionId={quote(session_id, safe='')}&limit=1&fields=core"
        answer = self._server.get(f"/api/public/v2/observations?{wanted}")
        if not answer.is_success:
            raise self._server.refusal(answer)
        try:
            return bool(msgspec.json.decode(answer.body, type=_Observations).data)
        except msgspec.MsgspecError as error:
            raise self._server.refusal(answer) from error


def score_of(one: Evaluated, evaluation: Evaluation) -> dict[str, Any]:
    """Return the body of a request. The same id and time replace the score that stands."""
    began = one.grade.session_start
    return {
        "id": str(uuid.uuid5(_IDS, f"{one.grade.session_id}/{evaluation.name}")),
        "sessionId": one.grade.session_id,
        "name": evaluation.name,
        "value": evaluation.value,
        "dataType": "NUMERIC" if evaluation.label is None else "BOOLEAN",
        "comment": evaluation.explanation or None,
        "metadata": {"label": evaluation.label, **origin(one.grade, evaluation)},
        **({} if began is None else {"timestamp": began.isoformat()}),
    }
