"""The cards of the first page: what needs a person, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from xml.etree.ElementTree import Element

import msgspec
import pytest

from grader_daemon.api.overview import Overview
from grader_daemon.api.status import Status
from grader_daemon.dashboard.pages.cards import CONTRADICTED_READ, Card, Today, cards_of
from grader_daemon.domain.analysis import Category, Failure, SessionState
from grader_daemon.domain.claims import Claim, ClaimKind, ClaimReason, Support
from grader_daemon.domain.error_groups import ErrorIssue, IssueState
from grader_daemon.domain.grade import Grade
from grader_daemon.reports.safe_text import plain
from tests.alert_examples import alert
from tests.strategies import NOW, grade

WELL = Status(running=True, pid=1, roots=(), ungraded=(), database="grades.db")
LINE = Element("svg")
LIED = Claim(
    ClaimKind.TESTS_PASSED,
    Support.CONTRADICTED,
    None,
    3,
    (2,),
    reason=ClaimReason.TESTS_FAILED,
    words="All 12 tests pass",
)


def cards(
    *,
    status: Status = WELL,
    contradicted: Sequence[Grade] = (),
    running: Sequence[Grade] = (),
    news: Sequence[ErrorIssue] = (),
    title_of: Callable[[Grade], str] = lambda one: str(one.task_summary),
    **changes: Any,
) -> list[Card]:
    seen = Overview(status=status, has_systemd=False, at=NOW, **changes)
    return cards_of(Today(seen, contradicted, running, news, title_of, lambda _: LINE))


def issue(**changes: Any) -> ErrorIssue:
    base = ErrorIssue(
        fingerprint="e-1",
        tool="terminal",
        command="python",
        category=Category.COMMAND_FAILED,
        signal="No module named <text>",
        example="No module named yaml",
        state=IssueState.NEW,
        first_seen=NOW,
        last_seen=NOW,
        failures=9,
        sessions=6,
        recovered=0,
        task_types={},
        latest=(),
        steps=(),
        named={"yaml": 6},
    )
    return msgspec.structs.replace(base, **changes)


def test_where_all_is_well_there_is_no_card() -> None:
    assert cards() == []


def test_a_daemon_that_does_not_run_comes_with_the_command_that_starts_it() -> None:
    (card,) = cards(status=msgspec.structs.replace(WELL, running=False))

    assert (card.tag, card.command) == ("Not running", "grader-daemon run")


def test_an_open_session_in_circles_is_told_with_its_failures() -> None:
    turning = grade(
        task_summary="Fix it",
        state=SessionState.OPEN,
        session_start=NOW - timedelta(minutes=75),
        had_infinite_loop_risk=True,
        total_errors=380,
        tool_calls=400,
    )
    (card,) = cards(running=[turning, grade(state=SessionState.OPEN)])

    assert plain(card.words) == "Fix it, running for 75 min: 380 of 400 calls failed"
    assert card.address == f"/session/{turning.session_id}"


def test_an_open_session_in_circles_names_what_it_repeats() -> None:
    failed = tuple(Failure(index, "terminal", Category.PERMISSION_DENIED, "./deploy.sh") for index in range(3, 9))
    turning = grade(
        task_summary="Fix it",
        state=SessionState.OPEN,
        had_infinite_loop_risk=True,
        session_start=None,
        failures=failed,
    )
    (card,) = cards(running=[turning])

    assert plain(card.words) == "Fix it: terminal ./deploy.sh failed 6 times with the same error, permission denied"


def test_what_was_said_stands_beside_what_happened() -> None:
    (card,) = cards(contradicted=[grade(claims=(LIED,)), grade(claims=(LIED,)), grade(claims=(LIED,))])

    assert plain(card.words).startswith("3 answers say something that tool calls contradict")
    assert [(each.said, each.happened) for each in card.quotes] == [("“All 12 tests pass”", "the last run failed")] * 2


@pytest.mark.parametrize(
    ("found", "words"), [(1, "1 answer says"), (CONTRADICTED_READ, "20 or more answers say")], ids=["one", "many"]
)
def test_contradicted_answers_are_counted(found: int, words: str) -> None:
    (card,) = cards(contradicted=[grade(claims=(LIED,))] * found)

    assert plain(card.words).startswith(words)


def test_an_error_that_is_new_names_what_differs_and_in_how_many_sessions() -> None:
    (card,) = cards(news=[issue()])

    assert plain(card.words) == "No module named yaml in 6 sessions"


def test_a_new_error_of_one_session_needs_nobody() -> None:
    assert cards(news=[issue(sessions=1)]) == []


def test_what_costs_most_while_it_waits_comes_first() -> None:
    told = cards(
        status=msgspec.structs.replace(WELL, running=False, files={"dead": 2}),
        running=[grade(state=SessionState.OPEN, had_infinite_loop_risk=True)],
        contradicted=[grade(claims=(LIED,))],
        alerts=tuple(alert() for _ in range(4)),
        news=[issue()],
    )

    assert [card.tag for card in told] == [
        "Not running",
        "Stuck now",
        "False claim",
        "Got worse",
        "Got worse",
        "Got worse",
        "New error",
        "Not graded",
    ]
    assert plain(told[5].words) == "2 more alerts are open"
    assert [card.picture for card in told[3:6]] == [LINE, LINE, None]
