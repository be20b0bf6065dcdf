"""Needs of a service under given settings, and whether an installed one still meets them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import SecretStr

import grader_daemon
from grader_daemon._version import __version__
from grader_daemon.api.context import watched_roots
from grader_daemon.bootstrap import make_installed
from grader_daemon.errors import ConfigurationError
from grader_daemon.integrations.machine import unit_file
from grader_daemon.integrations.unit_file import TEMPORARY, Fit, directives, words_of
from grader_daemon.setting_sources import CONFIG_VARIABLE, ENVIRONMENT_PREFIX, Source
from grader_daemon.settings import Settings

_IDLE_EXIT_SECONDS: Final = 600
_OF_SYSTEMD: Final = (Path("/run/log/journal"), Path("/run/systemd/system"))
"""The log of the daemon, and the sign that systemd runs (sd_booted(3))."""


def daemon_fit(settings: Settings, *, runtime: Path) -> Fit:
    """Return what the daemon needs under these settings."""
    roots = [Path(root) for root in watched_roots(settings)]
    programs = [Path(word) for word in (*settings.alert_command, *settings.quality_command) if os.path.isabs(word)]
    installed = map(Path, make_installed(settings).looked_at)
    fit = _fit(settings, "run", runtime=runtime, read=[*roots, *programs, *installed, *settings.outcomes_roots])
    writable = tuple(dict.fromkeys((*fit.writable, *_folders_for_others(settings))))
    awaited = not all(root.is_dir() or any(each.is_relative_to(root) for each in writable) for root in roots)
    return replace(fit, awaited=awaited, writable=writable, network=settings.callers, programs=settings.runners)


def dashboard_fit(settings: Settings, *, runtime: Path) -> Fit:
    """Return what the page needs under these settings: it shows sessions wherever they lay when they were graded."""
    files = filter(None, (settings.dashboard_certificate_file, settings.dashboard_key_file))
    words = ("dashboard", "--idle-exit", str(_IDLE_EXIT_SECONDS))
    fit = _fit(settings, *words, runtime=runtime, read=[_home(), *TEMPORARY, *files])
    return replace(fit, shown=_OF_SYSTEMD)


def pusher_fit(settings: Settings, *, runtime: Path, files: Iterable[Path]) -> Fit:
    """Return what sending to the fleet needs: the network, and `files` of libpq; it reads no session.

    The fleet knows a machine by where its database really is. A sandbox has no links to that place, so it is told.
    """
    fit = _fit(settings, "push", "fleet", "--follow", runtime=runtime, read=files)
    place = settings.db_path.resolve()
    command = fit.command if place == settings.db_path else (*fit.command, "--db-path", str(place))
    return replace(fit, command=command, network=("fleet_url",), max_file_bytes=0)


def _fit(settings: Settings, *words: str, runtime: Path, read: Iterable[Path]) -> Fit:
    """Return what a command needs; of what was given by flag, the environment has no say."""
    command = [sys.executable, "-P", "-m", "grader_daemon", *words]
    by_flag = [name for name in ("watch_roots", "db_path") if settings.given.sources.get(name) is Source.FLAG]
    if "watch_roots" in by_flag:
        command += [part for root in settings.watch_roots for part in ("--watch-root", str(root))]
    if "db_path" in by_flag:
        command += ["--db-path", str(settings.db_path)]
    program = map(Path, (sys.executable, sys.prefix, sys.base_prefix, os.path.dirname(grader_daemon.__file__)))
    home, configuration = _home(), settings.given.file
    given = [
        configuration if configuration.parent == home else configuration.parent,  # files that are replaced are lost
        settings.rules_file,
        settings.calibration_prior,
    ]
    return Fit(
        command=tuple(command),
        environment=environment_for_others(settings, but=by_flag),
        needed=tuple(place for path in [*program, *read, *filter(None, given)] for place in (path, path.resolve())),
        home=home,
        awaited=False,
        writable=tuple(dict.fromkeys((settings.db_path.parent, settings.db_path.resolve().parent))),
        runtime=runtime,
        max_file_bytes=settings.max_file_bytes,
        network=(),
        programs=(),
    )


def serves_daemon(unit: str, settings: Settings) -> bool:
    """Return whether a unit is of this version, and its sandbox leaves open what these settings need."""
    closed = directives(unit)
    return (
        f"version {__version__}." in unit.partition("\n")[0]
        and _shows(closed, [*watched_roots(settings), *settings.outcomes_roots])
        and _lets_write(closed, settings)
        and not ((settings.callers or settings.runners) and closed.get("PrivateNetwork") == "yes")
        and not (settings.runners and closed.get("MemoryDenyWriteExecute") == "yes")
    )


def _lets_write(unit: Mapping[str, str], settings: Settings) -> bool:
    """Return whether the files for other programs can be replaced; they may have been set since."""
    if "ReadWritePaths" not in unit:
        return True
    left_open = [Path(path.removeprefix("-").replace("%h", str(_home()))) for path in words_of(unit["ReadWritePaths"])]
    return all(any(folder.is_relative_to(path) for path in left_open) for folder in _folders_for_others(settings))


def _folders_for_others(settings: Settings) -> list[Path]:
    """Return where the files of metrics and for routers are written, by either name of each folder."""
    files = (settings.metrics_file, settings.route_file)
    return [folder for file in files if file is not None for folder in (file.parent, file.parent.resolve())]


def hides_sessions(settings: Settings) -> bool:
    """Return whether a service is installed whose sandbox hides folders with sessions that are to be graded."""
    try:
        unit = unit_file(_home()).read_text("utf-8", "replace")
    except OSError:
        return False
    return not _shows(directives(unit), watched_roots(settings))


def _shows(unit: Mapping[str, str], folders: Iterable[str | Path]) -> bool:
    if "%h:ro" not in unit.get("TemporaryFileSystem", "").split():
        return True
    home = _home()
    shown = [
        Path(path.removeprefix("-").replace("%h", str(home))) for path in words_of(unit.get("BindReadOnlyPaths", ""))
    ]
    below = [folder for folder in map(Path, folders) if folder.is_relative_to(home)]
    return all(any(folder.is_relative_to(path) for path in shown) for folder in below)


def _home() -> Path:
    return Path(os.path.expanduser("~"))


def environment_for_others(settings: Settings, *, but: Collection[str] = ()) -> dict[str, str]:
    """Return what flags and environment say, as an environment for a process that starts elsewhere: paths are absolute.

    `but` are settings to leave out.

    Raises:
        ConfigurationError: a secret is among them; what is passed on can be read.
    """
    given = settings.given
    passed_on = {CONFIG_VARIABLE: str(given.file)} if given.is_file_named else {}
    for name, source in given.sources.items():
        if name in but or source not in (Source.FLAG, Source.ENVIRONMENT):
            continue
        variable = given.variables.get(name, ENVIRONMENT_PREFIX + name.upper())
        match getattr(settings, name):
            case SecretStr():
                raise ConfigurationError(f"{variable} cannot be passed on; put {name} into {given.file}")
            case tuple() as items:
                passed_on[variable] = json.dumps([item if isinstance(item, float) else str(item) for item in items])
            case bool() as is_so:
                passed_on[variable] = str(is_so).lower()
            case value:
                passed_on[variable] = str(value)
    return passed_on
