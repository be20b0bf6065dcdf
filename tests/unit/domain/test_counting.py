from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import Category, Failure, FailureKind, SessionState, Step, ToolUse
from grader_daemon.domain.counting import (
    Changes,
    ClaimKey,
    GroupKey,
    IssueKey,
    StepKey,
    TaskKey,
    ToolStepKey,
    by_month,
    groups_of,
    is_counted_alike,
)
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.rollup import ESTIMATORS, SUM_NAMES, Dimension, Sums, task_and_model, task_model
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.verdict import Outcome, VerdictBy, VerdictCounts
from tests.strategies import grade, grades

DAY = "2026-11-21"
OVERALL = GroupKey(Dimension.OVERALL, DAY, "")


def changes_of(*added: Grade, removed: tuple[Grade, ...] = ()) -> Changes:
    changes = Changes()
    for one in added:
        changes.add(one)
    for one in removed:
        changes.remove(one)
    return changes


def sums(changes: Changes) -> dict[GroupKey, Sums]:
    return {key: Sums(**dict(zip(SUM_NAMES, numbers, strict=True))) for key, numbers in changes.groups().items()}


def failing(*failures: Failure, **fields: object) -> Grade:
    return grade(ended_on=DAY, failures=failures, total_errors=len(failures), **fields)


def failure(*, step: Step | None = None, fingerprint: str | None = "1-a", tool: str | None = "terminal") -> Failure:
    return Failure(2, tool, Category.TIMEOUT, "curl", fingerprint, step)


def everything(changes: Changes) -> list[dict[object, list[int]]]:
    tables = (changes.groups(), changes.issues, changes.steps, changes.tool_steps, changes.tasks, changes.claims)
    return [{key: numbers for key, numbers in table.items() if any(numbers)} for table in tables]


# -- groups --------------------------------------------------------------------------------------------------------


def test_a_session_adds_its_numbers_and_their_squares() -> None:
    made = grade(
        ended_on=DAY,
        tool_calls_efficient=4,
        response_quality=3,
        task_completed=True,
        tool_calls=6,
        total_errors=2,
        errors_recovered=False,
    )
    assert sums(changes_of(made))[OVERALL] == Sums(
        sessions=1,
        completed=1,
        with_errors=1,
        efficiency=4,
        efficiency_squares=16,
        quality=3,
        quality_squares=9,
        score_squares=144,
        predicted_millionths=1_000_000,
        done=1,
        calls=6,
        calls_squares=36,
        failures=2,
        failures_squares=4,
        calls_failures=12,
    )


@pytest.mark.parametrize(
    ("errors", "recovered", "counted"),
    [
        pytest.param(0, True, (0, 0), id="no-errors"),
        pytest.param(1, True, (1, 1), id="recovered"),
        pytest.param(1, False, (1, 0), id="not-recovered"),
    ],
)
def test_only_a_session_with_errors_can_recover(errors: int, recovered: bool, counted: tuple[int, int]) -> None:
    found = sums(changes_of(grade(ended_on=DAY, total_errors=errors, errors_recovered=recovered)))[OVERALL]
    assert (found.with_errors, found.recovered) == counted


@given(made=grades())
def test_thrice_the_score_is_what_is_squared(made: Grade) -> None:
    finished = msgspec.structs.replace(made, state=SessionState.COMPLETE)
    found = sums(changes_of(finished))[GroupKey(Dimension.KIND, made.ended_on, made.kind or SessionKind.MAIN)]
    assert found.score_squares == (0 if finished.score is None else round(3 * finished.score) ** 2)


@pytest.mark.parametrize(
    ("model", "platform", "expected"),
    [
        pytest.param("m", "cli", {(Dimension.MODEL, "m"), (Dimension.PLATFORM, "cli")}, id="both"),
        pytest.param(None, "cli", {(Dimension.MODEL, "unknown"), (Dimension.PLATFORM, "cli")}, id="no-model"),
        pytest.param("m", "", {(Dimension.MODEL, "m"), (Dimension.PLATFORM, "unknown")}, id="no-platform"),
    ],
)
def test_what_is_not_known_is_a_group_so_that_groups_add_up(
    model: str | None, platform: str | None, expected: set[tuple[Dimension, str]]
) -> None:
    found = changes_of(grade(ended_on=DAY, model=model, platform=platform, tools=()))
    assert {(key.dimension, key.name) for key in found.groups()} == expected | {
        (Dimension.OVERALL, ""),
        (Dimension.TASK_TYPE, "general"),
        (Dimension.AGENT, "unknown"),
        (Dimension.ENDING, "unknown"),
        (Dimension.STANDING, "unknown"),
        (Dimension.PROJECT, "unknown"),
        (Dimension.KIND, "main"),
        (Dimension.TASK_MODEL, f"general × {model or 'unknown'}"),
    }


