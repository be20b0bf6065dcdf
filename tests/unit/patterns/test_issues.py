from __future__ import annotations

from datetime import date, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import Category, ErrorSign
from grader_daemon.domain.error_groups import NEWS, IssueRow, IssueState, StepRow, ToolStep
from grader_daemon.domain.estimate import Estimate, proportion
from grader_daemon.patterns.issues import alternatives, quiet_before_news, surest_first, to_issue
from tests.strategies import NOW

TODAY = NOW.date()
DAY = timedelta(days=1)
SIGN = ErrorSign(
    fingerprint="1-aaa",
    tool="terminal",
    command="git push",
    category=Category.PERMISSION_DENIED,
    signal="Permission denied",
    example="git@host: Permission denied (publickey).",
)


def row(*days_ago: int, **changes: object) -> IssueRow:
    days = tuple(TODAY - ago * DAY for ago in sorted(days_ago, reverse=True))
    base = IssueRow(
        sign=SIGN,
        failures=4,
        sessions=3,
        recovered=2,
        days=days,
        first_seen=NOW - max(days_ago) * DAY,
        last_seen=NOW - min(days_ago) * DAY,
        resolved_at=None,
        ignored_at=None,
        task_types={"debugging": 2, "testing": 1},
        latest=("c", "b", "a"),
        steps=(),
    )
    return msgspec.structs.replace(base, **changes)


def state(given_row: IssueRow, *, now: datetime = NOW, today: date = TODAY) -> IssueState:
    return to_issue(given_row, now, today=today).state


# -- where an issue stands -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days_ago", "expected"),
    [
        pytest.param((0,), IssueState.NEW, id="first-seen-today"),
        pytest.param((6,), IssueState.NEW, id="first-seen-six-days-ago"),
        pytest.param((7,), IssueState.ONGOING, id="first-seen-seven-days-ago"),
        pytest.param((7, 0), IssueState.ONGOING, id="seen-for-a-week"),
        pytest.param((6, 0), IssueState.NEW, id="new-and-still-there"),
        pytest.param((13,), IssueState.ONGOING, id="quiet-for-thirteen-days"),
        pytest.param((14,), IssueState.RESOLVED, id="quiet-for-fourteen-days"),
        pytest.param((60, 14), IssueState.RESOLVED, id="old-and-quiet"),
        pytest.param((20, 7), IssueState.ONGOING, id="returned-after-thirteen-days"),
        pytest.param((20, 6), IssueState.RETURNED, id="returned-after-fourteen-days"),
        pytest.param((14, 0), IssueState.RETURNED, id="returned-today"),
        pytest.param((21, 7), IssueState.ONGOING, id="returned-a-week-ago"),
        pytest.param((40, 20, 3), IssueState.RETURNED, id="returned-twice"),
        pytest.param((40, 20, 7, 0), IssueState.ONGOING, id="returned-long-ago-and-stayed"),
    ],
)
def test_state_follows_from_the_days(days_ago: tuple[int, ...], expected: IssueState) -> None:
    assert state(row(*days_ago)) is expected


@pytest.mark.parametrize(
    ("resolved_days_ago", "expected"),
    [
        pytest.param(-1, IssueState.NEW, id="not-yet"),
        pytest.param(0, IssueState.RESOLVED, id="now"),
        pytest.param(2, IssueState.RESOLVED, id="since-it-was-seen-last"),
        pytest.param(2.5, IssueState.RETURNED, id="but-seen-again"),
    ],
)
def test_what_is_resolved_stays_so_until_it_comes_back(resolved_days_ago: float, expected: IssueState) -> None:
    assert state(row(2, resolved_at=NOW - resolved_days_ago * DAY)) is expected


def test_what_came_back_and_is_quiet_again_is_resolved() -> None:
    assert state(row(30, 14, resolved_at=NOW - 20 * DAY)) is IssueState.RESOLVED


@pytest.mark.parametrize(
    ("ignored_days_ago", "expected"),
    [
        pytest.param(-1, IssueState.NEW, id="not-yet"),
        pytest.param(0, IssueState.IGNORED, id="now"),
        pytest.param(9, IssueState.IGNORED, id="and-seen-since"),
    ],
)
def test_what_is_ignored_stays_so(ignored_days_ago: int, expected: IssueState) -> None:
    assert state(row(2, ignored_at=NOW - ignored_days_ago * DAY)) is expected


def test_a_week_looks_at_the_days_as_they_were_at_its_end() -> None:
    sunday = TODAY - 7 * DAY
    seen = row(7, resolved_at=NOW - DAY)
    assert state(seen, now=NOW - 7 * DAY + timedelta(hours=2), today=sunday) is IssueState.NEW


@given(
    days_ago=st.lists(st.integers(0, 60), min_size=1, max_size=8, unique=True),
    resolved=st.none() | st.integers(-5, 60),
    ignored=st.none() | st.integers(-5, 60),
)
def test_every_issue_stands_somewhere(days_ago: list[int], resolved: int | None, ignored: int | None) -> None:
    found = state(
        row(
            *days_ago,
            resolved_at=None if resolved is None else NOW - resolved * DAY,
            ignored_at=None if ignored is None else NOW - ignored * DAY,
        )
    )
    assert (found is IssueState.IGNORED) == (ignored is not None and ignored >= 0)
    if min(days_ago) >= 14 and found is not IssueState.IGNORED:
        assert found is IssueState.RESOLVED


@given(days_ago=st.lists(st.integers(0, 30), min_size=1, max_size=6, unique=True))
def test_what_is_new_or_back_did_not_occur_before_that(days_ago: list[int]) -> None:
    quiet, given_row = quiet_before_news(TODAY), row(*days_ago)
    if state(given_row) in NEWS:
        assert not any(quiet.first <= day <= quiet.last for day in given_row.days)


