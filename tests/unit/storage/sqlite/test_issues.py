from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest

from grader_daemon.domain.analysis import Category, ErrorSign, Failure, FailureKind, SessionState, Step, Subcategory
from grader_daemon.domain.calendar import ALWAYS, Span, last_days
from grader_daemon.domain.error_groups import IssueRow, StepRow, ToolStep
from grader_daemon.errors import InputError
from grader_daemon.patterns.issues import surest_first
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade

DAY = timedelta(days=1)
EVER = datetime.max.replace(tzinfo=UTC)


def sign(fingerprint: str = "1-aaa", **changes: object) -> ErrorSign:
    base = ErrorSign(
        fingerprint=fingerprint,
        tool="terminal",
        command="git push",
        category=Category.PERMISSION_DENIED,
        signal="Permission denied",
        example="Permission denied (publickey)",
    )
    return msgspec.structs.replace(base, **changes)


def failed(
    store: SqliteStore,
    session_id: str,
    *fingerprints: str,
    at: datetime = NOW,
    steps: tuple[Step, ...] = (),
    kind: FailureKind = FailureKind.HARMFUL,
    named: tuple[str | None, ...] = (),
    **fields: object,
) -> None:
    """Save a session that ended at `at` with a failure of each of `fingerprints`."""
    padded = [*steps, *[None] * (len(fingerprints) - len(steps))]
    names = [*named, *[None] * (len(fingerprints) - len(named))]
    found = tuple(
        Failure(2 * number, "terminal", Category.PERMISSION_DENIED, "git push", fingerprint, step, kind, named=name)
        for number, (fingerprint, step, name) in enumerate(zip(fingerprints, padded, names, strict=True))
    )
    made = grade(
        session_id=session_id,
        ended_at=at,
        ended_on=at.date().isoformat(),
        failures=found,
        total_errors=len(found),
        **fields,
    )
    signs = tuple(sign(fingerprint) for fingerprint in dict.fromkeys(fingerprints))
    with store.transaction():
        save_grades(store, [msgspec.structs.replace(new_grade(made), signs=signs)])


def known(store: SqliteStore, *fingerprints: str) -> None:
    with store.transaction():
        store.issues.save_signs([sign(fingerprint) for fingerprint in fingerprints])


def issue(store: SqliteStore, fingerprint: str = "1-aaa", span: Span = ALWAYS, *, until: datetime = EVER) -> IssueRow:
    found = store.issues.issue(fingerprint, span, until=until)
    assert found is not None
    return found


# -- what issues look like -----------------------------------------------------------------------------------------


def test_the_first_example_stays(store: SqliteStore) -> None:
    failed(store, "a", "1-aaa")
    with store.transaction():
        store.issues.save_signs([sign(example="another")])
    assert issue(store).sign == sign()


def test_the_finer_kind_is_the_newest(store: SqliteStore) -> None:
    failed(store, "a", "1-aaa")
    with store.transaction():
        store.issues.save_signs([sign(example="another", subcategory=Subcategory.NOT_FOUND)])
    assert issue(store).sign == sign(subcategory=Subcategory.NOT_FOUND)


def test_a_sign_may_lack_tool_and_command(store: SqliteStore) -> None:
    failed(store, "a", "1-bbb")
    with store.transaction():
        store.issues.save_signs([sign("1-aaa", tool=None, command=None), sign("1-ccc")])
    failed(store, "b", "1-aaa")
    assert issue(store).sign == sign(tool=None, command=None)


# -- finding -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        pytest.param("1-abc", "1-abcd", id="beginning"),
        pytest.param("1-abcd", "1-abcd", id="whole"),
        pytest.param("abc", "1-abcd", id="without-its-version"),
        pytest.param("2-", "2-f00d", id="only-of-its-version"),
        pytest.param("f", "2-f00d", id="one-letter"),
    ],
)
def test_an_issue_is_found_by_the_beginning_of_its_id(store: SqliteStore, prefix: str, found: str) -> None:
    known(store, "1-abcd", "1-beef", "2-f00d")
    assert store.issues.find(prefix) == found


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        pytest.param("x", "no error group", id="none"),
        pytest.param("", "no error group", id="empty"),
        pytest.param("1-abcde", "no error group", id="longer-than-any"),
        pytest.param("%", "no error group", id="no-pattern"),
        pytest.param("b", "several error groups", id="several"),
        pytest.param("1-", "several error groups", id="all-of-a-version"),
        pytest.param("\udcff", "no error group", id="no-unicode"),
    ],
)
def test_what_is_not_one_issue_is_an_error_in_one_line(store: SqliteStore, prefix: str, words: str) -> None:
    known(store, "1-abcd", "1-beef", "1-bead")
    with pytest.raises(InputError, match=words) as caught:
        store.issues.find(prefix)
    assert "\n" not in str(caught.value)