@given(made=grades())
def test_every_group_of_a_session_counts_it_once(made: Grade) -> None:
    finished = msgspec.structs.replace(made, state=SessionState.COMPLETE)
    found = sums(changes_of(finished))
    whole = {Dimension.KIND, Dimension.JOB}
    of_kind = {(each.sessions, each.unanswered) for key, each in found.items() if key.dimension in whole}
    others = [each for key, each in found.items() if key.dimension not in whole]
    counted = (1, 0, 0) if made.scored else (0, 1, 0)
    assert of_kind == {counted[:2]}
    assert {(each.sessions, each.unanswered, each.side) for each in others} == {
        counted if made.is_persons else (0, 0, 1)
    }
    assert {key.day for key in found} == {made.ended_on}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, Sums(unanswered=1), id="nobody-judged-it"),
        pytest.param(
            {"verdict_by": VerdictBy.PERSON, "task_completed": False},
            Sums(unanswered=1, unanswered_judged=1, not_done=1, failed=1),
            id="not-completed-as-a-person-says",
        ),
        pytest.param(
            {"verdict_by": VerdictBy.PERSON, "task_completed": True},
            Sums(unanswered=1, unanswered_judged=1, completed=1, unscored_completed=1, done=1),
            id="completed-as-a-person-says",
        ),
    ],
)
def test_a_session_without_an_answer_has_no_scores(changes: dict[str, object], expected: Sums) -> None:
    made = grade(ended_on=DAY, scored=False, tools=(), tool_calls=0, **changes)
    assert set(map(repr, sums(changes_of(made)).values())) == {repr(expected)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"task_completed": False},
            Sums(sessions=1, interrupted=1, interrupted_judged=1, not_done=1, failed=1),
            id="cut-short",
        ),
        pytest.param({"task_completed": False, "unsure": True}, Sums(sessions=1, interrupted=1), id="stopped"),
        pytest.param({"task_completed": True}, Sums(sessions=1, interrupted=1), id="done-by-an-earlier-version"),
        pytest.param(
            {"task_completed": True, "verdict_by": VerdictBy.PERSON},
            Sums(sessions=1, interrupted=1, interrupted_judged=1, completed=1, unscored_completed=1, done=1),
            id="done-as-a-person-says",
        ),
    ],
)
def test_an_interrupted_session_has_no_scores(changes: dict[str, object], expected: Sums) -> None:
    made = grade(ended_on=DAY, state=SessionState.INTERRUPTED, tools=(), tool_calls=0, **changes)
    assert set(map(repr, sums(changes_of(made)).values())) == {repr(expected)}


_interrupted = grades().map(
    lambda made: msgspec.structs.replace(
        made, ended_on=DAY, state=SessionState.INTERRUPTED, verdict_by=VerdictBy.MODEL, automatic_completed=None
    )
)


@pytest.mark.thorough
@given(before=st.lists(grades(), min_size=1, max_size=6), cut_short=st.lists(_interrupted, min_size=1, max_size=6))
def test_interrupted_sessions_never_raise_a_rate_or_a_mean(before: list[Grade], cut_short: list[Grade]) -> None:
    others = [msgspec.structs.replace(each, ended_on=DAY) for each in before]
    then, now = (sums(changes_of(*some)) for some in (others, [*others, *cut_short]))
    for key, earlier in then.items():
        assert now[key].done == earlier.done
        for name in ("score", "efficiency", "quality", "recovery"):
            was, is_now = (ESTIMATORS[name](each).value for each in (earlier, now[key]))
            assert was is None or (is_now is not None and is_now <= was)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"p_completed": 0.25, "task_completed": True}, 0.25, id="its-probability"),
        pytest.param({"task_completed": True}, 1.0, id="the-verdict-without-one"),
        pytest.param(
            {"task_completed": True, "verdict_by": VerdictBy.PERSON, "automatic_completed": False},
            0.0,
            id="never-the-word-of-a-person",
        ),
        pytest.param(
            {"p_completed": 0.25, "state": SessionState.INTERRUPTED}, 0.0, id="none-of-an-interrupted-session"
        ),
    ],
)
def test_a_session_adds_what_is_predicted_of_it(changes: dict[str, object], expected: float) -> None:
    assert sums(changes_of(grade(ended_on=DAY, **changes)))[OVERALL].predicted == expected


