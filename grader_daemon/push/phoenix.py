"""Scores as annotations of sessions in Arize Phoenix, by its REST API (tried with 20.26; it takes them since 12).

An annotation has the same identifier each time, so the one that stands is replaced. Phoenix takes annotations of
sessions that it knows alone, and none of a request in which one is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import msgspec

from grader_daemon.domain.exported import PassedOver
from grader_daemon.errors import CallError
from grader_daemon.integrations.posting import Answer
from grader_daemon.push.evaluations import Evaluated, origin
from grader_daemon.push.score_server import ScoreServer

_ANNOTATIONS: Final = "/v1/session_annotations?sync=true"
"""Path for annotations. With `sync` it answers when they are kept, else before it knows the sessions."""


class _Document(msgspec.Struct):
    data: msgspec.Raw


class Phoenix:
    """A Phoenix server."""

    def __init__(self, url: str, *, api_key: str | None, timeout_seconds: float) -> None:
        """`url` is that of its page, as in ``http://127.0.0.1:6006``."""
        headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._url = url
        self._server = ScoreServer("Phoenix", url, headers=headers, timeout_seconds=timeout_seconds)

    def send(self, batch: Iterable[Evaluated]) -> PassedOver:
        """See `ScoreSink`; sessions that it does not know are passed over, and counted in what comes back."""
        sent = list(batch)
        if self._taken(self._annotate(sent)):
            return PassedOver()
        unknown = sum(not self._taken(self._annotate([one])) for one in sent)
        line = f"Phoenix does not know {unknown} of {len(sent)} sessions; their scores were skipped"
        return PassedOver(sessions=unknown, lines=(line,))

    def knows(self, session_id: str) -> bool | None:
        """See `ScoreSink`."""
        return self._taken(self._server.get(f"/v1/sessions/{quote(session_id, safe='')}"))

    def _annotate(self, sessions: Iterable[Evaluated]) -> Answer:
        return self._server.post(_ANNOTATIONS, {"data": [made for one in sessions for made in annotations_of(one)]})

    def _taken(self, answer: Answer) -> bool:
        """Return whether it has what was asked for. Other servers may say yes or no too, and are no Phoenix."""
        if answer.is_success and _is_a_document(answer):
            return True
        if not answer.is_success and answer.status != HTTPStatus.NOT_FOUND:
            raise self._server.refusal(answer)
        if answer.is_success or not self._is_there():
            raise CallError(f"no Phoenix answers at {self._url}; see the setting phoenix_url")
        return False

    def _is_there(self) -> bool:
        answer = self._server.get("/v1/projects?limit=1")
        return answer.is_success and _is_a_document(answer)


def _is_a_document(answer: Answer) -> bool:
    try:
        msgspec.json.decode(answer.body, type=_Document)
    except msgspec.MsgspecError:
        return False
    return True


def annotations_of(one: Evaluated) -> list[dict[str, Any]]:
    """Return the annotations of a session, one for each evaluation."""
    return [
        {
            "session_id": one.grade.session_id,
            "name": evaluation.name,
            "annotator_kind": "CODE",
            "identifier": "grader-daemon",
            "result": {
                **({} if evaluation.value is None else {"score": evaluation.value}),
                "label": evaluation.label,
                "explanation": evaluation.explanation or None,
            },
            "metadata": origin(one.grade, evaluation),
        }
        for evaluation in one.evaluations
    ]
