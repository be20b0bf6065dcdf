"""What `show` says of the sessions that a session had begun."""

from __future__ import annotations

import pytest

from grader_daemon.api.grades import Child
from grader_daemon.cli.grades import children_words
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.verdict import Outcome


def child(kind: SessionKind, outcome: Outcome = Outcome.DONE, state: SessionState = SessionState.COMPLETE) -> Child:
    return Child(session_id="c", kind=kind, state=state, outcome=outcome, cost_usd=None)


@pytest.mark.parametrize(
    ("children", "words"),
    [
        pytest.param(
            [
                child(SessionKind.SUB_AGENT),
                child(SessionKind.SUB_AGENT, Outcome.NOT_DONE),
                child(SessionKind.SUB_AGENT),
            ],
            "3 sub-agents: 2 done, 1 not done",
            id="sub-agents",
        ),
        pytest.param(
            [child(SessionKind.SUB_AGENT, Outcome.NO_ANSWER, SessionState.OPEN)], "1 sub-agent: 1 still open", id="open"
        ),
        pytest.param(
            [child(SessionKind.MAIN), child(SessionKind.REVIEW)],
            "1 review: 1 done; 1 session that continues it: 1 done",
            id="of-other-kinds",
        ),
        pytest.param([], "", id="none"),
    ],
)
def test_children_are_told_by_what_became_of_them(children: list[Child], words: str) -> None:
    assert children_words(children) == words