def test_of_several_some_are_named(store: SqliteStore) -> None:
    known(store, "1-b1", "1-b2", "1-a3")
    with pytest.raises(InputError) as caught:
        store.issues.find("b")
    assert ("1-b1" in str(caught.value), "1-b2" in str(caught.value), "1-a3" in str(caught.value)) == (
        True,
        True,
        False,
    )


def test_a_whole_id_is_found_though_it_begins_another(store: SqliteStore) -> None:
    known(store, "1-ab", "1-abcd")
    assert store.issues.find("1-ab") == "1-ab"


def test_issues_of_a_span_come_with_most_failures_first(store: SqliteStore) -> None:
    failed(store, "a", "1-aaa", "1-bbb", "1-bbb", at=NOW - DAY)
    failed(store, "b", "1-ccc", "1-aaa")
    failed(store, "c", "1-ddd", "1-ddd", at=NOW - 9 * DAY)
    assert store.issues.seen(last_days(7, NOW.date())) == ["1-aaa", "1-bbb", "1-ccc"]
    assert store.issues.seen(Span(NOW.date(), NOW.date())) == ["1-aaa", "1-ccc"]
    assert store.issues.seen(ALWAYS) == ["1-aaa", "1-bbb", "1-ddd", "1-ccc"]


def test_issues_that_were_quiet_for_days_or_resolved_can_be_had_alone(store: SqliteStore) -> None:
    for number, days_ago in enumerate((8, 0, 9, 0, 20, 0)):
        failed(store, f"{number}", f"1-{number // 2}", at=NOW - days_ago * DAY)
    quiet = Span((NOW - 13 * DAY).date(), (NOW - 7 * DAY).date())
    assert store.issues.seen(last_days(7, NOW.date()), quiet=quiet) == ["1-2"]
    store.issues.mark("1-1", resolved_at=NOW - DAY, ignored_at=None)
    assert store.issues.seen(last_days(7, NOW.date()), quiet=quiet) == ["1-1", "1-2"]


# -- counting ------------------------------------------------------------------------------------------------------


def test_an_issue_counts_what_was_in_the_span(store: SqliteStore) -> None:
    failed(store, "a", "1-aaa", "1-aaa", at=NOW - 9 * DAY, task_type="testing")
    failed(store, "b", "1-aaa", "1-aaa", "1-aaa", at=NOW - DAY, task_type="debugging", errors_recovered=False)
    failed(store, "c", "1-aaa", at=NOW, task_type="testing")
    failed(store, "d", "1-bbb", at=NOW)
    whole, week = issue(store), issue(store, span=last_days(7, NOW.date()))
    assert (whole.failures, whole.sessions, whole.recovered) == (6, 3, 2)
    assert (week.failures, week.sessions, week.recovered) == (4, 2, 1)
    assert list(whole.task_types.items()) == [("testing", 2), ("debugging", 1)]
    assert week.task_types == {"debugging": 1, "testing": 1}


def test_an_issue_knows_all_its_days_up_to_the_end_of_the_span(store: SqliteStore) -> None:
    for number, ago in enumerate((30, 9, 1, 0)):
        failed(store, f"s{number}", "1-aaa", at=NOW - ago * DAY)
    today = NOW.date()
    week = Span(today - 10 * DAY, today - 4 * DAY)
    assert issue(store, span=week).days == (today - 30 * DAY, today - 9 * DAY)


def test_first_and_last_are_those_before_the_end_of_the_span(store: SqliteStore) -> None:
    for number, ago in enumerate((30, 9, 1)):
        failed(store, f"s{number}", "1-aaa", at=NOW - ago * DAY)
    found = issue(store, until=NOW - DAY)
    assert (found.first_seen, found.last_seen) == (NOW - 30 * DAY, NOW - 9 * DAY)
    assert found.latest == ("s1", "s0")


def test_the_three_sessions_that_had_it_last_are_named_once_each(store: SqliteStore) -> None:
    for number in range(5):
        failed(store, f"s{number}", "1-aaa", "1-aaa", at=NOW + number * timedelta(microseconds=1))
    assert issue(store).latest == ("s4", "s3", "s2")


