"""Evaluations as log events of OpenTelemetry, over OTLP/HTTP in its JSON encoding.

An event is a ``gen_ai.evaluation.result`` of the conventions for generative AI (in development when this was written,
opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events). No span is known to us that it could belong to: what leads
from it to the traces of a session is ``gen_ai.conversation.id``. The encoding is that of OTLP 1.x: numbers of 64 bits
are texts (opentelemetry.io/docs/specs/otlp).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from grader_daemon._version import __version__
from grader_daemon.domain.exported import PassedOver
from grader_daemon.domain.text import clean
from grader_daemon.integrations.posting import Answer
from grader_daemon.push.evaluations import Evaluated, Evaluation, origin
from grader_daemon.push.score_server import ScoreServer

EVENT: Final = "gen_ai.evaluation.result"

_INFO: Final = 9
"""The number of the severity INFO."""

_MOST_DIGITS: Final = 18
_SAID_CHARACTERS: Final = 200
_NANOSECONDS: Final = 1_000_000_000

_Attribute = dict[str, Any]


class _PartialSuccess(msgspec.Struct, frozen=True, rename="camel"):
    rejected_log_records: int | str = 0
    error_message: str = ""

    @property
    def rejected(self) -> int:
        """Number of those not taken; 0 where it says no number."""
        written = str(self.rejected_log_records)
        return int(written) if written.isascii() and written.isdigit() and len(written) <= _MOST_DIGITS else 0


class _Response(msgspec.Struct, frozen=True, rename="camel"):
    partial_success: _PartialSuccess | None = None


class OtlpLogs:
    """A receiver of OpenTelemetry, such as its collector."""

    def __init__(
        self,
        url: str,
        *,
        header: str | None,
        schema_url: str,
        database: str,
        clock: Callable[[], datetime],
        timeout_seconds: float,
    ) -> None:
        """`url` is that of logs, as in ``http://127.0.0.1:4318/v1/logs``; `header` is a line, as in ``Name: value``.

        `schema_url` names the version of the conventions; `database` tells records of one from those of another.
        """
        name, _, value = (header or "").partition(":")
        headers = {name: value.strip()} if name else {}
        self._server = ScoreServer("OTLP", url, headers=headers, timeout_seconds=timeout_seconds)
        self._schema_url = schema_url
        self._database = database
        self._clock = clock

    def send(self, batch: Iterable[Evaluated]) -> PassedOver:
        """See `ScoreSink`; it does not say whose records it rejected."""
        body = request_of(batch, schema_url=self._schema_url, database=self._database, now=self._clock())
        answer = self._server.post("", body)
        if not answer.is_success:
            raise self._server.refusal(answer)
        return _refused(answer)

    def knows(self, session_id: str) -> bool | None:
        """See `ScoreSink`; a receiver of events tells nothing."""


def request_of(batch: Iterable[Evaluated], *, schema_url: str, database: str, now: datetime) -> dict[str, Any]:
    """Return an ``ExportLogsServiceRequest``."""
    resource = {"service.name": "grader-daemon", "service.version": __version__}
    records = [record for one in batch for record in _records(one, database=database, now=now)]
    scope = {"name": "grader-daemon", "version": __version__}
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeLogs": [{"scope": scope, "logRecords": records, "schemaUrl": schema_url}],
                "schemaUrl": schema_url,
            }
        ]
    }


def _records(one: Evaluated, *, database: str, now: datetime) -> Iterator[dict[str, Any]]:
    for evaluation in one.evaluations:
        yield {
            "timeUnixNano": _nanoseconds(one.grade.graded_at),
            "observedTimeUnixNano": _nanoseconds(now),
            "severityNumber": _INFO,
            "severityText": "INFO",
            "eventName": EVENT,
            "attributes": _attributes(_named(one, evaluation, database=database)),
        }


def _named(one: Evaluated, evaluation: Evaluation, *, database: str) -> dict[str, str | float | None]:
    grade = one.grade
    return {
        "gen_ai.evaluation.name": evaluation.name,
        "gen_ai.evaluation.score.value": evaluation.value,
        "gen_ai.evaluation.score.label": evaluation.label,
        "gen_ai.evaluation.explanation": evaluation.explanation or None,
        "gen_ai.conversation.id": grade.session_id,
        "gen_ai.request.model": grade.model,
        "gen_ai.agent.name": grade.agent,
        # Of records with equal ids all but one can be dropped: what is sent again after an interruption.
        "log.record.uid": f"{grade.session_id}/{evaluation.name}/{database}.{one.change}",
        **{f"grader_daemon.{name}": value for name, value in origin(grade, evaluation).items()},
    }


def _attributes(values: Mapping[str, str | float | None]) -> list[_Attribute]:
    return [{"key": name, "value": _value(value)} for name, value in values.items() if value is not None]


def _value(value: str | float) -> _Attribute:
    return {"stringValue": str(value)} if isinstance(value, str) else {"doubleValue": float(value)}


def _nanoseconds(moment: datetime) -> str:
    return str(round(moment.timestamp() * 1_000_000) * (_NANOSECONDS // 1_000_000))


def _refused(answer: Answer) -> PassedOver:
    """Return what a receiver says of records that it did not take, which are not to be sent again."""
    try:
        told = msgspec.json.decode(answer.body or b"{}", type=_Response).partial_success
    except msgspec.MsgspecError:
        return PassedOver()  # it took them, and says so in a way of its own
    if told is None or not (told.rejected or told.error_message):
        return PassedOver()
    said = clean(told.error_message)[:_SAID_CHARACTERS]
    return PassedOver(lines=(f"OTLP: the receiver refused {told.rejected} records: {said}",))
