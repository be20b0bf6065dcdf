"""An agent at work where nobody looks: `run`, `status` and `doctor` tell it, each in its own way."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import msgspec

from grader_daemon.settings import Settings
from grader_daemon.sources.hermes.homes import count_sessions, default_home, is_home


class UnwatchedAgent(msgspec.Struct, frozen=True, kw_only=True):
    """A home of Hermes Agent that no watched folder holds, with so many session files; the command `fix` watches it."""

    path: str
    sessions: int
    fix: str


def unwatched_agent(settings: Settings) -> UnwatchedAgent | None:
    """Look at the one place where Hermes works unless it is told otherwise; None when it is watched, or nothing."""
    home = default_home()
    if not is_home(home) or _is_watched(home, settings):
        return None
    return UnwatchedAgent(path=home, sessions=count_sessions(home), fix=_command(home, settings))


def _is_watched(home: str, settings: Settings) -> bool:
    real = Path(os.path.realpath(home))
    return any(real.is_relative_to(os.path.realpath(root)) for root in settings.watch_roots)


def _command(home: str, settings: Settings) -> str:
    """Write the command that adds a folder to those that are watched, and takes away none that is there or was set."""
    is_set = "watch_roots" in settings.model_fields_set
    roots = [*(str(root) for root in settings.watch_roots if is_set or root.exists()), home]
    value = home if len(roots) == 1 else json.dumps(roots, ensure_ascii=False)
    return f"grader-daemon config set watch_roots {shlex.quote(value)}"
