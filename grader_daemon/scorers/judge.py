"""A model as a scorer, behind any server that speaks the chat completions of OpenAI's interface."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import urlsplit, urlunsplit

import msgspec

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.quality import LEAST, MOST
from grader_daemon.domain.session import Session
from grader_daemon.errors import CallError, ScorerBusyError, ScorerError, ScorerUnavailableError
from grader_daemon.integrations.posting import Answer, Poster
from grader_daemon.scorers.framing import question
from grader_daemon.scorers.redacted_transcript import transcript

_MOST_BYTES = 1_000_000
_MOST_TOKENS = 500
_BUSY = frozenset((HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS))
_ABOUT_THE_SESSION = frozenset(
    (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY)
)
_FORMAT: Final = {
    "type": "json_schema",
    "json_schema": {
        "name": "quality",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"quality": {"type": "number"}},
            "required": ["quality"],
            "additionalProperties": False,
        },
    },
}


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message


class _Completion(msgspec.Struct, frozen=True):
    choices: Annotated[tuple[_Choice, ...], msgspec.Meta(min_length=1)]


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    quality: Annotated[float, msgspec.Meta(ge=LEAST, le=MOST)]


_encode = msgspec.json.Encoder().encode
_decode_completion = msgspec.json.Decoder(_Completion).decode
_decode_answer = msgspec.json.Decoder(_Answer).decode


class JudgeScorer:
    """Asks a model; each call is one request, and its answer one number."""

    def __init__(
        self, base_url: str, *, model: str, key: str | None, timeout_seconds: float, most_characters: int
    ) -> None:
        """`base_url` is what comes before ``/chat/completions``, as in ``http://127.0.0.1:8080/v1``."""
        parts = urlsplit(base_url)
        url = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/chat/completions"))
        self._poster = Poster(url, timeout_seconds=timeout_seconds)
        self._model = model
        self._most_characters = most_characters
        self._headers = {"Content-Type": "application/json", "User-Agent": "grader-daemon"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self.name = f"{model} at {parts.netloc.rpartition('@')[2]}"

    def validate(self, session: Session, grade: Grade) -> float:  # noqa: ARG002  it would repeat the grade
        """See `QualityScorer`."""
        body = {
            "model": self._model,
            "messages": question(transcript(session), most_characters=self._most_characters),
            "temperature": 0,
            "max_tokens": _MOST_TOKENS,
            "response_format": _FORMAT,
        }
        try:
            answer = self._poster.post(_encode(body), self._headers, most_bytes=_MOST_BYTES)
        except CallError as error:
            raise ScorerBusyError(f"{self.name}: {error}") from error
        if not answer.is_success:
            raise self._refusal(answer.status)
        return self._quality(answer)

    def _refusal(self, status: int) -> ScorerError:
        said = f"{self.name}: it answered {status}"
        if status in _BUSY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return ScorerBusyError(said)
        if status in _ABOUT_THE_SESSION:
            return ScorerError(said)
        if status // 100 == HTTPStatus.MULTIPLE_CHOICES // 100:
            return ScorerUnavailableError(f"{said}; redirects are not followed")
        return ScorerUnavailableError(said)

    def _quality(self, answer: Answer) -> float:
        """Read the number. What else a model may say is told to nobody: it may repeat the session."""
        try:
            said = _decode_completion(answer.body).choices[0].message.content
        except msgspec.MsgspecError:
            raise ScorerUnavailableError(f"{self.name}: its answer is not a chat completion") from None
        try:
            return _decode_answer((said or "").strip()).quality
        except msgspec.MsgspecError:
            raise ScorerError(f"{self.name}: it did not answer with a number from 1 to 5") from None