@given(st.lists(grades(), max_size=8))
def test_every_answered_session_is_done_or_not_done_or_unsure(made: list[Grade]) -> None:
    finished = [msgspec.structs.replace(each, ended_on=DAY, kind=SessionKind.MAIN) for each in made]
    counted = sums(changes_of(*finished)).get(OVERALL, Sums())
    outcomes = Counter(each.outcome for each in finished if each.state is not SessionState.OPEN)

    assert counted.done == outcomes[Outcome.DONE]
    assert counted.not_done == outcomes[Outcome.NOT_DONE]
    assert counted.unsure == outcomes[Outcome.UNSURE]


# -- what was spent ------------------------------------------------------------------------------------------------


def test_tokens_and_money_are_summed_where_they_are_known() -> None:
    known = grade(
        session_id="a",
        ended_on=DAY,
        tools=(),
        task_completed=True,
        input_tokens=1000,
        cache_read_tokens=None,
        output_tokens=10,
        cost_usd=0.0000015,  # counts as two millionths
    )
    partly = grade(session_id="b", ended_on=DAY, tools=(), task_completed=False, input_tokens=5, cost_usd=0.25)
    unknown = grade(session_id="c", ended_on=DAY, tools=(), task_completed=True)

    found = sums(changes_of(known, partly, unknown))[OVERALL]

    assert (found.input_tokens, found.cache_read_tokens, found.output_tokens, found.metered) == (1005, 0, 10, 1)
    assert (found.cost_millionths, found.priced, found.priced_tasks, found.side_millionths) == (250_002, 2, 2, 0)
    assert (found.finished, found.completed) == (3, 2)


@pytest.mark.parametrize(
    ("changes", "is_counted"),
    [
        pytest.param({"task_completed": False}, True, id="not-done"),
        pytest.param({"task_completed": False, "unsure": True}, False, id="not-done-by-a-guess-alone"),
        pytest.param({"unsure": True, "standing": ResultStanding.CHECK_FAILED}, True, id="unsure-and-ended-badly"),
        pytest.param({"scored": False, "ending": EndingKind.NO_ANSWER}, True, id="without-an-answer"),
        pytest.param({"standing": ResultStanding.CHECK_FAILED}, False, id="ended-badly-and-done-all-the-same"),
        pytest.param({}, False, id="done"),
        pytest.param({"task_completed": False, "state": SessionState.OPEN}, False, id="not-finished"),
        pytest.param({"task_completed": False, "kind": SessionKind.SUB_AGENT}, True, id="of-a-sub-agent"),
    ],
)
def test_money_of_sessions_that_failed_is_summed(changes: dict[str, object], *, is_counted: bool) -> None:
    recorded = {"ending": EndingKind.ANSWERED, "standing": ResultStanding.CLAIMED, "task_completed": True}
    found = sums(changes_of(grade(ended_on=DAY, cost_usd=0.25, **{**recorded, **changes})))[OVERALL]
    expected = (1, 1, 250_000) if is_counted else (0, 0, 0)
    assert (found.failed, found.failed_priced, found.failed_millionths) == expected


def test_money_of_sessions_that_failed_may_be_known_of_some_only() -> None:
    made = [
        grade(session_id=name, ended_on=DAY, task_completed=False, cost_usd=cost)
        for name, cost in (("a", 0.1), ("b", None))
    ]
    found = sums(changes_of(*made))[OVERALL]
    assert (found.failed, found.failed_priced, found.failed_millionths) == (2, 1, 100_000)


