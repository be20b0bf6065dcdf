"""``hook``: compare an agent's last answer with its session when the agent wants to stop."""

from __future__ import annotations

import difflib
from datetime import timedelta
from pathlib import Path
from typing import Final

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.ungraded import enabling
from grader_daemon.cli import output
from grader_daemon.cli.groups import Group
from grader_daemon.cli.options import asks, json_option
from grader_daemon.domain.text import clean, count
from grader_daemon.errors import InputError
from grader_daemon.hook.hook_state import HookState, hook_state
from grader_daemon.hook.hooked_agents import AGENTS, Agent, Mode
from grader_daemon.hook.installation import Change, Hooks
from grader_daemon.hook.store import HookTable
from grader_daemon.hook.trial import Effect

_DAYS: Final = 30
_MODES: Final = {Mode.TELL: "tells you", Mode.BLOCK: "asks the agent to check, once per stop", Mode.LOG: "only logs it"}

_agent = click.argument("agent", type=click.Choice(list(AGENTS)))
_UNASKED: Final = "--json needs --yes, because it cannot ask"
_yes = click.option("--yes", is_flag=True, help="Write the file without asking.")


@click.group("hook", cls=Group)
def command() -> None:
    """Check an agent's claims against the session's record before the agent stops.

    The agent runs a small program when it wants to stop. The daemon compares the agent's last answer with the session's
    tool calls. If they contradict a claim, the hook tells you at once or asks the agent to check, as you choose.
    """


@command.command("install")
@asks
@_agent
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    help="Choose what the hook does if calls contradict a claim: tell you, ask the agent to check, or only log.",
)
@click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this settings file of the agent instead of its usual one.",
)
@_yes
@json_option
def install(*, grader: SelfGrader, agent: str, mode: str | None, file: Path | None, yes: bool, as_json: bool) -> None:
    """Install the hook in an agent's settings. The command first shows the change, and keeps a copy of the file."""
    if as_json and not yes:
        raise click.UsageError(_UNASKED)
    chosen = AGENTS[agent]
    hooks = Hooks(grader.context.settings)
    hook, change = hooks.planned(chosen, _mode(chosen, mode), file=file)
    if not _agreed(change, yes=yes):
        return
    hooks.install(hook, change)
    if agent not in grader.context.settings.sources:
        output.warning(f"{chosen.title} is not graded, so its hook reports nothing; {enabling(agent)}")
    words = (
        f"{chosen.title} uses the hook from its next session on; the daemon {_MODES[hook.mode]}. {chosen.note}".rstrip()
    )
    output.result(words, as_json=as_json, agent=agent, mode=hook.mode, file=hook.file)


@command.command("uninstall")
@asks
@_agent
@_yes
@json_option
def uninstall(*, grader: SelfGrader, agent: str, yes: bool, as_json: bool) -> None:
    """Remove the hook from an agent's settings, and nothing else."""
    if as_json and not yes:
        raise click.UsageError(_UNASKED)
    hooks = Hooks(grader.context.settings)
    hook, change = hooks.unplanned(AGENTS[agent])
    if not _agreed(change, yes=yes):
        return
    hooks.uninstall(hook, change)
    output.result(f"{AGENTS[agent].title} no longer uses the hook.", as_json=as_json, agent=agent, file=hook.file)


@command.command("status")
@asks
@json_option
def status(*, grader: SelfGrader, as_json: bool) -> None:
    """Show agents with a hook, what hooks found in the last 30 days, and whether hooks' messages help."""
    context = grader.context
    store = context.store if context.has_database else None
    state = hook_state(store, Hooks(context.settings), since=context.now() - timedelta(days=_DAYS))
    output.shown(state, _print, as_json=as_json)


@command.command("trial")
@asks
@click.argument("what", type=click.Choice(["start", "stop"]))
@json_option
def trial(*, grader: SelfGrader, what: str, as_json: bool) -> None:
    """Measure whether hooks help. During such a trial, a random half of the sessions gets no message."""
    context = grader.context
    store = context.writable
    table = HookTable(store)
    running = table.running()
    if (what == "start") == (running is not None):
        raise InputError("a trial is already running" if running else "no trial is running")
    with store.transaction():
        if what == "start":
            table.begin_trial(context.now())
        else:
            table.end_trial(context.now())
    words = f"The trial {'is running' if what == 'start' else 'has ended'}; see its result: grader-daemon hook status"
    output.result(words, as_json=as_json, running=what == "start")
    if what == "start" and all(hook.mode is Mode.LOG for hook in Hooks(context.settings).installed()):
        output.warning("no agent has a hook that shows messages, so there is nothing to compare yet")


def _mode(agent: Agent, given: str | None) -> Mode:
    mode = agent.modes[0] if given is None else Mode(given)
    if mode not in agent.modes:
        raise InputError(f"{agent.title} cannot show you a hook's messages; use --mode {' or '.join(agent.modes)}")
    return mode


def _agreed(change: Change, *, yes: bool) -> bool:
    """Show a change, and ask whether to make it."""
    if yes:
        return True
    before, after = (text.splitlines() if text else [] for text in (change.before, change.after))
    for line in difflib.unified_diff(before, after, str(change.file), str(change.file), lineterm="", n=2):
        output.line(clean(line))
    is_agreed = click.confirm("Write this?")
    if not is_agreed:
        output.line("Nothing was changed.")
    return is_agreed


def _print(state: HookState) -> None:
    if not state.hooks:
        output.line(f"No agent has the hook. Next: grader-daemon hook install {'|'.join(AGENTS)}")
    for hook in state.hooks:
        gone = "" if hook.stands else "; the hook is missing there"
        output.line(f"{AGENTS[hook.agent].title}: the daemon {_MODES[hook.mode]} ({clean(hook.file)}){gone}")
    if state.found:
        sessions = count(state.sessions, "session")
        output.line(
            f"{count(state.found, 'contradicted claim')} in {sessions} of the last {_DAYS} days, {state.told} shown."
        )
    elif state.hooks:
        output.line(f"No contradicted claim in the last {_DAYS} days.")
    if state.effect is not None:
        output.paragraph("Trial: ", _effect_words(state.effect, running=state.trial_runs))


def _effect_words(effect: Effect, *, running: bool) -> str:
    sides = f"{count(effect.told, 'session')} with the message, {effect.untold} without"
    change = effect.against.change
    if change.value is None or change.low is None or change.high is None:
        return f"{sides}: too few to compare{'; the trial is running' if running else ''}."
    now, before = effect.against.now.value or 0.0, effect.against.before.value or 0.0
    return (
        f"{sides}. Ended with such a claim: {now:.0%} of those with, {before:.0%} of those without;"
        f" difference {100 * change.value:+.0f} points ({100 * change.low:+.0f} to {100 * change.high:+.0f})."
    )
