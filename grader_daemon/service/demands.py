"""Needs of any service under given settings: its command, its environment, and what it reads and writes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from grader_daemon.errors import ConfigurationError
from grader_daemon.service.systemd import runtime_folder
from grader_daemon.service.unit_value import Fit
from grader_daemon.setting_properties import Secret
from grader_daemon.setting_sources import CONFIG_VARIABLE, ENVIRONMENT_PREFIX, Source

if TYPE_CHECKING:
    from grader_daemon.settings import Settings


def demands(settings: Settings, *words: str, read: Iterable[Path]) -> Fit:
    """Return what a command needs that is to `read` this; of what was given by flag, the environment has no say.

    Raises:
        ConfigurationError: a secret cannot be passed on.
    """
    command = [sys.executable, "-P", "-m", "grader_daemon", *words]
    by_flag = [name for name in ("watch_roots", "db_path") if settings.given.sources.get(name) is Source.FLAG]
    if "watch_roots" in by_flag:
        command += [part for root in settings.watch_roots for part in ("--watch-root", str(root))]
    if "db_path" in by_flag:
        command += ["--db-path", str(settings.db_path)]
    program = map(Path, (sys.executable, sys.prefix, sys.base_prefix, str(Path(__file__).parents[1])))
    configuration = settings.given.file
    given = [
        configuration if configuration.parent == home() else configuration.parent,  # files that are replaced are lost
        settings.rules_file,
        settings.calibration_prior,
    ]
    return Fit(
        command=tuple(command),
        environment=environment_for_others(settings, but=by_flag),
        needed=tuple(place for path in [*program, *read, *filter(None, given)] for place in (path, path.resolve())),
        writable=tuple(dict.fromkeys((settings.db_path.parent, settings.db_path.resolve().parent))),
        home=home(),
        runtime=runtime_folder(),
        max_file_bytes=settings.max_file_bytes,
    )


def home() -> Path:
    """Return the home folder of this user."""
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
            case Secret():
                raise ConfigurationError(f"{variable} cannot be passed to the service; put {name} into {given.file}")
            case tuple() as items:
                passed_on[variable] = json.dumps([item if isinstance(item, float) else str(item) for item in items])
            case bool() as is_so:
                passed_on[variable] = str(is_so).lower()
            case value:
                passed_on[variable] = str(value)
    return passed_on
