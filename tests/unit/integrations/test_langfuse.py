from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.integrations.evaluations import Evaluated, evaluations
from grader_daemon.integrations.langfuse import Langfuse
from tests import score_servers
from tests.score_servers import KEYS, ScoreServerDouble
from tests.strategies import grade

TRUST = Trust(version="r", by=VerdictBy.RULES)


@pytest.fixture
def server() -> Iterator[ScoreServerDouble]:
    with score_servers.serving(score_servers.langfuse()) as listening:
        yield listening


def sink(server: ScoreServerDouble, secret_key: str = KEYS[1]) -> Langfuse:
    return Langfuse(server.url + "/", public_key=KEYS[0], secret_key=secret_key, timeout_seconds=10)


def evaluated(made: Grade) -> Evaluated:
    return Evaluated(grade=made, change=7, evaluations=evaluations(made, TRUST))


def test_a_score_says_whose_it_is_and_why(server: ScoreServerDouble) -> None:
    made = grade(session_id="s", task_completed=True, response_quality=4)
    assert sink(server).send([evaluated(made)]) is None
    by_name = {one["name"]: one for one in server.kept.values()}
    assert set(by_name) == {"task_completed", "response_quality", "tool_calls_efficient"}
    completed = by_name["task_completed"]
    assert (completed["sessionId"], completed["value"], completed["dataType"]) == ("s", 1.0, "BOOLEAN")
    assert completed["comment"]
    assert completed["metadata"]["label"] == "done"
    assert completed["metadata"]["task_type"] == made.task_type
    assert made.session_start is not None
    assert completed["timestamp"] == made.session_start.isoformat()
    assert (by_name["response_quality"]["value"], by_name["response_quality"]["dataType"]) == (4.0, "NUMERIC")


def test_a_score_that_is_sent_again_replaces_the_one_that_stands(server: ScoreServerDouble) -> None:
    sink(server).send([evaluated(grade(session_id="s", task_completed=True))])
    sink(server).send([evaluated(grade(session_id="s", task_completed=False))])
    assert len(server.kept) == 3
    assert server.scores()["s", "task_completed"] == 0.0


def test_a_session_without_a_beginning_has_no_time(server: ScoreServerDouble) -> None:
    sink(server).send([evaluated(grade(session_start=None))])
    assert all("timestamp" not in one for one in server.kept.values())


def test_it_is_asked_for_sessions_by_any_id(server: ScoreServerDouble) -> None:
    server.knows = {"a b&c=d/é"}
    assert sink(server).knows("a b&c=d/é") is True
    assert sink(server).knows("a b") is False


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_is_not_taken_now_may_be_taken_later(server: ScoreServerDouble, status: int) -> None:
    server.statuses = [status, status]
    with pytest.raises(DeliveryError, match=f"Langfuse: the receiver answered {status}"):
        sink(server).send([evaluated(grade())])
    with pytest.raises(DeliveryError, match=str(status)):
        sink(server).knows("s")


def test_a_wrong_key_is_not_tried_again(server: ScoreServerDouble) -> None:
    with pytest.raises(CallError, match="Langfuse: the receiver answered 401"):
        sink(server, "other").send([evaluated(grade())])


def test_a_server_that_cannot_say_what_it_knows_is_no_server_that_knows_nothing(server: ScoreServerDouble) -> None:
    server.statuses = [404]
    with pytest.raises(CallError, match="404"):
        sink(server).knows("s")
    server.answer = lambda *_: (200, {"other": 1})
    with pytest.raises(CallError, match="200"):
        sink(server).knows("s")