def test_what_is_no_task_of_a_person_counts_as_money_alone() -> None:
    task = grade(session_id="a", ended_on=DAY, agent="claude-code", project="/p", cost_usd=0.5, input_tokens=7)
    sub_agent = grade(
        session_id="b",
        ended_on=DAY,
        agent="claude-code",
        project="/p",
        kind=SessionKind.SUB_AGENT,
        task_completed=True,
        cost_usd=0.25,
        input_tokens=3,
        tools=(ToolUse("Bash", 2, 1),),
    )

    found = sums(changes_of(task, sub_agent))

    for group in (OVERALL, GroupKey(Dimension.AGENT, DAY, "claude-code"), GroupKey(Dimension.PROJECT, DAY, "/p")):
        counted = found[group]
        assert (counted.sessions, counted.side, counted.completed, counted.finished) == (1, 1, 1, 2)
        assert (counted.cost_millionths, counted.side_millionths, counted.priced) == (750_000, 250_000, 2)
        assert (counted.priced_tasks, counted.input_tokens) == (1, 10)
    of_kind = found[GroupKey(Dimension.KIND, DAY, "sub_agent")]
    assert (of_kind.sessions, of_kind.side, of_kind.completed, of_kind.priced_tasks) == (1, 0, 1, 1)
    assert (of_kind.cost_millionths, of_kind.side_millionths) == (250_000, 0)
    assert GroupKey(Dimension.TOOL, DAY, "Bash") not in found


def test_failures_of_a_sub_agent_are_no_error_issues() -> None:
    made = failing(failure(step=Step("browser", None, True)), kind=SessionKind.SUB_AGENT)
    changes = changes_of(made)
    assert (changes.issues, changes.steps, changes.tool_steps, changes.tasks) == ({}, {}, {}, {})


def test_money_is_not_spread_over_the_tools_of_a_session() -> None:
    made = grade(ended_on=DAY, cost_usd=1.0, input_tokens=9, tools=(ToolUse("terminal", 1, 0),))
    of_tool = sums(changes_of(made))[GroupKey(Dimension.TOOL, DAY, "terminal")]
    assert (of_tool.cost_millionths, of_tool.priced, of_tool.input_tokens) == (0, 0, 0)


def test_of_a_long_folder_the_end_is_kept() -> None:
    found = changes_of(grade(ended_on=DAY, project="/home/" + "x" * 200 + "/mine"))
    (name,) = [key.name for key in found.groups() if key.dimension == Dimension.PROJECT]
    assert (len(name), name[-5:]) == (120, "/mine")


def test_a_tool_counts_its_own_calls_and_a_category_its_own_failures() -> None:
    made = failing(
        failure(),
        failure(),
        Failure(9, "browser", Category.NETWORK_ERROR),
        tool_calls=7,
        tools=(ToolUse("terminal", 4, 2), ToolUse("browser", 3, 1)),
    )
    found = sums(changes_of(made))
    counted = {key.name: (each.calls, each.failures, each.calls_failures) for key, each in found.items()}
    assert (counted["terminal"], counted["browser"]) == ((4, 2, 8), (3, 1, 3))
    assert (counted["timeout"], counted["network_error"]) == ((7, 2, 14), (7, 1, 7))


def test_a_probe_is_counted_nowhere() -> None:
    probe = Failure(2, "terminal", Category.FILE_NOT_FOUND, "ls", kind=FailureKind.PROBE)
    changes = changes_of(grade(ended_on=DAY, failures=(probe,)))
    assert everything(changes) == everything(changes_of(grade(ended_on=DAY)))


def test_an_open_session_changes_nothing_but_its_count() -> None:
    made = failing(failure(step=Step("terminal", "wget", True)), state=SessionState.OPEN)
    changes = changes_of(made)
    assert sums(changes) == {
        OVERALL: Sums(open_sessions=1),
        GroupKey(Dimension.KIND, DAY, "main"): Sums(open_sessions=1),
    }
    assert (changes.issues, changes.steps, changes.tool_steps, changes.tasks) == ({}, {}, {}, {})
    assert changes.days == {DAY}


