"""What sessions did with skills, whether a type of task goes worse than the others, and which skill fits it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from grader_daemon.domain.error_groups import StepCount
from grader_daemon.domain.estimate import proportion
from grader_daemon.domain.installed import InstalledKind, InstalledSkill, ObservedVersion, SkillHow, SkillUse
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.skills import FittingSkill, SkillRecord
from grader_daemon.skills.skill_records import (
    compared_with_others,
    endings_by_type,
    fitting_skills,
    lesson_step,
    skill_records,
)
from tests.routed import finished, several
from tests.strategies import NOW

HOUR = timedelta(hours=1)


def lying(name: str = "deploy", **changes: object) -> InstalledSkill:
    told = {"description": None, "agent": "hermes", "path": f"/skills/{name}", "bundled": False, "problem": None}
    return InstalledSkill(name=name, **(told | changes))  # type: ignore[arg-type]


def using(*uses: tuple[str, SkillHow], **changes: object) -> FinishedSession:
    return finished(agent="hermes", skills=tuple(SkillUse(*use) for use in uses), **changes)


def version(name: str, kind: InstalledKind = InstalledKind.SKILL, *, hours_ago: int = 0) -> ObservedVersion:
    return ObservedVersion(
        kind=kind,
        name=name,
        agent="hermes",
        path=f"/skills/{name}",
        digest=f"{hours_ago:032}",
        bytes=9,
        written_at=NOW,
        first_seen=NOW - hours_ago * HOUR,
        last_seen=NOW,
    )


def record(*tasks: FinishedSession, installed: InstalledSkill | None = None) -> SkillRecord:
    return skill_records([installed or lying()], [], tasks)[0]


# -- what was used ---------------------------------------------------------------------------------------------------


def test_a_skill_was_used_by_those_that_loaded_it_of_those_that_tell() -> None:
    found = record(
        using(("deploy", SkillHow.VIEW), ("deploy", SkillHow.COMMAND), ended_at=NOW - HOUR),
        using(("deploy", SkillHow.MANAGE)),
        using(),
        finished(agent="hermes", skills=None),
        finished(agent="codex", skills=()),
    )

    assert (found.used_in, found.known_in) == (1, 3)
    assert found.uses == {SkillHow.VIEW: 1, SkillHow.COMMAND: 1, SkillHow.MANAGE: 1}
    assert found.last_used == NOW - HOUR


def test_what_no_session_used_is_unused_and_not_unknown() -> None:
    found = record(using())

    assert (found.used_in, found.known_in, found.uses, found.last_used) == (0, 1, {}, None)
    assert found.task_types == ()


def test_a_skill_of_nobody_may_be_used_by_all() -> None:
    found = record(using(), finished(agent="codex", skills=()), installed=lying(agent=None))

    assert found.known_in == 2


def test_a_skill_that_does_not_lie_here_is_known_by_its_uses() -> None:
    [found] = skill_records([], [], [using(("pdf", SkillHow.VIEW)), finished(agent="codex", skills=())])

    assert (found.name, found.installed, found.used_in, found.known_in) == ("pdf", (), 1, 1)


def test_versions_are_those_of_skills_with_the_name() -> None:
    seen = [
        version("deploy", hours_ago=9),
        version("deploy", hours_ago=2),
        version("deploy", InstalledKind.CONFIGURATION, hours_ago=1),
        version("gone"),
    ]
    [found] = skill_records([lying()], seen, [])

    assert (found.versions, found.edited_at) == (2, NOW - 2 * HOUR)


def test_the_most_used_stand_first_then_those_that_lie_here() -> None:
    tasks = [using(("a", SkillHow.VIEW), ("b", SkillHow.VIEW)), using(("a", SkillHow.VIEW))]

    names = [each.name for each in skill_records([lying("z"), lying("b"), lying("c")], [], tasks)]
    assert names == ["a", "b", "c", "z"]


def test_each_type_is_split_by_the_use_and_few_have_no_rate() -> None:
    tasks = [
        *(using(("deploy", SkillHow.VIEW), ended_badly=number < 3) for number in range(6)),
        *(using(ended_badly=number < 1) for number in range(5)),
        *(using(task_type="research") for _ in range(4)),
        using(("deploy", SkillHow.VIEW), task_type="testing"),
    ]
    debugging, testing = record(*tasks).task_types

    assert (debugging.task_type, debugging.used, debugging.others) == ("debugging", 6, 5)
    assert (debugging.ended_badly.value, debugging.ended_badly_of_others.value) == (0.5, 0.2)
    assert (testing.used, testing.others, testing.ended_badly.value) == (1, 0, None)


# -- whether a type needs one ----------------------------------------------------------------------------------------


def difference(mine: list[FinishedSession], others: list[FinishedSession]) -> tuple[float | None, int, int]:
    tasks = [task._replace(ended_badly=not task.completed) for task in (*mine, *others)]
    found = compared_with_others("debugging", endings_by_type(tasks))
    return found.change.low, found.now.sample, found.before.sample


def test_a_type_is_compared_with_all_others() -> None:
    low, *samples = difference(several(60, 20), several(90, 70, task_type="research"))

    assert samples == [60, 90]
    assert low is not None
    assert low > 0


@pytest.mark.parametrize(("mine", "others"), [(19, 40), (40, 19)])
def test_too_few_tell_nothing(mine: int, others: int) -> None:
    assert difference(several(mine, 0), several(others, others, task_type="research"))[0] is None


def test_one_request_asked_all_day_is_one_vote() -> None:
    low, sample, _ = difference(several(60, 0, request=7), several(40, 40, task_type="research"))

    assert (low, sample) == (None, 1)


# -- what could help -------------------------------------------------------------------------------------------------

TASKS = [using() for _ in range(40)]


def fitting(*skills: InstalledSkill, tasks: list[FinishedSession] = TASKS) -> tuple[FittingSkill, ...]:
    words = {skill: (skill.description or "").split() for skill in skills}
    return fitting_skills(words, tasks)


def test_skills_with_rare_words_stand_first_and_three_are_enough() -> None:
    skills = [
        *(lying(name, description="fix") for name in "abc"),
        lying("d", description="fix pytest"),
        lying("e", description="traceback"),
    ]

    found = fitting(*skills)
    assert [each.skill.name for each in found] == ["d", "e", "a"]
    assert found[0].words == ("pytest", "fix")
    assert (found[0].used_in, found[0].known_in) == (0, 40)


@pytest.mark.parametrize(
    "skill",
    [
        pytest.param(lying(description=None), id="about-something-else"),
        pytest.param(lying(description="fix", problem="no name"), id="not-sound"),
        pytest.param(lying(description="fix", agent="codex"), id="of-an-agent-without-tasks"),
    ],
)
def test_what_does_not_fit_is_not_suggested(skill: InstalledSkill) -> None:
    assert fitting(skill) == ()


@pytest.mark.parametrize(("used", "is_suggested"), [(2, True), (3, False)])
def test_what_more_than_one_in_twenty_use_is_used_there(used: int, *, is_suggested: bool) -> None:
    tasks = [using(("deploy", SkillHow.VIEW)) for _ in range(used)] + TASKS[used:]

    assert bool(fitting(lying(description="fix"), tasks=tasks)) is is_suggested


def test_of_too_few_that_tell_nothing_is_unused() -> None:
    silent = [finished(agent="hermes", skills=None) for _ in range(40)]

    assert fitting(lying(description="fix"), tasks=[*TASKS[:19], *silent]) == ()


def step(command: str, worked: int, tries: int, *, is_retry: bool = False) -> StepCount:
    return StepCount(
        tool="terminal",
        command=command,
        is_retry=is_retry,
        tries=tries,
        worked=worked,
        rate=proportion(worked, tries, fewest=5),
        recovered=worked,
        recovery=proportion(worked, tries, fewest=5),
    )


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        pytest.param([], None, id="nothing-tried"),
        pytest.param([step("a", 9, 9), step("b", 40, 40), step("c", 0, 40)], "b", id="the-surest"),
        pytest.param([step("a", 6, 9)], None, id="not-surely-mostly"),
        pytest.param([step("a", 4, 4)], None, id="too-few"),
        pytest.param([step("a", 9, 9, is_retry=True)], None, id="a-retry-is-no-lesson"),
        pytest.param([step("a", 9, 9), step("r", 9, 10, is_retry=True)], None, id="no-better-than-a-retry"),
        pytest.param([step("a", 9, 9), step("r", 2, 3, is_retry=True)], "a", id="few-retries-tell-nothing"),
    ],
)
def test_a_lesson_is_something_else_that_surely_helps(steps: list[StepCount], told: str | None) -> None:
    found = lesson_step(steps)

    assert (None if found is None else found.command) == told
