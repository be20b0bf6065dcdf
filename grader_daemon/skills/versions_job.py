"""The versions of skills and configuration files: who edited what, and when, is noted as it happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from grader_daemon.domain.installed import MOST_VERSIONS, ObservedVersion
from grader_daemon.domain.unit import shown_path
from grader_daemon.jobs import Job
from grader_daemon.skills.content import Part, digest_of, parts_of
from grader_daemon.skills.places import Installed, Place, is_gone, name_of
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.skills.trial_file import TrialFile, paths_of
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_AT_MOST_EVERY: Final = timedelta(minutes=1)
_CPU_SHARE: Final = 0.001
"""A look at very many skills waits so long that no more of one processor is used."""
_CONFIRMED_EVERY: Final = timedelta(hours=1)
_MOMENT: Final = timedelta(microseconds=1)


class VersionsJob:
    """Notes a version when it is new at its place, every hour that it is still there, and when it is gone."""

    name = "versions"

    def __init__(
        self, store: SqliteStore, installed: Installed, *, under_trial: Callable[[], Collection[str]] = frozenset
    ) -> None:
        """`under_trial` returns paths that a trial takes away by chance: it is no change that they are missing."""
        self._under_trial = under_trial
        self._store = store
        self._observed = ObservedVersions(store)
        self._installed = installed
        self._digests: dict[str, tuple[tuple[Part, ...], str]] = {}
        self._newest: dict[str, ObservedVersion] | None = None
        self._missing: dict[str, datetime] = {}
        self._looked_at: datetime | None = None
        self._pause = _AT_MOST_EVERY

    def run(self, now: datetime) -> bool:
        """Look, once a minute at most; return whether there was anything to note.

        Raises:
            StoreError: it cannot be kept.
        """
        if self._looked_at is not None and timedelta(0) <= now - self._looked_at < self._pause:
            return False
        began = time.thread_time()
        noted = list(self._news(now))
        if noted:
            self._keep(noted)
        self._looked_at = now
        self._pause = max(_AT_MOST_EVERY, timedelta(seconds=(time.thread_time() - began) / _CPU_SHARE))
        return bool(noted)

    def _news(self, now: datetime) -> Iterator[ObservedVersion]:
        if self._newest is None:
            self._newest = {version.path: version for version in self._observed.versions()}
        seen: set[str] = set()
        for place in self._installed.places():
            shown = shown_path(place.path)
            if shown in seen:  # another one looks the same when its name is written down
                continue
            seen.add(shown)
            known = self._newest.get(shown)
            try:
                parts, digest = self._look(place.path)
            except OSError:
                continue  # gone, or not to be read: perhaps the next time
            if known is not None and known.gone_at is None and digest != known.digest and self._is_switched(shown):
                continue  # what else was edited is noted when the trial is over
            if known is None or known.gone_at is not None or digest != known.digest:
                yield _version(place, parts, digest=digest, now=now if known is None else _after(known, now))
            elif now - known.last_seen >= _CONFIRMED_EVERY:
                yield replace(known, last_seen=now)
        yield from self._gone(self._newest, seen, now)

    def _gone(
        self, newest: Mapping[str, ObservedVersion], seen: Collection[str], now: datetime
    ) -> Iterator[ObservedVersion]:
        """Yield what is gone at two looks in a row: a checkout or an update takes things away for a moment."""
        missed = self._missing
        lost = [
            each
            for path, each in newest.items()
            if path not in seen and each.gone_at is None and is_gone(each.kind, path)
        ]
        away = self._under_trial() if lost else ()
        lost = [each for each in lost if each.path not in away]
        self._missing = {each.path: missed.get(each.path, now) for each in lost}
        yield from (
            replace(each, gone_at=max(each.first_seen, missed[each.path])) for each in lost if each.path in missed
        )

    def _is_switched(self, shown: str) -> bool:
        """Return whether a trial switches a file at a path or below it."""
        return any(each == shown or each.startswith(f"{shown}/") for each in self._under_trial())

    def _look(self, path: str) -> tuple[tuple[Part, ...], str]:
        """Return what is at a path and its digest, of which nothing is read that is as it was."""
        parts = parts_of(path)
        known = self._digests.get(path)
        if known is None or known[0] != parts:
            known = self._digests[path] = (parts, digest_of(path, parts))
        return known

    def _keep(self, noted: list[ObservedVersion]) -> None:
        with self._store.transaction():
            self._observed.save(noted)
            for version in noted:
                self._observed.forget(version.path, keep=MOST_VERSIONS)
        self._newest = {**(self._newest or {}), **{version.path: version for version in noted}}


def versions_jobs(
    settings: Settings,
    store: SqliteStore,
    *,
    is_settled: Callable[[], bool],  # noqa: ARG001  as jobs of all wings are made
) -> list[Job]:
    """Return the job, which waits for nothing."""
    return [VersionsJob(store, Installed.of(settings), under_trial=lambda: paths_of(TrialFile.of_user().running()))]


def _version(place: Place, parts: tuple[Part, ...], *, digest: str, now: datetime) -> ObservedVersion:
    written_ns = max((part.mtime_ns for part in parts), default=0)
    return ObservedVersion(
        kind=place.kind,
        name=name_of(place),
        agent=place.agent,
        path=shown_path(place.path),
        digest=digest,
        bytes=sum(part.bytes for part in parts),
        written_at=_moment(written_ns, otherwise=now),
        first_seen=now,
        last_seen=now,
    )


def _after(version: ObservedVersion, now: datetime) -> datetime:
    """Return when the next version of a path came: versions are in this order, which a clock set back must not turn."""
    return max(now, (version.gone_at or version.first_seen) + _MOMENT)


def _moment(nanoseconds: int, *, otherwise: datetime) -> datetime:
    """Return a time of the file system; it may be one that no calendar has."""
    try:
        return datetime.fromtimestamp(nanoseconds / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return otherwise