def test_names_are_cut() -> None:
    found = changes_of(grade(ended_on=DAY, model="m" * 121, task_type="t" * 121, tools=(ToolUse("x" * 121, 1, 0),)))
    assert max(len(key.name) for key in found.groups()) == 120


# -- issues --------------------------------------------------------------------------------------------------------


def test_a_session_counts_once_for_an_issue_however_often_it_failed() -> None:
    made = failing(failure(), failure(), failure(fingerprint="1-b"), failure(fingerprint=None), task_type="testing")
    changes = changes_of(made)
    assert changes.issues == {IssueKey("1-a", DAY): [2, 1, 1], IssueKey("1-b", DAY): [1, 1, 1]}
    assert changes.tasks == {TaskKey("1-a", DAY, "testing"): [1], TaskKey("1-b", DAY, "testing"): [1]}


@pytest.mark.parametrize(("recovered", "count"), [(True, 1), (False, 0)])
def test_an_issue_counts_the_sessions_that_recovered(recovered: bool, count: int) -> None:
    changes = changes_of(failing(failure(), errors_recovered=recovered))
    assert changes.issues == {IssueKey("1-a", DAY): [1, 1, count]}


def test_a_step_counts_whether_its_failure_was_recovered() -> None:
    made = msgspec.structs.replace(failure(step=Step("terminal", "wget", True)), kind=FailureKind.RECOVERED)
    assert changes_of(failing(made)).steps == {StepKey("1-a", DAY, "terminal", "wget"): [1, 1, 1]}


@pytest.mark.parametrize(
    ("step", "counts"),
    [
        pytest.param(Step("terminal", "wget", True), [1, 1, 0], id="worked"),
        pytest.param(Step("terminal", "wget", False), [1, 0, 0], id="failed"),
        pytest.param(Step("terminal", "wget", None), None, id="not-known"),
        pytest.param(None, None, id="no-step"),
    ],
)
def test_only_a_step_whose_end_is_known_counts(step: Step | None, counts: list[int] | None) -> None:
    changes = changes_of(failing(failure(step=step)))
    assert changes.steps.get(StepKey("1-a", DAY, "terminal", "wget")) == counts
    assert changes.tool_steps.get(ToolStepKey(DAY, "terminal", "terminal", "wget", is_retry=False)) == counts


@pytest.mark.parametrize(
    ("step", "is_retry"),
    [
        pytest.param(Step("terminal", "curl", True), True, id="the-same"),
        pytest.param(Step("terminal", "wget", True), False, id="another-command"),
        pytest.param(Step("browser", "curl", True), False, id="another-tool"),
        pytest.param(Step("terminal", None, True), False, id="no-command"),
    ],
)
def test_the_same_again_is_a_retry(step: Step, is_retry: bool) -> None:
    (key,) = changes_of(failing(failure(step=step))).tool_steps
    assert key == ToolStepKey(DAY, "terminal", step.tool, step.command or "", is_retry)


def test_a_failure_without_a_fingerprint_or_a_tool_counts_where_it_can() -> None:
    step = Step("browser", None, True)
    changes = changes_of(failing(failure(step=step, fingerprint=None), failure(step=step, tool=None)))
    assert changes.steps == {StepKey("1-a", DAY, "browser", ""): [1, 1, 0]}
    assert changes.tool_steps == {ToolStepKey(DAY, "terminal", "browser", "", is_retry=False): [1, 1, 0]}


# -- batches -------------------------------------------------------------------------------------------------------


@given(made=st.lists(grades(), max_size=3), data=st.data())
def test_what_is_added_and_taken_away_leaves_nothing(made: list[Grade], data: st.DataObject) -> None:
    removed = data.draw(st.permutations(made))
    changes = changes_of(*made, removed=tuple(removed))
    assert everything(changes) == [{}] * 6
    assert changes.days == {one.ended_on for one in made}


@pytest.mark.thorough
@given(made=st.lists(grades(), max_size=3), data=st.data())
def test_the_order_of_a_batch_does_not_matter(made: list[Grade], data: st.DataObject) -> None:
    assert everything(changes_of(*made)) == everything(changes_of(*data.draw(st.permutations(made))))


