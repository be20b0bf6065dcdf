"""Agents whose sessions lie on this machine, which of them are graded, and having them graded or not.

A look counts what lies there and is bounded: nobody waits for a home with a million files to be told that it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from grader_daemon import bootstrap
from grader_daemon.adapters import Adapter, installed
from grader_daemon.api.context import GraderContext
from grader_daemon.api.looks import Seen, look, read_newest
from grader_daemon.api.ungraded import SourceState, state_of
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import Session
from grader_daemon.errors import GraderError
from grader_daemon.sources.other_agents import PAGE, FoundElsewhere, found_elsewhere
from grader_daemon.sources.protocol import Guarding
from grader_daemon.sources.tried_versions import newer_than
from grader_daemon.storage.records import GradeFilter

if TYPE_CHECKING:
    from grader_daemon.settings import Settings
    from grader_daemon.sources.protocol import Source

_NEWEST_GRADED = 500


OTHERS_PAGE: Final = PAGE
"""The page that says how sessions of any agent are graded."""


class FoundSource(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions of one agent on this machine.

    `name` is what it is called in settings. `folders` are searched for sessions, from the settings or by default.
    `sessions` is the number found, with side calls and copies, which get no grade of their own; `is_more` says that the
    search stopped before the end. `active` of them were written within `idle_minutes`, the last one at `newest_at`.
    `versions` are the agent versions that wrote the newest sessions, if recorded; for a source with several agents,
    each after the agent's name. `newer_than` is the newest tested version, if a newer one wrote the newest session.
    `unknown` names the fields of a session that it never records. `package` is the installed package, with its version,
    of a third-party source; `fault` is why it fails. `unreadable` says which folder or database of the agent cannot be
    read, and why.
    """

    name: str
    title: str
    state: SourceState
    folders: tuple[str, ...]
    sessions: int
    is_more: bool
    active: int
    newest_at: datetime | None
    versions: tuple[str, ...]
    unknown: tuple[str, ...]
    newer_than: str | None = None
    package: str | None = None
    fault: str | None = None
    unreadable: str | None = None


def other_agents() -> list[FoundElsewhere]:
    """Return the agents that are found here and are known by name alone."""
    return found_elsewhere()


def found_sources(context: GraderContext) -> list[FoundSource]:
    """Return what lies here of each agent whose sessions can be read, those too that are not graded."""
    graded, settings = _graded_versions(context), context.settings
    found = [
        _found(source, settings, now=context.now(), versions=graded.get(source.name, ()))
        for source in bootstrap.known_sources(settings)
    ]
    named = bootstrap.source_names(settings)
    return found + [_only_installed(each, settings) for name, each in installed().items() if name not in named]


def _only_installed(adapter: Adapter, settings: Settings) -> FoundSource:
    """Return what is known of an adapter that no setting names: nothing of it is imported."""
    state = state_of(adapter.name, settings)
    return FoundSource(
        name=adapter.name,
        title=adapter.name,
        state=state,
        folders=(),
        sessions=0,
        is_more=False,
        active=0,
        newest_at=None,
        versions=(),
        unknown=(),
        package=adapter.package,
    )


def _found(source: Source, settings: Settings, *, now: datetime, versions: Sequence[str]) -> FoundSource:
    folders, active_since = tuple(source.roots), now - timedelta(minutes=settings.idle_minutes)
    seen = look(source, folders, active_since=active_since)
    read = read_newest(source, seen.newest)
    adapter = source if isinstance(source, Guarding) else None
    latest = tried = None
    if read is not None and isinstance(read.session, Session):
        latest = _version(source.name, read.session)
        tried = newer_than(source.name, read.session.agent, read.session.agent_version)
    return FoundSource(
        name=source.name,
        title=source.title,
        state=state_of(source.name, settings),
        folders=folders,
        sessions=seen.sessions,
        is_more=seen.is_more,
        active=seen.active,
        newest_at=None if seen.newest is None else seen.newest.written_at,
        versions=tuple(dict.fromkeys((*([] if latest is None else [latest]), *versions))),
        newer_than=tried,
        unknown=tuple(sorted(source.unknown)),
        package=None if adapter is None else adapter.package,
        fault=None if adapter is None else adapter.fault,
        unreadable=_unreadable(source, seen),
    )


def _unreadable(source: Source, seen: Seen) -> str | None:
    if seen.closed:
        others = f" and {len(seen.closed) - 1:,} more" if len(seen.closed) > 1 else ""
        return f"{seen.closed[0]}{others}: no permission"
    for unit in seen.unreadable:
        try:
            source.read(source.look(unit))
        except GraderError as error:
            return f"{unit}: {error}"
        return f"{unit}: this version of grader-daemon does not know its tables; install a newer one"
    return None


def _graded_versions(context: GraderContext) -> dict[str, list[str]]:
    """Return the versions that wrote the sessions that were graded last, by source, the newest first."""
    found: dict[str, list[str]] = {}
    if context.has_database:
        for stored in context.store.grades.page(GradeFilter(limit=_NEWEST_GRADED)).grades:
            versions, version = found.setdefault(stored.grade.format, []), _version(stored.grade.format, stored.grade)
            if version is not None and version not in versions:
                versions.append(version)
    return found


def _version(source: str, of: Session | Grade) -> str | None:
    """Return the version of the agent, with its name where that is not the one of the source."""
    if of.agent_version is None:
        return None
    return of.agent_version if of.agent in (None, source) else f"{of.agent} {of.agent_version}"
