from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from grader_daemon.domain.analysis import Category
from grader_daemon.domain.estimate import figure, proportion
from grader_daemon.domain.insight import Concern, Example, Group, Suggestion
from grader_daemon.domain.installed import InstalledSkill
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.domain.skills import FittingSkill, SkillAdvice, SkillReason
from grader_daemon.patterns.groups import group
from grader_daemon.reports.suggestions import suggest, unused_skills

PLANNING = "Add pre-task planning steps"
PATTERNS = "Review error recovery patterns"
FALLBACKS = "Implement better fallback strategies"
FINE = Sums(sessions=10, completed=10, efficiency=50, efficiency_squares=250, quality=50, quality_squares=250)


def of(sums: Sums, dimension: Dimension = Dimension.OVERALL, name: str = "") -> Group:
    return group({(dimension, name): sums}, {}, dimension, name)


def shown_by(why: Example) -> tuple[str, ...]:
    return (f"{why.of}:{why.name or ''}",)


def suggested(
    overall: Sums = FINE,
    *,
    task_types: tuple[Group, ...] = (),
    tools: tuple[Group, ...] = (),
    categories: tuple[Group, ...] = (),
    advice: SkillAdvice | None = None,
) -> tuple[Suggestion, ...]:
    return suggest(
        of(overall),
        task_types=task_types,
        tools=tools,
        categories=categories,
        examples=shown_by,
        advice_on=lambda _: advice,
    )


def texts(found: tuple[Suggestion, ...]) -> list[str]:
    return [each.text for each in found]


def rated(part: int, whole: int, *, what: str) -> Sums:
    """Sessions of efficiency 5, of which `part` of `whole` did not end badly (or recovered)."""
    counts = {
        "ended well": {"sessions": whole, "recorded": whole, "ended_badly": whole - part},
        "recovered": {"sessions": 100, "completed": 100, "with_errors": whole, "recovered": part},
    }[what]
    sessions = counts["sessions"]
    return Sums(**counts, efficiency=5 * sessions, efficiency_squares=25 * sessions)


def test_a_good_week_has_no_suggestions() -> None:
    assert suggested() == ()


def test_a_week_without_sessions_has_no_suggestions() -> None:
    assert suggested(Sums()) == ()


TRACE = FittingSkill(
    skill=InstalledSkill(name="trace", description=None, agent=None, path="/s", bundled=False, problem=None),
    words=("test",),
    used_in=1,
    known_in=40,
    others_ended_badly=29,
)
USE_TRACE = "Consider skill enhancement for testing: the installed skill trace was used in only 1 of 40 of its tasks"


def advised(reason: SkillReason | None, *skills: FittingSkill) -> SkillAdvice:
    rates = proportion(30, 40), proportion(4, 40)
    return SkillAdvice(
        task_type="testing",
        ended_badly=rates[0],
        others=rates[1],
        difference=figure(*rates).change,
        reason=reason,
        skills=skills,
        lessons=(),
    )


def test_a_skill_that_lies_here_unused_is_named_with_its_type() -> None:
    bad = of(
        Sums(sessions=5, efficiency=10, efficiency_squares=20, quality=5, quality_squares=5),
        Dimension.TASK_TYPE,
        "testing",
    )
    [found] = suggested(task_types=(bad,), advice=advised(SkillReason.NOT_WORSE, TRACE))
    assert found.text == USE_TRACE


def test_only_a_type_with_an_unused_skill_has_a_sentence_of_its_own() -> None:
    overall = replace(FINE, recorded=10, ended_badly=2)
    worse = (of(replace(FINE, recorded=10, ended_badly=3), Dimension.TASK_TYPE, "testing"),)

    [said] = unused_skills(worse, of(overall), lambda _: advised(None, TRACE))
    assert said.startswith(f"{USE_TRACE}. Reason: in 90 days 75 %")
    poor = Sums(sessions=5, efficiency=10, efficiency_squares=20, quality=5, quality_squares=5)
    assert list(unused_skills((of(poor, Dimension.TASK_TYPE, "testing"),), of(overall), lambda _: None)) == []


@pytest.mark.parametrize(
    ("bad", "advice", "told"),
    [
        pytest.param(3, advised(None, TRACE), True, id="surely-worse"),
        pytest.param(3, advised(SkillReason.NOT_WORSE, TRACE), False, id="not-surely-worse"),
        pytest.param(3, advised(SkillReason.TOO_FEW, TRACE), False, id="too-few-tasks"),
        pytest.param(3, advised(None), False, id="no-skill-fits"),
        pytest.param(3, None, False, id="nothing-known-of-skills"),
        pytest.param(2, advised(None, TRACE), False, id="as-good-as-all-this-week"),
    ],
)
def test_a_skill_is_named_for_a_type_that_surely_ends_badly_more_often(
    bad: int, advice: SkillAdvice | None, *, told: bool
) -> None:
    overall = replace(FINE, recorded=10, ended_badly=2)
    testing = replace(FINE, recorded=10, ended_badly=bad)
    found = suggested(overall, task_types=(of(testing, Dimension.TASK_TYPE, "testing"),), advice=advice)
    assert texts(found) == ([USE_TRACE] if told else [])
    assert [each.because for each in found] == [
        "in 90 days 75 % (60–86 %) of 40 tasks of testing ended badly, 10 % (4–23 %) of those of other types"
    ] * len(found)


