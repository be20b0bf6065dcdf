"""Suggestions for a week, by the rules of the original design: each says which numbers triggered it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from grader_daemon.domain.analysis import Category
from grader_daemon.domain.insight import Concern, Example, Group, Suggestion
from grader_daemon.domain.skills import SkillAdvice
from grader_daemon.reports.numbers import BAD_ENDINGS, EFFICIENCY, RECOVERY, SCORE, estimate_words, value_words

_MANY_BAD_ENDINGS: Final = 0.30
_LOW_EFFICIENCY: Final = 3.0
_LOW_RECOVERY: Final = 0.80
_LOW_TASK_SCORE: Final = 3.0
_FAILURES: Final = 5
_SHARE: Final = 0.20

_BLANK: Final = {
    Category.COMMAND_FAILED.value: (
        "See which commands fail, and what followed: grader-daemon report errors list",
        f"in the category {Category.COMMAND_FAILED}",
    ),
    Category.UNKNOWN.value: (
        "See what these errors say: grader-daemon report errors list",
        f"in the category {Category.UNKNOWN}",
    ),
}
"""Categories that are no advice by themselves: what to do, and what they are."""

_ADVICE: Final = {
    Category.TOOL_NOT_FOUND.value: "tell the agent which tools exist",
    Category.PERMISSION_DENIED.value: "grant the rights it needs, or say where it may write",
    Category.TIMEOUT.value: "give long commands more time, or run them in the background",
    Category.FILE_NOT_FOUND.value: "look up paths before opening files",
    Category.NETWORK_ERROR.value: "check its network, and retry such calls",
    Category.API_ERROR.value: "check limits, keys and the state of the services it calls",
    Category.SYNTAX_ERROR.value: "check scripts and arguments before running them",
}
"""Advice against the other categories, as a rule."""

Examples = Callable[[Example], tuple[str, ...]]
"""Finds up to three sessions that show a concern."""

AdviceOn = Callable[[str], SkillAdvice | None]
"""Finds how a type of task ended in the last 90 days, and what could help; None if nothing is known of skills."""


def suggest(
    overall: Group,
    *,
    task_types: Sequence[Group],
    tools: Sequence[Group],
    categories: Sequence[Group],
    examples: Examples,
    advice_on: AdviceOn,
) -> tuple[Suggestion, ...]:
    """Return the suggestions for a span of days: whole first, then task types, tools and errors."""
    found = (
        *_for_all(overall),
        *_for_task_types(task_types, overall, advice_on),
        *_for_tools(tools),
        *_for_errors(categories, overall.failures),
    )
    return tuple(
        Suggestion(concern=example.of, text=text, because=because, sessions=examples(example))
        for example, text, because in found
    )


def unused_skills(task_types: Sequence[Group], overall: Group, advice_on: AdviceOn) -> Iterator[str]:
    """Yield a sentence on each task type that needs an installed skill which is hardly used there."""
    for group, advice, because in _needs(task_types, overall, advice_on):
        if advice is not None and advice.skills:
            yield f"{_enhancement(group, advice)}. Reason: {because}."


_Found = Iterator[tuple[Example, str, str]]


def _for_all(overall: Group) -> _Found:
    bad = overall.ended_badly.now
    if bad.value is not None and bad.value > _MANY_BAD_ENDINGS:
        because = f"{value_words(bad.value, BAD_ENDINGS)} of {bad.sample} sessions ended badly"
        yield Example(Concern.ENDED_BADLY), "Add pre-task planning steps", because
    efficiency = overall.efficiency.now
    if efficiency.value is not None and efficiency.value < _LOW_EFFICIENCY:
        shown = value_words(efficiency.value, EFFICIENCY)
        because = f"tool efficiency is only {shown} on average over {efficiency.sample} sessions"
        yield Example(Concern.EFFICIENCY), "Review error recovery patterns", because
    recovery = overall.recovery.now
    if recovery.value is not None and recovery.value < _LOW_RECOVERY:
        because = f"only {value_words(recovery.value, RECOVERY)} of {recovery.sample} sessions with failures recovered"
        yield Example(Concern.RECOVERY), "Implement better fallback strategies", because


def _for_task_types(groups: Sequence[Group], overall: Group, advice_on: AdviceOn) -> _Found:
    for group, advice, because in _needs(groups, overall, advice_on):
        yield Example(Concern.TASK_TYPE, group.name), _enhancement(group, advice), because


def _needs(
    groups: Sequence[Group], overall: Group, advice_on: AdviceOn
) -> Iterator[tuple[Group, SkillAdvice | None, str]]:
    """Yield the task types that need help, what could help, and why."""
    for group in groups:
        low_score = _low_score(group)
        advice = advice_on(group.name) if low_score is not None or _ends_worse(group, overall) else None
        because = low_score or _surely_worse(advice)
        if because is not None:
            yield group, advice, because


def _enhancement(group: Group, advice: SkillAdvice | None) -> str:
    return f"Consider skill enhancement for {group.name}{_that_lies_unused(advice)}"


def _low_score(group: Group) -> str | None:
    score = group.score.now
    if score.value is None or score.value >= _LOW_TASK_SCORE:
        return None
    return f"{group.name} scores {value_words(score.value, SCORE)} over {score.sample} sessions with a score"


def _ends_worse(group: Group, overall: Group) -> bool:
    """Return whether a type ended badly more often than the whole, surely or not."""
    of_group, of_all = group.ended_badly.now.value, overall.ended_badly.now.value
    return of_group is not None and of_all is not None and of_group > of_all


def _surely_worse(advice: SkillAdvice | None) -> str | None:
    """Return how much worse a type surely ends for which an unused skill lies here; None for all others."""
    if advice is None or advice.reason is not None or not advice.skills:
        return None
    of_type, of_others = (estimate_words(each, BAD_ENDINGS) for each in (advice.ended_badly, advice.others))
    tasks = f"{advice.ended_badly.sample} tasks of {advice.task_type}"
    return f"in 90 days {of_type} of {tasks} ended badly, {of_others} of those of other types"


def _that_lies_unused(advice: SkillAdvice | None) -> str:
    """Name the skill that fits best."""
    if advice is None or not advice.skills:
        return ""
    best = advice.skills[0]
    return f": the installed skill {best.skill.name} was used in only {best.used_in} of {best.known_in} of its tasks"


def _for_tools(groups: Sequence[Group]) -> _Found:
    for group in groups:
        if group.failures >= _FAILURES and group.failures >= _SHARE * group.calls:
            because = f"{group.failures} of {group.calls} calls of {group.name} failed"
            yield Example(Concern.TOOL, group.name), f"Review usage patterns for {group.name}", because


def _for_errors(groups: Sequence[Group], failures: int) -> _Found:
    for group in groups:
        if group.failures >= _FAILURES and group.failures >= _SHARE * failures:
            text, kind = _BLANK.get(group.name, (_handling(group.name), group.name))
            because = f"{group.failures} of {failures} failures are {kind}"
            yield Example(Concern.ERROR, group.name), text, because


def _handling(category: str) -> str:
    advice = _ADVICE.get(category)
    return f"Add targeted error handling for {category}{'' if advice is None else f': {advice}'}"
