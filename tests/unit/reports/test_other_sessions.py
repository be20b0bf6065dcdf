"""How a request in other sessions reads."""

from __future__ import annotations

from typing import Any

import pytest

from grader_daemon.domain.estimate import proportion
from grader_daemon.domain.similar import Similar, SimilarSession
from grader_daemon.domain.verdict import Outcome, VerdictCounts
from grader_daemon.reports.other_sessions import asked_words, likeness_words
from tests.strategies import NOW


def similar(**said: Any) -> Similar:
    usual: dict[str, Any] = {"same": 6, "near": 2, "more": False}
    return Similar(
        session_id=None,
        verdicts=VerdictCounts(),
        ended_badly=proportion(2, 7),
        models=(),
        skills=(),
        sessions=(),
        **(usual | said),
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param({"same": 0, "near": 0}, "in no other finished session", id="nowhere"),
        pytest.param({}, "in 8 other sessions: 6 in the same words, 2 in nearly the same", id="both"),
        pytest.param(
            {"same": 1, "near": 0, "more": True},
            "in 1 other session: 1 in the same words, 0 in nearly the same; only the newest were searched",
            id="more",
        ),
    ],
)
def test_where_else_it_was_asked(said: dict[str, Any], words: str) -> None:
    assert asked_words(similar(**said)) == words


@pytest.mark.parametrize(("likeness", "words"), [(1.0, "the same"), (0.876, "88 % the same")])
def test_how_alike_two_requests_are(likeness: float, words: str) -> None:
    session = SimilarSession(
        session_id="s", ended_at=NOW, model=None, outcome=Outcome.NO_ANSWER, ended_badly=None, likeness=likeness
    )

    assert likeness_words(session) == words
