"""The daemon as a service: what it needs, and what may not be when it is installed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from grader_daemon import bootstrap
from grader_daemon.errors import AlreadyRunningError
from grader_daemon.integrations.machine import unit_file
from grader_daemon.service.demands import demands, home
from grader_daemon.service.unit_file import shows
from grader_daemon.service.unit_value import Fit, Unit
from grader_daemon.storage.lock import holder_pid, is_running

if TYPE_CHECKING:
    from grader_daemon.settings import Settings


def hides_sessions(settings: Settings) -> bool:
    """Return whether a service is installed whose sandbox hides folders with sessions that are to be graded."""
    try:
        unit = unit_file(home()).read_text("utf-8", "replace")
    except OSError:
        return False
    return not shows(unit, _watched(settings), home=home())


def _fit(settings: Settings) -> Fit:
    roots = _watched(settings)
    programs = [Path(word) for word in (*settings.alert_command, *settings.quality_command) if os.path.isabs(word)]
    installed = map(Path, bootstrap.make_installed(settings).looked_at)
    fit = demands(settings, "run", read=[*roots, *programs, *installed, *map(Path, settings.outcomes_roots)])
    writable = tuple(dict.fromkeys((*fit.writable, *_folders_for_others(settings))))
    awaited = not all(os.path.isdir(root) or any(each.is_relative_to(root) for each in writable) for root in roots)
    return replace(fit, awaited=awaited, writable=writable, network=settings.callers, programs=settings.runners)


def _check(settings: Settings, pid: int | None) -> None:
    """Check that the rules can be used, and that no other daemon than the process `pid` works on the database.

    Raises:
        ConfigurationError: a rule is wrong.
        AlreadyRunningError: there is another one.
    """
    bootstrap.make_examiner(settings, bootstrap.make_policy(settings, None))
    holder = holder_pid(settings.db_path) if is_running(settings.db_path) else None
    if holder is not None and holder != pid:
        place = settings.db_path
        raise AlreadyRunningError(
            f"another grader-daemon (pid {holder}), not the service, runs on {place}: stop it first"
        )


def _folders_for_others(settings: Settings) -> list[Path]:
    """Return where the files of metrics and for routers are written, by either name of each folder."""
    files = (settings.metrics_file, settings.route_file)
    return [folder for file in files if file is not None for folder in (file.parent, file.parent.resolve())]


def _watched(settings: Settings) -> list[Path]:
    return [Path(root) for root in bootstrap.watched_roots(settings)]


DAEMON: Final = Unit(
    name="grader-daemon",
    install="grader-daemon service install",
    foreground="grader-daemon run",
    troubles="grader-daemon service logs -p warning",
    fit=_fit,
    check=_check,
    started="Started: it is ready",
)
