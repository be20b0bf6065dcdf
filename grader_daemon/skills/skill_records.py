"""Skills of finished tasks, types of task that go worse than the others, and the skill that fits each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final, TypeVar

from grader_daemon.domain.error_groups import StepCount, remedies
from grader_daemon.domain.estimate import Estimate, Figure, figure, proportion, standardised
from grader_daemon.domain.installed import InstalledKind, InstalledSkill, ObservedVersion, SkillUse
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.skills import FEWEST_TASKS, FittingSkill, SkillRecord, SkillTasks
from grader_daemon.patterns.votes import by_request

_FEWEST_SESSIONS: Final = 5
_MOST_FITTING: Final = 3
_HARDLY: Final = 0.05
"""A skill that no larger share of the tasks used is as good as unused."""

_Each = TypeVar("_Each")
_Key = TypeVar("_Key", bound=Hashable)


def skill_records(
    installed: Iterable[InstalledSkill], versions: Iterable[ObservedVersion], tasks: Iterable[FinishedSession]
) -> list[SkillRecord]:
    """Return the record of every skill that lies there or was used, the most used first."""
    lying = _grouped(installed, lambda skill: skill.name)
    seen = _grouped((each for each in versions if each.kind is InstalledKind.SKILL), lambda version: version.name)
    telling = [task for task in tasks if task.skills is not None]
    uses = _grouped(((use, task) for task in telling for use in task.skills or ()), lambda each: each[0].name)
    of_agent = _grouped(telling, lambda task: task.agent)
    records = [
        _record(name, lying.get(name, []), seen.get(name, []), uses.get(name, []), of_agent)
        for name in lying.keys() | uses.keys()
    ]
    return sorted(records, key=lambda each: (-each.used_in, not each.installed, each.name))


def endings_by_type(tasks: Iterable[FinishedSession]) -> dict[str, list[float]]:
    """Return for each type of task which of its tasks ended badly, from 0 to 1.

    Tasks of one request are one a week, with their mean.
    """
    votes: dict[str, list[float]] = {}
    known = (task for task in tasks if task.ended_badly is not None)
    for task_type, same in by_request(known, lambda task: task.task_type):
        votes.setdefault(task_type, []).append(fmean([bool(task.ended_badly) for task in same]))
    return votes


def compared_with_others(task_type: str, endings: Mapping[str, Sequence[float]]) -> Figure:
    """Compare the bad endings of a type (`now`) with those of all others (`before`); without values where too few."""
    others = [ending for each, votes in endings.items() if each != task_type for ending in votes]
    return figure(_rate_of(endings.get(task_type, ())), _rate_of(others))


def fitting_skills(
    words: Mapping[InstalledSkill, Collection[str]], tasks: Iterable[FinishedSession]
) -> tuple[FittingSkill, ...]:
    """Return the sound skills that fit a type of task and are not used there, those with the rarest words first.

    `words` are of each skill's name and description those that are of the type, `tasks` the tasks of the type.
    """
    telling = [task for task in tasks if task.skills is not None]
    skills_with = Counter(word for each in words.values() for word in each)
    rarity = {word: math.log1p(len(words) / skills) for word, skills in skills_with.items()}
    fitting = [_fitting(skill, each, rarity, telling) for skill, each in words.items() if each and not skill.problem]
    unused = [each for each in fitting if each.known_in >= FEWEST_TASKS and each.used_in <= _HARDLY * each.known_in]
    best = sorted(unused, key=lambda each: (-math.fsum(rarity[word] for word in each.words), each.skill.path))
    return tuple(best[:_MOST_FITTING])


def lesson_step(steps: Iterable[StepCount]) -> StepCount | None:
    """Return the remedy of an error that is worth telling, if any: something else than a retry, and better than one."""
    tried = tuple(steps)
    retried = max((step.recovery.value or 0.0 for step in tried if step.is_retry), default=0.0)
    others = [step for step in remedies(tried) if not step.is_retry]
    return next((step for step in others if (step.recovery.low or 0.0) >= retried), None)


def _record(
    name: str,
    lying: list[InstalledSkill],
    seen: list[ObservedVersion],
    uses: list[tuple[SkillUse, FinishedSession]],
    of_agent: Mapping[str | None, Sequence[FinishedSession]],
) -> SkillRecord:
    used = {task.session_id: task for use, task in uses if use.how.is_use}
    agents = {skill.agent for skill in lying} | {task.agent for _, task in uses}
    may_use = of_agent.keys() if any(skill.agent is None for skill in lying) else of_agent.keys() & agents
    known = [task for agent in may_use for task in of_agent[agent]]
    return SkillRecord(
        name=name,
        installed=tuple(lying),
        edited_at=max((version.first_seen for version in seen), default=None),
        versions=len(seen),
        known_in=len(known),
        used_in=len(used),
        uses=dict(Counter(use.how for use, _ in uses).most_common()),
        last_used=max((task.ended_at for task in used.values()), default=None),
        ended_badly=_bad_endings(used.values()),
        task_types=_by_type(known, used),
    )


def _by_type(known: Iterable[FinishedSession], used: Mapping[str, FinishedSession]) -> tuple[SkillTasks, ...]:
    types = {task.task_type for task in used.values()}
    found = []
    for task_type, tasks in _grouped(known, lambda task: task.task_type).items():
        if task_type in types:
            split = _grouped(tasks, lambda task: task.session_id in used)
            others = split.get(False, [])
            found.append(
                SkillTasks(
                    task_type=task_type,
                    used=len(split[True]),
                    ended_badly=_bad_endings(split[True]),
                    others=len(others),
                    ended_badly_of_others=_bad_endings(others),
                )
            )
    return tuple(sorted(found, key=lambda each: (-each.used, each.task_type)))


def _fitting(
    skill: InstalledSkill, words: Iterable[str], rarity: Mapping[str, float], telling: Iterable[FinishedSession]
) -> FittingSkill:
    known = [task for task in telling if skill.agent in (None, task.agent)]
    others = [task for task in known if not uses_skill(task, skill.name)]
    return FittingSkill(
        skill=skill,
        words=tuple(sorted(words, key=lambda word: (-rarity[word], word))),
        used_in=len(known) - len(others),
        known_in=len(known),
        others_ended_badly=sum(task.ended_badly is True for task in others),
    )


def uses_skill(task: FinishedSession, name: str) -> bool:
    """Return whether a task used a skill."""
    return any(use.name == name and use.how.is_use for use in task.skills or ())


def _bad_endings(tasks: Iterable[FinishedSession]) -> Estimate:
    known = [task.ended_badly for task in tasks if task.ended_badly is not None]
    return proportion(sum(known), len(known), fewest=_FEWEST_SESSIONS)


def _rate_of(votes: Sequence[float]) -> Estimate:
    if len(votes) < FEWEST_TASKS:
        return Estimate(sample=len(votes))
    return standardised([(1.0, math.fsum(votes), len(votes))])


def _grouped(every: Iterable[_Each], by: Callable[[_Each], _Key]) -> dict[_Key, list[_Each]]:
    groups: dict[_Key, list[_Each]] = {}
    for each in every:
        groups.setdefault(by(each), []).append(each)
    return groups