# -- the issue -----------------------------------------------------------------------------------------------------


def test_an_issue_tells_what_its_row_holds() -> None:
    given_row = row(3, 1)
    found = to_issue(given_row, NOW, today=TODAY)
    for name in ("failures", "sessions", "recovered", "task_types", "latest", "first_seen", "last_seen"):
        assert getattr(found, name) == getattr(given_row, name)
    for name in ErrorSign.__struct_fields__:
        assert getattr(found, name) == getattr(SIGN, name)


@pytest.mark.parametrize(
    ("tool", "command", "is_retry"),
    [
        pytest.param("terminal", "git push", True, id="the-same-again"),
        pytest.param("terminal", "git pull", False, id="another-command"),
        pytest.param("terminal", None, False, id="no-command"),
        pytest.param("bash", "git push", False, id="another-tool"),
    ],
)
def test_a_step_that_is_what_had_failed_is_a_retry(tool: str, command: str | None, is_retry: bool) -> None:
    found = to_issue(row(0, steps=(StepRow(tool, command, 6, 3, 2),)), NOW, today=TODAY).steps[0]
    assert (found.tool, found.command, found.is_retry) == (tool, command, is_retry)
    assert (found.tries, found.worked, found.recovered) == (6, 3, 2)
    assert (found.rate, found.recovery) == (proportion(3, 6), proportion(2, 6))


@pytest.mark.parametrize(
    ("tries", "known"), [pytest.param(4, False, id="four-are-too-few"), pytest.param(5, True, id="five-are-enough")]
)
def test_few_tries_have_no_rate(tries: int, known: bool) -> None:
    found = to_issue(row(0, steps=(StepRow("terminal", None, tries, 1, 1),)), NOW, today=TODAY).steps[0]
    assert (found.rate.value is not None, found.recovery.value is not None) == (known, known)
    assert found.rate.sample == tries
    if not known:
        assert found.rate == Estimate(sample=tries)


# -- what helped ---------------------------------------------------------------------------------------------------


def tried(next_tool: str, tries: int, worked: int, *, tool: str = "terminal", command: str | None = None) -> ToolStep:
    return ToolStep(tool, next_tool, command, next_tool == tool, tries, worked, worked)


def test_steps_that_worked_most_often_come_first() -> None:
    steps = [tried("a", 10, 5), tried("b", 10, 9), tried("c", 20, 10), tried("terminal", 8, 0)]
    (found,) = alternatives(steps, failures={"terminal": 40})
    assert (found.tool, found.failures) == ("terminal", 40)
    assert [step.tool for step in found.steps] == ["b", "c", "a", "terminal"]
    assert [step.is_retry for step in found.steps] == [False, False, False, True]
    assert found.steps[0].rate == proportion(9, 10)


def test_few_tries_that_all_worked_do_not_come_before_many_that_nearly_all_did() -> None:
    (found,) = alternatives([tried("few", 5, 5), tried("many", 60, 57)], failures={})
    assert [step.tool for step in found.steps] == ["many", "few"]  # lower ends .86 and .57


@given(st.lists(st.builds(tried, st.sampled_from("abc"), st.integers(1, 90), st.just(0)), max_size=6), st.data())
def test_steps_come_by_the_lower_end_of_their_rate(steps: list[ToolStep], data: st.DataObject) -> None:
    drawn = [msgspec.structs.replace(step, worked=data.draw(st.integers(0, step.tries))) for step in steps]

    ends = [step.rate.low or 0.0 for step in surest_first(drawn)]

    assert ends == sorted((proportion(s.worked, s.tries, fewest=5).low or 0.0 for s in drawn), reverse=True)


def test_steps_of_few_tries_have_no_rate_and_come_last() -> None:
    found = surest_first([tried("few", 4, 4), tried("often", 20, 2)])
    assert [(step.tool, step.rate.value) for step in found] == [("often", 0.1), ("few", None)]


def test_steps_with_few_tries_are_not_told() -> None:
    (found,) = alternatives([tried("a", 4, 4), tried("b", 5, 1)], failures={})
    assert [step.tool for step in found.steps] == ["b"]
    assert found.failures == 0


def test_a_tool_without_a_step_to_tell_is_left_out() -> None:
    assert alternatives([tried("a", 4, 4)], failures={"terminal": 9}) == ()


def test_tools_with_most_failures_come_first() -> None:
    steps = [tried("x", 5, 5, tool=tool) for tool in ("b", "a", "often")]
    found = alternatives(steps, failures={"often": 9, "a": 3, "b": 3})
    assert [each.tool for each in found] == ["often", "a", "b"]


def test_of_many_steps_the_most_tried_are_told() -> None:
    steps = [tried(f"rare-{number}", 5, 5) for number in range(20)] + [tried(f"often-{n}", 50, 5) for n in range(8)]
    (found,) = alternatives(steps, failures={})
    assert {step.tool for step in found.steps} == {f"often-{number}" for number in range(8)}


@given(
    steps=st.lists(
        st.builds(
            tried,
            st.sampled_from(["a", "b", "terminal"]),
            st.integers(0, 20),
            st.just(0),
            command=st.none() | st.sampled_from(["git push", "make"]),
        ),
        unique_by=lambda step: (step.next_tool, step.next_command),
    )
)
def test_the_order_in_which_steps_are_given_does_not_matter(steps: list[ToolStep]) -> None:
    assert alternatives(steps, failures={}) == alternatives(reversed(steps), failures={})
