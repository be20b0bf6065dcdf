from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.exported import PassedOver
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.push.evaluations import Evaluated, evaluations
from grader_daemon.push.phoenix import Phoenix
from tests import score_servers
from tests.score_servers import Said, ScoreServerDouble
from tests.strategies import grade

TRUST = Trust(version="r", by=VerdictBy.RULES)


@pytest.fixture
def server() -> Iterator[ScoreServerDouble]:
    with score_servers.serving(score_servers.phoenix()) as listening:
        yield listening


def sink(server: ScoreServerDouble, api_key: str | None = None) -> Phoenix:
    return Phoenix(server.url, api_key=api_key, timeout_seconds=10)


def evaluated(made: Grade) -> Evaluated:
    return Evaluated(grade=made, change=7, evaluations=evaluations(made, TRUST))


def test_an_annotation_says_whose_it_is_and_why(server: ScoreServerDouble) -> None:
    server.knows = {"s"}
    made = grade(session_id="s", task_completed=True, response_quality=4)
    assert sink(server).send([evaluated(made)]) == PassedOver()
    kept = server.kept["s", "task_completed", "grader-daemon"]
    assert (kept["result"]["score"], kept["result"]["label"], kept["annotator_kind"]) == (1.0, "done", "CODE")
    assert kept["result"]["explanation"]
    assert kept["metadata"]["task_type"] == made.task_type
    assert server.scores()["s", "response_quality"] == 4.0
    assert len(server.asked) == 1


def test_sessions_that_it_does_not_know_are_counted_and_hold_up_no_other(server: ScoreServerDouble) -> None:
    server.knows = {"a", "c"}
    said = sink(server).send([evaluated(grade(session_id=name)) for name in "abcd"])
    told = "Phoenix does not know 2 of 4 sessions; their scores were skipped"
    assert said == PassedOver(sessions=2, lines=(told,))
    assert {session for session, _ in server.scores()} == {"a", "c"}


def test_it_is_asked_for_sessions_by_their_ids(server: ScoreServerDouble) -> None:
    server.knows = {"a b?c"}
    assert sink(server).knows("a b?c") is True
    assert sink(server).knows("a b") is False


@pytest.mark.parametrize(("key", "sent"), [(None, None), ("k", "Bearer k")])
def test_the_key_goes_with_it(server: ScoreServerDouble, key: str | None, sent: str | None) -> None:
    sink(server, key).knows("s")
    assert server.authorization == {sent}


@pytest.mark.parametrize("status", [429, 503])
def test_what_is_not_taken_now_may_be_taken_later(server: ScoreServerDouble, status: int) -> None:
    server.statuses = [status]
    with pytest.raises(DeliveryError, match=f"Phoenix: the receiver answered {status}"):
        sink(server).send([evaluated(grade())])


@pytest.mark.parametrize("status", [302, 401, 403, 422, 500])
def test_what_is_refused_is_not_sent_again(server: ScoreServerDouble, status: int) -> None:
    server.statuses = [status]
    with pytest.raises(CallError, match=f"Phoenix: the receiver answered {status}"):
        sink(server).send([evaluated(grade())])


@pytest.mark.parametrize(
    "said",
    [
        pytest.param((404, None), id="has-no-such-page"),
        pytest.param((200, "<html>"), id="has-a-page-for-everything"),
        pytest.param((200, {"ok": True}), id="says-yes-to-everything"),
    ],
)
def test_what_is_no_phoenix_neither_took_anything_nor_lacks_sessions(server: ScoreServerDouble, said: Said) -> None:
    server.answer = lambda *_: said
    for ask in (lambda: sink(server).knows("s"), lambda: sink(server).send([evaluated(grade())])):
        with pytest.raises(CallError, match=f"no Phoenix answers at {server.url}; see the setting phoenix_url"):
            ask()
