"""Sentences on what could help with a type of task, and the draft of a skill that tells it to agents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from grader_daemon.domain.skills import FEWEST_TASKS, AskedSkill, FittingSkill, Lesson, SkillAdvice, SkillReason
from grader_daemon.domain.text import count
from grader_daemon.reports.numbers import BAD_ENDINGS, COMPLETION, estimate_words, interval_words
from grader_daemon.reports.phrasing import call, examples, step_words
from grader_daemon.reports.safe_text import LONGEST_LINE, Words, joined, name

_MOST_WORDS: Final = 4
_ORDINARY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/+-]{0,79}")
"""Pattern of a tool's or command's name in a draft: agents will read it, so no name may give them orders."""


def asked_words(asked: AskedSkill) -> Words:
    """Return what a skill that was asked for is about, and whether it was used there."""
    types = joined([(name(each),) for each in asked.task_types], ", ")
    if not asked.is_installed:
        return ("No skill ", name(asked.name), " is installed; by its name it would be for ", *types, ".")
    used = f"; used in {asked.used_in:,} of {count(asked.known_in, 'task')} of "
    return ("The skill ", name(asked.name), " is for ", *types, used, name(asked.task_types[0]), " that record skills.")


def need_words(advice: SkillAdvice) -> Words:
    """Return how a type of task goes beside the others, and whether that asks for help."""
    tasks = f"{count(advice.ended_badly.sample, 'task')} of ", name(advice.task_type)
    if advice.reason is SkillReason.TOO_FEW:
        others = f" and {advice.others.sample:,} of other types: each needs {FEWEST_TASKS}."
        return ("Too few: ", *tasks, others)
    rates = f": {estimate_words(advice.ended_badly, BAD_ENDINGS)} ended badly; of other types "
    compared = f"{estimate_words(advice.others, BAD_ENDINGS)} of {advice.others.sample:,}."
    is_worse = advice.reason is not SkillReason.NOT_WORSE
    verdict = " That is clearly more." if is_worse else " That is not clearly more: nothing is suggested."
    return (*tasks, rates, compared, verdict)


def advice_lines(advice: SkillAdvice) -> Iterator[Words]:
    """Yield a sentence for each skill or step that could help, or one that nothing fits."""
    if advice.reason is SkillReason.NOTHING_FITS:
        yield ("No unused skill fits, and no step is known that clearly helps after its errors.",)
    for fitting in advice.skills:
        yield _fitting_words(fitting, is_suggested=advice.reason is None)
    for lesson in advice.lessons:
        yield lesson_words(lesson)


def lesson_words(lesson: Lesson) -> Words:
    """Return what surely helps after a failure, with the sessions that prove it."""
    weight = f" ({lesson.category}, {count(lesson.failures, 'failure')} in {count(lesson.sessions, 'session')})"
    odds = f" ({interval_words(lesson.step.recovery, COMPLETION)}); "
    proof = joined(list(examples("as in", lesson.proof)), "")
    return (
        "Write a skill: after ",
        *call(lesson.tool, lesson.command),
        weight,
        " this helped: ",
        *step_words(lesson.step),
        odds,
        *proof,
        ".",
    )


def skill_draft(advice: SkillAdvice) -> str | None:
    """Return a ``SKILL.md`` that tells the lessons; None where no lesson can be told in ordinary names.

    Agents will read it. Nothing of what sessions said stands in it, only names of tools and commands that are plain.
    """
    told = [
        (failed, step, lesson)
        for lesson in advice.lessons
        if (failed := _ordinary(lesson.tool, lesson.command)) is not None
        and (step := _ordinary(lesson.step.tool, lesson.step.command)) is not None
    ]
    kind = _ordinary(advice.task_type, None)
    if not told or kind is None:
        return None
    lines = [
        f"- After `{failed}` fails ({lesson.category}): use `{step}`. The failed call then worked in"
        f" {lesson.step.recovered:,} of {count(lesson.step.tries, 'try', 'tries')}."
        for failed, step, lesson in told
    ]
    failing = ", ".join(dict.fromkeys(failed for failed, _, _ in told))
    return "\n".join(
        (
            "---",
            f"name: {re.sub(r'[^a-z0-9]+', '-', kind.lower()).strip('-')}-failures",
            f"description: What works after errors in {kind} tasks. Use it when one of these fails: {failing}",
            "---",
            "",
            f"# After errors in {kind} tasks",
            "",
            *lines,
        )
    )


def _fitting_words(fitting: FittingSkill, *, is_suggested: bool) -> Words:
    skill = fitting.skill
    words = joined([(name(word),) for word in fitting.words[:_MOST_WORDS]], ", ")
    others = f"{fitting.others_ended_badly:,} of the other {fitting.known_in - fitting.used_in:,} ended badly."
    used = f"; used in {fitting.used_in:,} of {count(fitting.known_in, 'task')} that record skills; {others}"
    return (
        "Try the skill " if is_suggested else "Installed skill: ",
        name(skill.name),
        ", which mentions ",
        *words,
        used,
        " Its folder: ",
        name(skill.path, LONGEST_LINE),
        ".",
    )


def _ordinary(tool: str | None, command: str | None) -> str | None:
    """Return a tool and its command if both have names as programs have; else None."""
    said = " ".join(part for part in (tool, command) if part)
    return said if _ORDINARY.fullmatch(said) else None
