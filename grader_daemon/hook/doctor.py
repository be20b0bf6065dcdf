"""The check of hooks: does what stands in the settings of agents still lead to a daemon that reads their sessions?"""

from __future__ import annotations

import socket
from contextlib import suppress

from grader_daemon.api.doctor.check_words import some
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.api.ungraded import enabling
from grader_daemon.domain.check import Finding, ok, warning
from grader_daemon.domain.text import count
from grader_daemon.hook.hooked_agents import AGENTS
from grader_daemon.hook.installation import LONGEST_PATH, Hook, Hooks, socket_of
from grader_daemon.system.open_files import in_few_bytes

_SECONDS = 1.0


def hooks(context: DoctorContext) -> Finding:
    """Check that hooks stand where they were put, lead to a program that is there, and that the daemon answers."""
    installed = Hooks(context.settings)
    all_hooks = installed.installed()
    if not all_hooks:
        return ok("no agent has the hook")
    astray = [each for each in all_hooks if not installed.stands(each) or not installed.leads(each)]
    if astray:
        names = some([AGENTS[each.agent].title for each in astray])
        return warning(f"the hook of {names} is missing or does not start this program", f"{_again(astray[0])}")
    ungraded = [each.agent for each in all_hooks if each.agent not in context.settings.sources]
    if ungraded:
        names = some([AGENTS[each].title for each in ungraded])
        return warning(f"sessions of {names} are not graded, so the hook reports nothing", enabling(ungraded[0]))
    if not _answers(context):
        return warning("no daemon answers the hook", "grader-daemon status")
    return ok(f"{count(len(all_hooks), 'agent')} has the hook")


def _again(hook: Hook) -> str:
    return f"grader-daemon hook uninstall {hook.agent}, then: grader-daemon hook install {hook.agent}"


def _answers(context: DoctorContext) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as daemon, suppress(OSError):
        daemon.settimeout(_SECONDS)
        with in_few_bytes(socket_of(context.settings.db_path), most=LONGEST_PATH) as place:
            daemon.connect(place)
        return True
    return False