@pytest.mark.parametrize(
    ("what", "text", "concern"),
    [
        pytest.param("ended well", PLANNING, Concern.ENDED_BADLY, id="bad-endings"),
        pytest.param("recovered", FALLBACKS, Concern.RECOVERY, id="recovery"),
    ],
)
@given(whole=st.integers(3, 400), data=st.data())
def test_a_rate_below_its_threshold_is_told_and_none_at_it(
    what: str, text: str, concern: Concern, whole: int, data: st.DataObject
) -> None:
    part = data.draw(st.integers(0, whole))
    percent = 70 if what == "ended well" else 80
    found = suggested(rated(part, whole, what=what))
    assert [(each.text, each.concern) for each in found] == ([(text, concern)] if 100 * part < percent * whole else [])


@pytest.mark.parametrize(
    ("part", "whole", "told"),
    [
        pytest.param(699, 1000, True, id="just-below"),
        pytest.param(7, 10, False, id="at-it"),
        pytest.param(701, 1000, False, id="just-above"),
        pytest.param(0, 3, True, id="three-sessions"),
        pytest.param(0, 2, False, id="too-few-sessions"),
    ],
)
def test_bad_endings_above_30_percent(part: int, whole: int, told: bool) -> None:
    assert texts(suggested(rated(part, whole, what="ended well"))) == ([PLANNING] if told else [])


@pytest.mark.parametrize(
    ("part", "whole", "told"),
    [
        pytest.param(799, 1000, True, id="just-below"),
        pytest.param(8, 10, False, id="at-it"),
        pytest.param(801, 1000, False, id="just-above"),
        pytest.param(0, 2, False, id="too-few-sessions-with-failures"),
        pytest.param(0, 0, False, id="no-sessions-with-failures"),
    ],
)
def test_recovery_below_80_percent(part: int, whole: int, told: bool) -> None:
    assert texts(suggested(rated(part, whole, what="recovered"))) == ([FALLBACKS] if told else [])


@pytest.mark.parametrize(
    ("efficiency", "sessions", "told"),
    [
        pytest.param(299, 100, True, id="just-below"),
        pytest.param(300, 100, False, id="at-it"),
        pytest.param(301, 100, False, id="just-above"),
        pytest.param(21, 7, False, id="at-it-with-seven"),
        pytest.param(2, 2, False, id="too-few-sessions"),
    ],
)
def test_efficiency_below_3(efficiency: int, sessions: int, told: bool) -> None:
    sums = Sums(sessions=sessions, completed=sessions, efficiency=efficiency, efficiency_squares=efficiency * 5)
    assert texts(suggested(sums)) == ([PATTERNS] if told else [])


@pytest.mark.parametrize(
    ("thrice", "sessions", "told"),
    [
        pytest.param(26, 3, True, id="just-below"),
        pytest.param(27, 3, False, id="at-it"),
        pytest.param(28, 3, False, id="just-above"),
        pytest.param(6, 2, False, id="two-sessions"),
    ],
)
def test_a_task_type_below_3_with_three_sessions(thrice: int, sessions: int, told: bool) -> None:
    sums = Sums(sessions=sessions, efficiency=thrice - 2 * sessions, quality=sessions, score_squares=thrice**2)
    found = suggested(task_types=(of(sums, Dimension.TASK_TYPE, "testing"),))
    assert texts(found) == (["Consider skill enhancement for testing"] if told else [])


@pytest.mark.parametrize(
    ("failures", "calls", "told"),
    [
        pytest.param(4, 4, False, id="four-failures"),
        pytest.param(5, 5, True, id="five-failures"),
        pytest.param(5, 25, True, id="a-fifth-of-the-calls"),
        pytest.param(5, 26, False, id="less-than-a-fifth"),
        pytest.param(199, 1000, False, id="just-less-than-a-fifth"),
        pytest.param(200, 1000, True, id="a-fifth-of-many"),
    ],
)
def test_a_tool_with_five_failures_in_a_fifth_of_its_calls(failures: int, calls: int, told: bool) -> None:
    sums = Sums(sessions=3, calls=calls, calls_squares=calls**2, failures=failures)
    found = suggested(tools=(of(sums, Dimension.TOOL, "terminal"),))
    assert texts(found) == (["Review usage patterns for terminal"] if told else [])


