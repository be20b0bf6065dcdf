"""Having the sessions of an agent graded, or not."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import closing
from time import monotonic, sleep
from typing import TYPE_CHECKING

import msgspec

from grader_daemon import bootstrap
from grader_daemon.adapters import installed
from grader_daemon.api.configuration import Written, keep_setting
from grader_daemon.api.looks import look
from grader_daemon.api.ungraded import SourceState, state_of
from grader_daemon.errors import GraderError, InputError
from grader_daemon.setting_sources import ROOTS, meant, setting_of
from grader_daemon.settings import Settings, load_settings
from grader_daemon.sources.default_roots import default_roots, moved_by

if TYPE_CHECKING:
    from grader_daemon.sources.protocol import Source

_TAKES_OVER_SECONDS = 10.0
"""A daemon first finishes what it is writing."""

_PAUSE_SECONDS = 0.05


class Switched(msgspec.Struct, frozen=True, kw_only=True):
    """Result of starting or stopping to grade an agent's sessions.

    Attributes:
        written: what was written to the settings file.
        sessions: number of the agent's sessions.
        daemon: process id of the running daemon; None if none is running.
        took_over: whether that daemon uses these settings now.
        is_hidden: whether a service is installed whose sandbox hides some graded folders.
    """

    name: str
    title: str
    state: SourceState
    folders: tuple[str, ...]
    sessions: int
    is_more: bool
    written: tuple[Written, ...]
    daemon: int | None
    took_over: bool
    is_hidden: bool


def enable_source(name: str, paths: Sequence[str] = (), *, config: str | None = None) -> Switched:
    """Have the sessions of an agent graded, in `paths` too; what was watched before stays so.

    Where a variable of the environment says where they lie, that is kept: a service does not know the variable.

    Raises:
        InputError: there is no such source, no such folder, or none is known in which its sessions lie.
        ConfigurationError: the file of settings cannot be written, or something else in it is wrong.
    """
    settings = load_settings(config=config)
    source = _known(name, settings)
    for path in paths:
        folder = os.path.expanduser(path)
        if not os.path.isdir(folder):
            raise InputError(f"{path}: {'is not a folder' if os.path.exists(folder) else 'no such folder'}")
    if not paths and not source.roots:
        raise InputError(f"{source.title} has no default folder: give --path FOLDER")
    written = []
    kept = paths or _moved(name, settings)
    if kept:
        written.append(keep_setting(setting_of(name), _with(source, settings, kept), config=config))
    declined = [each for each in settings.sources_declined if each != name]
    if len(declined) < len(settings.sources_declined):
        written.append(keep_setting("sources_declined", declined, config=config))
    if name not in settings.sources:
        enabled = [
            each for each in dict.fromkeys((*ROOTS, *settings.sources, name)) if each in (*settings.sources, name)
        ]
        written.append(keep_setting("sources", enabled, config=config))
    return _switched(name, written, config)


def disable_source(name: str, *, config: str | None = None) -> Switched:
    """Have the sessions of an agent not graded, and nobody told of them; grades that there are stay.

    Raises:
        InputError: there is no such source, or it is the only one that is graded.
        ConfigurationError: see `enable_source`.
    """
    settings = load_settings(config=config)
    source = _known(name, settings)
    enabled = [each for each in settings.sources if each != name]
    if not enabled:
        raise InputError(f"{source.title} is the only graded agent; enable another one first")
    written = []
    if name not in settings.sources_declined:
        written.append(keep_setting("sources_declined", [*settings.sources_declined, name], config=config))
    if len(enabled) < len(settings.sources):
        written.append(keep_setting("sources", enabled, config=config))
    return _switched(name, written, config)


def _known(name: str, settings: Settings) -> Source:
    known = (*bootstrap.source_names(settings), *installed())
    if name not in known:
        raise InputError(f"there is no source {name!r}{meant(name, known)}")
    return bootstrap.make_source(name, settings)


def _moved(name: str, settings: Settings) -> list[str]:
    """Return the folders that lie where a variable says, unless the settings name others."""
    if moved_by(name) is None or ROOTS[name] in settings.model_fields_set:
        return []
    return [root for root in default_roots(name) if os.path.isdir(root)]


def _with(source: Source, settings: Settings, paths: Sequence[str]) -> list[str]:
    """Return the folders to watch: those that are set or there, and some more; below the home folder with a ``~``."""
    is_set = bool(settings.roots_of(source.name)) and setting_of(source.name) in settings.model_fields_set
    before = [root for root in source.roots if is_set or os.path.isdir(root)]
    after = dict.fromkeys([*before, *(os.path.abspath(os.path.expanduser(path)) for path in paths)])
    folders = [_from_home(path) for path in after]
    if source.name in ROOTS:
        return folders
    others = [each for each in settings.adapter_roots if each.partition("=")[0] != source.name]
    return [*others, *(f"{source.name}={folder}" for folder in folders)]


def _from_home(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path.removeprefix(home)}" if home.startswith("/") and path.startswith(f"{home}/") else path


def _switched(name: str, written: Sequence[Written], config: str | None) -> Switched:
    from grader_daemon.service.daemon_unit import hides_sessions  # which asks for all that speaks with systemd

    settings = load_settings(config=config)
    source = _known(name, settings)
    folders = tuple(folder for folder in source.roots if os.path.isdir(folder))
    seen = look(source, folders)
    daemon, is_hidden = next((each.daemon for each in written), None), hides_sessions(settings)
    return Switched(
        name=name,
        title=source.title,
        state=state_of(name, settings),
        folders=tuple(source.roots),
        sessions=seen.sessions,
        is_more=seen.is_more,
        written=tuple(written),
        daemon=daemon,
        took_over=daemon is not None and not is_hidden and _takes_over(daemon, settings),
        is_hidden=is_hidden,
    )


def _takes_over(daemon: int, settings: Settings) -> bool:
    """Ask a daemon to read its settings anew; whether it soon says that it works by them."""
    try:
        with closing(bootstrap.read_store(settings)) as store:
            before = store.daemon.status()
            os.kill(daemon, signal.SIGHUP)
            deadline = monotonic() + _TAKES_OVER_SECONDS
            while monotonic() < deadline:
                now = store.daemon.status()
                if now is not None and now.pid == daemon and (before is None or now.started_at > before.started_at):
                    return True
                sleep(_PAUSE_SECONDS)
    except (GraderError, OSError):  # it is of another user, or has just ended
        pass
    return False
