"""How a request in other sessions reads."""

from __future__ import annotations

from typing import Any

import pytest

from grader_daemon.domain.estimate import proportion
from grader_daemon.domain.similar import PartingCall, Similar, SimilarSession
from grader_daemon.domain.verdict import Outcome
from grader_daemon.reports.other_sessions import asked_words, completed_words, likeness_words, parting_words
from grader_daemon.reports.safe_text import plain
from tests.strategies import NOW


def similar(**said: Any) -> Similar:
    usual: dict[str, Any] = {
        "same": 6,
        "near": 2,
        "more": False,
        "completion": proportion(2, 7),
        "pairs": 10,
        "parting": None,
    }
    return Similar(session_id=None, models=(), skills=(), sessions=(), **(usual | said))


def parting(**said: Any) -> PartingCall:
    usual: dict[str, Any] = {"tool": "terminal", "command": "pytest", "by_completed": True, "times": 9, "pairs": 10}
    return PartingCall(share=proportion(9, 10), **(usual | said))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param({"same": 0, "near": 0}, "in no other finished session", id="nowhere"),
        pytest.param({}, "in 8 other sessions: 6 in the same words, 2 nearly so", id="both"),
        pytest.param(
            {"same": 1, "near": 0, "more": True},
            "in 1 other session: 1 in the same words, 0 nearly so; only the newest were looked at",
            id="more",
        ),
    ],
)
def test_where_else_it_was_asked(said: dict[str, Any], words: str) -> None:
    assert asked_words(similar(**said)) == words


def test_how_often_it_was_completed_is_of_those_with_a_verdict() -> None:
    assert completed_words(similar()) == "29 % (8–64 %); 7 of 8 have a verdict"


@pytest.mark.parametrize(("likeness", "words"), [(1.0, "the same"), (0.876, "88 % of words")])
def test_how_alike_two_requests_are(likeness: float, words: str) -> None:
    session = SimilarSession(
        session_id="s", ended_at=NOW, model=None, completed=None, outcome=Outcome.NO_ANSWER, likeness=likeness
    )

    assert likeness_words(session) == words


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param({"pairs": 1}, "not enough data (1 pair, 5 needed)", id="too-few-pairs"),
        pytest.param({}, "no call surely tells not done from done ones, in 10 pairs", id="none-surely"),
        pytest.param(
            {"parting": parting()},
            "terminal pytest: where two part at it, the done one made it, 9 of 10 pairs (60–98 %)",
            id="of-the-completed",
        ),
        pytest.param(
            {"parting": parting(command=None, by_completed=False)},
            "terminal: where two part at it, the one not done made it, 9 of 10 pairs (60–98 %)",
            id="of-the-failed",
        ),
    ],
)
def test_where_failed_and_completed_ones_part(said: dict[str, Any], words: str) -> None:
    assert plain(parting_words(similar(**said))) == words
