"""``skills`` and ``changes``: the skills of agents and their use, and what changed in how agents are set up."""

from __future__ import annotations

from datetime import datetime

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.groups import GroupWithDefault
from grader_daemon.cli.options import asks, json_option, since_options
from grader_daemon.cli.times import shown_zone
from grader_daemon.domain.setup_changes import SetupChanges
from grader_daemon.domain.skills import SkillDetail, SkillRecord, Skills
from grader_daemon.domain.text import clean, count
from grader_daemon.errors import InputError
from grader_daemon.reports.effect_words import basis_words, effect_lines, effect_title, examined_words, unsteady_words
from grader_daemon.reports.numbers import BAD_ENDINGS, estimate_words
from grader_daemon.reports.safe_text import plain
from grader_daemon.skills.skill_words import advice_lines, asked_words, need_words, skill_draft
from grader_daemon.wings import rows_below

_SHORT_DIGEST = 8


@click.group("skills", cls=GroupWithDefault)
def command() -> None:
    """Show the agents' skills and their use. Without a subcommand, it lists them."""


@command.command("list")
@asks
@json_option
def list_(*, grader: SelfGrader, as_json: bool) -> None:
    """List the skills on this machine and those used in the last 90 days, the most used first."""
    skills = grader.setup.skills()
    output.shown(skills, _print, as_json=as_json)


@command.command("show")
@asks
@click.argument("name")
@json_option
def show(*, grader: SelfGrader, name: str, as_json: bool) -> None:
    """Show one skill: its path, use and versions, and the results since each version."""
    detail = grader.setup.skill(name)
    output.shown(detail, _print_detail, as_json=as_json)


@command.command("suggest")
@asks
@click.argument("name")
@click.option(
    "--draft",
    is_flag=True,
    help="Print a SKILL.md with the steps that work after errors. This does not install the skill.",
)
@json_option
def suggest(*, grader: SelfGrader, name: str, draft: bool, as_json: bool) -> None:
    """Suggest a skill for a task type whose tasks clearly end badly more often than others.

    It suggests an existing skill that these tasks hardly use, or a new skill with steps that reliably work after an
    error, and names three sessions in which they worked. NAME is a task type, or a skill (existing or not) to check
    whether its tasks need help.
    """
    if draft and as_json:
        raise click.UsageError("give --draft or --json, not both")
    advice = grader.recommend_skill(name)
    if as_json:
        output.document(advice)
    elif draft:
        text = skill_draft(advice)
        if text is None:
            raise InputError(f"nothing to write a skill of: {plain(need_words(advice))}")
        output.line(text)
    else:
        if advice.asked is not None:
            output.paragraph("", plain(asked_words(advice.asked)))
        output.paragraph("", plain(need_words(advice)))
        for words in advice_lines(advice):
            output.paragraph("", output.from_home(plain(words)))


@click.group("changes", cls=GroupWithDefault, rows=rows_below("changes"))
def changes() -> None:
    """Show changes in the set-up of agents and their effect, or measure one in a trial.

    `changes` alone does the same as `changes list`, and takes its options.
    """


@changes.command("list")
@asks
@since_options
@json_option
def list_changes(*, grader: SelfGrader, since: datetime | None, as_json: bool) -> None:
    """Show changes in the set-up of agents, and results before and after each, for the last 90 days.

    It finds models, versions, system prompts and tools in sessions, and skills and configuration files on disk. It
    compares only tasks of the same type and platform, so that a different mix of tasks makes no difference.
    """
    found = grader.setup.changes() if since is None else grader.setup.changes(since)
    output.shown(found, _print_changes, as_json=as_json)


def _print(skills: Skills) -> None:
    output.line(f"{count(skills.tasks, 'finished task')} of the last 90 days examined.")
    if not skills.skills:
        output.line("No skill is installed or was used.")
        return
    output.line()
    output.items(
        skills.skills,
        ("skill", lambda skill: skill.name),
        ("of", _owners),
        ("used in", _used),
        ("bad endings", lambda skill: None if not skill.used_in else estimate_words(skill.ended_badly, BAD_ENDINGS)),
        ("last used", lambda skill: skill.last_used),
        ("version since", lambda skill: skill.edited_at),
        may_drop=("version since", "last used", "of"),
    )
    problems = _problems(skills)
    if problems:
        output.line()
    for problem in problems:
        output.paragraph("", problem)


def _owners(skill: SkillRecord) -> str:
    owners = dict.fromkeys(each.agent or "all" for each in skill.installed)
    return ", ".join(owners) or "not here"


def _used(skill: SkillRecord) -> str | None:
    return f"{skill.used_in:,} of {skill.known_in:,}" if skill.known_in else None


def _problems(skills: Skills) -> list[str]:
    installed = [each for skill in skills.skills for each in skill.installed]
    return [output.from_home(f"{clean(each.path)}: {each.problem}") for each in installed if each.problem]


def _print_detail(detail: SkillDetail) -> None:
    skill = detail.skill
    places = [
        f"{output.from_home(each.path)}{' (came with the agent)' if each.bundled else ''}" for each in skill.installed
    ]
    ways = ", ".join(f"{how} {tasks:,}" for how, tasks in skill.uses.items())
    output.facts(
        [
            ("skill", skill.name),
            ("says", next((each.description for each in skill.installed if each.description), None)),
            ("folder", ", ".join(places) or "not installed"),
            ("of", _owners(skill)),
            ("used in", _used(skill)),
            ("how", ways),
            ("bad endings", estimate_words(skill.ended_badly, BAD_ENDINGS) if skill.used_in else None),
            ("last used", skill.last_used),
        ]
    )
    if skill.task_types:
        output.line()
        output.items(
            skill.task_types,
            ("task type", lambda each: each.task_type),
            ("used in", lambda each: each.used),
            ("bad endings", lambda each: estimate_words(each.ended_badly, BAD_ENDINGS)),
            ("not used in", lambda each: each.others),
            ("bad endings without it", lambda each: estimate_words(each.ended_badly_of_others, BAD_ENDINGS)),
        )
        output.paragraph("", "Agents choose what they use, so a difference does not prove an effect of the skill.")
    if detail.versions:
        output.line()
        output.items(
            detail.versions,
            ("noticed", lambda version: version.first_seen),
            ("last seen", lambda version: version.last_seen),
            ("bytes", lambda version: version.bytes),
            ("digest", lambda version: version.digest[:_SHORT_DIGEST]),
            ("in", lambda version: version.path),
        )
    for effect in detail.effects:
        output.line()
        output.paragraph("", plain(effect_title(effect)))
        for words in effect_lines(effect, shown_zone()):
            output.paragraph("  ", plain(words))


def _print_changes(changes: SetupChanges) -> None:
    output.paragraph("", examined_words(changes, shown_zone()))
    for effect in changes.effects:
        output.line()
        output.paragraph("", plain(effect_title(effect)))
        for words in effect_lines(effect, shown_zone()):
            output.paragraph("  ", plain(words))
    basis = basis_words(changes.effects)
    if basis is not None:
        output.line()
        output.paragraph("", basis)
    if not changes.effects:
        output.line("Sessions and files show no changes.")
    if changes.unsteady:
        output.line()
    for each in changes.unsteady:
        output.paragraph("", plain(unsteady_words(each)))
