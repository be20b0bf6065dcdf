"""``changes trial``: a skill or a prompt file that sessions have by chance, to measure what it does."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import click
import msgspec

from grader_daemon.bootstrap import utc_now
from grader_daemon.cli import output
from grader_daemon.cli.groups import Group
from grader_daemon.cli.options import asks, json_option
from grader_daemon.cli.times import shown_zone
from grader_daemon.domain.text import clean, count
from grader_daemon.errors import GraderError
from grader_daemon.reports.numbers import BAD_ENDINGS, estimate_words, points_words
from grader_daemon.reports.phrasing import moment
from grader_daemon.skills.places import Installed
from grader_daemon.skills.switched_file import HELD, Position
from grader_daemon.skills.trial_effect import FEWEST_DRAWS, TrialEffect
from grader_daemon.skills.trial_file import Trial, TrialEnd, TrialFile
from grader_daemon.skills.trial_names import held_words, subject_of
from grader_daemon.skills.trial_state import TrialState, trial_states
from grader_daemon.skills.trials import Trials

if TYPE_CHECKING:
    from grader_daemon.api.grader import SelfGrader

_NOT_FOUND, _NOT_RUN = 127, 126
"""Exit codes of a shell for a program that is not there, or cannot be run."""

_IGNORED_BY_PYTHON: Final = ("SIGPIPE", "SIGXFSZ")
_ENDS: Final = {
    TrialEnd.STOPPED: "you stopped it",
    TrialEnd.EDITED: "the file was edited",
    TrialEnd.REPLACED: "another file is in its place",
    TrialEnd.GONE: "the file is gone",
    TrialEnd.MOVED: "the file was moved by hand",
    TrialEnd.FULL: "it has the maximum number of draws",
}
_SHOWN_FOR: Final = timedelta(days=30)
"""So long a trial is shown after its end."""
_POSITIONS: Final = {
    Position.ON: "in its place",
    Position.OFF: "away",
    Position.EDITED: "edited",
    Position.REPLACED: "replaced by another file",
    Position.GONE: "gone",
}


class StartedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that was started: the name, the agent whose sessions are compared, and the file that is switched."""

    name: str
    agent: str
    path: str


class StoppedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that was stopped; `in_place` says whether its file is in its place."""

    name: str
    path: str
    in_place: bool


@click.group("trial", cls=Group)
def command() -> None:
    """Measure the effect of a skill or a prompt file: a random half of the sessions gets it.

    `changes trial start` chooses the file. `changes trial run` then starts each session of the agent, with or without
    the file. A session started without it has the file if the session before had it.
    """


@command.command("start")
@asks
@click.argument("name")
@click.option("--yes", is_flag=True, help="Start without asking.")
@json_option
def start(*, grader: SelfGrader, name: str, yes: bool, as_json: bool) -> None:
    """Start a trial of NAME, a skill or a prompt file: a random half of the sessions gets it.

    For a prompt file, NAME is its name, such as CLAUDE.md, or its path. The command first shows what it will do.
    """
    if as_json and not yes:
        raise click.UsageError("--json needs --yes, because it cannot ask")
    settings = grader.context.settings
    subject = subject_of(Installed.of(settings), name)
    if not yes:
        output.paragraph(
            "",
            _shown(
                f"Before each session of {subject.agent}, a random draw decides whether `changes trial run`"
                f" {held_words(subject)}."
            ),
        )
        output.paragraph("", "Nothing else changes. `changes trial stop` restores the file.")
        if not click.confirm("Start it?"):
            return
    begun = Trials(TrialFile.of_user(), clock=grader.context.now).start(subject)
    if as_json:
        output.document(StartedTrial(name=begun.name, agent=begun.agent, path=begun.file.path))
    else:
        output.line(
            clean(f"Start {begun.agent} from now on by: grader-daemon changes trial run {begun.name} -- COMMAND")
        )


@command.command("run")
@click.argument("name")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
def run(*, name: str, program: tuple[str, ...]) -> None:
    """Start a session of an agent; a random draw decides whether it gets the trial's file.

    Write PROGRAM, the agent's command, after `--`. If no trial of NAME runs, or the draw fails, the agent starts as
    usual.
    """
    with ExitStack() as held:
        try:
            file = TrialFile.of_user()
            trial = held.enter_context(Trials(file, clock=utc_now).session(name))
            if trial is None and all(each.name != name for each in file.trials()):
                output.warning(f"there never was a trial of {name}; see grader-daemon changes trial status")
            if trial is not None and trial.end is not None:
                output.warning(
                    f"the trial of {name} is over: {_ENDS[trial.end]}; see grader-daemon changes trial status"
                )
        except (GraderError, OSError) as error:  # whatever it is, the agent starts
            output.warning(f"nothing was drawn: {error}")
        _become(program)


@command.command("status")
@asks
@click.option(
    "--all", "shows_all", is_flag=True, help="Show also trials that ended more than 30 days ago, as --json does."
)
@json_option
def status(*, grader: SelfGrader, shows_all: bool, as_json: bool) -> None:
    """Show trials, their effect so far with its 95 % range, and whether the effect is sure.

    The effect counts only sessions that were graded on this machine, never those of a fleet.
    """
    context = grader.context
    states = trial_states(context.store if context.has_database else None, TrialFile.of_user().trials())
    if states.trials and not context.has_database:
        output.warning(f"no database at {context.settings.db_path}: no session was graded on this machine yet")
    if as_json:
        output.document(states)
        return
    if not states.trials:
        output.line("No trial yet. Start one: grader-daemon changes trial start NAME")
    shown = [state for state in states.trials if shows_all or not _is_old(state, context.now())]
    for number, state in enumerate(shown):
        if number:
            output.line()
        _print(state)
    if left := len(states.trials) - len(shown):
        output.line(f"{count(left, 'trial')} ended more than 30 days ago: grader-daemon changes trial status --all")


@command.command("stop")
@click.argument("name", required=False)
@json_option
def stop(*, name: str | None, as_json: bool) -> None:
    """Stop a trial, or all, and put the files back."""
    stopped = Trials(TrialFile.of_user(), clock=utc_now).stop(name)
    if as_json:
        found = [StoppedTrial(name=trial.name, path=trial.file.path, in_place=back) for trial, back in stopped]
        output.document(stopped=found)
        return
    for trial, is_back in stopped:
        output.paragraph("", _shown(_stop_words(trial, is_back=is_back)))


def _shown(text: str) -> str:
    return output.from_home(clean(text))


def _become(program: tuple[str, ...]) -> None:
    """Become another program, which starts as a shell would start it."""
    output.flush()
    for ignored in _IGNORED_BY_PYTHON:
        signal.signal(signal.Signals[ignored], signal.SIG_DFL)
    try:
        os.execvp(program[0], program)  # noqa: S606  what the person wrote
    except OSError as error:
        output.error(f"grader-daemon: {program[0]}: {error.strerror}")
        raise click.exceptions.Exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_RUN) from error


def _stop_words(trial: Trial, *, is_back: bool) -> str:
    if is_back:
        return f"The trial of {trial.name} is over. {trial.file.path} is in its place."
    there = f"; the one of the trial is {trial.file.held}" if os.path.lexists(trial.file.held) else ""
    return f"The trial of {trial.name} is over. {trial.file.path} is not the file of the trial{there}."


def _is_old(state: TrialState, now: datetime) -> bool:
    return state.ended_at is not None and now - state.ended_at > _SHOWN_FOR


def _print(state: TrialState) -> None:
    zone = shown_zone()
    since = f"since {moment(state.began_at, zone)}"
    over = "" if state.end is None else f"; over: {_ENDS[state.end]}"
    output.paragraph("", clean(f"{state.name} of {state.agent}, {since}{over}."))
    drawn = "" if state.last_draw is None else f", the last one {moment(state.last_draw, zone)}"
    where = "is of a later trial" if state.position is None else f"is {_POSITIONS[state.position]}"
    output.paragraph("  ", _shown(f"{state.path} {where}; {count(state.draws, 'draw')}{drawn}."))
    if os.path.lexists(state.path + HELD) and state.end is not None and state.position is not None:
        output.paragraph("  ", _shown(f"The file of the trial is {state.path}{HELD}."))
    for words in _effect_words(state.effect, by_labels=state.by_labels, runs=state.end is None):
        output.paragraph("  ", words)
    if state.end is None and state.effect.is_sure:
        output.paragraph(
            "  ", clean(f"The difference is clear. End the trial: grader-daemon changes trial stop {state.name}")
        )
    if state.end is None and not state.draws:
        output.paragraph("  ", clean(f"Start sessions by: grader-daemon changes trial run {state.name} -- COMMAND"))


def _effect_words(effect: TrialEffect, *, by_labels: bool, runs: bool) -> list[str]:
    figure, what = effect.failed, "not done by labels" if by_labels else "bad endings"
    sides = f"{count(effect.sessions_with, 'session')} with it, {effect.sessions_without} without"
    if figure.change.value is None and not runs:
        return [f"{sides}: too few to tell."]
    if figure.change.value is None:
        missing = ", ".join(
            f"{FEWEST_DRAWS - draws} more {side}"
            for draws, side in ((effect.draws_with, "with it"), (effect.draws_without, "without"))
            if draws < FEWEST_DRAWS
        )
        return [f"{sides}: too few to tell. {FEWEST_DRAWS} draws with a finished session are needed a side: {missing}."]
    with_it, without = (estimate_words(one, BAD_ENDINGS) for one in (figure.now, figure.before))
    verdict = "" if effect.is_sure else " No clear difference yet." if runs else " No clear difference."
    return [f"{sides}; {what} {with_it} with it, {without} without.", f"{points_words(figure, BAD_ENDINGS)}.{verdict}"]