@pytest.mark.parametrize(
    ("fingerprint", "span"),
    [
        pytest.param("1-zzz", ALWAYS, id="unknown"),
        pytest.param("1-bbb", ALWAYS, id="never-in-a-finished-session"),
        pytest.param("1-aaa", Span(date(2026, 11, 22), date.max), id="not-in-the-span"),
        pytest.param("1-aaa", Span(date.min, date(2026, 11, 20)), id="only-after-the-span"),
    ],
)
def test_an_issue_that_did_not_occur_is_none(store: SqliteStore, fingerprint: str, span: Span) -> None:
    failed(store, "a", "1-aaa")
    failed(store, "b", "1-bbb", state=SessionState.OPEN)
    assert store.issues.issue(fingerprint, span, until=EVER) is None


def test_a_session_that_is_graded_again_without_it_takes_it_away(store: SqliteStore) -> None:
    failed(store, "a", "1-aaa")
    failed(store, "a")
    assert store.issues.issue("1-aaa", ALWAYS, until=EVER) is None


def test_steps_of_a_span_come_most_tried_first(store: SqliteStore) -> None:
    pull, again = Step("terminal", "git pull", True), Step("terminal", "git push", False)
    look, unknown = Step("read_file", None, True), Step("terminal", "git pull", None)
    failed(store, "a", *["1-aaa"] * 4, steps=(pull, pull, again, unknown), task_completed=True)
    failed(store, "b", *["1-aaa"] * 2, steps=(pull, look), task_completed=False)
    failed(store, "c", "1-aaa", steps=(look,), at=NOW - 9 * DAY)
    failed(store, "d", "1-aaa", steps=(pull,), task_completed=False, kind=FailureKind.RECOVERED)
    assert issue(store, span=last_days(7, NOW.date())).steps == (
        StepRow("terminal", "git pull", 4, 4, 1),
        StepRow("read_file", None, 1, 1, 0),
        StepRow("terminal", "git push", 1, 0, 0),
    )


def test_what_an_issue_names_most_comes_first(store: SqliteStore) -> None:
    failed(store, "a", *["1-aaa"] * 4, named=("numpy", "numpy", "yaml", None))
    failed(store, "b", "1-aaa", named=("yaml",))
    failed(store, "c", "1-aaa", named=("attrs",), at=NOW - 9 * DAY)
    failed(store, "d", "1-bbb", named=("django",))
    failed(store, "open", "1-aaa", named=("flask",), state=SessionState.OPEN)
    assert list(issue(store).named.items()) == [("yaml", 2), ("attrs", 1), ("numpy", 1)]
    assert list(issue(store, span=last_days(7, NOW.date())).named.items()) == [("yaml", 2), ("numpy", 1)]


def test_issues_of_most_sessions_come_first(store: SqliteStore) -> None:
    failed(store, "a", *["1-often"] * 9)
    failed(store, "b", "1-wide", "1-rare", "1-rare")
    failed(store, "c", "1-wide")
    assert store.issues.seen(ALWAYS) == ["1-wide", "1-often", "1-rare"]


def _push_and_others(store: SqliteStore) -> None:
    """Failures of two issues of one cause, of the same cause of another command, and of another cause."""
    pull, again, look = (
        Step("terminal", "git pull", True),
        Step("terminal", "git push", False),
        Step("read_file", None, True),
    )
    with store.transaction():
        store.issues.save_signs([sign("1-curl", command="curl"), sign("1-slow", category=Category.TIMEOUT)])
    failed(store, "a", *["1-aaa"] * 3, steps=(pull, again, look), task_completed=True)
    failed(store, "b", *["1-bbb"] * 2, steps=(pull, look), task_completed=False)
    failed(store, "c", "1-old", steps=(pull,), at=NOW - 40 * DAY)
    failed(store, "d", "1-curl", steps=(again,))
    failed(store, "e", "1-slow", steps=(pull,))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(
            {"command": "git push"},
            {("git pull", False): (3, 3), ("git push", True): (1, 0), (None, False): (2, 2)},
            id="of-a-command",
        ),
        pytest.param(
            {"command": None},
            {
                ("git pull", False): (3, 3),
                ("git push", True): (1, 0),
                ("git push", False): (1, 0),
                (None, False): (2, 2),
            },
            id="of-the-tool",
        ),
        pytest.param({"command": "wget"}, {}, id="of-a-command-that-did-not-fail"),
        pytest.param({"tool": "bash"}, {}, id="of-a-tool-that-did-not-fail"),
        pytest.param({"category": Category.TIMEOUT}, {("git pull", False): (1, 1)}, id="of-another-cause"),
        pytest.param(
            {"command": "git push", "span": last_days(7, NOW.date())},
            {("git pull", False): (2, 2), ("git push", True): (1, 0), (None, False): (2, 2)},
            id="of-some-days",
        ),
    ],
)
def test_what_was_tried_is_summed_over_the_issues_of_a_cause(
    store: SqliteStore, asked: dict[str, object], expected: dict[tuple[str | None, bool], tuple[int, int]]
) -> None:
    _push_and_others(store)
    wanted = {"span": ALWAYS, "tool": "terminal", "category": Category.PERMISSION_DENIED, "command": None} | asked

    found = store.issues.tool_steps(**wanted)  # type: ignore[arg-type]

    assert {(step.next_command, step.is_retry): (step.tries, step.worked) for step in found} == expected


