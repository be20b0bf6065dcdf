"""``sources``: whose sessions lie on this machine, having them graded or not, and files to forget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from grader_daemon.api.forget import Fate, Forgotten
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter
from grader_daemon.api.source_switches import Switched, disable_source, enable_source
from grader_daemon.api.sources import OTHERS_PAGE, FoundSource, found_sources, other_agents
from grader_daemon.api.ungraded import SourceState
from grader_daemon.cli import output
from grader_daemon.cli.groups import GroupWithDefault
from grader_daemon.cli.options import asks, config_flag, json_option, settings_options
from grader_daemon.cli.source_name import SourceName
from grader_daemon.cli.status import counted
from grader_daemon.domain.text import clean

_STATES = {SourceState.ENABLED: "graded", SourceState.NOT_ENABLED: "not graded", SourceState.DECLINED: "declined"}
UNKNOWN_WORDS = {
    "agent_version": "agent version",
    "cost_usd": "cost",
    "ending": "end of the session",
    "finish_reason": "reason for the end of an answer",
    "kind": "how it was started",
    "message_times": "times of messages",
    "model": "the model",
    "parent": "parent session",
    "platform": "platform",
    "project": "project folder",
    "reported": "status of tool calls",
    "started_at": "start time",
    "system_prompt_digest": "system prompt",
    "taken_back": "undone messages",
    "tool_call_id": "call of each result",
    "tool_name": "",
    "tools_digest": "list of tools",
    "updated_at": "time of the last write",
    "usage": "tokens",
}
"""Fields of a session in words; those without any are of no use to people."""

_FATES = {
    Fate.FORGOTTEN: "forgotten",
    Fate.UNKNOWN: "unknown, so there is nothing to forget",
    Fate.GRADED: "graded, so nothing was forgotten",
}


@click.group("sources", cls=GroupWithDefault)
def command() -> None:
    """List the agents found on this machine, and turn grading on or off."""


@command.command("list")
@asks
@json_option
def list_(*, grader: SelfGrader, as_json: bool) -> None:
    """Show each agent's sessions, whether they are graded, and which facts they never contain.

    A session is active if its file changed in the last `idle_minutes`. The list ends with agents whose sessions
    grader-daemon cannot read.
    """
    found, others = found_sources(grader.context), other_agents()
    if as_json:
        output.document(sources=found, not_read=others)
        return
    _print(found)
    if others:
        output.line()
        output.line(f"Found, not read by this version (what to do: {OTHERS_PAGE}):")
        output.facts((f"  {each.title}", output.from_home(each.path)) for each in others)
    output.line()
    output.paragraph("", f"Next: {_next(found, has_grades=_has_grades(grader))}")


@command.command("enable")
@settings_options
@click.argument("names", nargs=-1, required=True, type=SourceName(), metavar="AGENT...")
@click.option(
    "--path", "paths", multiple=True, type=click.Path(), help="Also read the agent's sessions in this folder."
)
@json_option
def enable(*, names: tuple[str, ...], paths: tuple[str, ...], as_json: bool) -> None:
    """Grade the sessions of agents: `sources enable codex pi`, `sources enable atif --path ~/runs`."""
    _refuse_several(names, paths=paths, as_json=as_json)
    for name in dict.fromkeys(names):
        _tell(enable_source(name, paths, config=config_flag()), as_json=as_json)


@command.command("disable")
@settings_options
@click.argument("names", nargs=-1, required=True, type=SourceName(), metavar="AGENT...")
@json_option
def disable(*, names: tuple[str, ...], as_json: bool) -> None:
    """Stop grading the sessions of agents, and stop hints that they are not graded. Existing grades stay."""
    _refuse_several(names, as_json=as_json)
    for name in dict.fromkeys(names):
        _tell(disable_source(name, config=config_flag()), as_json=as_json)


@command.command("forget")
@asks
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@json_option
def forget(*, grader: SelfGrader, paths: tuple[Path, ...], as_json: bool) -> int:
    """Forget files that failed or were skipped. Exit code 1 if a file is unknown, or was graded."""
    told = grader.grading.forget(paths)
    if as_json:
        output.document(files=told)
    else:
        for each in told:
            output.line(clean(f"{each.file}: {_fate_words(each)}"))
    return int(any(each.fate is not Fate.FORGOTTEN for each in told))


def _fate_words(told: Forgotten) -> str:
    again = "; it is in a watched folder, so the next scan finds it again" if told.comes_back else ""
    return _FATES[told.fate] + again


def _print(found: Sequence[FoundSource]) -> None:
    """Print a line on each source, and on those of which there is something what they never say."""
    output.facts((each.name, f"{_STATES[each.state]}: {_seen(each)}") for each in found)
    unknown = [(each.name, _never_said(each)) for each in found if each.sessions]
    if any(words for _, words in unknown):
        output.line()
        output.line("Not recorded in the sessions of:")
        output.facts((f"  {name}", words) for name, words in unknown if words)


def _seen(found: FoundSource) -> str:
    if found.fault is not None:
        return f"fails: {found.fault}"
    if found.package is not None and found.state is not SourceState.ENABLED:
        return f"an adapter of {found.package}, not loaded; to load it: grader-daemon sources enable {found.name}"
    if not found.folders:
        return f"no default folder; to grade it: grader-daemon sources enable {found.name} --path FOLDER"
    places = ", ".join(output.from_home(folder) for folder in found.folders)
    if not found.sessions:
        return f"no sessions in {places}" if found.unreadable is None else _unreadable(found.unreadable)
    others = " and side calls" if found.sessions > 1 else ""
    said = [f"{counted(found.sessions, is_more=found.is_more)}{others} in {places}"]
    said += [f"{found.active:,} active"] if found.active else [f"the last one of {output.cell(found.newest_at)}"]
    if found.versions:
        named = "" if " " in found.versions[0] else f"{found.title} "  # of runs of several agents each is named
        newer = "" if found.newer_than is None else f"; the newest tested is {found.newer_than}"
        said.append(f"written by {named}{', '.join(found.versions)}{newer}")
    if found.unreadable is not None:
        said.append(_unreadable(found.unreadable))
    return "; ".join(said)


def _unreadable(words: str) -> str:
    return f"cannot read {output.from_home(words)}"


def _never_said(found: FoundSource) -> str:
    return ", ".join(filter(None, (UNKNOWN_WORDS.get(name, name) for name in found.unknown)))


def _next(found: Sequence[FoundSource], *, has_grades: bool) -> str:
    """Return the command that helps most now."""
    open_questions = [each for each in found if each.state is SourceState.NOT_ENABLED and each.sessions]
    if open_questions:
        most = max(open_questions, key=lambda each: each.sessions)
        return f"grader-daemon sources enable {most.name} (or disable, to hide the agent)"
    return "grader-daemon list" if has_grades else "grader-daemon run"


def _has_grades(grader: SelfGrader) -> bool:
    return grader.context.has_database and bool(grader.grades.page(GradeFilter(limit=1)).grades)


def _refuse_several(names: Sequence[str], *, paths: Sequence[str] = (), as_json: bool) -> None:
    """Refuse what says something of one agent alone.

    Raises:
        click.UsageError: there are several.
    """
    if len(names) > 1 and (paths or as_json):
        raise click.UsageError(f"{'--path' if paths else '--json'} takes one agent")


def _tell(done: Switched, *, as_json: bool) -> None:
    if as_json:
        output.document(done)
        return
    if done.state is SourceState.ENABLED:
        places = ", ".join(output.from_home(folder) for folder in done.folders)
        output.paragraph(
            "", clean(f"{done.title} is graded: {counted(done.sessions, is_more=done.is_more)} in {places}.")
        )
    else:
        output.paragraph("", clean(f"{done.title} is no longer graded or mentioned. Its grades stay."))
    if not done.written:
        output.line("Nothing to do: nothing changed.")
    for each in done.written:
        output.paragraph("", clean(f"Set {each.name} in {output.from_home(str(each.file))}."))
        if each.covered_by is not None:
            output.warning(f"{each.covered_by} overrides it")
    for words in _what_is_next(done):
        output.paragraph("", words)


def _what_is_next(done: Switched) -> Iterator[str]:
    if done.is_hidden:
        yield "The service cannot see all of these folders. Next: grader-daemon service install"
    elif done.took_over:
        what = "grades existing sessions, and watches" if done.state is SourceState.ENABLED else "no longer grades it"
        yield f"The daemon (pid {done.daemon}) has the new settings: it {what}."
    elif done.written and done.daemon is not None:
        yield f"The daemon (pid {done.daemon}) does not have the new settings: look at its log, or restart it"
    elif done.state is SourceState.ENABLED and done.daemon is None:
        yield f"Next: grader-daemon grade --source {done.name}, or grader-daemon run"
