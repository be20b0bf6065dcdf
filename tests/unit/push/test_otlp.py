from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given

from grader_daemon import __version__
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.exported import PassedOver
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.push.evaluations import Evaluated, evaluations
from grader_daemon.push.otlp import EVENT, OtlpLogs, request_of
from tests.otlp_receiver import Receiver, attributes, parsed, receiving
from tests.strategies import NOW, grade, grades

SCHEMA = "https://opentelemetry.io/schemas/1.38.0"
TRUST = Trust(version="r", by=VerdictBy.RULES)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as listening:
        yield listening


def sink(url: str, header: str | None = None) -> OtlpLogs:
    return OtlpLogs(url, header=header, schema_url=SCHEMA, database="db", clock=lambda: NOW, timeout_seconds=10)


def evaluated(made: Grade, change: int = 7) -> Evaluated:
    return Evaluated(grade=made, change=change, evaluations=evaluations(made, TRUST))


def test_an_event_says_what_the_conventions_ask_for(receiver: Receiver) -> None:
    made = grade(session_id="s", task_completed=True, response_quality=4, model="large", agent="hermes")
    assert sink(receiver.url).send([evaluated(made)]) == PassedOver()
    by_name = {attributes(record)["gen_ai.evaluation.name"]: record for record in receiver.records}
    record = by_name["task_completed"]
    told = attributes(record)
    assert set(by_name) == {"task_completed", "response_quality", "tool_calls_efficient"}
    assert (record.event_name, record.time_unix_nano) == (EVENT, int(made.graded_at.timestamp()) * 10**9)
    assert (record.observed_time_unix_nano, record.severity_number) == (int(NOW.timestamp()) * 10**9, 9)
    assert (told["gen_ai.evaluation.score.value"], told["gen_ai.evaluation.score.label"]) == (1.0, "done")
    assert told["gen_ai.conversation.id"] == "s"
    assert (told["gen_ai.request.model"], told["gen_ai.agent.name"]) == ("large", "hermes")
    assert told["log.record.uid"] == "s/task_completed/db.7"
    assert attributes(by_name["response_quality"])["gen_ai.evaluation.score.value"] == 4.0
    assert "gen_ai.evaluation.score.label" not in attributes(by_name["response_quality"])


def test_resource_scope_and_conventions_are_named(receiver: Receiver) -> None:
    sink(receiver.url).send([evaluated(grade())])
    [resource] = receiver.requests[0].resource_logs
    assert {one.key: one.value.string_value for one in resource.resource.attributes} == {
        "service.name": "grader-daemon",
        "service.version": __version__,
    }
    [scope] = resource.scope_logs
    assert (scope.scope.name, scope.schema_url, resource.schema_url) == ("grader-daemon", SCHEMA, SCHEMA)


def test_the_header_goes_with_it(receiver: Receiver) -> None:
    sink(receiver.url, "X-Api-Key:  secret ").send([evaluated(grade())])
    assert receiver.headers[0]["X-Api-Key"] == "secret"
    assert receiver.headers[0]["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_is_not_taken_now_may_be_taken_later(receiver: Receiver, status: int) -> None:
    receiver.answers = [(status, b"")]
    with pytest.raises(DeliveryError, match=str(status)):
        sink(receiver.url).send([evaluated(grade())])


@pytest.mark.parametrize("status", [302, 400, 401, 404, 500])
def test_what_is_refused_is_not_sent_again(receiver: Receiver, status: int) -> None:
    receiver.answers = [(status, b"")]
    with pytest.raises(CallError, match=str(status)):
        sink(receiver.url).send([evaluated(grade())])


def test_nobody_there_is_worth_another_try() -> None:
    with receiving() as gone:
        url = gone.url
    with pytest.raises(DeliveryError):
        sink(url).send([evaluated(grade())])


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        pytest.param(b"", (), id="nothing"),
        pytest.param(b"{}", (), id="all-taken"),
        pytest.param(b'{"partialSuccess": {}}', (), id="all-taken-in-more-words"),
        pytest.param(b"OK", (), id="no-json"),
        pytest.param(
            b'{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too\\nold"}}',
            ("OTLP: the receiver refused 2 records: too\N{REPLACEMENT CHARACTER}old",),
            id="some-refused",
        ),
        pytest.param(
            b'{"partialSuccess": {"rejectedLogRecords": 0, "errorMessage": "use gzip"}}',
            ("OTLP: the receiver refused 0 records: use gzip",),
            id="a-warning",
        ),
    ],
)
def test_what_a_receiver_says_of_records_that_it_refused_is_told(
    receiver: Receiver, body: bytes, lines: tuple[str, ...]
) -> None:
    receiver.answers = [(200, body)]
    assert sink(receiver.url).send([evaluated(grade())]) == PassedOver(lines=lines)


@given(made=grades())
def test_any_grade_is_read_by_the_published_messages(made: Grade) -> None:
    one = evaluated(made)
    body = msgspec.json.encode(request_of([one], schema_url=SCHEMA, database="db", now=NOW))
    [resource] = parsed(body).resource_logs
    assert len(resource.scope_logs[0].log_records) == len(one.evaluations)


def test_only_what_is_sent_again_has_the_same_id() -> None:
    batches = [[evaluated(grade(session_id="a"))], [evaluated(grade(session_id="b"))], [evaluated(grade(), 8)]]
    told = [_ids(batch) for batch in batches]
    assert _ids(batches[0]) == told[0]
    assert len(set().union(*told)) == 3 * 3


def _ids(batch: list[Evaluated]) -> set[str]:
    body = msgspec.json.encode(request_of(batch, schema_url=SCHEMA, database="db", now=NOW))
    [resource] = parsed(body).resource_logs
    return {attributes(record)["log.record.uid"] for record in resource.scope_logs[0].log_records}