@given(made=st.lists(grades(), min_size=1, max_size=4))
def test_a_batch_is_the_sum_of_its_sessions(made: list[Grade]) -> None:
    whole: dict[GroupKey, list[int]] = {}
    for one in made:
        for key, numbers in changes_of(one).groups().items():
            before = whole.get(key, [0] * len(SUM_NAMES))
            whole[key] = [known + more for known, more in zip(before, numbers, strict=True)]
    assert changes_of(*made).groups() == whole


@pytest.mark.thorough
@given(made=st.lists(grades(), max_size=3))
def test_asking_twice_gives_the_same(made: list[Grade]) -> None:
    changes = changes_of(*made)
    assert changes.groups() == changes.groups()


def test_months_are_sums_of_their_days() -> None:
    days = ["2026-11-01", "2026-11-30", "2026-12-01"]
    changes = changes_of(*[grade(ended_on=day, tools=()) for day in days])
    found = by_month(changes.groups())
    assert {key.day: numbers[0] for key, numbers in found.items() if key.dimension == Dimension.OVERALL} == {
        "2026-11": 2,
        "2026-12": 1,
    }


def test_steps_of_a_month_are_sums_of_its_days() -> None:
    made = [
        msgspec.structs.replace(failing(failure(step=Step("browser", None, True))), ended_on=day)
        for day in ("2026-11-01", "2026-11-30")
    ]
    assert by_month(changes_of(*made).tool_steps) == {
        ToolStepKey("2026-11", "terminal", "browser", "", is_retry=False): [2, 2, 0]
    }


def test_name_of_type_and_model_is_taken_apart_again() -> None:
    assert task_and_model(task_model("debugging", "a × b")) == ("debugging", "a × b")


_DECIDED = (
    *("task_completed", "unsure", "response_quality", "tool_calls_efficient", "verdict_by", "p_completed"),
    *("automatic_completed", "automatic_quality"),
)


def judged_as(one: Grade, judge: Grade) -> Grade:
    return msgspec.structs.replace(one, **{name: getattr(judge, name) for name in _DECIDED})


@given(grades(), grades())
def test_another_verdict_counts_as_if_the_grade_were_counted_anew(one: Grade, judge: Grade) -> None:
    other, revised = judged_as(one, judge), Changes()

    revised.revise(one, other)

    anew = changes_of(other, removed=(one,))
    assert everything(revised) == everything(anew)
    assert revised.days == anew.days
    assert not any(map(any, revised.job_facts.values()))


@pytest.mark.parametrize("kind", [SessionKind.MAIN, SessionKind.CRON])
def test_another_verdict_counts_for_tools_only_in_a_persons_work(kind: SessionKind) -> None:
    one = grade(
        kind=kind, ended_on="2026-11-22", task_completed=True, tools=(ToolUse("terminal", calls=2, failures=0),)
    )
    other, revised = msgspec.structs.replace(one, task_completed=False), Changes()

    revised.revise(one, other)

    assert everything(revised) == everything(changes_of(other, removed=(one,)))


@given(grades(), grades())
def test_what_is_counted_alike_adds_the_same(one: Grade, judge: Grade) -> None:
    other = judged_as(one, judge)

    added, instead = changes_of(one), changes_of(other)

    assert not is_counted_alike(one, other) or vars(added) == vars(instead)
    assert is_counted_alike(one, msgspec.structs.replace(one, reasons=()))


def test_a_task_is_in_the_groups_of_what_it_was_and_met() -> None:
    met = failing(failure(), task_type="coding", tools=(ToolUse("terminal", calls=2, failures=1),))
    found = set(groups_of(met))
    assert {
        (Dimension.OVERALL, ""),
        (Dimension.TASK_TYPE, "coding"),
        (Dimension.TOOL, "terminal"),
        (Dimension.CATEGORY, failure().category),
    } <= found


def test_claims_of_a_day_count_in_its_month() -> None:
    assert ClaimKey("2026-11-22", "tests_passed", "m").of_month() == ClaimKey("2026-11", "tests_passed", "m")


def test_every_session_of_a_group_has_one_verdict() -> None:
    found = Sums(sessions=7, done=3, not_done=2, unanswered=2, unanswered_judged=1).verdicts
    assert found == VerdictCounts(done=3, not_done=2, unsure=3, no_answer=1)
