"""Agents at work on this machine whose sessions nobody grades: told by `run` in its log, by `status` and by `doctor`.

It is apart from `sources`, which changes settings: a daemon would keep in memory what that takes.
"""

from __future__ import annotations

import os
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.looks import look
from grader_daemon.sources.default_roots import default_roots

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_FEW = 1_000
_FEW_FOLDERS = 400
"""Of what is not graded, seen in passing: some 10 ms."""


class SourceState(StrEnum):
    """State of an agent: whether its sessions are graded; a declined one is not mentioned."""

    ENABLED = "enabled"
    NOT_ENABLED = "not_enabled"
    DECLINED = "declined"


class UngradedAgent(msgspec.Struct, frozen=True, kw_only=True):
    """Ungraded sessions of one agent in one folder.

    Attributes:
        agent: the source's name in settings.
        path: the folder.
        is_more: whether there are more than the 1,000 counted.
        fix: the command that starts grading them.
    """

    agent: str
    title: str
    path: str
    sessions: int
    is_more: bool
    fix: str


def ungraded_agents(settings: Settings) -> tuple[UngradedAgent, ...]:
    """Return agents at work without a grade, that nobody declined; a look in passing."""
    return tuple(
        found
        for name in bootstrap.SOURCES
        if state_of(name, settings) is not SourceState.DECLINED
        for folder in _unwatched(name, settings)
        if (found := _seen(name, folder, settings, enabling(name, folder if name in settings.sources else None)))
    )


def watched_agents(settings: Settings) -> tuple[UngradedAgent, ...]:
    """Return agents whose sessions the daemon grades when it runs, as far as they have any; a look in passing."""
    return tuple(
        found
        for name in bootstrap.SOURCES
        if name in settings.sources
        for folder in bootstrap.roots_of(settings, name)
        if os.path.isdir(folder) and (found := _seen(name, folder, settings, "grader-daemon run"))
    )


def _seen(name: str, folder: str, settings: Settings, fix: str) -> UngradedAgent | None:
    """Return what an agent has in a folder; None if it has nothing."""
    source = bootstrap.make_source(name, settings)
    seen = look(source, [folder], sessions=_FEW, folders=_FEW_FOLDERS)
    if not seen.sessions:
        return None
    return UngradedAgent(
        agent=name, title=source.title, path=folder, sessions=seen.sessions, is_more=seen.is_more, fix=fix
    )


def state_of(name: str, settings: Settings) -> SourceState:
    """Return whether the sessions of a source are graded."""
    if name in settings.sources:
        return SourceState.ENABLED
    return SourceState.DECLINED if name in settings.sources_declined else SourceState.NOT_ENABLED


def _unwatched(source: str, settings: Settings) -> list[str]:
    """Return folders in which its sessions may lie and that are not watched."""
    roots = bootstrap.roots_of(settings, source)
    watched = [Path(os.path.realpath(root)) for root in roots] if source in settings.sources else []
    return [
        folder
        for folder in (default_roots(source) if watched else roots)
        if os.path.isdir(folder) and not any(Path(os.path.realpath(folder)).is_relative_to(root) for root in watched)
    ]


def enabling(name: str, folder: str | None = None) -> str:
    """Return the command by which an agent is graded, with the sessions in a folder."""
    path = "" if folder is None else f" --path {shlex.quote(folder)}"
    return f"grader-daemon sources enable {name}{path}"
