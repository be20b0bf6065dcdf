from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.exported import PassedOver
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.push.evaluations import Evaluated, evaluations
from grader_daemon.push.langfuse import Langfuse
from tests import score_servers
from tests.score_servers import KEYS, LANGFUSE_CLIENTS, Said, ScoreServerDouble
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
    assert sink(server).send([evaluated(made)]) == PassedOver()
    by_name = {one["name"]: one for one in server.kept.values()}
    assert set(by_name) == {"task_completed", "response_quality", "tool_calls_efficient"}
    completed = by_name["task_completed"]
    assert (completed["sessionId"], completed["value"], completed["dataType"]) == ("s", "done", "CATEGORICAL")
    assert completed["comment"]
    assert completed["metadata"]["task_type"] == made.task_type
    assert made.session_start is not None
    assert completed["timestamp"] == made.session_start.isoformat()
    assert (by_name["response_quality"]["value"], by_name["response_quality"]["dataType"]) == (4.0, "NUMERIC")


def test_a_score_that_is_sent_again_replaces_the_one_that_stands(server: ScoreServerDouble) -> None:
    sink(server).send([evaluated(grade(session_id="s", task_completed=True))])
    sink(server).send([evaluated(grade(session_id="s", task_completed=False))])
    assert len(server.kept) == 3
    assert server.scores()["s", "task_completed"] == "not_done"


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


def test_a_score_that_is_refused_is_told_and_holds_up_no_other(server: ScoreServerDouble) -> None:
    server.refuses = {("b", "response_quality"), ("b", "task_completed"), ("c", "response_quality")}
    passed_over = sink(server).send([evaluated(grade(session_id=name)) for name in "abcd"])
    reason = "Invalid request data; Too long"
    assert passed_over == PassedOver(
        sessions=2,
        lines=(
            f"Langfuse refuses task_completed of session b: {reason}",
            f"Langfuse refuses response_quality of session b: {reason}",
            f"Langfuse refuses response_quality of session c: {reason}",
        ),
    )
    assert len(server.kept) == 4 * 3 - 3


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        pytest.param((400, {"message": "Name is\nreserved"}), "Name is\N{REPLACEMENT CHARACTER}reserved", id="a-word"),
        pytest.param((422, {"message": "No", "error": "BadRequest"}), "No", id="with-its-kind"),
        pytest.param((400, {"message": "No", "error": [1, {"message": 2}]}), "No; 2", id="faults-of-any-shape"),
        pytest.param((400, {"message": "x" * 999}), "x" * 200, id="a-long-one"),
        pytest.param(
            (207, {"accepted": 0, "rejected": 1, "errors": [{"message": "Bad"}]}), "rejected; Bad", id="as-of-a-list"
        ),
    ],
)
def test_why_a_score_is_refused_is_said_in_a_line(server: ScoreServerDouble, said: Said, reason: str) -> None:
    server.answer = lambda *_: said
    (first, *_) = sink(server).send([evaluated(grade(session_id="s"))]).lines
    assert first == f"Langfuse refuses task_completed of session s: {reason}"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param((200, "<html>"), id="a-page-for-everything"),
        pytest.param((400, "plain HTTP was sent to an HTTPS port"), id="a-refusal-of-somebody-else"),
        pytest.param((400, {"detail": "no"}), id="a-refusal-in-other-words"),
        pytest.param((404, {"message": "no such address"}), id="no-such-address"),
        pytest.param((413, {"message": "too large"}), id="another-refusal"),
    ],
)
def test_what_is_not_about_one_score_passes_over_none(server: ScoreServerDouble, said: Said) -> None:
    server.answer = lambda *_: said
    with pytest.raises(CallError, match=f"Langfuse: the receiver answered {said[0]}; stopped"):
        sink(server).send([evaluated(grade())])


@pytest.mark.parametrize("said", [(200, {"id": "x"}), (202, {"message": "Accepted"})])
def test_a_score_is_taken_however_it_is_said(server: ScoreServerDouble, said: Said) -> None:
    server.answer = lambda *_: said
    assert sink(server).send([evaluated(grade())]) == PassedOver()


def test_a_server_that_takes_nothing_is_asked_no_more(server: ScoreServerDouble) -> None:
    made, refuse, answers = sink(server), lambda *_: (400, {"message": "no scores today"}), server.answer
    server.answer = refuse
    assert [made.send([evaluated(grade(session_id=name))]).sessions for name in "ab"] == [1, 1]
    server.answer = answers
    assert made.send([evaluated(grade(session_id="c"))]) == PassedOver()
    server.answer = refuse
    with pytest.raises(CallError, match="stopped: Langfuse refused 9 scores and accepted none"):
        made.send([evaluated(grade(session_id=name)) for name in "def"])


def test_one_that_takes_some_is_asked_on_however_many_it_refuses(server: ScoreServerDouble) -> None:
    scores = ("task_completed", "response_quality", "tool_calls_efficient")
    server.refuses = {(name, score) for name in "abcd" for score in scores}
    assert sink(server).send([evaluated(grade(session_id=name)) for name in "abcde"]).sessions == 4


def test_a_server_that_cannot_say_what_it_knows_is_no_server_that_knows_nothing(server: ScoreServerDouble) -> None:
    server.statuses = [404]
    with pytest.raises(CallError, match="404"):
        sink(server).knows("s")
    server.answer = lambda *_: (200, {"other": 1})
    with pytest.raises(CallError, match="200"):
        sink(server).knows("s")


def test_its_document_says_what_it_was_tried_with() -> None:
    said = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text("utf-8")
    assert "Langfuse was tested only with a fake server" in said
    assert all(client in said for client in LANGFUSE_CLIENTS)
    assert "all of its versions" not in said