@pytest.mark.parametrize(
    ("failures", "all_failures", "told"),
    [
        pytest.param(4, 4, False, id="four-failures"),
        pytest.param(5, 5, True, id="five-failures"),
        pytest.param(5, 25, True, id="a-fifth-of-the-failures"),
        pytest.param(5, 26, False, id="less-than-a-fifth"),
        pytest.param(199, 1000, False, id="just-less-than-a-fifth"),
    ],
)
def test_an_error_with_five_failures_that_are_a_fifth_of_all(failures: int, all_failures: int, told: bool) -> None:
    overall = Sums(sessions=10, completed=10, efficiency=50, efficiency_squares=250, failures=all_failures)
    sums = Sums(sessions=3, failures=failures)
    found = suggested(overall, categories=(of(sums, Dimension.CATEGORY, "timeout"),))
    assert texts(found) == (
        ["Add targeted error handling for timeout: give long commands more time, or run them in the background"]
        if told
        else []
    )


@pytest.mark.parametrize(
    ("category", "text", "because"),
    [
        pytest.param(
            "unknown",
            "See what these errors say: grader-daemon report errors list",
            "9 of 20 failures are in the category unknown",
            id="unknown",
        ),
        pytest.param(
            "command_failed",
            "See which commands fail, and what followed: grader-daemon report errors list",
            "9 of 20 failures are in the category command_failed",
            id="command-failed",
        ),
    ],
)
def test_a_category_that_says_nothing_is_no_advice(category: str, text: str, because: str) -> None:
    overall = Sums(sessions=10, completed=10, efficiency=50, efficiency_squares=250, failures=20)
    [found] = suggested(overall, categories=(of(Sums(sessions=3, failures=9), Dimension.CATEGORY, category),))
    assert (found.text, found.because) == (text, because)


@given(fifth=st.integers(1, 10**6), more=st.integers(-1, 1))
def test_the_fifth_is_exact(fifth: int, more: int) -> None:
    failures, calls = fifth + more, 5 * fifth
    sums = Sums(sessions=3, calls=calls, calls_squares=calls**2, failures=failures)
    told = bool(suggested(tools=(of(sums, Dimension.TOOL, "x"),)))
    assert told == (failures >= 5 and 5 * failures >= calls)


def bad_week() -> tuple[Suggestion, ...]:
    overall = Sums(
        sessions=10, recorded=10, ended_badly=4, with_errors=10, efficiency=20, efficiency_squares=40, failures=50
    )
    bad = Sums(sessions=3, efficiency=3, quality=3, calls=9, calls_squares=27, failures=9)
    return suggested(
        overall,
        task_types=(of(bad, Dimension.TASK_TYPE, "testing"), of(bad, Dimension.TASK_TYPE, "research")),
        tools=(of(bad, Dimension.TOOL, "terminal"), of(bad, Dimension.TOOL, "browser")),
        categories=(of(Sums(sessions=3, failures=50), Dimension.CATEGORY, "timeout"),),
    )


def test_each_category_has_advice_of_its_own() -> None:
    overall = Sums(sessions=10, completed=10, efficiency=50, efficiency_squares=250, failures=5)
    told = [
        text
        for category in Category
        for text in texts(suggested(overall, categories=(of(Sums(failures=5), Dimension.CATEGORY, category.value),)))
    ]
    assert len(set(told)) == len(Category)
    assert all(": " in text for text in told)


def test_the_whole_comes_before_its_parts_and_those_in_the_order_given() -> None:
    assert texts(bad_week()) == [
        PLANNING,
        PATTERNS,
        FALLBACKS,
        "Consider skill enhancement for testing",
        "Consider skill enhancement for research",
        "Review usage patterns for terminal",
        "Review usage patterns for browser",
        "Add targeted error handling for timeout: give long commands more time, or run them in the background",
    ]


def test_each_suggestion_has_the_sessions_that_show_its_own_concern() -> None:
    assert [each.sessions for each in bad_week()] == [
        ("ended_badly:",),
        ("efficiency:",),
        ("recovery:",),
        ("task_type:testing",),
        ("task_type:research",),
        ("tool:terminal",),
        ("tool:browser",),
        ("error:timeout",),
    ]


def test_each_suggestion_says_the_numbers_that_triggered_it() -> None:
    because = [each.because for each in bad_week()]
    assert all("10 sessions" in each for each in because[:3])
    assert all("3 sessions" in each for each in because[3:5])
    assert all("9 of 9 calls" in each for each in because[5:7])
    assert "50 of 50 failures" in because[7]