# -- what people say -----------------------------------------------------------------------------------------------


def test_marks_are_kept_and_taken_back(store: SqliteStore) -> None:
    failed(store, "a", "1-aaa")
    failed(store, "b", "1-bbb")
    with store.transaction():
        store.issues.mark("1-aaa", resolved_at=NOW, ignored_at=NOW - DAY)
    assert (issue(store).resolved_at, issue(store).ignored_at) == (NOW, NOW - DAY)
    assert issue(store, "1-bbb").resolved_at is None
    with store.transaction():
        store.issues.mark("1-aaa", resolved_at=None, ignored_at=None)
    assert (issue(store).resolved_at, issue(store).ignored_at) == (None, None)


def test_marks_outlive_new_failures(store: SqliteStore) -> None:
    failed(store, "a", "1-aaa")
    with store.transaction():
        store.issues.mark("1-aaa", resolved_at=NOW, ignored_at=None)
    failed(store, "b", "1-aaa")
    assert issue(store).resolved_at == NOW


def test_failures_are_counted_by_day_within_a_span(store: SqliteStore) -> None:
    failed(store, "s1", "1-aaa", "1-aaa", at=NOW)
    failed(store, "s2", "1-aaa", "1-bbb", at=NOW - DAY)
    failed(store, "s3", "1-aaa", at=NOW - 9 * DAY)
    today = NOW.date()

    assert store.issues.daily(["1-aaa", "1-none"], last_days(2, today)) == {"1-aaa": {today - DAY: 1, today: 2}}
    assert store.issues.daily([], last_days(2, today)) == {}


# -- what a type of task has ---------------------------------------------------------------------------------------


def test_issues_of_a_task_type_are_those_that_most_of_its_sessions_have(store: SqliteStore) -> None:
    for number in range(3):
        failed(store, f"rare-{number}", "1-aaa", task_type="testing")
        failed(store, f"often-{number}", "1-bbb", task_type="debugging")
    failed(store, "once", "1-aaa", task_type="debugging")
    failed(store, "long-ago", "1-ccc", task_type="debugging", at=NOW - 40 * DAY)

    of_debugging = store.issues.of_task_type("debugging", last_days(30, NOW.date()), 9)
    assert of_debugging == ["1-bbb", "1-aaa"]
    assert store.issues.of_task_type("debugging", ALWAYS, 1) == ["1-bbb"]


@pytest.mark.parametrize("command", ["ls", None])
def test_sessions_in_which_a_step_helped_are_the_last_ones_of_their_type(
    store: SqliteStore, command: str | None
) -> None:
    step = Step("terminal", command, worked=True)
    recovered, not_yet = FailureKind.RECOVERED, FailureKind.HARMFUL
    for number in range(4):
        failed(
            store, f"s{number}", "1-aaa", at=NOW - number * DAY, steps=(step,), kind=recovered, task_type="debugging"
        )
    failed(store, "in-vain", "1-aaa", steps=(step,), kind=not_yet, task_type="debugging")
    failed(store, "another", "1-aaa", steps=(step,), kind=recovered, task_type="testing")
    failed(store, "open", "1-aaa", steps=(step,), kind=recovered, task_type="debugging", state=SessionState.OPEN)
    counted = surest_first([ToolStep("terminal", "terminal", command, False, 4, 4, 4)])[0]

    assert store.issues.where_helped("1-aaa", "debugging", counted, 3) == ("s0", "s1", "s2")
